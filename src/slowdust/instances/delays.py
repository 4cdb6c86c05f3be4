"""A known delay before each reply of a server, by a library that is preloaded into it.

The library (`delay.c`) is compiled when it is first needed, and kept in the cache. It and Slowdust
share a mapped file: Slowdust writes the delay into it, the library adds up the sends and the time
that it really waited.
"""

from __future__ import annotations

import os
import struct
from pathlib import Path
from typing import NamedTuple

from slowdust.accounts import Account
from slowdust.instances.preloads import compiled

_VARIABLE = "SLOWDUST_DELAY"
"""The variable of the server's environment that names the shared file."""
_WORD = 8
_SLOTS = 64
_SLOT_WORDS = 8
_HEADER_WORDS = 8
_BYTES = _WORD * (_HEADER_WORDS + _SLOTS * _SLOT_WORDS)
_DELAY, _ATTACHED = 0, 1
"""Places of words in the header, as in `delay.c`."""


class DelayTotals(NamedTuple):
    """Sends of a server to its clients since its data directory was made."""

    delay_ns: int
    """The delay before each send now."""
    sends: int
    waited_ns: int
    """The time that all sends really waited, by the clock."""


def delay_library() -> Path:
    """Return the library, compiled into the cache if it is not there yet.

    Raises:
        SlowdustError: there is no C compiler, or it fails.
    """
    return compiled("delay", "a calibration")


class DelayFile:
    """The file that a server's library and Slowdust share."""

    def __init__(self, library: Path, path: Path, account: Account) -> None:
        self.library = library
        self._path = path
        account.make_file(path, bytes(_BYTES))
        # Not mapped here: if the server's account made the file shorter, that would be fatal.
        self._file = path.open("r+b", buffering=0)

    @property
    def variables(self) -> dict[str, str]:
        """The variable of the server's environment by which the library finds the file."""
        return {_VARIABLE: str(self._path)}

    @property
    def attached(self) -> int:
        """The processes with the library that have mapped the file so far.

        Raises:
            OSError: it can no longer be read.
        """
        return self._words()[_ATTACHED]

    def set(self, delay_ns: int) -> None:
        """Set the delay before each send from now on. Raises OSError if it cannot be written."""
        os.pwrite(self._file.fileno(), struct.pack("=Q", delay_ns), _WORD * _DELAY)

    def totals(self) -> DelayTotals:
        """Return the totals so far; exact while the server is at rest.

        Raises:
            OSError: they can no longer be read.
        """
        words = self._words()
        slots = words[_HEADER_WORDS:]
        return DelayTotals(words[_DELAY], sum(slots[::_SLOT_WORDS]), sum(slots[1::_SLOT_WORDS]))

    def _words(self) -> tuple[int, ...]:
        content = os.pread(self._file.fileno(), _BYTES, 0)
        if len(content) < _BYTES:
            raise OSError(0, f"{self._path} has become shorter")
        return struct.unpack(f"={_BYTES // _WORD}Q", content)
