"""The malloc library of a server: found before the start, checked in the running process.

The dynamic loader binds `malloc` to the program itself if it has one built in, else to a preloaded
library, else to the first library that has it. So the loader's bindings are read (ld.so(8),
LD_DEBUG=bindings), and then the memory map of the running server is searched for that file. Where
no allocator was asked for, one that cannot be found out is unknown, which is no error.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from slowdust.accounts import Account
from slowdust.builds.model import Build
from slowdust.errors import SlowdustError, UsageError
from slowdust.instances.preloads import check_preloadable

_BINDING = re.compile(r"binding file \S+ \[0\] to (\S+) \[0\]: normal symbol `(malloc\w*)'")
_JEMALLOC_SYMBOL = "malloc_conf"
"""A symbol that only jemalloc has beside `malloc`."""
_FILE_NAME = re.compile(r"lib(jemalloc|tcmalloc|c)\b|lib(tcmalloc)_")


class AllocatorError(SlowdustError):
    """A server whose malloc library is not the one that was asked for."""


@dataclass(frozen=True)
class Malloc:
    """The place of a server's `malloc`."""

    file: Path
    """The library, or the server itself where malloc is built in."""
    kind: str
    """'glibc', 'jemalloc', 'tcmalloc', or the name of the file."""
    is_built_in: bool


def find_malloc(build: Build, account: Account, variables: Mapping[str, str]) -> Malloc | None:
    """Find the `malloc` of a build's server; None when the loader does not show it."""
    command = [*build.command(build.server), "--version"]
    verbose = {**variables, "LD_DEBUG": "bindings", "LD_BIND_NOW": "1"}
    try:
        output = account.run(command, environment=verbose).stderr
    except (OSError, subprocess.TimeoutExpired):
        return None
    return malloc_of(_BINDING.findall(output), build.server)


def malloc_of(bindings: Sequence[tuple[str, str]], server: Path) -> Malloc | None:
    """Find `malloc` among the (file, symbol) that the loader bound; None when it is not there.

    Libraries may be bound to the server although it only forwards (its `malloc` is an entry of its
    procedure linkage table): another file takes precedence.
    """
    files = {Path(file) for file, symbol in bindings if symbol == "malloc"}
    elsewhere = sorted(file for file in files if file != server and file.name[:3] != "ld-")
    if elsewhere:
        file = elsewhere[0]
        match = _FILE_NAME.match(file.name)
        name = next(filter(None, match.groups())) if match else file.name
        return Malloc(file, "glibc" if name == "c" else name, is_built_in=False)
    if server not in files:
        return None
    is_jemalloc = (str(server), _JEMALLOC_SYMBOL) in bindings
    return Malloc(server, "jemalloc" if is_jemalloc else server.name, is_built_in=True)


def check_replaceable(build: Build, account: Account, wanted: str) -> None:
    """Raise UsageError for a build whose malloc is built in, which no library can replace."""
    check_preloadable(build, [build.server], f"have {wanted}")
    own = find_malloc(build, account, {})
    if own is not None and own.is_built_in:
        raise UsageError(
            f"{build.dbms} {build.version} cannot have {wanted}: its malloc, {own.kind}, is "
            "built in"
        )


def loaded_allocator(pid: int, malloc: Malloc | None) -> str | None:
    """Return the kind of `malloc` of a running server; None where it cannot be found out."""
    try:
        is_mapped = malloc is not None and malloc.file.resolve() in _mapped(pid)
    except OSError:
        return None
    return malloc.kind if malloc is not None and is_mapped else None


def check_loaded(pid: int, malloc: Malloc | None, wanted: str) -> None:
    """Raise AllocatorError when a running server does not have the `malloc` that was asked for.

    It is also raised when that cannot be checked.
    """
    if malloc is None:
        raise AllocatorError(f"does not show whether it has {wanted}")
    if malloc.is_built_in or malloc.kind != wanted:
        where = "built in" if malloc.is_built_in else f"from {malloc.file}"
        raise AllocatorError(f"cannot have {wanted}: its malloc is {where}")
    try:
        mapped = _mapped(pid)
    except OSError as error:
        raise AllocatorError(
            f"cannot be checked to have {wanted}: /proc/{pid}/maps cannot be read "
            f"({error.strerror}), as in containers without CAP_SYS_PTRACE"
        ) from error
    if malloc.file.resolve() not in mapped:
        raise AllocatorError(f"has not mapped {malloc.file}, which should be its malloc")


def _mapped(pid: int) -> set[Path]:
    """Return the files that a process has mapped, including files replaced since by an upgrade."""
    text = Path(f"/proc/{pid}/maps").read_text(encoding="utf-8", errors="replace")
    return {Path(path) for path in re.findall(r"(/\S.*?)(?: \(deleted\))?$", text, re.MULTILINE)}
