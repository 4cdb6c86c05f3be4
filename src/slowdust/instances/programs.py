"""Programs of a build, run by an instance's account in its data directory."""

from __future__ import annotations

import os
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO

from slowdust.accounts import BASE_ENVIRONMENT
from slowdust.dbms.site import Site
from slowdust.errors import SlowdustError
from slowdust.instances.rundir import RunDirectory

_LONGEST_TAIL = 1 << 22
"""Bytes at the end of a log that are read: a server may write as many as it likes."""
_SHELLS_SIGNALS = 128
"""What a shell adds to the signal that ended a program for its own exit code."""
LOG_TAIL_LINES = 10
"""Lines of a log that an error shows."""
_LIMIT_S = 300.0


class ServerLog:
    """The file to which a server writes in all its starts."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._offset = 0

    @contextmanager
    def begin(self) -> Iterator[IO[bytes]]:
        with self.path.open("ab") as file:
            self._offset = file.tell()
            yield file

    def tail(self, lines: int) -> list[str]:
        try:
            with self.path.open("rb") as file:
                end = file.seek(0, os.SEEK_END)
                file.seek(max(self._offset, end - _LONGEST_TAIL))
                return file.read(_LONGEST_TAIL).decode(errors="replace").splitlines()[-lines:]
        except FileNotFoundError:
            return []


@dataclass(frozen=True)
class Ending:
    """The end of a server's process, in words."""

    words: str
    was_killed: bool

    def because(self, cause: str) -> Ending:
        return replace(self, words=f"{self.words}, since {cause}")

    def beside(self, reason: str | None) -> str:
        """Return the end with what the log says of it."""
        if reason is None:
            return self.words
        # Whoever is killed does not log why: what the log has is what others saw of it.
        return f"{self.words} ({reason})" if self.was_killed else f"{reason} ({self.words})"


def ending_of(code: int) -> Ending:
    """Return the end of a process, or of what its shell started, with this exit code."""
    number = -code if code < 0 else code - _SHELLS_SIGNALS
    if number > 0:
        return Ending(f"killed by signal {number}", was_killed=True)
    return Ending(f"exit code {code}", was_killed=False)


class InstanceError(SlowdustError):
    """A server that could not be created, started, kept alive or stopped."""


@dataclass(frozen=True)
class Programs:
    """Runs the programs of one instance."""

    name: str
    """The contender's name, for errors."""
    run: RunDirectory
    site: Site
    creation_log: Path

    def run_to_end(self, command: Sequence[str | Path], stdin: Path | None = None) -> str:
        """Run a program that makes the data directory; return what it printed.

        Raises InstanceError, with the end of its output, when it fails.
        """
        self.run.record_program(Path(command[0]))
        with self.creation_log.open("a+b") as log, Path(stdin or os.devnull).open("rb") as source:
            process = self.spawn(command, log.fileno(), {}, source.fileno())
            try:
                code = process.wait(_LIMIT_S)
            except BaseException:
                os.killpg(process.pid, signal.SIGKILL)  # its own group, see spawn
                process.wait()
                raise
            log.seek(0)
            output = log.read().decode(errors="replace")
        if code != 0:
            raise self._creation_error(code, output)
        return output

    def spawn(
        self,
        command: Sequence[str | Path],
        output: int,
        variables: Mapping[str, str],
        source: int = subprocess.DEVNULL,
    ) -> subprocess.Popen[bytes]:
        """Start a program with these descriptors and more variables.

        Raises InstanceError when it cannot be run.
        """
        try:
            process = subprocess.Popen(
                [str(part) for part in command],
                stdin=source,
                stdout=output,
                stderr=output,
                cwd=self.site.data_dir,
                env={**BASE_ENVIRONMENT, **variables},
                # Ctrl-C in the terminal is meant for Slowdust, which then stops its servers.
                start_new_session=True,
                **self.site.account.identity(),
            )
        except OSError as error:
            raise InstanceError(f"{self.name}: cannot run {command[0]}: {error}") from error
        self.run.record_session(process.pid)
        return process

    def _creation_error(self, code: int, output: str) -> InstanceError:
        lines = [line for line in output.splitlines() if line.strip()][-LOG_TAIL_LINES:]
        tail = "".join(f"\n  | {line}" for line in lines)
        return InstanceError(
            f"{self.name}: its data directory cannot be created (exit code {code}){tail}"
        )
