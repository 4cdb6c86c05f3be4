"""How long a server is waited for before its test, or its contender, counts as failed."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from slowdust.experiment.driver import protocol
from slowdust.units import Second, format_duration
from slowdust.wording import cut

LEAST: Second = 60.0
"""The time that an operation of a test may take, whatever the budget."""
_MAINTENANCE: Second = 3600.0
_SLOWEST_ROWS = 2000
"""Rows/s that maintenance, or the making of an index, goes through at the least."""
_QUIET: Second = 5.0
"""Time after which the user is told what is waited for."""
_SHOWN = 60
"""Characters of a statement that are shown."""

Waiting = Callable[[str, Second], None]
"""Is told what is waited for, and for how long it has been: `View.waiting`."""


@dataclass(frozen=True)
class Patience:
    """The longest waits for an answer of a server.

    A server of others has 10 s for its first answers, which the driver knows.
    """

    operation: Second = LEAST
    """The longest wait for an operation of a test, and for a question."""
    given: Second | None = None
    """The one that the user gave, for whatever is asked.

    None: loading and maintenance have an hour, and more for many rows.
    """

    @classmethod
    def of(cls, budget: Second, given: Second | None) -> Patience:
        return cls(given or max(LEAST, budget), given)

    def maintenance(self, rows: int = 0) -> Second:
        """Return the longest wait for one statement of maintenance about so many rows."""
        return self.given or max(_MAINTENANCE, rows / _SLOWEST_ROWS)


class Waits:
    """Tells what a command waits for, once it takes longer than it is expected to."""

    def __init__(self, waiting: Waiting | None) -> None:
        self._waiting = waiting
        self.subject = "the server"
        """What the commands are about: a contender, or a test on one."""

    def tell(self, command: protocol.Command, so_far: Second) -> None:
        """Tell what a command waits for that has had no answer for so long."""
        if self._waiting is None or so_far - _expected(command) <= _QUIET:
            return
        limit = _limit(command)
        at_most = "" if limit is None else f", at most {format_duration(limit)}"
        self._waiting(f"{self.subject}: waiting for {_awaited(command)}{at_most}", so_far)


def _expected(command: protocol.Command) -> Second:
    """Return the time that a command takes by itself."""
    if isinstance(command, protocol.Run):
        return command.stop.seconds or 0.0
    if isinstance(command, protocol.Sample | protocol.Fetch):
        return command.seconds
    return 0.0


def _limit(command: protocol.Command) -> Second | None:
    """Return the longest wait for one answer, where the command has one."""
    if isinstance(command, protocol.Run | protocol.Perform):
        return command.patience
    if isinstance(command, protocol.Explain | protocol.Close | protocol.Fetch):
        return None
    return command.target.patience


def _awaited(command: protocol.Command) -> str:
    if isinstance(command, protocol.Run):
        return "an operation to end"
    if isinstance(command, protocol.Sql):
        statement = " ".join(command.statements[0].split())
        alone = len(command.statements) == 1
        return cut(statement, _SHOWN) if alone else f"{len(command.statements)} statements"
    if isinstance(command, protocol.Load):
        return "its tables to be loaded"
    if isinstance(command, protocol.Perform):
        return "progress"
    if isinstance(command, protocol.Open | protocol.Prepare):
        return "its connections and prepared statements"
    return "an answer"
