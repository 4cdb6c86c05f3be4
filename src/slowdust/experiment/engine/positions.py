"""The positions of the contenders in a step's sequence of operations."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Collection, Sequence
from contextlib import AbstractContextManager

from slowdust.experiment.contender import RunningContender
from slowdust.experiment.driver.protocol import BackgroundRan, Ran, Stop
from slowdust.units import Second

LEAD = 10
"""How many times as many writes as the slowest a contender may do in a run.

The slowest has to do them all, so that its data ages alike. A contender that scans a table while
the others use an index would otherwise take hours for the operations that they do in a second.
"""

_RUNS_OF_SPEED = 2
"""A contender's speed is the faster one of its last runs: it may have stalled in the last one, and
its first one is not representative, since MariaDB 10.11 may execute a prepared DELETE by an index
once and by scans later."""


class Positions:
    """The operations that each contender's clients have done since the sessions were opened."""

    def __init__(self) -> None:
        self._done: dict[str, list[int]] = {}
        self._skipped: dict[str, int] = {}
        """Contender -> operations skipped by jumps to other positions."""
        self._speeds: dict[str, deque[float]] = {}
        """Contender -> operations per second and client, in each of its last runs."""

    def note(self, name: str, ran: Ran | BackgroundRan) -> None:
        self._done[name] = ran.positions
        if ran.operations and ran.seconds:
            speeds = self._speeds.setdefault(name, deque(maxlen=_RUNS_OF_SPEED))
            speeds.append(ran.operations / ran.seconds / len(ran.positions))

    def go_to(self, name: str, positions: Sequence[int]) -> None:
        """Record that a contender's next run begins at other positions than the current ones."""
        skipped = sum(positions) - sum(self._done.get(name, positions))
        self._skipped[name] = self._skipped.get(name, 0) + skipped

    def keep(self, names: Collection[str]) -> None:
        """Forget all contenders except these."""
        self._done = {name: done for name, done in self._done.items() if name in names}
        self._speeds = {name: speed for name, speed in self._speeds.items() if name in names}

    def operation_time(self, name: str) -> Second:
        """Return the duration of an operation of one client; 0 before the first run."""
        return 1 / max(self._speeds[name]) if name in self._speeds else 0.0

    def of(self, name: str) -> list[int]:
        return self._done[name]

    @property
    def furthest(self) -> list[int]:
        """The most operations that any contender has done, by client."""
        return [max(column) for column in zip(*self._done.values(), strict=True)]

    @property
    def totals(self) -> dict[str, int]:
        return {name: sum(done) - self._skipped.get(name, 0) for name, done in self._done.items()}

    def limit(self, name: str, seconds: Second) -> list[int] | None:
        """Return the positions at which a contender's run of writes stops, if time is not first.

        None before its first run.
        """
        if not self._speeds or name not in self._done:
            return None
        slowest = min(max(speeds) for speeds in self._speeds.values())
        more = max(1, round(LEAD * slowest * seconds))
        return [position + more for position in self._done[name]]


def catch_up(
    guard: Callable[[RunningContender], AbstractContextManager[None]],
    running: Sequence[RunningContender],
    positions: Positions,
    run: Callable[[RunningContender, Stop], object],
) -> None:
    """Make contenders with fewer writes catch up, so that all data ages alike.

    `guard` handles the failures of one of them.
    """
    positions.keep([contender.name for contender in running])
    furthest = positions.furthest
    for contender in running:
        if positions.of(contender.name) != furthest:
            with guard(contender):
                run(contender, Stop(positions=furthest))
