"""Programs that an instance's account runs, the server's log, and its certificate."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from slowdust.accounts import BASE_ENVIRONMENT
from slowdust.dbms.family import Site
from slowdust.errors import SlowdustError
from slowdust.instances.rundir import RunDirectory

_LONGEST_TAIL = 1 << 22
"""Bytes at the end of a log that are read: a server may write as many as it likes."""
_SHELLS_SIGNALS = 128
"""What a shell adds to the signal that ended a program for its own exit code."""
LOG_TAIL_LINES = 10
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


def why_it_ended(code: int, cause: str | None, logged: str | None) -> str:
    """Say how a process, or what its shell started, ended, and what its log says of it."""
    signal_number = -code if code < 0 else code - _SHELLS_SIGNALS
    was_killed = signal_number > 0
    words = f"killed by signal {signal_number}" if was_killed else f"exit code {code}"
    if cause is not None:
        words = f"{words}, since {cause}"
    if logged is None:
        return words
    # Whoever is killed does not log why: what the log has is what others saw of it.
    return f"{words} ({logged})" if was_killed else f"{logged} ({words})"


class InstanceError(SlowdustError):
    """A server that could not be created, started, kept alive or stopped."""


@dataclass(frozen=True)
class Programs:
    """Runs the programs of one instance."""

    name: str
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
            lines = [line for line in output.splitlines() if line.strip()][-LOG_TAIL_LINES:]
            tail = "".join(f"\n  | {line}" for line in lines)
            raise InstanceError(
                f"{self.name}: its data directory cannot be created (exit code {code}){tail}"
            )
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


_PROGRAM = "openssl"
_REQUEST = (
    *(_PROGRAM, "req", "-x509", "-subj", "/CN=127.0.0.1", "-days", "3650"),
    # The kind of those that servers make for themselves, and which every version can read.
    *("-newkey", "rsa:2048", "-nodes", "-keyout", "-", "-out", "-"),
)
_TIMEOUT_S = 60.0


def why_no_certificate() -> str | None:
    """Say what this machine lacks to make a certificate; None where it lacks nothing."""
    if shutil.which(_PROGRAM):
        return None
    return f"the program {_PROGRAM}, which makes the server's certificate, is not installed"


def make_certificate(site: Site) -> None:
    """Make the files of a site's certificate and key, which its account alone can read.

    Raises SlowdustError if the program fails and OSError if a file cannot be written.
    """
    try:
        done = subprocess.run(_REQUEST, capture_output=True, check=True, timeout=_TIMEOUT_S)
    except (OSError, subprocess.SubprocessError) as error:
        raise SlowdustError(f"no certificate can be made: {error}") from error
    key, begin, certificate = done.stdout.partition(b"-----BEGIN CERTIFICATE-----")
    site.account.make_file(site.key, key)
    site.account.make_file(site.certificate, begin + certificate)
