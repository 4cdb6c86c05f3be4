"""The log of a server, and why it ended."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import IO

_LONGEST_TAIL = 1 << 22
"""Bytes at the end of a log that are read: a server may write as many as it likes."""
_SHELLS_SIGNALS = 128
"""What a shell adds to the signal that ended a program for its own exit code."""


class ServerLog:
    """The file to which a server writes in all its starts."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._offset = 0

    @contextmanager
    def begin(self) -> Iterator[IO[bytes]]:
        """Open the file for another start of the server."""
        with self.path.open("ab") as file:
            self._offset = file.tell()
            yield file

    def tail(self, lines: int) -> list[str]:
        """Return the last lines since the last start."""
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
        """Return the end with its cause."""
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
