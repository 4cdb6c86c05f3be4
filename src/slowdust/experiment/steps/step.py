"""One long step on one contender: a step of the Insert Benchmark from its session to its record."""

from __future__ import annotations

import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from slowdust.benchmarks.insert import InsertStep, Kind
from slowdust.dbms.family import Family
from slowdust.experiment.contenders import Contender, Field
from slowdust.experiment.driver.process import (
    STANDSTILL,
    Driver,
    OnProgress,
    TargetError,
    maintenance_limit,
)
from slowdust.experiment.driver.protocol import (
    Failed,
    IndexWork,
    LoadWork,
    Performed,
    PlanText,
    Prepare,
    QueryWork,
    ReplaceWork,
    StepWork,
)
from slowdust.experiment.plan import Step
from slowdust.experiment.record import slice_of
from slowdust.experiment.steps.workload import Workload
from slowdust.probes.sampler import Sampler
from slowdust.probes.window import Window, WindowUse
from slowdust.store.latency import Histogram
from slowdust.store.measured import PerSecond, Schedule
from slowdust.store.slice import Place, Slice
from slowdust.store.step import RoleUse, Sample, StepDetail
from slowdust.units import Second, known

_ENDING: Second = 0.2
"""How long server processes may take to end whose connections found out about the tables: they are
none of the step's."""
_MAIN_ROLES = {
    Kind.LOAD: "insert",
    Kind.INDEX: "index",
    Kind.REPLACE: "insert",
    Kind.RANGE_QUERY: "query",
    Kind.POINT_QUERY: "query",
}
"""The role that a step's rate is about."""
_NO_ANSWERS = Histogram(values_ns=[], counts=[], max_ns=0, mean_ns=0.0)


@dataclass
class Tables:
    """What the tables of one contender hold in one incarnation."""

    names: list[str]
    inserted: list[int] = field(default_factory=list)
    """By table: rows that were ever inserted, at most. Whoever missed a rate inserted fewer, and
    goes on with the same rows as the others nevertheless."""
    rows: int = 0
    """In all tables, as they should be."""
    written: int = 0
    """In all tables, by what the driver inserted and deleted in the last step that ended."""

    def __post_init__(self) -> None:
        self.inserted = [0] * len(self.names)

    def grow(self, step: InsertStep, clients: int, rows_each: int) -> None:
        """Each client inserts so many rows in the step, or may have done."""
        each_table = rows_each * clients // len(self.names)
        self.inserted = [rows + each_table for rows in self.inserted]
        if step.kind is Kind.LOAD:
            self.rows = rows_each * clients


@dataclass(frozen=True)
class Turn:
    """A step's part on one contender in one incarnation."""

    step: Step
    incarnation: int
    contender: Contender
    slot: int
    """The contender's place in the order of them all."""
    tables: Tables

    @property
    def test(self) -> InsertStep:
        """The step of the Insert Benchmark."""
        return insert_step(self.step)

    @property
    def session(self) -> str:
        """What the driver calls it."""
        return f"{self.contender.name}|{self.step.key}|{self.incarnation}"


def insert_step(step: Step) -> InsertStep:
    """The test of a step, which is one of the Insert Benchmark."""
    assert isinstance(step.test, InsertStep)
    return step.test


class LongStep:
    """Carries out steps on contenders."""

    def __init__(
        self,
        driver: Driver,
        field: Field,
        workload: Workload,
        seed: int,
    ) -> None:
        self._driver = driver
        self._field = field
        self._workload = workload
        self._seed = seed

    def prepare(self, turn: Turn) -> list[PlanText]:
        """Connect the clients; the plans of the step's statements.

        Raises:
            TargetError: the server did not do it.
        """
        self._driver.prepare(self._preparation(turn))
        return self._driver.explain(turn.session)

    def perform(self, turn: Turn, idle: list[Contender], on_progress: OnProgress) -> Slice:
        """Carry out what was prepared; the record, in which the tables afterwards are not yet.

        Raises:
            TargetError: the server did not do it.
        """
        contender = turn.contender
        window = Window([*(other.idle_probe for other in idle), *contender.probes])
        sampler = Sampler(contender.probes, contender.server.log_path)
        rows_before = turn.tables.rows
        inserted = self._workload.inserted_in(turn.test, turn.step.clients)
        turn.tables.grow(turn.test, turn.step.clients, inserted)
        standstill = self._standstill(turn)
        time.sleep(_ENDING)
        window.open()
        with sampler:
            performed = self._driver.perform(turn.session, standstill, on_progress)
        use = window.close()
        samples = sampler.samples(performed.started)
        _complete(use, samples)
        self._driver.close(turn.session)
        refuse_ruin(performed, contender.family)
        turn.tables.written = rows_before + sum(performed.growth)
        detail = StepDetail(
            roles=performed.roles,
            target=None if turn.test.rate is None else float(turn.test.rate * turn.step.clients),
            samples=samples,
            rows_expected=turn.tables.rows,
        )
        return slice_of(_place(turn), performed, _totals(turn, performed), use, detail)

    def abandon(self, turn: Turn) -> None:
        """Close the session of a step that failed."""
        self._driver.close(turn.session)

    def count_rows(self, turn: Turn) -> int:
        """The rows in all tables of the contender, as its server counts them."""
        statements = [f"SELECT count(*) FROM {name}" for name in turn.tables.names]
        counted = 0
        limit = maintenance_limit(turn.tables.rows)
        parallel = len(statements)
        for answer in self._driver.sql(turn.contender.target, statements, parallel, limit):
            ((rows,),) = answer.rows
            counted += int(rows or 0)
        return counted

    def _standstill(self, turn: Turn) -> Second:
        """How long nothing may get done; of an index no server says how far it is."""
        if turn.test.kind is Kind.INDEX:
            return maintenance_limit(turn.tables.rows)
        return STANDSTILL

    def _preparation(self, turn: Turn) -> Prepare:
        options = self._workload.options
        return Prepare(
            session=turn.session,
            target=turn.contender.target,
            clients=turn.step.clients,
            tables=len(turn.tables.names),
            seed=self._seed,
            inserted=turn.tables.inserted,
            statements=options.statements,
            work=self._work(turn.test, turn.step.clients),
            long_transaction=options.long_transaction,
        )

    def _work(self, test: InsertStep, clients: int) -> StepWork:
        workload = self._workload
        match test.kind:
            case Kind.LOAD:
                return LoadWork(
                    rows=workload.inserted_in(test, clients),
                    rows_per_commit=workload.rows_per_commit(test),
                )
            case Kind.INDEX:
                return IndexWork()
            case Kind.REPLACE:
                return ReplaceWork(
                    rows=workload.inserted_in(test, clients),
                    rows_per_commit=workload.rows_per_commit(test),
                )
            case Kind.RANGE_QUERY | Kind.POINT_QUERY:
                assert test.rate is not None
                return QueryWork(
                    query="range" if test.kind is Kind.RANGE_QUERY else "point",
                    seconds=workload.seconds,
                    writes_per_second=float(test.rate),
                    rows_per_commit=workload.rows_per_commit(test),
                )


def refuse_ruin(performed: Performed, family: Family) -> None:
    """Raise where the server answered with errors after which it is not worth measuring."""
    for role in performed.roles.values():
        for state, count in role.errors.items():
            if (ruin := family.fatal_error(state)) is not None:
                message = f"{count} statements of a step failed: {ruin}"
                raise TargetError(
                    Failed(id=performed.id, kind="server", sqlstate=state, message=message)
                )


def _complete(window: WindowUse, samples: Sequence[Sample]) -> None:
    """Take the context switches from the samples where a process ended and took its own along.

    In a step of many seconds some always do: autovacuum's, parallel workers of an index. All that
    is missing then is the last second of those that ended.
    """
    server = window.uses.get("server")
    if server is None or "context_switches" in server:
        return
    seen = [sample.uses.get("server", {}).get("seen_switches") for sample in samples]
    if None not in seen:
        server["context_switches"] = sum(known(seen))
        window.skipped.remove("server.switches")


def _place(turn: Turn) -> Place:
    return Place(
        benchmark=turn.test.benchmark,
        test=turn.test.name,
        clients=turn.step.clients,
        contender=turn.contender.name,
        incarnation=turn.incarnation,
        slot=turn.slot,
    )


@dataclass
class _Totals:
    """Totals of a long step, made of its roles'."""

    operations: int
    statements: int
    rows: int
    qps: float
    unit: str
    latency: Histogram
    per_second: list[PerSecond]
    errors: dict[str, int]
    retries: int
    schedule: Schedule | None = None


def _totals(turn: Turn, performed: Performed) -> _Totals:
    main = performed.roles.get(_MAIN_ROLES[turn.test.kind])
    operations, qps = _rate(turn, performed, main)
    roles = performed.roles.values()
    errors: Counter[str] = Counter()
    for role in roles:
        errors.update(role.errors)
    return _Totals(
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


def _rate(turn: Turn, performed: Performed, main: RoleUse | None) -> tuple[int, float]:
    """What was done, and how much of it per second: rows, indexed rows or queries."""
    if main is None:
        return 0, 0.0
    if turn.test.kind is Kind.INDEX:
        return turn.tables.rows, _per(turn.tables.rows, performed.seconds)
    operations = (main.statements if turn.test.queries else main.rows) or 0
    return operations, _per(operations, main.seconds if turn.test.queries else performed.seconds)


def _per(count: int, seconds: Second | None) -> float:
    return count / seconds if seconds else 0.0


def _per_second(test: InsertStep, main: RoleUse) -> list[PerSecond]:
    return [
        PerSecond(second.statements if test.queries else second.rows, second.max_ns)
        for second in main.per_second
    ]
