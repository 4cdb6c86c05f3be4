"""The environment of a contender's server: additional variables and a malloc library."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from slowdust.accounts import BASE_ENVIRONMENT
from slowdust.errors import UsageError
from slowdust.places import CACHE_VARIABLE
from slowdust.wording import guess

GLIBC = "glibc"
ALLOCATORS = (GLIBC, "jemalloc", "tcmalloc")
_PRELOAD = "LD_PRELOAD"
_LOADER_PREFIX = "LD_"
"""The prefix of the dynamic loader's variables, which decide which files a server loads."""
_ENDS_OF_PATHS = re.compile(r"[\s:;]")
"""Characters that end a path in LD_PRELOAD or --library-path."""
_C_LIBRARY = "libc.so.6"
"""A name without a directory, for which the loader uses the C library that is already loaded."""
SYNC_DELAY = "SLOWDUST_SYNC_DELAY"
"""The variable that delays each call that waits for the disk, in microseconds."""
_VARIABLE = re.compile(r"([A-Za-z_][A-Za-z0-9_]*)=(.*)")


@dataclass(frozen=True)
class Environment:
    """The environment of one contender."""

    allocator: str | None = None
    """The malloc library that replaces the build's own; one of `ALLOCATORS`."""
    variables: Mapping[str, str] = field(default_factory=dict)
    library: Path | None = None
    """The file of the allocator; None for glibc."""

    @property
    def server_variables(self) -> dict[str, str]:
        """The variables in addition to `BASE_ENVIRONMENT`."""
        if self.allocator is None:
            return dict(self.variables)
        library = _C_LIBRARY if self.allocator == GLIBC else str(self.library)
        return {**self.variables, _PRELOAD: library}

    @property
    def written(self) -> list[str]:
        """The parts of a contender's name for this environment, each without its '+'."""
        named = [] if self.allocator is None else [self.allocator]
        return [*named, *(f"{name}={value}" for name, value in self.variables.items())]


def parse_environment(parts: Sequence[str]) -> Environment:
    """Parse the parts after a contender: 'jemalloc', 'MALLOC_ARENA_MAX=1'.

    Raises UsageError.
    """
    allocators = [part for part in parts if part in ALLOCATORS]
    if len(allocators) > 1:
        raise UsageError(f"a server has one allocator, not {' and '.join(allocators)}")
    variables: dict[str, str] = {}
    for part in parts:
        if part in ALLOCATORS:
            continue
        assignment = _VARIABLE.fullmatch(part)
        if assignment is None:
            raise UsageError(
                f"'+{part}' is not an environment: write {', '.join(ALLOCATORS)} or NAME=VALUE"
                f"{guess(part, ALLOCATORS)}"
            )
        name, value = assignment.groups()
        if name in BASE_ENVIRONMENT or name.startswith(_LOADER_PREFIX):
            raise UsageError(f"{name} cannot be set: Slowdust chooses it for each server")
        if name in variables:
            raise UsageError(f"{name} is set twice")
        if name == SYNC_DELAY and not (value.isascii() and value.isdigit()):
            raise UsageError(f"{name}={value}: write microseconds as a whole number")
        variables[name] = value
    return Environment(allocators[0] if allocators else None, variables)


def preloading(variables: Mapping[str, str], library: Path) -> dict[str, str]:
    """Return a server's variables with one more library, loaded before all others."""
    preloaded = [variables[_PRELOAD]] if _PRELOAD in variables else []
    return {**variables, _PRELOAD: ":".join([str(library), *preloaded])}


def check_loadable(paths: Iterable[Path]) -> None:
    """Raise UsageError for a path that cannot be passed to the dynamic loader."""
    for path in paths:
        if separator := _ENDS_OF_PATHS.search(str(path)):
            raise UsageError(
                f"the dynamic loader cannot find {path}, because it splits paths at "
                f"{separator.group()!r}: set {CACHE_VARIABLE} to a directory without it, or move "
                "the directory of your binaries"
            )
