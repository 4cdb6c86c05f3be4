"""Background load of a step: sessions that run in its slices, and a transaction held open."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager

from slowdust.benchmarks.model import Beside
from slowdust.experiment.clock import Clock
from slowdust.experiment.contender import RunningContender
from slowdust.experiment.contenders import Contenders
from slowdust.experiment.driver import protocol
from slowdust.experiment.driver.process import Data
from slowdust.experiment.driver.protocol import Ran, Rate, Stop
from slowdust.experiment.engine.positions import Positions, catch_up
from slowdust.experiment.plan import PlannedStep
from slowdust.store.slice import BackgroundSlice
from slowdust.units import Second

HOLD = "hold"
"""The driver's test whose only operation ends the open transaction and begins another one."""


class BackgroundSessions:
    """The background sessions of a step, on every contender."""

    def __init__(
        self,
        contenders: Contenders,
        step: PlannedStep,
        background: Beside,
        *,
        start: int,
        data: Data,
        first: int,
    ) -> None:
        """`first` is the index of the operation with which their sequence begins."""
        self._contenders = contenders
        self._driver = contenders.driver
        self._step = step
        self._background = background
        self._clients = background.clients_beside(step.clients)
        self._start = start
        self._data = data
        self._first = first
        self._positions = Positions()
        self._begin: list[int] | None = None

    @property
    def test(self) -> str:
        return self._background.test

    @property
    def next_operation(self) -> int:
        """Index of the first operation that none of the contenders has done."""
        return self._first + max(self._positions.furthest, default=0) * self._clients

    def open(self, contender: RunningContender) -> None:
        self._driver.open(
            self._session(contender),
            contender.target,
            self._data,
            test=self._background.test,
            clients=self._clients,
            first=self._first,
            foreground=self._step.clients,
        )

    def close(self, contender: RunningContender) -> None:
        self._driver.close(self._session(contender))

    def begin_together(self) -> None:
        """Make the next slices of all contenders begin with the same operation, if paired."""
        if self._background.paired:
            self._begin = self._positions.furthest or None

    def command(self, contender: RunningContender, seconds: Second) -> protocol.BackgroundRun:
        background = self._background
        endless = not background.writes or background.rate is not None
        if self._begin is not None:
            self._positions.go_to(contender.name, self._begin)
        return protocol.BackgroundRun(
            session=self._session(contender),
            begin=self._begin,
            rate=None if background.rate is None else Rate(background.rate, "uniform"),
            positions=None if endless else self._positions.limit(contender.name, seconds),
        )

    def record(self, contender: RunningContender, ran: Ran) -> BackgroundSlice:
        (own,) = ran.beside
        contender.refuse_fatal_errors(own.errors, "background operations")
        schedule = own.schedule
        return BackgroundSlice(
            test=self._background.test,
            clients=self._clients,
            rate=self._background.rate,
            seconds=own.seconds or None,
            qps=own.qps,
            operations=own.operations,
            latency=own.latency,
            errors=own.errors,
            error_texts=own.error_texts,
            retries=own.retries,
            late_operations=schedule.late_operations if schedule else None,
            freshness=ran.freshness,
        )

    def note(self, contender: RunningContender, ran: Ran) -> None:
        for each in ran.beside:
            self._positions.note(contender.name, each)

    def age_equally(
        self,
        guard: Callable[[RunningContender], AbstractContextManager[None]],
        running: Sequence[RunningContender],
    ) -> None:
        if self._background.writes and self._positions.totals:
            catch_up(guard, running, self._positions, self._run)

    def _run(self, contender: RunningContender, stop: Stop) -> None:
        assert stop.positions is not None
        ran = self._driver.advance(self._session(contender), stop.positions)
        self._positions.note(contender.name, ran)

    def _session(self, contender: RunningContender) -> str:
        return f"{self._step.session(contender.name, self._start)}|background"


class HeldTransactions:
    """An open transaction on each contender, which has read something and outlives operations.

    The transactions of all contenders are renewed at the same moments, between two blocks.
    """

    def __init__(
        self,
        contenders: Contenders,
        step: PlannedStep,
        held: Second,
        *,
        start: int,
        data: Data,
        clock: Clock,
    ) -> None:
        self._clock = clock
        self._contenders = contenders
        self._driver = contenders.driver
        self._step = step
        self._held = held
        self._start = start
        self._data = data
        self._begun = 0
        self._since = 0.0

    def open(self) -> None:
        self._contenders.for_each(self._open)
        self._begin()

    def renew(self) -> None:
        """Replace the open transactions once they have been held for their time."""
        if self._clock.monotonic() - self._since >= self._held:
            self._begin()

    def close(self) -> None:
        self._contenders.for_each(lambda contender: self._driver.close(self._session(contender)))

    def _open(self, contender: RunningContender) -> None:
        self._driver.open(
            self._session(contender), contender.target, self._data, test=HOLD, clients=1
        )

    def _begin(self) -> None:
        self._begun += 1
        stop = Stop(positions=[self._begun])
        self._contenders.for_each(
            lambda contender: self._driver.run(self._session(contender), stop)
        )
        self._since = self._clock.monotonic()

    def _session(self, contender: RunningContender) -> str:
        return f"{self._step.session(contender.name, self._start)}|{HOLD}"
