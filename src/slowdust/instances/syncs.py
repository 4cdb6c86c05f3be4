"""The calls by which a server waits until data are on disk, counted and timed in the server.

A library (`syncs.c`) that is preloaded into it takes the place of fsync, fdatasync and
sync_file_range. It and Slowdust share a mapped file, in which it adds up the calls of all threads
and processes of the server. It can also make each call longer by a known time: by the variable
`SYNC_DELAY` of a contender's environment, in microseconds.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping
from pathlib import Path

from slowdust.accounts import Account
from slowdust.dbms.environment import preloading
from slowdust.instances.preloads import compiled
from slowdust.store.waits import Syncs

_VARIABLE = "SLOWDUST_SYNCS"
"""The variable that names the shared file."""
_CALLS = ("fsync", "fdatasync", "sync_file_range")
_WORD = 8
_LINE_WORDS = 8
_BYTES = _WORD * _LINE_WORDS * (1 + len(_CALLS))


def sync_library() -> Path:
    """Return the library, compiled into the cache if it is not there yet.

    Raises:
        SlowdustError: there is no C compiler, or it fails.
    """
    return compiled("syncs", "timing of fsync")


class SyncFile:
    """The file that a server's library and Slowdust share."""

    def __init__(self, library: Path, path: Path, account: Account) -> None:
        self._library = library
        self._path = path
        account.make_file(path, bytes(_BYTES))

    def variables(self, variables: Mapping[str, str]) -> dict[str, str]:
        """Return the variables of a server's environment, with the library and the file."""
        return preloading(variables, self._library) | {_VARIABLE: str(self._path)}

    @property
    def attached(self) -> int:
        """The processes with the library that have mapped the file so far.

        Raises:
            OSError: it can no longer be read.
        """
        return self._words()[0]

    def totals(self) -> dict[str, Syncs]:
        """Return call -> all calls so far, with the time that they took.

        Raises:
            OSError: they can no longer be read.
        """
        words = self._words()[_LINE_WORDS:]
        return {
            call: Syncs(calls=words[at], us=words[at + 1] / 1e3)
            for at, call in zip(range(0, len(words), _LINE_WORDS), _CALLS, strict=True)
        }

    def _words(self) -> tuple[int, ...]:
        with self._path.open("rb") as file:
            content = file.read(_BYTES)  # the server's account may have made it longer
        if len(content) < _BYTES:
            raise OSError(0, f"{self._path} has become shorter")
        return struct.unpack(f"={_BYTES // _WORD}Q", content)
