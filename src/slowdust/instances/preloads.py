"""Small libraries that are preloaded into servers, compiled when they are first needed.

A library and Slowdust share a mapped file. `delay.c` waits before each reply of a server, for a
known time that Slowdust writes into the file, and adds up the sends and the time that it really
waited. `syncs.c` takes the place of fsync, fdatasync and sync_file_range, and adds up the calls of
all threads and processes of the server, with their time. It can also make each call longer by a
known time: by the variable `SYNC_DELAY` of a contender's environment, in microseconds.
"""

from __future__ import annotations

import hashlib
import os
import struct
import subprocess
from collections.abc import Iterable, Mapping, Sequence
from importlib import resources
from pathlib import Path
from typing import NamedTuple

from slowdust.accounts import Account
from slowdust.builds import staging
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
"""Words of 8 bytes in the header of a shared file, and in each line behind it."""
_SYNC_CALLS = ("fsync", "fdatasync", "sync_file_range")


def compiled(
    name: str, purpose: str, libraries: Sequence[str] = (), package: str = "slowdust.instances"
) -> Path:
    """Return the library made of `NAME.c` in a package, from the cache where it is there.

    `purpose` is the subject of a sentence on why it cannot be made: 'a calibration'. `libraries`
    are the linker's options. The package is that of this module unless another one is named.

    Raises:
        SlowdustError: there is no C compiler, or it fails.
    """
    source = resources.files(package).joinpath(f"{name}.c").read_bytes()
    command = [*COMPILER, "-x", "c", "-"]
    digest = hashlib.sha256(source + " ".join([*command, *libraries]).encode()).hexdigest()[:16]
    library = cache_root() / "preloads" / f"{name}-{digest}.so"
    with staging.lock(library):
        if not library.exists():
            with becoming(library) as new:
                _compile([*command, "-o", str(new), *libraries], source, purpose)
                new.chmod(0o755)
    return library


def delay_library() -> Path:
    """Return the library that waits before replies, from the cache; raises as `compiled`."""
    return compiled("delay", "a calibration")


def sync_library() -> Path:
    """Return the library that times waits for the disk, from the cache; raises as `compiled`."""
    return compiled("syncs", "timing of fsync")


def check_preloadable(build: Build, programs: Iterable[Path], purpose: str) -> None:
    """Raise UsageError when no library can be loaded into any of the programs of a server.

    `purpose` is what the library is for, as in 'the server cannot have jemalloc'.
    """
    if all(is_static(program) for program in programs):
        raise UsageError(
            f"{build.dbms} {build.facts.version} cannot {purpose}: it is a static program, into "
            "which no library can be loaded"
        )


def _compile(command: Sequence[str], source: bytes, purpose: str) -> None:
    try:
        subprocess.run(command, input=source, capture_output=True, check=True)
    except FileNotFoundError:
        raise SlowdustError(
            f"{purpose} compiles a small library, and there is no C compiler: install one, for "
            f"example by `{INSTALL}`"
        ) from None
    except subprocess.CalledProcessError as error:
        message = error.stderr.decode(errors="replace").strip()
        raise SlowdustError(
            f"the library that {purpose} needs cannot be compiled (headers are in the package "
            f"libc6-dev): {message}"
        ) from error


class DelayTotals(NamedTuple):
    """Sends of a server to its clients since its data directory was made."""

    delay_ns: int
    """The delay before each send now."""
    sends: int
    waited_ns: int
    """The time that all sends really waited, by the clock."""


class _SharedFile:
    """The file that a server's library and Slowdust share: a header, then a line for each total."""

    variable: str
    """The variable of the server's environment that names the file."""
    lines: int
    attached_at: int
    """Place of the number of attached processes in the header."""

    def __init__(self, library: Path, path: Path, account: Account) -> None:
        self.library = library
        self._path = path
        self._words = struct.Struct(f"={_LINE_WORDS * (1 + self.lines)}Q")
        account.make_file(path, bytes(self._words.size))
        # Not mapped here: if the server's account made the file shorter, that would be fatal.
        self._file = path.open("r+b", buffering=0)

    def variables(self, variables: Mapping[str, str]) -> dict[str, str]:
        """Return the variables of a server's environment, with the library and the file."""
        return preloading(variables, self.library) | {self.variable: str(self._path)}

    @property
    def attached(self) -> int:
        """The processes with the library that have mapped the file so far.

        Raises:
            OSError: it can no longer be read.
        """
        return self._read()[self.attached_at]

    def _read(self) -> tuple[int, ...]:
        content = os.pread(self._file.fileno(), self._words.size, 0)
        if len(content) < self._words.size:
            raise OSError(0, f"{self._path} has become shorter")
        return self._words.unpack(content)


class DelayFile(_SharedFile):
    """The delay before each reply of a server, and the time that it really waited."""

    variable = "SLOWDUST_DELAY"
    lines = 64
    attached_at = 1

    def set(self, delay_ns: int) -> None:
        """Set the delay before each send from now on. Raises OSError if it cannot be written."""
        os.pwrite(self._file.fileno(), struct.pack("=Q", delay_ns), 0)

    def totals(self) -> DelayTotals:
        """Return the totals so far; exact while the server is at rest.

        Raises:
            OSError: they can no longer be read.
        """
        header, lines = (words := self._read())[:_LINE_WORDS], words[_LINE_WORDS:]
        return DelayTotals(header[0], sum(lines[::_LINE_WORDS]), sum(lines[1::_LINE_WORDS]))


class SyncFile(_SharedFile):
    """The calls by which a server waits until data are on disk, counted and timed in it."""

    variable = "SLOWDUST_SYNCS"
    lines = len(_SYNC_CALLS)
    attached_at = 0

    def totals(self) -> dict[str, Syncs]:
        """Return call -> all calls so far, with the time that they took.

        Raises:
            OSError: they can no longer be read.
        """
        words = self._read()[_LINE_WORDS:]
        return {
            call: Syncs(calls=words[at], us=words[at + 1] / 1e3)
            for at, call in zip(range(0, len(words), _LINE_WORDS), _SYNC_CALLS, strict=True)
        }
