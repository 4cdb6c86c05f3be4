"""What a contender's server sees beside what all servers see: variables, and a malloc library."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from slowdust.accounts import COMMON
from slowdust.errors import UsageError
from slowdust.places import CACHE_VARIABLE

GLIBC = "glibc"
ALLOCATORS = (GLIBC, "jemalloc", "tcmalloc")
_OF_THE_LOADER = "LD_"
"""Its variables decide which files a server consists of."""
_ENDS_OF_PATHS = re.compile(r"[\s:;]")
"""What the dynamic loader takes for the end of a path in LD_PRELOAD or --library-path."""
_C_LIBRARY = "libc.so.6"
"""Without a directory, the loader takes the one that it takes for the server anyway."""
_VARIABLE = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=(.*)")


@dataclass(frozen=True)
class Environment:
    """The environment of one contender."""

    allocator: str | None = None
    """The malloc library to put before the one that the build brings; one of `ALLOCATORS`."""
    variables: Mapping[str, str] = field(default_factory=dict)
    library: Path | None = None
    """The file of the allocator; glibc needs none."""

    @property
    def of_server(self) -> dict[str, str]:
        """All variables that the server sees beside `COMMON`."""
        if self.allocator is None:
            return dict(self.variables)
        library = _C_LIBRARY if self.allocator == GLIBC else str(self.library)
        return {**self.variables, "LD_PRELOAD": library}

    @property
    def written(self) -> list[str]:
        """As behind a contender, each part without its '+'."""
        named = [] if self.allocator is None else [self.allocator]
        return [*named, *(f"{name}={value}" for name, value in self.variables.items())]


def parse_environment(parts: Sequence[str]) -> Environment:
    """From parts as they are written behind a contender: 'jemalloc', 'MALLOC_ARENA_MAX=1'.

    Raises UsageError.
    """
    allocators = [part for part in parts if part in ALLOCATORS]
    if len(allocators) > 1:
        raise UsageError(f"a server has one allocator, not {' and '.join(allocators)}")
    variables: dict[str, str] = {}
    for part in parts:
        if part in ALLOCATORS:
            continue
        found = _VARIABLE.fullmatch(part)
        if found is None:
            raise UsageError(
                f"'+{part}' is no environment: write {', '.join(ALLOCATORS)} or NAME=VALUE"
            )
        name, value = found.groups()
        if name in COMMON or name.startswith(_OF_THE_LOADER):
            raise UsageError(f"{name} cannot be set: Slowdust chooses it for each server")
        if name in variables:
            raise UsageError(f"{name} is set twice")
        variables[name] = value
    return Environment(allocators[0] if allocators else None, variables)


def check_loadable(paths: Iterable[Path]) -> None:
    """UsageError for a path that the dynamic loader cannot be told of."""
    for path in paths:
        if found := _ENDS_OF_PATHS.search(str(path)):
            raise UsageError(
                f"the dynamic loader takes {found.group()!r} for the end of a path, so that it "
                f"cannot find {path}: name a cache directory without it in {CACHE_VARIABLE}, or "
                "move the directory of your binaries"
            )
