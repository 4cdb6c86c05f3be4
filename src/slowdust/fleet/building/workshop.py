"""What a node of a fleet does to compile a build: a process of its own, with its compilers.

    python -m slowdust.fleet.building.workshop DIRECTORY

compiles what `assignment.json` in DIRECTORY says of the sources in `sources.tar.gz`, and writes the
folder of the cache into `folder`. When it is ended by SIGTERM, as by the end of the process that
started it, its compilers end as well.
"""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from types import FrameType

import msgspec

from slowdust import __version__
from slowdust.accounts import ends_with_this_process, server_account
from slowdust.builds.apart import Assignment
from slowdust.errors import SlowdustError
from slowdust.fleet.building import handing
from slowdust.fleet.model import Able, Begun, Made, NotMade
from slowdust.places import cache_root
from slowdust.temporary import ENTERABLE, temporary_folder
from slowdust.units import Second

_ASSIGNMENT, _SOURCES, _FOLDER = "assignment.json", "sources.tar.gz", "folder"
_LOOK_EVERY: Second = 0.2
_ENDS_WITHIN: Second = 20.0
_ERRORS = (re.compile(r"\berror: ", re.IGNORECASE), re.compile(r"\berror\b", re.IGNORECASE))
"""Patterns of lines that tell an error: a compiler's, then what others make of it."""
_LONGEST_COMPLAINT = 600


def able(assignments: Sequence[Assignment]) -> Able:
    """Return what this node can compile, and with which compiler."""
    compilers, lacks = {}, {}
    for assignment in assignments:
        try:
            compilers[assignment.name] = assignment.check()
        except SlowdustError as error:
            lacks[assignment.name] = str(error)
    return Able(slowdust=__version__, compilers=compilers, lacks=lacks)


def compiled(assignment: Assignment, sources: bytes) -> Iterator[Begun | Made | NotMade]:
    """Compile a build into the cache of this node; yield that it begins, and how it ends."""
    yield Begun()
    try:
        with temporary_folder(server_account().temporary_root(), ENTERABLE) as folder:
            (folder / _ASSIGNMENT).write_bytes(msgspec.json.encode(assignment))
            (folder / _SOURCES).write_bytes(sources)
            with (folder / "log").open("wb") as log, _compiling(folder, log.fileno()) as process:
                while process.poll() is None:
                    time.sleep(_LOOK_EVERY)
            if process.returncode != 0:
                text = (folder / "log").read_text(encoding="utf-8", errors="replace")
                yield NotMade(reason=last_error(text))
                return
            made = (folder / _FOLDER).read_text(encoding="utf-8")
        bundle, archive = handing.packed(made)
    except (OSError, SlowdustError) as error:
        yield NotMade(reason=str(error))
    else:
        yield Made(bundle=bundle, archive=archive)


def last_error(complaint: str) -> str:
    """Return what a compilation said of its failure, in a line: the reason, and the last error."""
    lines = [line.strip() for line in complaint.splitlines() if line.strip()]
    if not lines:
        return "it ended without a word"
    told = lines[1:]
    for pattern in _ERRORS:
        if errors := [line for line in told if pattern.search(line)]:
            told = errors
            break
    return ": ".join([lines[0], *told[-1:]])[:_LONGEST_COMPLAINT]


@contextmanager
def _compiling(folder: Path, log: int) -> Iterator[subprocess.Popen[bytes]]:
    """Run this module for a directory; it ends with the context, and its compilers with it."""
    process = subprocess.Popen(
        [sys.executable, "-m", __name__, str(folder)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=log,
        start_new_session=True,
        preexec_fn=ends_with_this_process(signal.SIGTERM),  # noqa: PLW1509 - only system calls
    )
    try:
        yield process
    finally:
        if process.poll() is None:
            process.terminate()
            with suppress(subprocess.TimeoutExpired):
                process.wait(_ENDS_WITHIN)
            process.kill()
            process.wait()


class _StoppedError(BaseException):
    """SIGTERM, which ends the compilers."""


def _stop(number: int, frame: FrameType | None) -> None:
    del number, frame
    raise _StoppedError


def main() -> int:
    """Compile what a directory has the sources of; return the exit code."""
    signal.signal(signal.SIGTERM, _stop)
    folder = Path(sys.argv[1])
    try:
        assignment = msgspec.json.decode((folder / _ASSIGNMENT).read_bytes(), type=Assignment)
        build = assignment.compile(folder / _SOURCES, lambda _: None)
        made = build.root.parent.relative_to(cache_root())
        (folder / _FOLDER).write_text(str(made), encoding="utf-8")
    except (OSError, SlowdustError) as error:
        print(error, file=sys.stderr)
        return 1
    except _StoppedError:
        # A compiler driver that was killed leaves the compiler itself, in this session.
        os.killpg(os.getpid(), signal.SIGKILL)
    return 0


if __name__ == "__main__":
    sys.exit(main())
