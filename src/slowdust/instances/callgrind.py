"""A server under valgrind's callgrind, which counts its instructions between two orders.

A small library (`count.c`), preloaded into the server, carries out orders at the moment when the
thread that serves the client is about to read its next message. It and Slowdust share a mapped
file. An order that ends a window makes callgrind write what that thread did in it.
"""

from __future__ import annotations

import os
import re
import shutil
import struct
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path

from slowdust.accounts import Account
from slowdust.dbms.environment import preloading
from slowdust.directories import AccountDirectory
from slowdust.errors import SlowdustError
from slowdust.instances.preloads import compiled
from slowdust.units import Second

_VARIABLE = "SLOWDUST_COUNT"
_ORDERS = struct.Struct("=5Q")
"""Number of the newest order, its kind, number of the last one carried out, its process, and the
thread that the newest one is for."""
_KIND, _THREAD = 8, 32
"""Offsets of the newest order's kind and thread."""
_START, _DUMP, _STOP, _START_AT_ONCE, _FINISH = 1, 2, 3, 4, 5
ANY_THREAD = 0
"""Whichever thread reads first from a client."""
ANSWER_LIMIT: Second = 60.0
_POLL: Second = 0.001
_MARK = "slowdust_order"
"""The function of the library that the thread which serves the client has called."""
_TRIGGER = "Trigger: Client Request: slowdust"
_OPTIONS = (
    "--tool=callgrind",
    "--instr-atstart=no",  # starting a server costs more than what is counted
    "--separate-threads=yes",
    "--dump-line=no",
    "--collect-systime=yes",  # counts system calls, too
)
SIMULATION = ("--cache-sim=yes", "--branch-sim=yes")
"""Options by which callgrind simulates caches, those of this machine, and branch prediction."""
_HEADER_BYTES = 8192
_MOST_BYTES = 1 << 30
"""Bytes of what callgrind wrote of a thread that are read."""
_LAUNCHING = re.compile(r"launching (/\S+)")


class CallgrindError(SlowdustError):
    """A server under callgrind that did not carry out an order."""


class Callgrind:
    """The instrument of one server: the command that starts it, and the orders to it."""

    def __init__(
        self,
        directory: Path,
        account: Account,
        *,
        follow_children: bool,
        options: Sequence[str],
        check_alive: Callable[[], None],
    ) -> None:
        """Make the directory, in which the account writes and nobody else.

        `follow_children` is for servers whose sessions are processes of their own; `options` are
        more of callgrind's; `check_alive` raises InstanceError when the server has ended. Raises
        SlowdustError if valgrind is missing, or the library cannot be compiled and OSError if the
        directory cannot be made.
        """
        self._library = compiled("count", "counting by valgrind")
        self._launcher = _launcher()
        command = [self._launcher, "-d", "--tool=callgrind", "--version"]
        done = subprocess.run(
            command, capture_output=True, encoding="utf-8", errors="replace", check=False
        )
        match = _LAUNCHING.search(done.stderr)
        if match is None:
            raise CallgrindError("valgrind does not show which program it runs")
        self.program = Path(match[1])
        """The program that the server's processes are: callgrind itself."""
        self._output = directory / "output"
        self._file = directory / "orders"
        shutil.rmtree(directory, ignore_errors=True)
        directory.mkdir()
        directory.chmod(0o711)
        account.make_directory(self._output)
        account.make_file(self._file, bytes(_ORDERS.size))
        self._shared = self._file.open("r+b", buffering=0)
        self._account = account
        self._children = follow_children
        self._options = options
        self._check_alive = check_alive
        self._last = 0

    def command(self, server: Sequence[str]) -> list[str]:
        trace = f"--trace-children={'yes' if self._children else 'no'}"
        output = f"--callgrind-out-file={self._output}/%p"
        log = f"--log-file={self._output}/log.%p"
        return [self._launcher, *_OPTIONS, *self._options, trace, output, log, *server]

    def variables(self, server: Mapping[str, str]) -> dict[str, str]:
        return preloading(server, self._library) | {_VARIABLE: str(self._file)}

    def start(self, operation: Callable[[], object], thread: int = ANY_THREAD) -> None:
        """Begin to count behind `operation`, which the server's client carries out.

        `thread` is the server's thread, or process, that serves the client, where there are others.
        Raises CallgrindError if the server does not carry out the order and InstanceError if it has
        ended.
        """
        self._order(_START, operation, thread)

    def start_before(self, operation: Callable[[], object], thread: int) -> None:
        """Begin to count before `operation`, when its first message has arrived.

        Raises as `start`.
        """
        self._order(_START_AT_ONCE, operation, thread)

    def stop(self, operation: Callable[[], object], thread: int = ANY_THREAD) -> None:
        """Count no longer behind `operation`: the server is many times as fast again.

        Raises CallgrindError if the server does not carry out the order and InstanceError if it has
        ended.
        """
        self._order(_STOP, operation, thread)

    def dump(self, operation: Callable[[], object], thread: int = ANY_THREAD) -> str:
        """Return what callgrind wrote since the last order, up to the end of `operation`.

        It is about the thread, or the process, that serves the client. Raises CallgrindError if the
        server does not carry out the order, or it is not clear which of its threads serves the
        client and InstanceError if it has ended.
        """
        return self._read(self._order(_DUMP, operation, thread))

    def finish(self, close: Callable[[], object], thread: int) -> str:
        """Return what callgrind wrote up to the end of the connection that `close` closes.

        It counts no longer behind that. Raises as `dump`.
        """
        return self._read(self._order(_FINISH, close, thread))

    def _read(self, process: int) -> str:
        texts = [text for text in self._texts(process) if _TRIGGER in text[:_HEADER_BYTES]]
        own = [text for text in texts if _MARK in text]
        if len(own) != 1:
            raise CallgrindError(f"{len(own)} threads of the server serve the client")
        return own[0]

    def close(self) -> None:
        self._shared.close()

    def _order(self, kind: int, operation: Callable[[], object], thread: int) -> int:
        """Give an order, carry out the operation behind which it is seen; return the process."""
        with AccountDirectory.opened(self._output, self._account) as output:
            for name in _counts(output):
                output.unlink(name)
        self._last += 1
        descriptor = self._shared.fileno()
        os.pwrite(descriptor, struct.pack("=Q", kind), _KIND)
        os.pwrite(descriptor, struct.pack("=Q", thread), _THREAD)
        os.pwrite(descriptor, struct.pack("=Q", self._last), 0)
        operation()
        deadline = time.monotonic() + ANSWER_LIMIT
        acknowledged = 0
        while True:
            content = os.pread(descriptor, _ORDERS.size, 0)
            if len(content) == _ORDERS.size:
                _, _, acknowledged, process, _ = _ORDERS.unpack(content)
                if acknowledged == self._last:
                    return int(process)
            self._check_alive()
            if time.monotonic() > deadline:
                raise CallgrindError(_silence(acknowledged))
            time.sleep(_POLL)

    def _texts(self, process: int) -> Iterator[str]:
        with AccountDirectory.opened(self._output, self._account) as output:
            for name in _counts(output):
                if name.partition(".")[0] == str(process):
                    yield output.read(name, _MOST_BYTES).decode(errors="replace")


def _counts(output: AccountDirectory) -> list[str]:
    return [name for name in output.names() if not name.startswith("log.")]


def _silence(acknowledged: int) -> str:
    """Return why a server that runs does not carry out an order, after so many that it did."""
    if acknowledged == 0:
        return (
            "the server under valgrind takes no orders: it reads its messages by another function "
            "than recv"
        )
    return (
        f"the server under valgrind carried out no order for {ANSWER_LIMIT:.0f} s, after "
        f"{acknowledged} that it carried out: it hangs, or the machine is too busy"
    )


def _launcher() -> str:
    path = shutil.which("valgrind")
    if path is None:
        raise CallgrindError("valgrind is not installed")
    return path
