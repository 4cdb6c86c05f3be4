"""Which malloc library a server has: put before its own one, and looked for in the running server.

Who answers to `malloc` is decided by the dynamic loader: the program itself if it has one built in,
then what is preloaded, then the libraries in the order of their loading. So the loader is asked
(ld.so(8), LD_DEBUG=bindings), and then the running server is looked at, whether it has mapped that
file. Where nobody asked for an allocator, what cannot be seen is unknown and no error.
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

_BINDING = re.compile(r"binding file \S+ \[0\] to (\S+) \[0\]: normal symbol `(malloc\w*)'")
_JEMALLOC_ALONE = "malloc_conf"
"""A symbol that jemalloc has beside `malloc`, and nobody else."""
_FILE_NAME = re.compile(r"lib(jemalloc|tcmalloc|c)\b|lib(tcmalloc)_")


class AllocatorError(SlowdustError):
    """A server that has another malloc library than it should have."""


@dataclass(frozen=True)
class Malloc:
    """Where a server's `malloc` is."""

    file: Path
    """The server itself where it is built in."""
    kind: str
    """'glibc', 'jemalloc', 'tcmalloc', or the name of the file."""
    is_built_in: bool


def find_malloc(build: Build, account: Account, variables: Mapping[str, str]) -> Malloc | None:
    """Where a server of this build gets its `malloc`; None when the loader does not tell."""
    command = [*build.command(build.server), "--version"]
    asking = {**variables, "LD_DEBUG": "bindings", "LD_BIND_NOW": "1"}
    try:
        said = account.ask(command, environment=asking).stderr
    except (OSError, subprocess.TimeoutExpired):
        return None
    return malloc_of(_BINDING.findall(said), build.server)


def malloc_of(bindings: Sequence[tuple[str, str]], server: Path) -> Malloc | None:
    """From (file, symbol) as the loader bound them; None when `malloc` is not among them.

    Libraries may be bound to the server although it only hands on (its `malloc` is an entry of its
    procedure linkage table): what lies elsewhere goes first.
    """
    files = {Path(file) for file, symbol in bindings if symbol == "malloc"}
    elsewhere = sorted(file for file in files if file != server and file.name[:3] != "ld-")
    if elsewhere:
        file = elsewhere[0]
        found = _FILE_NAME.match(file.name)
        name = next(filter(None, found.groups())) if found else file.name
        return Malloc(file, "glibc" if name == "c" else name, is_built_in=False)
    if server not in files:
        return None
    is_jemalloc = (str(server), _JEMALLOC_ALONE) in bindings
    return Malloc(server, "jemalloc" if is_jemalloc else server.name, is_built_in=True)


def check_replaceable(build: Build, account: Account, wanted: str) -> None:
    """UsageError when the malloc of a build is its own, which comes before any other."""
    own = find_malloc(build, account, {})
    if own is not None and own.is_built_in:
        raise UsageError(
            f"{build.dbms} {build.version} cannot have {wanted}: its malloc, {own.kind}, is "
            "built in"
        )


def at_work(pid: int, malloc: Malloc | None) -> str | None:
    """The kind of `malloc` of a running server; None where that cannot be seen."""
    try:
        is_mapped = malloc is not None and malloc.file.resolve() in _mapped(pid)
    except OSError:
        return None
    return malloc.kind if malloc is not None and is_mapped else None


def check_at_work(pid: int, malloc: Malloc | None, wanted: str) -> None:
    """AllocatorError when a running server does not have the `malloc` that was asked for.

    Also when that cannot be checked.
    """
    if malloc is None:
        raise AllocatorError(f"does not tell whether it has {wanted}")
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
    """What a process has mapped, also files that were replaced since, as by an upgrade."""
    text = Path(f"/proc/{pid}/maps").read_text(encoding="utf-8", errors="replace")
    return {Path(path) for path in re.findall(r"(/\S.*?)(?: \(deleted\))?$", text, re.MULTILINE)}
