"""Libraries that are preloaded into servers, and detection of a server's malloc library.

Slowdust's own libraries are compiled when they are first needed. Each shares a mapped file with
Slowdust. `delay.c` waits before each reply of a server, for a time that Slowdust writes into the
file, and adds up the sends and the actual waits. `syncs.c` replaces fsync, fdatasync and
sync_file_range, and adds up the calls of all threads and processes of the server, and their time.
It can also lengthen each call by a fixed time in microseconds: the variable `SYNC_DELAY` of a
contender's environment.

The dynamic loader binds `malloc` to the program itself if it is built in, else to a preloaded
library, else to the first library that defines it. So the loader's bindings are read (ld.so(8),
LD_DEBUG=bindings), and then the memory map of the running server is searched for that file. If no
allocator was requested, an unknown one is not an error.
"""

from __future__ import annotations

import hashlib
import os
import re
import struct
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path
from typing import NamedTuple

from slowdust.accounts import Account
from slowdust.builds import cache
from slowdust.builds.model import Build
from slowdust.dbms.environment import preloading
from slowdust.errors import SlowdustError, UsageError
from slowdust.formats.elf import is_static
from slowdust.places import cache_root
from slowdust.store.waits import Syncs
from slowdust.temporary import becoming

COMPILER = ("cc", "-O2", "-Wall", "-fPIC", "-shared", "-ftls-model=initial-exec")
INSTALL = "sudo apt install gcc libc6-dev"
_LINE_WORDS = 8
"""8-byte words in the header of a shared file, and in each line after it."""
_SYNC_CALLS = ("fsync", "fdatasync", "sync_file_range")


def compiled(
    name: str, purpose: str, libraries: Sequence[str] = (), package: str = "slowdust.instances"
) -> Path:
    """Return the library compiled from `NAME.c` in a package, cached.

    `purpose` is the subject of the error message: 'a calibration'. `libraries` are linker options.
    `package` is the package of the source file. Raises SlowdustError if there is no C
    compiler, or if it fails.
    """
    source = resources.files(package).joinpath(f"{name}.c").read_bytes()
    command = [*COMPILER, "-x", "c", "-"]
    digest = hashlib.sha256(source + " ".join([*command, *libraries]).encode()).hexdigest()[:16]
    library = cache_root() / "preloads" / f"{name}-{digest}.so"
    with cache.lock(library):
        if not library.exists():
            with becoming(library) as new:
                _compile([*command, "-o", str(new), *libraries], source, purpose)
                new.chmod(0o755)
    return library


def delay_library() -> Path:
    return compiled("delay", "a calibration")


def sync_library() -> Path:
    return compiled("syncs", "timing of fsync")


def check_preloadable(build: Build, programs: Iterable[Path], purpose: str) -> None:
    """Raise UsageError if no library can be loaded into any of a server's programs.

    `purpose` completes 'the server cannot', for example 'use jemalloc'.
    """
    if all(is_static(program) for program in programs):
        raise UsageError(
            f"{build.dbms} {build.facts.version} cannot {purpose}: it is a static program, which "
            "cannot load a library"
        )


def _compile(command: Sequence[str], source: bytes, purpose: str) -> None:
    try:
        subprocess.run(command, input=source, capture_output=True, check=True)
    except FileNotFoundError:
        raise SlowdustError(
            f"{purpose} needs a C compiler to build a small library: install one, for example "
            f"with `{INSTALL}`"
        ) from None
    except subprocess.CalledProcessError as error:
        message = error.stderr.decode(errors="replace").strip()
        raise SlowdustError(
            f"the library for {purpose} cannot be compiled (headers are in the package "
            f"libc6-dev): {message}"
        ) from error


class DelayTotals(NamedTuple):
    """Sends of a server to its clients since its data directory was created."""

    delay_ns: int
    """The current delay before each send."""
    sends: int
    waited_ns: int
    """The actual wait of all sends, by the clock."""


class _SharedFile:
    """The file shared by a server's library and Slowdust: a header, then a line for each total."""

    variable: str
    """The environment variable of the server that has the file's name."""
    lines: int
    attached_at: int
    """Index of the number of attached processes in the header."""

    def __init__(self, library: Path, path: Path, account: Account) -> None:
        self.library = library
        self._path = path
        self._words = struct.Struct(f"={_LINE_WORDS * (1 + self.lines)}Q")
        account.make_file(path, bytes(self._words.size))
        # Not mapped here: if the server's account truncated the file, access would be fatal.
        self._file = path.open("r+b", buffering=0)

    def variables(self, variables: Mapping[str, str]) -> dict[str, str]:
        return preloading(variables, self.library) | {self.variable: str(self._path)}

    @property
    def attached(self) -> int:
        """The number of processes so far whose library has mapped the file.

        Raises OSError if it can no longer be read.
        """
        return self._read()[self.attached_at]

    def _read(self) -> tuple[int, ...]:
        content = os.pread(self._file.fileno(), self._words.size, 0)
        if len(content) < self._words.size:
            raise OSError(0, f"{self._path} was truncated")
        return self._words.unpack(content)


class DelayFile(_SharedFile):
    """The delay before each reply of a server, and its actual waits."""

    variable = "SLOWDUST_DELAY"
    lines = 64
    attached_at = 1

    def set(self, delay_ns: int) -> None:
        """Set the delay before each send from now on. Raises OSError if it cannot be written."""
        os.pwrite(self._file.fileno(), struct.pack("=Q", delay_ns), 0)

    def totals(self) -> DelayTotals:
        """Return the totals so far; exact while the server is idle.

        Raises OSError if they can no longer be read.
        """
        header, lines = (words := self._read())[:_LINE_WORDS], words[_LINE_WORDS:]
        return DelayTotals(header[0], sum(lines[::_LINE_WORDS]), sum(lines[1::_LINE_WORDS]))


class SyncFile(_SharedFile):
    """A server's calls that wait until data is on disk, counted and timed by the library."""

    variable = "SLOWDUST_SYNCS"
    lines = len(_SYNC_CALLS)
    attached_at = 0

    def totals(self) -> dict[str, Syncs]:
        """Return call -> the number of calls so far, and their time.

        Raises OSError if they can no longer be read.
        """
        words = self._read()[_LINE_WORDS:]
        return {
            call: Syncs(calls=words[at], us=words[at + 1] / 1e3)
            for at, call in zip(range(0, len(words), _LINE_WORDS), _SYNC_CALLS, strict=True)
        }


_BINDING = re.compile(r"binding file \S+ \[0\] to (\S+) \[0\]: normal symbol `(malloc\w*)'")
_JEMALLOC_SYMBOL = "malloc_conf"
"""A symbol that only jemalloc defines in addition to `malloc`."""
_FILE_NAME = re.compile(r"lib(jemalloc|tcmalloc|c)\b|lib(tcmalloc)_")


class AllocatorError(SlowdustError):
    """A server's malloc library differs from the requested one."""


@dataclass(frozen=True)
class Malloc:
    """The origin of a server's `malloc`."""

    file: Path
    """The library, or the server itself if malloc is built in."""
    kind: str
    """'glibc', 'jemalloc', 'tcmalloc', or the name of the file."""
    is_built_in: bool


def find_malloc(build: Build, account: Account, variables: Mapping[str, str]) -> Malloc | None:
    """Find the `malloc` of a build's server; None if the loader does not show it."""
    command = [*build.command(build.server), "--version"]
    verbose = {**variables, "LD_DEBUG": "bindings", "LD_BIND_NOW": "1"}
    try:
        output = account.run(command, environment=verbose).stderr
    except (OSError, subprocess.TimeoutExpired):
        return None
    return identify_malloc(_BINDING.findall(output), build.server)


def identify_malloc(bindings: Sequence[tuple[str, str]], server: Path) -> Malloc | None:
    """Find `malloc` among the loader's bindings (file, symbol); None if it is missing.

    Libraries may be bound to a server that only forwards the call (its `malloc` is an entry of its
    procedure linkage table), so another file takes precedence.
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
    """Raise UsageError for a build with a built-in malloc, which no library can replace."""
    check_preloadable(build, [build.server], f"use {wanted}")
    own = find_malloc(build, account, {})
    if own is not None and own.is_built_in:
        raise UsageError(
            f"{build.dbms} {build.version} cannot use {wanted}: its malloc, {own.kind}, is built in"
        )


def loaded_allocator(pid: int, malloc: Malloc | None) -> str | None:
    try:
        is_mapped = malloc is not None and malloc.file.resolve() in _mapped(pid)
    except OSError:
        return None
    return malloc.kind if malloc is not None and is_mapped else None


def check_loaded(pid: int, malloc: Malloc | None, wanted: str) -> None:
    """Raise AllocatorError if a running server does not have the requested `malloc`.

    Also raised if it cannot be checked.
    """
    if malloc is None:
        raise AllocatorError(f"does not show whether it uses {wanted}")
    if malloc.is_built_in or malloc.kind != wanted:
        where = "built in" if malloc.is_built_in else f"from {malloc.file}"
        raise AllocatorError(f"cannot use {wanted}: its malloc is {where}")
    try:
        mapped = _mapped(pid)
    except OSError as error:
        raise AllocatorError(
            f"cannot be checked for {wanted}: /proc/{pid}/maps cannot be read "
            f"({error.strerror}), for example in containers without CAP_SYS_PTRACE"
        ) from error
    if malloc.file.resolve() not in mapped:
        raise AllocatorError(f"has not mapped its malloc library {malloc.file}")


def _mapped(pid: int) -> set[Path]:
    """Return the files that a process has mapped, including files replaced by an upgrade since."""
    text = Path(f"/proc/{pid}/maps").read_text(encoding="utf-8", errors="replace")
    return {Path(path) for path in re.findall(r"(/\S.*?)(?: \(deleted\))?$", text, re.MULTILINE)}
