"""One long step on one contender, from its first chunk to its record."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Iterable

from slowdust.benchmarks.steps import Counted, StepWork
from slowdust.experiment.clock import MACHINE, Clock
from slowdust.experiment.contender import RunningContender
from slowdust.experiment.driver.process import STANDSTILL, Driver, OnProgress
from slowdust.experiment.driver.protocol import Performed, Until
from slowdust.experiment.engine.schedule import ChunkPlace
from slowdust.experiment.engine.stepped import ContenderTurn
from slowdust.experiment.journal import Totals, make_slice
from slowdust.probes.probe import Window, WindowUse
from slowdust.probes.sampler import Sampler
from slowdust.store.latency import Histogram
from slowdust.store.measured import PerSecond
from slowdust.store.slice import Slice
from slowdust.store.step import Chunk, RoleUse, Sample, StepDetail
from slowdust.units import Second, known

_ENDING: Second = 0.2
"""Time for server processes of closed connections to exit before the step."""
_NO_ANSWERS = Histogram(values_ns=[], counts=[], max_ns=0, mean_ns=0.0)


class Measurement:
    """Executes a prepared step in parts, and adds up the work and use of the parts.

    All times are the step's own: they exclude the turns of other contenders. Failures of a server
    raise TargetError.
    """

    def __init__(
        self, driver: Driver, turn: ContenderTurn, window: Window, rows_before: int
    ) -> None:
        """`rows_before` is the number of rows in all tables."""
        self.turn = turn
        self._driver = driver
        self._window = window
        self._rows_before = rows_before
        self._samples: list[Sample] = []
        self._chunks: list[Chunk] = []
        self.seconds: Second = 0.0
        """The time of all parts so far."""
        self._use: WindowUse | None = None
        self._performed: Performed | None = None

    @classmethod
    def of(
        cls,
        driver: Driver,
        turn: ContenderTurn,
        work: StepWork,
        idle: Iterable[RunningContender],
        clock: Clock = MACHINE,
    ) -> Measurement:
        clock.sleep(_ENDING)
        rows_before = turn.tables.rows
        turn.tables.grow(work, turn.step.clients)
        return cls(driver, turn, turn.contender.window(idle), rows_before)

    @property
    def over(self) -> bool:
        return self._performed is not None and self._performed.over

    def perform(self, until: Until | None, on_progress: OnProgress) -> Second:
        """Continue to the end of a part (None: of the step); return how long that took."""
        turn = self.turn
        whole_tables = turn.test.counted is Counted.TABLE_ROWS  # servers report no progress
        patience = self._driver.patience
        limit = (
            patience.maintenance(turn.tables.rows) if whole_tables else patience.given or STANDSTILL
        )
        sampler = Sampler(turn.contender.probes, turn.contender.server.log_path)
        self._window.open()
        with sampler:
            performed = self._driver.perform(turn.session, until, limit, on_progress)
        use = self._window.close()
        # The wall clock at which the step would have begun without interruptions.
        begun = sampler.began - self.seconds
        self._samples += sampler.samples(begun)
        self.seconds += performed.chunk_seconds
        self._use = use if self._use is None else self._use + use
        self._performed = performed
        return performed.chunk_seconds

    def perform_chunk(self, place: ChunkPlace, until: Until, on_progress: OnProgress) -> None:
        """Continue to the end of a chunk, and add everything since the previous chunk to the record
        as this chunk.
        """
        started = time.time()
        by_statements = self.turn.test.counted is Counted.STATEMENTS
        if not self.over:
            self.perform(until, on_progress)
        main = self._main()
        amount = (main.statements if by_statements else main.rows) or 0
        self._chunks.append(
            Chunk(
                block=place.block,
                slot=place.slot,
                started=started,
                amount=amount - sum(chunk.amount for chunk in self._chunks),
                seconds=self.seconds - sum(chunk.seconds for chunk in self._chunks),
            )
        )

    def finish(self) -> Slice:
        """Close the session, and return the record, without the facts of the tables afterwards."""
        turn, performed, use = self.turn, self._performed, self._use
        assert performed is not None
        assert use is not None
        use.take_switches(
            [sample.uses.get("server", {}).get("seen_switches") for sample in self._samples]
        )
        self._driver.close(turn.session)
        totals = self._totals(performed)
        turn.contender.refuse_fatal_errors(totals.errors, "statements of a step")
        turn.tables.written = self._rows_before + sum(performed.growth)
        detail = StepDetail(
            roles=performed.roles,
            target=None if turn.test.rate is None else float(turn.test.rate * turn.step.clients),
            samples=self._samples,
            chunks=self._chunks,
            rows_expected=turn.tables.rows,
        )
        place = turn.step.place(turn.contender.name, turn.start, turn.slot)
        return make_slice(place, performed, totals, use, step=detail)

    def _main(self) -> RoleUse:
        assert self._performed is not None
        return self._performed.roles.get(self.turn.test.main_role) or RoleUse()

    def _totals(self, performed: Performed) -> Totals:
        by_statements = self.turn.test.counted is Counted.STATEMENTS
        operations, qps = self._rate(performed)
        main = self._main()
        errors: Counter[str] = Counter()
        error_texts: dict[str, str] = {}
        for role in performed.roles.values():
            errors.update(role.errors)
            error_texts = role.error_texts | error_texts
        return Totals(
            operations=operations,
            statements=sum(known(role.statements for role in performed.roles.values())),
            rows=sum(known(role.rows for role in performed.roles.values())),
            qps=qps,
            unit=self.turn.test.unit,
            latency=main.latency or _NO_ANSWERS,
            per_second=[
                PerSecond(second.statements if by_statements else second.rows, second.max_ns)
                for second in main.per_second
            ],
            errors=dict(errors),
            error_texts=error_texts,
            retries=sum(role.retries for role in performed.roles.values()),
        )

    def _rate(self, performed: Performed) -> tuple[int, float]:
        main = self._main()
        match self.turn.test.counted:
            case Counted.TABLE_ROWS:
                count, seconds = self.turn.tables.rows if main.rows else 0, performed.seconds
            case Counted.STATEMENTS:
                count, seconds = main.statements or 0, main.seconds or 0.0
            case Counted.ROWS:
                count, seconds = main.rows or 0, performed.seconds
        if self._chunks:
            seconds = self.seconds
        return count, count / seconds if seconds else 0.0
