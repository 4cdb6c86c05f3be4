"""A server's log, the description of its exit, and its certificate."""

from __future__ import annotations

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from slowdust.dbms.family import Site
from slowdust.errors import SlowdustError

_LONGEST_TAIL = 1 << 22
"""Maximum number of bytes at the end of a log that are read: a server may write any amount."""
_SHELLS_SIGNALS = 128
"""A shell's exit code for a killed program is this plus the signal."""
LOG_TAIL_LINES = 10


class ServerLog:
    """The log file of all starts of a server."""

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


def describe_exit(code: int, cause: str | None, logged: str | None) -> str:
    """Describe how a process (or its shell's child) exited, with the cause and its log's error."""
    signal_number = -code if code < 0 else code - _SHELLS_SIGNALS
    was_killed = signal_number > 0
    words = f"killed by signal {signal_number}" if was_killed else f"exit code {code}"
    if cause is not None:
        words = f"{words}: {cause}"
    if logged is None:
        return words
    # A killed process does not log the reason; the log may have another process's view of it.
    return f"{words} ({logged})" if was_killed else f"{logged} ({words})"


class InstanceError(SlowdustError):
    """A server could not be created, started, kept running or stopped."""


_PROGRAM = "openssl"
_REQUEST = (
    *(_PROGRAM, "req", "-x509", "-subj", "/CN=127.0.0.1", "-days", "3650"),
    # The kind that servers create for themselves; every version can read it.
    *("-newkey", "rsa:2048", "-nodes", "-keyout", "-", "-out", "-"),
)
_TIMEOUT_S = 60.0


def why_no_certificate() -> str | None:
    """Return what this machine lacks to create a certificate; None if nothing."""
    if shutil.which(_PROGRAM):
        return None
    return f"the program {_PROGRAM}, which creates the server's certificate, is not installed"


def make_certificate(site: Site) -> None:
    """Create the certificate and key of a server; only its account can read them.

    Raises SlowdustError if the program fails, and OSError if a file cannot be written.
    """
    try:
        done = subprocess.run(_REQUEST, capture_output=True, check=True, timeout=_TIMEOUT_S)
    except (OSError, subprocess.SubprocessError) as error:
        raise SlowdustError(f"cannot create a certificate: {error}") from error
    key, begin, certificate = done.stdout.partition(b"-----BEGIN CERTIFICATE-----")
    site.account.make_file(site.key, key)
    site.account.make_file(site.certificate, begin + certificate)
