"""A server under valgrind's callgrind, which counts its instructions between two commands.

A small library (`count.c`), preloaded into the server, executes commands when the thread that
serves the client is about to read its next message. It shares a mapped file with Slowdust. A
command that ends a window makes callgrind write that thread's events.
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
"""Number of the newest command, its kind, number of the last executed one, its process, and the
thread that the newest one is for."""
_KIND, _THREAD = 8, 32
"""Offsets of the newest command's kind and thread."""
_START, _DUMP, _STOP, _START_AT_ONCE, _FINISH = 1, 2, 3, 4, 5
ANY_THREAD = 0
"""The first thread that reads from a client."""
ANSWER_LIMIT: Second = 60.0
_POLL: Second = 0.001
_MARK = "slowdust_order"
"""A function of the library; only the thread that serves the client has called it."""
_TRIGGER = "Trigger: Client Request: slowdust"
_OPTIONS = (
    "--tool=callgrind",
    "--instr-atstart=no",  # starting a server costs more than the counted operations
    "--separate-threads=yes",
    "--dump-line=no",
    "--collect-systime=yes",  # also counts system calls
)
SIMULATION = ("--cache-sim=yes", "--branch-sim=yes")
"""Options that simulate branch prediction and this machine's caches."""
_HEADER_BYTES = 8192
_MOST_BYTES = 1 << 30
"""Maximum number of bytes of callgrind's output for a thread that are read."""
_LAUNCHING = re.compile(r"launching (/\S+)")


class CallgrindError(SlowdustError):
    """A server under callgrind did not execute a command."""


class Callgrind:
    """Callgrind for one server: the command line that starts it, and the commands to it."""

    def __init__(
        self,
        directory: Path,
        account: Account,
        *,
        follow_children: bool,
        options: Sequence[str],
        check_alive: Callable[[], None],
    ) -> None:
        """Create the directory, with a folder that only the account can write to.

        `follow_children` is for servers with one process per session; `options` are additional
        options of callgrind; `check_alive` raises InstanceError if the server has exited. Raises
        SlowdustError if valgrind is missing or the library cannot be compiled, and OSError if the
        directory cannot be created.
        """
        self._library = compiled("count", "counting by valgrind")
        self._launcher = _launcher()
        command = [self._launcher, "-d", "--tool=callgrind", "--version"]
        done = subprocess.run(
            command, capture_output=True, encoding="utf-8", errors="replace", check=False
        )
        match = _LAUNCHING.search(done.stderr)
        if match is None:
            raise CallgrindError("valgrind does not report which program it runs")
        self.program = Path(match[1])
        """The executable of the server's processes: callgrind itself."""
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
        """Start counting after `operation`, which the server's client executes.

        `thread` is the server's thread or process that serves the client, needed if there are
        others. Raises CallgrindError if the server does not execute the command, and InstanceError
        if it has exited.
        """
        self._order(_START, operation, thread)

    def start_before(self, operation: Callable[[], object], thread: int) -> None:
        """Start counting before `operation`, as soon as its first message has arrived.

        Raises the same errors as `start`.
        """
        self._order(_START_AT_ONCE, operation, thread)

    def stop(self, operation: Callable[[], object], thread: int = ANY_THREAD) -> None:
        """Stop counting after `operation`: the server becomes many times faster.

        Raises CallgrindError if the server does not execute the command, and InstanceError if it
        has exited.
        """
        self._order(_STOP, operation, thread)

    def dump(self, operation: Callable[[], object], thread: int = ANY_THREAD) -> str:
        """Return callgrind's output since the last command, up to the end of `operation`.

        It has the events of the thread or process that serves the client. Raises CallgrindError if
        the server does not execute the command, or if that thread is unknown, and InstanceError if
        the server has exited.
        """
        return self._read(self._order(_DUMP, operation, thread))

    def finish(self, close: Callable[[], object], thread: int) -> str:
        """Return callgrind's output up to the end of the connection that `close` closes.

        Counting stops then. Raises the same errors as `dump`.
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
        """Send a command, run the operation after which it is executed; return the process."""
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
    """Return why a running server does not execute a command; `acknowledged` commands it did."""
    if acknowledged == 0:
        return (
            "the server under valgrind executes no commands: it does not read its messages with "
            "recv"
        )
    return (
        f"the server under valgrind executed no command for {ANSWER_LIMIT:.0f} s, after "
        f"{acknowledged} earlier ones: it hangs, or the machine is too busy"
    )


def _launcher() -> str:
    path = shutil.which("valgrind")
    if path is None:
        raise CallgrindError("valgrind is not installed")
    return path
