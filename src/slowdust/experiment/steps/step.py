"""One long step on one contender, from its session to its record."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from slowdust.benchmarks.steps import Counted, LongStep, StepWork, Workload
from slowdust.experiment.contenders import Contenders, RunningContender
from slowdust.experiment.driver.process import STANDSTILL, OnProgress, maintenance_limit
from slowdust.experiment.driver.protocol import Performed, PlanText, Prepare
from slowdust.experiment.plan import PlannedStep
from slowdust.experiment.record import Totals, slice_of
from slowdust.probes.sampler import Sampler
from slowdust.probes.window import WindowUse
from slowdust.store.latency import Histogram
from slowdust.store.measured import PerSecond
from slowdust.store.slice import Slice
from slowdust.store.step import RoleUse, Sample, StepDetail
from slowdust.units import Second, known

_ENDING: Second = 0.2
"""Time for server processes to end whose connections looked at the tables before the step."""
_NO_ANSWERS = Histogram(values_ns=[], counts=[], max_ns=0, mean_ns=0.0)


@dataclass
class Tables:
    """The rows in the tables of one contender in one incarnation."""

    names: list[str]
    inserted: list[int] = field(default_factory=list)
    """Rows that were ever inserted, at most, by table. Whoever missed a rate inserted fewer, and
    goes on with the same rows as the others nevertheless."""
    rows: int = 0
    """Rows that should be in all tables."""
    written: int = 0
    """Rows in all tables, by the driver's inserts and deletes in the last step that ended."""

    def __post_init__(self) -> None:
        self.inserted = [0] * len(self.names)

    def grow(self, work: StepWork, clients: int) -> None:
        """Add the rows that so many clients insert, or may have inserted, in a step."""
        each_table = work.inserted * clients // len(self.names)
        self.inserted = [rows + each_table for rows in self.inserted]
        self.rows += (work.inserted - work.deleted) * clients


@dataclass(frozen=True)
class ContenderTurn:
    """A contender's turn in a step of one incarnation."""

    step: PlannedStep
    incarnation: int
    contender: RunningContender
    slot: int
    """The contender's place in the order of them all."""
    tables: Tables

    @property
    def test(self) -> LongStep:
        """The step of the benchmark."""
        return long_step(self.step)

    @property
    def session(self) -> str:
        """The driver's name for the session."""
        return self.step.session(self.contender.name, self.incarnation)


def long_step(step: PlannedStep) -> LongStep:
    """Return the test of a step, which is a long one."""
    assert isinstance(step.test, LongStep)
    return step.test


class StepRunner:
    """Carries out steps on contenders; what a server does not do raises TargetError."""

    def __init__(
        self, contenders: Contenders, benchmark: str, workload: Workload, seed: int
    ) -> None:
        """`benchmark` is the driver's name of the benchmark."""
        self._benchmark = benchmark
        self._workload = workload
        self._driver = contenders.driver
        self._seed = seed

    def prepare(self, turn: ContenderTurn) -> list[PlanText]:
        """Connect the clients; return the plans of the step's statements."""
        command = Prepare(
            session=turn.session,
            target=turn.contender.target,
            benchmark=self._benchmark,
            clients=turn.step.clients,
            tables=len(turn.tables.names),
            seed=self._seed,
            inserted=turn.tables.inserted,
            statements=self._workload.settings.statements,
            work=self._work(turn).command,
            long_transaction=self._workload.settings.long_transaction,
        )
        self._driver.prepare(command)
        return self._driver.explain(turn.session)

    def perform(
        self, turn: ContenderTurn, idle: list[RunningContender], on_progress: OnProgress
    ) -> Slice:
        """Carry out the prepared step; return its record, still without the tables afterwards."""
        contender = turn.contender
        window = contender.window(idle)
        sampler = Sampler(contender.probes, contender.server.log_path)
        rows_before = turn.tables.rows
        turn.tables.grow(self._work(turn), turn.step.clients)
        whole_tables = turn.test.counted is Counted.TABLE_ROWS  # no server says how far it is
        standstill = maintenance_limit(turn.tables.rows) if whole_tables else STANDSTILL
        time.sleep(_ENDING)
        window.open()
        with sampler:
            performed = self._driver.perform(turn.session, standstill, on_progress)
        use = window.close()
        samples = sampler.samples(performed.started)
        _complete(use, samples)
        self._driver.close(turn.session)
        totals = _totals(turn, performed)
        contender.refuse_fatal_errors(totals.errors, "statements of a step")
        turn.tables.written = rows_before + sum(performed.growth)
        detail = StepDetail(
            roles=performed.roles,
            target=None if turn.test.rate is None else float(turn.test.rate * turn.step.clients),
            samples=samples,
            rows_expected=turn.tables.rows,
        )
        place = turn.step.place(contender.name, turn.incarnation, turn.slot)
        return slice_of(place, performed, totals, use, detail)

    def count_rows(self, turn: ContenderTurn) -> int:
        """Let the contender's server count the rows in all tables."""
        statements = [f"SELECT count(*) FROM {name}" for name in turn.tables.names]
        counted = 0
        limit = maintenance_limit(turn.tables.rows)
        parallel = len(statements)
        for answer in self._driver.sql(turn.contender.target, statements, parallel, limit):
            ((rows,),) = answer.rows
            counted += int(rows or 0)
        return counted

    def _work(self, turn: ContenderTurn) -> StepWork:
        return self._workload.work(turn.test.name, turn.step.clients)


def _complete(window: WindowUse, samples: Sequence[Sample]) -> None:
    """Take the context switches from the samples where a process ended and its own are lost.

    In a step of many seconds some always end: autovacuum's, parallel workers of an index. Then only
    the last second of those that ended is missing.
    """
    server = window.uses.get("server")
    if server is None or "context_switches" in server:
        return
    seen = [sample.uses.get("server", {}).get("seen_switches") for sample in samples]
    if None not in seen:
        server["context_switches"] = sum(known(seen))
        window.skipped.remove("server.switches")


def _totals(turn: ContenderTurn, performed: Performed) -> Totals:
    main = performed.roles.get(turn.test.main_role)
    operations, qps = _rate(turn, performed, main)
    roles = performed.roles.values()
    errors: Counter[str] = Counter()
    for role in roles:
        errors.update(role.errors)
    return Totals(
        operations=operations,
        statements=sum(known(role.statements for role in roles)),
        rows=sum(known(role.rows for role in roles)),
        qps=qps,
        unit=turn.test.unit,
        latency=(main.latency if main else None) or _NO_ANSWERS,
        per_second=[] if main is None else _per_second(turn.test, main),
        errors=dict(errors),
        retries=sum(role.retries for role in roles),
    )


def _rate(turn: ContenderTurn, performed: Performed, main: RoleUse | None) -> tuple[int, float]:
    """Return the number of rows, indexed rows or queries, and their rate per second."""
    if main is None:
        return 0, 0.0
    match turn.test.counted:
        case Counted.TABLE_ROWS:
            count, seconds = turn.tables.rows, performed.seconds
        case Counted.STATEMENTS:
            count, seconds = main.statements or 0, main.seconds or 0.0
        case Counted.ROWS:
            count, seconds = main.rows or 0, performed.seconds
    return count, count / seconds if seconds else 0.0


def _per_second(test: LongStep, main: RoleUse) -> list[PerSecond]:
    statements = test.counted is Counted.STATEMENTS
    return [
        PerSecond(second.statements if statements else second.rows, second.max_ns)
        for second in main.per_second
    ]
