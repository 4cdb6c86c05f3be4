"""One step in one incarnation: slices of all contenders, block by block."""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from dataclasses import dataclass

from slowdust.dbms.family import Family
from slowdust.experiment.contenders import Contender, Field
from slowdust.experiment.driver.process import Data, Driver, TargetError, Work
from slowdust.experiment.driver.protocol import Failed, ForSeconds, PlanText, Ran, Rate, ToPositions
from slowdust.experiment.plan import Step
from slowdust.experiment.record import slice_of
from slowdust.experiment.slices.schedule import MINIMUM_BLOCKS, block_order
from slowdust.probes.window import Window
from slowdust.store.slice import Place, Slice
from slowdust.units import Second


@dataclass(frozen=True)
class Pace:
    """How a step is measured."""

    slice: Second
    discard: Second
    warmup: Second
    rate: Rate | None


@dataclass(frozen=True)
class StepTurn:
    """A step's part in one incarnation, as far as its sessions are concerned."""

    step: Step
    incarnation: int
    first: int
    """Index of the operation with which its sequence begins."""


class StepRun:
    """A step's sessions on every contender, open for one incarnation."""

    def __init__(self, driver: Driver, field: Field, turn: StepTurn, pace: Pace) -> None:
        self._driver = driver
        self._field = field
        self._step = turn.step
        self._incarnation = turn.incarnation
        self._first = turn.first
        self._pace = pace
        self._positions: dict[str, list[int]] = {}
        self._operations_of_last_block = 0

    def open(self, data: Data) -> None:
        """Connect every contender's clients and prepare their statements."""
        for contender in self._field.running():
            with self._field.guard(contender):
                self._driver.open(
                    self._session(contender),
                    contender.target,
                    Work(self._step.test.driver_test, self._step.clients, self._first),
                    data,
                )

    def read_plans(self, keep: Callable[[Contender, list[PlanText]], None]) -> None:
        """Ask every server how it will execute the test's statements."""
        for contender in self._field.running():
            with self._field.guard(contender):
                keep(contender, self._driver.explain(self._session(contender)))

    def warm_up(self) -> None:
        """Run without recording, so that caches and plans are those of a server at work."""
        for contender in self._field.running():
            with self._field.guard(contender):
                self._run(contender, ForSeconds(self._pace.warmup))
        self._age_equally()

    def close(self) -> None:
        """Close the clients' connections."""
        for contender in self._field.running():
            with self._field.guard(contender):
                self._driver.close(self._session(contender))

    @property
    def next_operation(self) -> int:
        """Index of the first operation that no contender has done."""
        return self._first + max(self.positions, default=0) * self._step.clients

    @property
    def positions(self) -> list[int]:
        """Operations per client that every contender has done."""
        return [max(column) for column in zip(*self._positions.values(), strict=True)]

    def used_up(self, data: Data) -> bool:
        """Whether one more block would want to delete more rows than there are."""
        if not self._step.test.consumes:
            return False
        rows = data.tables * data.rows
        return self.next_operation + self._operations_of_last_block >= rows

    def age(self, positions: list[int]) -> None:
        """Run every contender up to `positions`, measuring nothing."""
        for contender in self._field.running():
            with self._field.guard(contender):
                self._run(contender, ToPositions(positions))

    def block(self, number: int, rng: random.Random, keep: Callable[[Slice], None]) -> None:
        """Measure one block: every contender twice, in counterbalanced order."""
        begun_at = self.next_operation
        running = self._field.running()
        for slot, place in enumerate(block_order(len(running), rng)):
            contender = running[place]
            if contender.failed is None:
                with self._field.guard(contender):
                    keep(self._slice(contender, number, slot))
        self._age_equally()
        self._operations_of_last_block = self.next_operation - begun_at

    def _slice(self, contender: Contender, block: int, slot: int) -> Slice:
        # The first moments after a switch refill caches that the other contender emptied.
        self._run(contender, ForSeconds(self._pace.discard))
        others = [other for other in self._field.running() if other is not contender]
        window = Window([*(other.idle_probe for other in others), *contender.probes])
        window.open()
        ran = self._run(contender, ForSeconds(self._pace.slice))
        use = window.close()
        _refuse_ruin(ran, contender.family)
        return slice_of(self._place(contender, block, slot), ran, ran, use)

    def _place(self, contender: Contender, block: int, slot: int) -> Place:
        return Place(
            benchmark=self._step.test.benchmark,
            test=self._step.test.name,
            clients=self._step.clients,
            contender=contender.name,
            incarnation=self._incarnation,
            block=block,
            slot=slot,
        )

    def _run(self, contender: Contender, stop: ForSeconds | ToPositions) -> Ran:
        rate = self._pace.rate if isinstance(stop, ForSeconds) else None
        ran = self._driver.run(self._session(contender), stop, rate)
        self._positions[contender.name] = ran.positions
        return ran

    def _age_equally(self) -> None:
        """Let the contenders that did fewer writes catch up, so that all data ages alike."""
        if not self._step.test.writes:
            return
        running = self._field.running()
        self._positions = {c.name: self._positions[c.name] for c in running}
        furthest = self.positions
        for contender in running:
            if self._positions[contender.name] != furthest:
                with self._field.guard(contender):
                    self._run(contender, ToPositions(furthest))

    def _session(self, contender: Contender) -> str:
        return f"{contender.name}|{self._step.key}|{self._incarnation}"


def measure(
    run: StepRun,
    share: Second,
    rng: random.Random,
    keep: Callable[[Slice], None],
    enough: Callable[[int], bool],
) -> None:
    """Measure blocks until the share is used or `enough(blocks done)`.

    The share is exceeded only where it does not suffice for the minimum of blocks.
    """
    begun = time.monotonic()
    blocks = 0
    longest: Second = 0.0
    while True:
        block_begun = time.monotonic()
        run.block(blocks, rng, keep)
        blocks += 1
        now = time.monotonic()
        longest = max(longest, now - block_begun)
        if enough(blocks):
            return
        if blocks >= MINIMUM_BLOCKS and now - begun + longest > share:
            return


def _refuse_ruin(ran: Ran, family: Family) -> None:
    """Raise where the server answered with errors that make the contender worthless."""
    for state, count in ran.errors.items():
        if (ruin := family.fatal_error(state)) is not None:
            message = f"{count} operations of a slice failed: {ruin}"
            raise TargetError(Failed(id=ran.id, kind="server", sqlstate=state, message=message))
