"""Builds that may be needed next, made in the background while others are measured."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

from slowdust.accounts import ends_with_this_process
from slowdust.units import Second

_LEAST_PRIORITY = 19
_END_WITHIN: Second = 20.0
"""Time in which the program ends its compilers and leaves."""


class BuildsAhead:
    """Makes builds by `slowdust builds get`, a program of its own with the least priority.

    A build that fails is no error here: it is made again when it is needed, and fails then.
    """

    def __init__(self, log: Path) -> None:
        self._log = log
        self._process: subprocess.Popen[bytes] | None = None

    def build(self, contenders: Sequence[str], repository: str | None) -> None:
        """Begin to make the builds of contenders; nothing while earlier ones are being made."""
        if not contenders or (self._process is not None and self._process.poll() is None):
            return
        where = [] if repository is None else ["--repo", repository]
        command = [sys.executable, "-m", "slowdust", "builds", "get", *where]
        with self._log.open("ab") as log:
            self._process = subprocess.Popen(
                [*command, *contenders],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,  # Ctrl-C is for the search, which ends it
                preexec_fn=_with_least_priority(),  # noqa: PLW1509 - only system calls
            )

    def close(self) -> None:
        """End what is being made."""
        if self._process is None:
            return
        self._process.terminate()
        with suppress(subprocess.TimeoutExpired):
            self._process.wait(_END_WITHIN)
        with suppress(ProcessLookupError):
            os.killpg(self._process.pid, signal.SIGKILL)  # with its compilers
        self._process.wait()


def _with_least_priority() -> Callable[[], None]:
    end_with_parent = ends_with_this_process(signal.SIGTERM)

    def begin() -> None:
        os.nice(_LEAST_PRIORITY)
        end_with_parent()

    return begin
