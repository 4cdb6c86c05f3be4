"""A server's log, the words for its end, and its certificate."""

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
"""Bytes at the end of a log that are read: a server may write as many as it likes."""
_SHELLS_SIGNALS = 128
"""What a shell adds to the signal that ended a program for its own exit code."""
LOG_TAIL_LINES = 10


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
