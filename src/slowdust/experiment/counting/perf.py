"""A process of perf that counts, or takes samples, in one window only.

perf opens its counters before the window and leaves them switched off; orders to switch them on
and off again go through a pipe, and perf acknowledges each of them (`--control`, perf-stat(1)).
"""

from __future__ import annotations

import contextlib
import os
import select
import subprocess
import time
from collections.abc import Iterator, Sequence

import psutil

from slowdust.accounts import BASE_ENVIRONMENT
from slowdust.errors import SlowdustError
from slowdust.units import Second

_ACKNOWLEDGED = b"ack\n"
_UNTIL_THE_END = ("--", "cat")
"""The command that perf runs beside what it observes. It ends when its input closes, also where
Slowdust was killed, and perf ends with it."""
_ANSWER_LIMIT: Second = 30.0
_END_LIMIT: Second = 60.0


class PerfError(SlowdustError):
    """A failure of perf: what it said."""


def processes_of(pid: int) -> list[psutil.Process]:
    """Return a process and all below it.

    Raises:
        PerfError: there is no such process.
    """
    try:
        main = psutil.Process(pid)
        return [main, *main.children(recursive=True)]
    except psutil.Error as error:
        raise PerfError(f"the server cannot be observed: {error}") from None


def threads_of(pid: int) -> list[int]:
    """Return the threads of a process and of all below it; raise PerfError if it has ended."""
    threads: list[int] = []
    for process in processes_of(pid):
        with contextlib.suppress(psutil.Error):  # it has ended meanwhile
            threads += [thread.id for thread in process.threads()]
    return threads


class PerfWindow:
    """A process of perf with all that it counts switched off; use as a context manager."""

    def __init__(self, tool: Sequence[str]) -> None:
        """Start `perf TOOL...`; the tool's options say what is observed."""
        orders, self._orders = os.pipe()
        self._answers, answers = os.pipe()
        self._process = subprocess.Popen(
            ["perf", *tool, "-D", "-1", "--control", f"fd:{orders},{answers}", *_UNTIL_THE_END],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            env={**os.environ, **BASE_ENVIRONMENT, "PATH": os.environ.get("PATH", os.defpath)},
            pass_fds=(orders, answers),
            # Ctrl-C in the terminal is meant for Slowdust, which then ends perf.
            start_new_session=True,
        )
        os.close(orders)
        os.close(answers)

    def __enter__(self) -> PerfWindow:
        return self

    def __exit__(self, *error: object) -> None:
        if self._process.poll() is None:
            self._process.kill()
            self._process.wait()
        assert self._process.stdin is not None
        assert self._process.stderr is not None
        self._process.stdin.close()
        self._process.stderr.close()
        os.close(self._orders)
        os.close(self._answers)

    @property
    def pid(self) -> int:
        return self._process.pid

    def open(self) -> None:
        """Begin to count; all counters run when this returns.

        Raises:
            PerfError: perf cannot observe that, or does not answer.
        """
        self._order(b"enable\n")

    def close(self) -> None:
        """Stop counting; no counter runs when this returns.

        Raises:
            PerfError: perf has ended, or does not answer.
        """
        self._order(b"disable\n")

    def end(self) -> str:
        """Let perf write its results; return the text that it printed.

        Raises:
            PerfError: it does not end.
        """
        try:
            _, printed = self._process.communicate(timeout=_END_LIMIT)  # closes the input
        except subprocess.TimeoutExpired:
            raise PerfError("perf does not end") from None
        return str(printed.decode(errors="replace"))

    def _order(self, order: bytes) -> None:
        try:
            os.write(self._orders, order)
        except BrokenPipeError:
            raise self._ended() from None
        answer = b""
        deadline = time.monotonic() + _ANSWER_LIMIT
        while _ACKNOWLEDGED not in answer:
            ready, _, _ = select.select(
                [self._answers], [], [], max(0, deadline - time.monotonic())
            )
            if not ready:
                raise PerfError("perf does not answer")
            part = os.read(self._answers, 64)
            if not part:
                raise self._ended()
            answer += part

    def _ended(self) -> PerfError:
        _, printed = self._process.communicate()
        text = " ".join(printed.decode(errors="replace").split())
        return PerfError(f"perf has ended: {text or f'exit code {self._process.returncode}'}")


@contextlib.contextmanager
def counting(*windows: PerfWindow) -> Iterator[None]:
    """Let all windows count while the body runs, and not a moment longer."""
    for window in windows:
        window.open()
    yield
    for window in windows:
        window.close()
