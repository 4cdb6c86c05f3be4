"""One step in one incarnation: slices of all contenders, block by block."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from statistics import median

import numpy as np

from slowdust.analysis.comparison.verdict import MINIMUM_BLOCKS
from slowdust.experiment.contenders import Contenders, RunningContender
from slowdust.experiment.driver.process import Data
from slowdust.experiment.driver.protocol import PlanText, Ran, Rate, Stop
from slowdust.experiment.plan import PlannedStep
from slowdust.experiment.record import slice_of
from slowdust.experiment.slices.length import RUN, SpeedRecord
from slowdust.experiment.slices.positions import Positions
from slowdust.experiment.slices.schedule import block_order
from slowdust.store.slice import Slice
from slowdust.units import Second

_OVERHEADS = 5
"""Runs between two readings of the probes that show what the readings cost."""


@dataclass(frozen=True)
class Pace:
    """The lengths of what surrounds a step's slices, and the rate of an open loop."""

    discard: Second
    warmup: Second
    rate: Rate | None


class StepSessions:
    """A step's sessions on every contender, open for one incarnation."""

    def __init__(
        self,
        contenders: Contenders,
        step: PlannedStep,
        incarnation: int,
        pace: Pace,
        *,
        data: Data,
        first: int = 0,
    ) -> None:
        """Begin the sequence of the step's operations with the one whose index is `first`."""
        self._contenders = contenders
        self._driver = contenders.driver
        self._step = step
        self._incarnation = incarnation
        self._pace = pace
        self._data = data
        self._first = first
        self._positions = Positions()
        self._operations_of_last_block = 0
        self._serving: dict[str, list[int]] = {}

    def open(self) -> None:
        """Connect every contender's clients and prepare their statements."""
        self._contenders.for_each(self._open)

    def _open(self, contender: RunningContender) -> None:
        opened = self._driver.open(
            self._session(contender),
            contender.target,
            self._data,
            test=self._step.test.driver_test,
            clients=self._step.clients,
            first=self._first,
        )
        self._serving[contender.name] = opened.server_processes

    def read_plans(self, keep: Callable[[str, list[PlanText]], None]) -> None:
        """Ask every server how it will execute the test's statements."""
        self._contenders.for_each(
            lambda contender: keep(contender.name, self._driver.explain(self._session(contender)))
        )

    def warm_up(self) -> float:
        """Run without recording, so that caches and plans are those of a server at work.

        Return the operations per second of the slowest contender.
        """
        speeds: list[float] = []

        def run(contender: RunningContender, seconds: Second) -> None:
            ran = self._run_for(contender, seconds)
            speeds.append(ran.operations / ran.seconds if ran.seconds else 0.0)

        # In a moment no writer gets so far that the slowest could not catch up.
        for seconds in (RUN, self._pace.warmup) if self._step.test.writes else (self._pace.warmup,):
            speeds.clear()
            self._contenders.for_each(partial(run, seconds=seconds))
            self._age_equally()
        return min(speeds, default=0.0)

    def record_speed(self, seconds: Second) -> SpeedRecord | None:
        """Run the first contender in short runs; None if it fails.

        The others run as long, so that it is no warmer than they are.
        """
        contender, *others = self._contenders.running()
        for other in others:
            with self._contenders.guard(other):
                self._run_for(other, seconds)
        with self._contenders.guard(contender):
            end = time.monotonic() + seconds
            runs = []
            while time.monotonic() < end:
                runs.append(self._run_for(contender, RUN))
            record = SpeedRecord(
                operations=np.array([float(ran.operations) for ran in runs]),
                seconds=np.array([ran.seconds for ran in runs]),
                overhead=median(self._overhead(contender) for _ in range(_OVERHEADS)),
            )
            self._age_equally()
            return record
        return None

    def _overhead(self, contender: RunningContender) -> Second:
        """Return what a slice takes beside itself and what is discarded."""
        begun = time.monotonic()
        window = contender.window(self._contenders.running())
        window.open()
        ran = self._run_for(contender, RUN)
        window.close()
        return time.monotonic() - begun - ran.seconds

    def close(self) -> None:
        """Close the clients' connections."""
        self._contenders.for_each(lambda contender: self._driver.close(self._session(contender)))

    @property
    def next_operation(self) -> int:
        """Index of the first operation that no contender has done."""
        return self._first + max(self._positions.furthest, default=0) * self._step.clients

    @property
    def positions(self) -> list[int]:
        """Operations per client of the contender that has done most."""
        return self._positions.furthest

    @property
    def operations(self) -> dict[str, int]:
        """Operations that each contender has done in these sessions."""
        return self._positions.totals

    def used_up(self) -> bool:
        """Return whether one more block would want to delete more rows than there are."""
        if not self._step.test.consumes:
            return False
        rows = self._data.tables * self._data.rows
        # The machine may be twice as fast in the next block as it was in the last.
        return self.next_operation + 2 * self._operations_of_last_block >= rows

    def age(self, positions: list[int]) -> None:
        """Run every contender up to `positions`, measuring nothing."""
        stop = Stop(positions=positions)
        self._contenders.for_each(lambda contender: self._run(contender, stop))

    def each(
        self,
        observe: Callable[[RunningContender, Callable[[Stop], Ran]], None],
        order: Callable[[list[RunningContender]], list[RunningContender]] = list,
    ) -> None:
        """Let `observe` run one contender after the other; it gets what runs the contender.

        `order` puts those that have not failed into another order.
        """
        for contender in order(self._contenders.running()):
            with self._contenders.guard(contender):
                observe(contender, partial(self._run, contender))
        self._age_equally()

    def serving(self, contender: RunningContender) -> list[int]:
        """Return the processes, or threads, that serve a contender's clients; empty if unknown."""
        return self._serving.get(contender.name, [])

    def block(
        self, number: int, length: Second, rng: random.Random, keep: Callable[[Slice], None]
    ) -> None:
        """Measure one block of slices of `length`: every contender twice, in balanced order."""
        begun_at = self.next_operation
        running = self._contenders.running()
        for slot, place in enumerate(block_order(len(running), rng)):
            contender = running[place]
            if contender.failed is None:
                with self._contenders.guard(contender):
                    keep(self._slice(contender, length, number, slot))
        self._age_equally()
        self._operations_of_last_block = self.next_operation - begun_at

    def _slice(self, contender: RunningContender, length: Second, block: int, slot: int) -> Slice:
        # The first moments after a switch refill caches that the other contender emptied.
        self._run_for(contender, self._pace.discard)
        window = contender.window(self._contenders.running())
        window.open()
        ran = self._run_for(contender, length)
        use = window.close()
        contender.refuse_fatal_errors(ran.errors, "operations of a slice")
        place = self._step.place(contender.name, self._incarnation, slot, block)
        return slice_of(place, ran, ran, use)

    def _run_for(self, contender: RunningContender, seconds: Second) -> Ran:
        writes = self._step.test.writes
        limit = self._positions.limit(contender.name, seconds) if writes else None
        return self._run(contender, Stop(seconds=seconds, positions=limit))

    def _run(self, contender: RunningContender, stop: Stop) -> Ran:
        rate = self._pace.rate if stop.seconds is not None else None
        ran = self._driver.run(self._session(contender), stop, rate)
        self._positions.note(contender.name, ran)
        return ran

    def _age_equally(self) -> None:
        """Let the contenders that did fewer writes catch up, so that all data ages alike."""
        if not self._step.test.writes:
            return
        running = self._contenders.running()
        self._positions.keep([contender.name for contender in running])
        furthest = self._positions.furthest
        for contender in running:
            if self._positions.of(contender.name) != furthest:
                with self._contenders.guard(contender):
                    self._run(contender, Stop(positions=furthest))

    def _session(self, contender: RunningContender) -> str:
        return self._step.session(contender.name, self._incarnation)


def measure(
    run: StepSessions,
    length: Second,
    share: Second,
    rng: random.Random,
    *,
    keep: Callable[[Slice], None],
    enough: Callable[[int], bool],
) -> None:
    """Measure blocks of slices of `length` until the share is used or `enough(blocks done)`.

    The share is exceeded only where it does not suffice for the minimum of blocks.
    """
    begun = time.monotonic()
    blocks = 0
    longest: Second = 0.0
    while True:
        block_begun = time.monotonic()
        run.block(blocks, length, rng, keep)
        blocks += 1
        now = time.monotonic()
        longest = max(longest, now - block_begun)
        if enough(blocks):
            return
        if blocks >= MINIMUM_BLOCKS and now - begun + longest > share:
            return
