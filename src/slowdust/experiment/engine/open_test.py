"""An open test: its sessions on all contenders, in one start of their servers."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from functools import partial
from statistics import median
from types import MappingProxyType
from typing import Protocol

import numpy as np

from slowdust.errors import SlowdustError
from slowdust.experiment.clock import MACHINE, Clock
from slowdust.experiment.contender import RunningContender
from slowdust.experiment.contenders import Contenders
from slowdust.experiment.driver.process import Data, TargetError
from slowdust.experiment.driver.protocol import BackgroundRun, PlanText, Ran, Rate, Stop
from slowdust.experiment.engine.background import BackgroundSessions, HeldTransactions
from slowdust.experiment.engine.cold_cache import ColdCache
from slowdust.experiment.engine.positions import LEAD, Positions, catch_up
from slowdust.experiment.engine.schedule import block_order, following_order, in_turn
from slowdust.experiment.engine.slice_length import RUN, SpeedRecord
from slowdust.experiment.journal import make_slice
from slowdust.experiment.plan import PlannedStep
from slowdust.stats.verdict import MINIMUM_BLOCKS
from slowdust.store.slice import Slice
from slowdust.units import Second

_OVERHEADS = 5
"""Runs between two readings of the probes, to measure the cost of the readings."""
_UNMOVED_BY_DISCARD = 100
"""Operations longer than this multiple of the discarded time need no discarding: the effects of a
switch are too small a part of them, and a discarded operation would double the slice."""


@dataclass(frozen=True)
class Pace:
    """The discarded and warm-up times of a step, and the rate of an open loop."""

    discard: Second
    warmup: Second
    rate: Rate | None


_OPERATIONS_OF_PLANS = 10
"""Operations whose work is counted when plans are read; the driver executes fewer slow ones."""


def _operations_of(plans: Sequence[PlanText]) -> int:
    return max((plan.executed.operations for plan in plans if plan.executed), default=0)


OnTimeout = Callable[[RunningContender, str], None]


class RunAtRate(Protocol):
    """Runs the sessions of one contender."""

    def __call__(self, stop: Stop, rate: Rate | None = None) -> Ran:
        """Run until `stop`, at `rate` or else at the step's rate, if it has one."""
        ...


_FASTEST = 2.0
"""Safety factor for tests that consume rows: they may be faster than in their warm-up."""


_WARM_UP_TURNS = 4
"""Turns of a warm-up, A B B A. A server that was idle for half a second lost up to 95% of its speed
on a virtual machine: the contender that was warmed up last was faster in the first blocks."""


class OpenTest:
    """A step's sessions on every contender, open for one start of the servers."""

    def __init__(
        self,
        contenders: Contenders,
        step: PlannedStep,
        start: int,
        pace: Pace,
        *,
        data: Data,
        first: Mapping[str, int] = MappingProxyType({}),
        clock: Clock = MACHINE,
    ) -> None:
        """`first` maps tests of the driver to the first operation of their sequence."""
        self.per_second = 0.0
        """Operations per second of the slowest contender in the warm-up."""
        self.is_warm = False
        self.ended: Second = 0.0
        """The time at which its sessions were closed."""
        self.cold: ColdCache | None = None
        """Controls caching of the servers' files; None leaves it to the kernel."""
        self.on_timeout: OnTimeout | None = None
        """Called with a contender that exceeds the time limit of an operation, and the reason;
        without it the contender drops out."""
        self._clock = clock
        self._timed_out: set[str] = set()
        self._contenders = contenders
        self._driver = contenders.driver
        self.step = step
        self.start = start
        self._pace = pace
        self._data = data
        self._first = first.get(step.test.driver_test, 0)
        self._positions = Positions()
        self._begin: list[int] | None = None
        """The positions at which each timed run begins; None continues from the current ones."""
        self._background: BackgroundSessions | None = None
        if (background := step.test.beside) is not None:
            self._background = BackgroundSessions(
                contenders,
                step,
                background,
                start=start,
                data=data,
                first=first.get(background.test, 0),
            )
        self._held: HeldTransactions | None = None
        if step.test.hold is not None:
            self._held = HeldTransactions(
                contenders,
                step,
                step.test.hold,
                start=start,
                data=data,
                clock=clock,
            )
        self._operations_of_last_block = 0
        self._order: list[int] = []
        """The contenders' order in the latest block, by index."""
        self._serving: dict[str, list[int]] = {}

    def open(self) -> None:
        self._for_each(self._open)
        if self._held is not None:
            self._held.open()

    def _open(self, contender: RunningContender) -> None:
        opened = self._driver.open(
            self._session(contender),
            contender.target_for(self.step.test),
            self._data,
            test=self.step.test.driver_test,
            clients=self.step.clients,
            first=self._first,
        )
        self._serving[contender.name] = opened.server_processes
        if self._background is not None:
            self._background.open(contender)

    def read_plans(self, keep: Callable[[str, list[PlanText]], None]) -> None:
        """Ask every server for the plans of the test's statements, and count their work.

        The work is counted for the same operations on all contenders.
        """
        plans: dict[str, list[PlanText]] = {}

        def read(contender: RunningContender, operations: int) -> None:
            plans[contender.name] = self._driver.explain(self._session(contender), operations)

        def reduce(contender: RunningContender) -> None:
            if _operations_of(plans.get(contender.name, ())) > fewest:
                read(contender, fewest)

        self._for_each(partial(read, operations=_OPERATIONS_OF_PLANS))
        counts = [_operations_of(texts) for texts in plans.values()]
        fewest = min(filter(None, counts), default=0)
        self._for_each(reduce)
        weights = self._weights_of_statements()
        for name, texts in plans.items():
            for text in texts:
                if text.executed is not None:
                    text.executed.weight = weights.get(text.statement, 1.0)
            keep(name, texts)

    def _weights_of_statements(self) -> dict[str, float]:
        """Return the weights of described statements of all DBMS; other statements have none."""
        described, test = self._data.described, self.step.test.driver_test
        if described is None:
            return {}
        weights: dict[str, float] = {}
        for dbms in {each.family for each in self._running()}:
            weights |= described.test(test, dbms, 1).weights_of_statements()
        return weights

    def warm_up(self, has_time: Callable[[Second], bool] = lambda _: True) -> None:
        """Run without recording, to warm up caches and plans.

        The test stays cold if there is no time for one operation.
        """
        speed = self._speed_in_warm_up(has_time)
        self.is_warm, self.per_second = speed is not None, speed or 0.0

    def _speed_in_warm_up(self, has_time: Callable[[Second], bool]) -> float | None:
        """Return the operations per second of the slowest contender, or of its slower session.

        0 if no contender is left, None if there is no time.
        """
        speeds: list[float] = []
        ended = False

        def run(contender: RunningContender, seconds: Second) -> None:
            nonlocal ended
            ended = ended or not has_time(self.slowest_operation)
            if ended:
                return
            # A writer's first operation shows how long operations take.
            one = Stop(seconds=RUN, positions=[1] * self.step.clients)
            ran = (
                self._run_for(contender, seconds) if seconds else self._run_with_all(contender, one)
            )
            speeds.append(ran.operations / ran.seconds if ran.seconds else 0.0)
            speeds.extend(each.qps for each in ran.beside if each.schedule is None)

        lengths: list[Second] = [self._pace.warmup / _WARM_UP_TURNS] * _WARM_UP_TURNS
        if self.step.test.changes_data:
            self._for_each(partial(run, seconds=0.0))
            slowest = self.slowest_operation
            if ended:
                return None
            if slowest >= self._pace.warmup:
                return min(speeds, default=0.0)
            # In a run this short no writer gets so far that the slowest could not catch up. If an
            # operation takes longer than the run, the first one determined how far they may get.
            if slowest <= RUN:
                lengths.insert(0, RUN)
        spent: Second = 0.0
        for turn, seconds in enumerate(lengths, self.start - 1):
            speeds.clear()
            self._for_each(partial(run, seconds=seconds), turn)
            if ended:
                return None
            self._age_equally()
            spent += max(seconds, self.slowest_operation)
            if spent >= self._pace.warmup:
                break
        return min(speeds, default=0.0)

    @property
    def slowest_operation(self) -> Second:
        """The duration of an operation of one client on the slowest contender; 0 if unknown."""
        return max(map(self._operation_time, self._running()), default=0.0)

    @property
    def slowest(self) -> str:
        """The name of the contender with the longest operations; at least one must be left."""
        return max(self._running(), key=self._operation_time).name

    def _operation_time(self, contender: RunningContender) -> Second:
        """Return the duration of an operation of one client; 0 (unknown) at a given rate."""
        if self._pace.rate is not None:
            return 0.0
        return self._positions.operation_time(contender.name)

    def expected_block(self, length: Second) -> Second:
        """Return the expected duration of a block of slices of `length`."""
        parts = 2 if self._background is None else 4  # each slice once with, once without load
        slices = sum(
            self._discard(contender) + max(length, self._operation_time(contender))
            for contender in self._running()
        )
        return parts * slices + 2 * self._expected_catching_up(length)

    def _expected_catching_up(self, length: Second) -> Second:
        times = [time for each in self._running() if (time := self._operation_time(each))]
        if not self.step.test.writes or not times:
            return 0.0
        done, most = length / max(times), length / min(times)
        return max(0.0, min(most, max(1.0, LEAD * done)) - max(1.0, done)) * max(times)

    def fewest_blocks(self, length: Second) -> int:
        """Return the least number of blocks: one if operations outlast slices."""
        return MINIMUM_BLOCKS if self.slowest_operation <= length else 1

    def _discard(self, contender: RunningContender) -> Second:
        """Return the time that a contender runs before each slice: at least one operation."""
        writes = self.step.test.writes  # all contenders do as many writes as the slowest
        operation = self.slowest_operation if writes else self._operation_time(contender)
        if operation > _UNMOVED_BY_DISCARD * self._pace.discard:
            return 0.0
        return max(self._pace.discard, operation)

    def record_speed(self, seconds: Second) -> SpeedRecord | None:
        """Measure the first contender in short runs; None if it fails or outruns the others.

        The others run for the same time, so that all are equally warm.
        """
        if self._expected_catching_up(seconds) > seconds:
            return None
        contender, *others = self._running()
        for other in others:
            with self._guard(other):
                self._run_for(other, seconds)
        with self._guard(contender):
            end = self._clock.monotonic() + seconds
            runs = []
            while self._clock.monotonic() < end:
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
        begun = self._clock.monotonic()
        with nullcontext() if self.cold is None else self.cold.around(contender):
            window = contender.window(self._contenders.running())
            window.open()
            ran = self._run_for(contender, RUN)
            window.close()
        return self._clock.monotonic() - begun - ran.seconds

    def close(self) -> None:
        if self._held is not None:
            self._held.close()
        if self.cold is not None:
            self.cold.thaw_all()
        self._for_each(self._close)

    def _close(self, contender: RunningContender) -> None:
        self._driver.close(self._session(contender))
        if self._background is not None:
            self._background.close(contender)

    @property
    def next_operations(self) -> dict[str, int]:
        """Writing test of the driver -> index of the first operation that no contender has done."""
        following = {}
        if self.step.test.writes:
            following[self.step.test.driver_test] = self.next_operation
        if self._background is not None and self.step.test.changes_data:
            following[self._background.test] = self._background.next_operation
        return following

    @property
    def next_operation(self) -> int:
        """Index of the first operation that none of the contenders has done."""
        return self._first + max(self._positions.furthest, default=0) * self.step.clients

    @property
    def positions(self) -> list[int]:
        """Operations per client of the most advanced contender."""
        return self._positions.furthest

    @property
    def operations(self) -> dict[str, int]:
        return self._positions.totals

    @property
    def has_timed_out(self) -> bool:
        return bool(self._timed_out)

    @property
    def is_over(self) -> bool:
        """Whether operations timed out, and too few contenders are left for a comparison."""
        left = [contender.name for contender in self._running()]
        base = self._contenders.names[0]
        return self.has_timed_out and (base not in left or len(left) == 1)

    def used_up(self) -> bool:
        """Return whether one more block could run out of rows to delete."""
        if not self.step.test.consumes:
            return False
        # The machine may be twice as fast in the next block as it was in the last.
        return self.next_operation + 2 * self._operations_of_last_block >= self._data.all_rows

    def age(self, positions: list[int]) -> None:
        """Run every contender up to `positions` without measuring."""
        stop = Stop(positions=positions)
        self._for_each(lambda contender: self._run(contender, stop))

    @property
    def operations_left(self) -> int | None:
        """The operations that rows are left for; None if operations consume none."""
        if not self.step.test.consumes:
            return None
        return max(0, self._data.all_rows - self.next_operation)

    def window(self, most: Second, windows: int = 1) -> Second:
        """Return the length of each of `windows` windows, at most `most`, that rows are left for.

        0 if no rows are left.
        """
        left = self.operations_left
        if left is None:
            return most
        return min(most, left / (windows * _FASTEST * max(self.per_second, 1.0)))

    def each(self, observe: Callable[[RunningContender, RunAtRate], None], turn: int = 0) -> None:
        """Call `observe` with one contender after the other, and a function that runs it.

        Odd turns have the reverse order.
        """
        for contender in in_turn(self._running(), turn):
            with self._guard(contender):
                observe(contender, partial(self._run_with_all, contender))
        self._age_equally()

    def serving(self, contender: RunningContender) -> list[int]:
        """Return the processes or threads that serve a contender's clients; empty if unknown."""
        return self._serving.get(contender.name, [])

    def blocks(
        self,
        length: Second,
        share: Second,
        rng: random.Random,
        *,
        keep: Callable[[Slice], None],
        enough: Callable[[int], bool],
    ) -> None:
        """Measure blocks of slices of `length` until the share is used or `enough(blocks done)`.

        The share is exceeded only for the least number of blocks.
        """
        fewest = self.fewest_blocks(length)
        begun = self._clock.monotonic()
        done = 0
        longest: Second = 0.0
        while True:
            block_begun = self._clock.monotonic()
            self.block(done, length, rng, keep)
            done += 1
            now = self._clock.monotonic()
            longest = max(longest, now - block_begun)
            if enough(done):
                return
            if done >= fewest and now - begun + longest > share:
                return

    def block(
        self, number: int, length: Second, rng: random.Random, keep: Callable[[Slice], None]
    ) -> None:
        """Measure one block of slices of `length`: every contender twice, in balanced order.

        Even blocks have a random order; odd blocks exchange its halves.
        """
        begun_at = self.next_operation
        if self._held is not None:
            self._held.renew()
        running = self._running()
        if number % 2 and len(self._order) == 2 * len(running):
            self._order = following_order(self._order)
        else:
            self._order = block_order(len(running), rng)
        for slot, place in enumerate(self._order):
            if slot % len(running) == 0:
                self._begin_together()
            contender = running[place]
            if contender.failed is None and contender.name not in self._timed_out:
                with self._guard(contender):
                    keep(self._slice(contender, length, number, slot, half=slot // len(running)))
        self._begin = None
        self._age_equally()
        self._operations_of_last_block = self.next_operation - begun_at

    def _begin_together(self) -> None:
        """Make the slices of a half block begin with the same operation, if operations differ."""
        if self.step.test.paired:
            self._begin = self._positions.furthest or None
        if self._background is not None:
            self._background.begin_together()

    def _slice(
        self, contender: RunningContender, length: Second, block: int, slot: int, *, half: int
    ) -> Slice:
        """Measure a slice, and next to it the disk and the rate without the background load.

        Both follow the slices of a block's first half, and precede the slices of its second half,
        so that a drift of the machine cancels as it does between contenders.
        """
        slices: list[Slice] = []
        with (
            nullcontext()
            if self.cold is None
            else self.cold.next_to_disk(contender, length, half, slices)
        ):
            alone = (
                self._alone(contender, length) if self._background is not None and half else None
            )
            record = self._window(contender, length, block, slot)
            if record.beside is not None:
                record.beside.alone_qps = self._alone(contender, length) if alone is None else alone
            slices.append(record)
        return record

    def _window(self, contender: RunningContender, length: Second, block: int, slot: int) -> Slice:
        # Right after a switch, caches that the other contender evicted are refilled.
        if self._discard(contender):
            self._run_for(contender, self._pace.discard)
        window = contender.window(self._contenders.running())
        window.open()
        ran = self._run_for(contender, length)
        use = window.close()
        contender.refuse_fatal_errors(ran.errors, "operations of a slice")
        place = self.step.place(contender.name, self.start, slot, block)
        background = None if self._background is None else self._background.record(contender, ran)
        return make_slice(place, ran, ran, use, beside=background)

    def _alone(self, contender: RunningContender, length: Second) -> float:
        if self._discard(contender):
            self._run(contender, self._stop(contender, self._pace.discard))
        return self._run(contender, self._stop(contender, length)).qps

    def _run_for(self, contender: RunningContender, seconds: Second) -> Ran:
        return self._run_with_all(contender, self._stop(contender, seconds))

    def _stop(self, contender: RunningContender, seconds: Second) -> Stop:
        writes = self.step.test.writes
        limit = self._positions.limit(contender.name, seconds) if writes else None
        return Stop(seconds=seconds, positions=limit)

    def _run_with_all(
        self, contender: RunningContender, stop: Stop, rate: Rate | None = None
    ) -> Ran:
        """Run a contender; timed runs include its background load. None: the usual rate."""
        if self._background is None or stop.seconds is None:
            return self._run(contender, stop, rate=rate)
        background = self._background.command(contender, stop.seconds)
        ran = self._run(contender, stop, background, rate=rate)
        self._background.note(contender, ran)
        return ran

    def _run(
        self,
        contender: RunningContender,
        stop: Stop,
        *background: BackgroundRun,
        rate: Rate | None = None,
    ) -> Ran:
        if self.cold is not None:
            self.cold.run_only(contender)
        timed = stop.seconds is not None
        rate, begin = (rate or self._pace.rate, self._begin) if timed else (None, None)
        if begin is not None:
            self._positions.go_to(contender.name, begin)
        session = self._session(contender)
        if timed or stop.positions is None:
            ran = self._driver.run(session, stop, rate, background, begin=begin)
        else:
            ran = self._driver.advance(session, stop.positions)
        self._positions.note(contender.name, ran)
        return ran

    def _age_equally(self) -> None:
        """Make contenders with fewer writes catch up, so that all data ages alike."""
        if self._background is not None:
            self._background.age_equally(self._guard, self._running())
        if self.step.test.writes:
            catch_up(self._guard, self._running(), self._positions, self._run)

    def _running(self) -> list[RunningContender]:
        return self._contenders.supporting(self.step.test)

    def _for_each(self, action: Callable[[RunningContender], object], turn: int = 0) -> None:
        for contender in in_turn(self._running(), turn):
            with self._guard(contender):
                action(contender)

    @contextmanager
    def _guard(self, contender: RunningContender) -> Iterator[None]:
        """Drop a contender if its server fails, or only from this test if it times out.

        Raises:
            SlowdustError: no contender is left.
        """
        with self._contenders.guard(contender):
            self._driver.subject = f"{self.step.test.name} on {contender.name}"
            try:
                yield
            except TargetError as error:
                if self.on_timeout is None or not error.is_timeout:
                    raise
                self._timed_out.add(contender.name)
                with suppress(SlowdustError):  # the connection may be gone
                    self._close(contender)
                self.on_timeout(contender, str(error))

    def _session(self, contender: RunningContender) -> str:
        return self.step.session(contender.name, self.start)
