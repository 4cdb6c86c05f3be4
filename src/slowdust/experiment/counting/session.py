"""One step on one contender under callgrind: windows of so many operations, and their cost."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from slowdust.experiment.contender import RunningContender
from slowdust.experiment.driver.process import Data, Driver
from slowdust.experiment.driver.protocol import Stop
from slowdust.experiment.plan import PlannedStep
from slowdust.formats.callgrind import INSTRUCTIONS as IR
from slowdust.formats.callgrind import read_totals
from slowdust.instances.callgrind import ANY_THREAD, Callgrind
from slowdust.store.count import INSTRUCTIONS, SIMULATED, SYSTEM_CALLS, CountedRun, Events
from slowdust.units import Second

REPEATS = 4
"""Windows of a step in one incarnation."""
_WARM_UP = 2
"""Operations before the first window, as a multiple of those of a window."""
_PROOF = 8
"""Operations between the first window and the others, likewise: a server that is warm costs as much
before them as behind."""
_MORE_WARM_UP = 32
"""The same, for a server that was found not to be warm."""
_MOST_WARM_UPS = 6
_LONGER = 1.5
"""How long a warm-up and its windows take, as a multiple of those before: more of it is warm-up."""
_LEVEL = 0.003
"""Largest |ln ratio| of the later windows to the first one of a server that is warm."""
TOLD_TREND = 0.01
"""The same, of windows that are worth a warning: the margin of work."""
WINDOWS_AT_MOST = _WARM_UP + 1 + REPEATS + 1
"""Windows that the operations of a session that writes would fill, with the one that is not kept
and those between the windows."""
_NAMES = {
    INSTRUCTIONS: (IR,),
    SYSTEM_CALLS: ("sysCount",),
    **dict(
        zip(
            SIMULATED,
            (("I1mr",), ("D1mr", "D1mw"), ("ILmr", "DLmr", "DLmw"), ("Bcm", "Bim")),
            strict=True,
        )
    ),
}
"""Event in the records -> those of callgrind that it consists of."""


@dataclass(frozen=True)
class Repeat:
    """One window."""

    run: CountedRun
    texts: tuple[str, ...]
    """What callgrind wrote of the session, or of each of several."""


@dataclass(frozen=True)
class Windows:
    """The windows of a step in one incarnation: the same on all contenders."""

    operations: int
    repeats: int = REPEATS
    """`REPEATS`, or 1 where an operation takes so long that no more of them fit."""

    @property
    def counted_operations(self) -> int:
        """Operations that are carried out while instructions are counted, kept or not."""
        around = 3 if self.repeats == 1 else 6  # orders to begin and to end, what is not kept
        return self.repeats * self.operations + around

    @property
    def other_operations(self) -> int:
        """Operations that are carried out faster, in between."""
        return self.operations * (1 if self.repeats == 1 else _WARM_UP + _PROOF)


class CountedSession:
    """The one client of a step on a server under callgrind; it goes forward by operations."""

    def __init__(
        self,
        driver: Driver,
        contender: RunningContender,
        step: PlannedStep,
        incarnation: int,
        first: int,
    ) -> None:
        """Begin the sequence of the step's operations with the one whose index is `first`."""
        self._driver = driver
        self._contender = contender
        self._name = f"{contender.name}|{step.key}|count {incarnation}"
        self._step = step
        self._position = 0
        self._first = first
        self._thread = ANY_THREAD

    def repeats(
        self, callgrind: Callgrind, data: Data, windows: Windows, most: Second = math.inf
    ) -> list[Repeat]:
        """Connect, warm up, and return the repeats that are planned.

        A server that reads costs less, or more, while its caches and hash indexes fill: it is
        warmed up until its windows are level, or until more would take longer than `most` in all:
        operations of other work each never are. Writes go on changing what they write to. A single
        window shows nothing of that.

        Raises:
            TargetError: the server fails.
            CallgrindError: it does not take orders.
        """
        test = self._step.test.driver_test
        opened = self._driver.open(
            self._name, self._contender.target, data, test=test, clients=1, first=self._first
        )
        if len(opened.server_processes) == 1:
            # Others receive messages, too: the collector of statistics of Postgres before 15.
            [self._thread] = opened.server_processes
        try:
            operations = windows.operations
            if windows.repeats == 1:
                self._run(operations)
                return self._count(callgrind, operations, 1)
            # Without instrumentation this takes a tenth of the time.
            self._run(_WARM_UP * operations)
            if self._step.test.writes:
                return self._count(callgrind, operations, REPEATS)
            return self._count_when_warm(callgrind, operations, most)
        finally:
            self._driver.close(self._name)

    def _count_when_warm(self, callgrind: Callgrind, operations: int, most: Second) -> list[Repeat]:
        begun = before = time.monotonic()
        repeats = self._count(callgrind, operations, 1)
        between = _PROOF
        for _ in range(_MOST_WARM_UPS):
            self._run(between * operations)
            repeats = [repeats[-1], *self._count(callgrind, operations, REPEATS - 1)]
            now = time.monotonic()
            if abs(trend_of(repeats)) <= _LEVEL or now - begun + _LONGER * (now - before) > most:
                break
            between, before = _MORE_WARM_UP, now
        return repeats

    def _count(self, callgrind: Callgrind, operations: int, windows: int) -> list[Repeat]:
        callgrind.start(lambda: self._run(1), self._thread)
        # A window that is not kept: it has the end of the first order, and where there are
        # writes what the background left undone while many were carried out at once.
        self._window(callgrind, operations if self._step.test.writes else 1)
        texts = [self._window(callgrind, operations) for _ in range(windows)]
        callgrind.stop(lambda: self._run(1), self._thread)
        return [
            Repeat(CountedRun(operations=operations, own=events_of(text)), (text,))
            for text in texts
        ]

    def _window(self, callgrind: Callgrind, operations: int) -> str:
        if operations > 1:
            self._run(operations - 1)
        return callgrind.dump(lambda: self._run(1), self._thread)

    def _run(self, operations: int) -> None:
        self._position += operations
        ran = self._driver.run(self._name, Stop(positions=[self._position]))
        self._contender.refuse_fatal_errors(ran.errors, "operations that were counted")


def trend_of(repeats: Sequence[Repeat]) -> float:
    """Return ln(mean instructions of the later windows / those of the first); 0 of nothing."""
    first, *later = (repeat.run.own.get(INSTRUCTIONS, 0) for repeat in repeats)
    return math.log(fmean(later) / first) if first and any(later) else 0.0


def events_of(text: str) -> Events:
    """Return the events of a window from what callgrind wrote of it."""
    totals = read_totals(text)
    return {
        name: sum(totals[part] for part in parts)
        for name, parts in _NAMES.items()
        if totals.keys() >= set(parts)
    }
