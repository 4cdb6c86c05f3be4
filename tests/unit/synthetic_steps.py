"""Simulated Insert Benchmarks: seeded long steps whose true ratios are known.

manifest, slices = insert_experiment(
    ["postgres@15.8", "postgres@17.6"],
    shifts={"postgres@17.6": {"qr100": 0.8}},
    overloaded=[Overload("postgres@17.6", "qp1000", inserts=0.7)],
    standstills=[Standstill("postgres@15.8", "l.i1", "insert", second=5)],
    broken=[Break("postgres@17.6", "l.i2", incarnation=2)],
)
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import numpy as np

from slowdust.benchmarks.insert import INSERT, InsertStep, Kind
from slowdust.store.latency import Histogram
from slowdust.store.manifest import Manifest, StepFailure, StepsMethod
from slowdust.store.measured import Measured, PerSecond, Use
from slowdust.store.slice import Place, Slice
from slowdust.store.step import RoleSecond, RoleUse, Sample, StepDetail, WriteSchedule
from tests.unit.synthetic import Shifts, synthetic_manifest

STEPS = tuple(test.name for test in INSERT.tests)
SECONDS = 20
_STARTED = 1_760_000_000.0
_ROWS_PER_COMMIT = {"l.i0": 100, "l.i1": 50, "l.i2": 5}
_BESIDE_QUERIES = 50
_LEVELS = {
    Kind.LOAD: 40_000.0,
    Kind.INDEX: 300_000.0,
    Kind.REPLACE: 9_000.0,
    Kind.RANGE_QUERY: 4_000.0,
    Kind.POINT_QUERY: 6_000.0,
}
"""Rate of one client."""


@dataclass(frozen=True)
class Overload:
    """A contender whose writers keep only a share of their rate, in every incarnation."""

    contender: str
    test: str
    inserts: float = 1.0
    deletes: float = 1.0


@dataclass(frozen=True)
class Standstill:
    """A second of every start without any operation of a role."""

    contender: str
    test: str
    role: str
    second: int


@dataclass(frozen=True)
class Break:
    """A step that ends with an error: it has no slice in that incarnation."""

    contender: str
    test: str
    incarnation: int
    reason: str = "the server ended: signal 9"


@dataclass
class _Course:
    """One step on one contender, while it is drawn."""

    step: InsertStep
    contender: str
    clients: int
    rate: float
    seconds: int
    rng: np.random.Generator
    silent: Mapping[str, set[int]] = field(default_factory=dict)
    """Role -> seconds when it is suspended."""
    overload: Overload | None = None


def insert_experiment(
    contenders: Sequence[str],
    steps: Sequence[str] = STEPS,
    *,
    shifts: Shifts | None = None,
    noise: float = 0.005,
    clients: Sequence[int] = (1,),
    incarnations: int = 3,
    overloaded: Iterable[Overload] = (),
    standstills: Iterable[Standstill] = (),
    broken: Iterable[Break] = (),
    seed: int = 1,
) -> tuple[Manifest, list[Slice]]:
    """A whole experiment in the order of measuring.

    `noise` is the standard deviation of ln rate of one step on one contender.
    """
    rng = np.random.default_rng(seed)
    overloads = {(overload.contender, overload.test): overload for overload in overloaded}
    silences = _silences(standstills)
    ended = {(b.contender, b.test, b.incarnation): b for b in broken}
    failures, slices = [], []
    clock = _STARTED
    for count in clients:
        for incarnation in range(1, incarnations + 1):
            for place, name in enumerate(steps):
                step = INSERT.test(name)
                assert step is not None
                order = list(contenders)[:: 1 if (place + incarnation) % 2 else -1]
                for slot, contender in enumerate(order):
                    if failure := ended.get((contender, name, incarnation)):
                        failures.append(_failure(failure, count))
                        continue
                    speed = _shift(shifts or {}, contender, name) * np.exp(rng.normal(0, noise))
                    course = _Course(
                        step=step,
                        contender=contender,
                        clients=count,
                        rate=_LEVELS[step.kind] * count * float(speed),
                        seconds=SECONDS,
                        rng=rng,
                        silent=silences.get((contender, name), {}),
                        overload=overloads.get((contender, name)),
                    )
                    record = _slice(
                        course, started=clock, idle=[o for o in order if o != contender]
                    )
                    record.place.incarnation, record.place.slot = incarnation, slot
                    slices.append(record)
                    clock += SECONDS + 5.0
    manifest = synthetic_manifest(contenders, steps, clients, incarnations, seed)
    manifest.plans = []
    manifest.failed_steps = failures
    manifest.method.steps, manifest.method.budget_s = _method(), 0.0
    return manifest, slices


def _silences(standstills: Iterable[Standstill]) -> dict[tuple[str, str], dict[str, set[int]]]:
    seconds: dict[tuple[str, str], dict[str, set[int]]] = {}
    for standstill in standstills:
        roles = seconds.setdefault((standstill.contender, standstill.test), {})
        roles.setdefault(standstill.role, set()).add(standstill.second)
    return seconds


def _shift(shifts: Shifts, contender: str, test: str) -> float:
    given = shifts.get(contender, 1.0)
    return given.get(test, 1.0) if isinstance(given, Mapping) else given


def _failure(broken: Break, clients: int) -> StepFailure:
    return StepFailure(
        test=broken.test,
        clients=clients,
        contender=broken.contender,
        incarnation=broken.incarnation,
        reason=broken.reason,
        after_s=7.5,
    )


def _slice(course: _Course, *, started: float, idle: Sequence[str]) -> Slice:
    roles = _roles(course)
    main = roles[_main_role(course.step)]
    operations = (main.statements if course.step.rate else main.rows) or 0
    assert main.seconds is not None
    used = _server_use(operations, course.seconds)
    return Slice(
        place=Place(
            benchmark="insert",
            test=course.step.name,
            clients=course.clients,
            contender=course.contender,
        ),
        qps=operations / main.seconds,
        unit=course.step.unit,
        measured=Measured(
            started=started,
            seconds=float(course.seconds),
            operations=operations,
            statements=sum(role.statements or 0 for role in roles.values()),
            rows=sum(role.rows or 0 for role in roles.values()),
            bytes_sent=80 * operations,
            bytes_received=20 * operations,
            latency=main.latency,
            per_second=[PerSecond(second.statements, second.max_ns) for second in main.per_second],
            uses={
                "client": Use(
                    cpu_user_s=0.02 * course.seconds,
                    cpu_system_s=0.01 * course.seconds,
                    voluntary_switches=1000,
                    involuntary_switches=10,
                    threads=sum(role.connections or 0 for role in roles.values()),
                    busiest_thread=0.03,
                ),
                "server": used,
                "host": _host_use(used, course.seconds, stalled=False),
                **{f"idle.{name}": Use(cpu_s=0.001 * course.seconds) for name in idle},
            },
            probe_seconds=course.seconds + 0.01,
        ),
        step=_detail(course, roles, operations),
    )


def _main_role(step: InsertStep) -> str:
    if step.rate is not None:
        return "query"
    return "index" if step.kind is Kind.INDEX else "insert"


def _roles(course: _Course) -> dict[str, RoleUse]:
    step = course.step
    if step.kind is Kind.INDEX:
        return {"index": _index(course)}
    if step.rate is None:
        names = ["insert"] if step.kind is Kind.LOAD else ["insert", "delete"]
        batch = _ROWS_PER_COMMIT[step.plain_name]
        return {name: _role(course, name, course.rate / batch, batch) for name in names}
    assert step.rate is not None
    target = float(step.rate * course.clients)
    kept = course.overload or Overload(course.contender, step.name)
    writers = {
        name: _writer(course, name, target, share)
        for name, share in (("insert", kept.inserts), ("delete", kept.deletes))
    }
    return {"query": _role(course, "query", course.rate, 10), **writers}


def _role(course: _Course, name: str, statements_per_second: float, batch: int) -> RoleUse:
    """A role as fast as it can, `statements_per_second` over all of its connections."""
    mean_ns = 1e9 * course.clients / statements_per_second
    seconds = []
    for second in range(course.seconds):
        silent = second in course.silent.get(name, set())
        count = 0 if silent else int(course.rng.normal(1, 0.03) * statements_per_second)
        seconds.append(RoleSecond(count, count * batch, int((90 if silent else 9) * mean_ns), 0))
    return _use(course, seconds, mean_ns)


def _writer(course: _Course, name: str, target: float, share: float) -> RoleUse:
    """A role that keeps `share` of a rate."""
    due = round(target * course.seconds)
    seconds, done, before = [], 0, 0
    for second in range(course.seconds):
        silent = second in course.silent.get(name, set())
        before = done
        done = done if silent else int((second + 1) * target * share / _BESIDE_QUERIES)
        late_ns = int((1 - share) * (second + 1) * 1e9)
        max_ns = 900_000_000 if silent else 12_000_000
        rows = (done - before) * _BESIDE_QUERIES
        seconds.append(RoleSecond(done - before, rows, max_ns, late_ns))
    use = _use(course, seconds, 5e6)
    assert use.rows is not None
    assert use.statements is not None
    use.schedule = WriteSchedule(
        rate=target,
        due=due,
        backlog=due - use.rows,
        late_statements=0 if share == 1 else use.statements,
        max_lag_ns=max(second.late_ns for second in seconds),
        mean_lag_ns=float(np.mean([second.late_ns for second in seconds])),
    )
    return use


def _index(course: _Course) -> RoleUse:
    """Three indexes; the last takes until the end."""
    seconds = [RoleSecond(0, 0, 0, 0) for _ in range(course.seconds)]
    rows = round(course.rate * course.seconds)
    for share in (0.3, 0.6, 1.0):
        at = round(share * course.seconds) - 1
        seconds[at] = RoleSecond(course.clients, rows // 3, int(6e9), 0)
    use = _use(course, seconds, 5e9)
    use.rows = rows
    return use


def _use(course: _Course, seconds: list[RoleSecond], mean_ns: float) -> RoleUse:
    statements = sum(second.statements for second in seconds)
    return RoleUse(
        connections=course.clients,
        statements=statements,
        rows=sum(second.rows for second in seconds),
        seconds=float(course.seconds),
        latency=_histogram(mean_ns, statements, max(second.max_ns for second in seconds)),
        per_second=seconds,
        client_cpu_s=0.01 * course.seconds,
    )


def _detail(course: _Course, roles: Mapping[str, RoleUse], operations: int) -> StepDetail:
    rows = 500_000 * course.clients
    rate = course.step.rate
    stalled = set().union(*course.silent.values()) if course.silent else set()
    return StepDetail(
        roles=dict(roles),
        target=None if rate is None else float(rate * course.clients),
        samples=[
            _sample(second, operations // course.seconds, stalled=second in stalled)
            for second in range(course.seconds)
        ],
        rows_expected=rows,
        rows_counted=rows,
        data_bytes=900 << 20,
        table_bytes=60 << 20,
        index_bytes=(30 if course.step.kind is Kind.LOAD else 90) << 20,
        settled_s=3.5,
    )


def _sample(second: int, operations: int, *, stalled: bool) -> Sample:
    used = _server_use(operations // 20 if stalled else operations, 1)
    return Sample(
        start=second + 0.02,
        seconds=1.0,
        uses={"server": used, "host": _host_use(used, 1, stalled=stalled)},
        log=["LOG:  checkpoint starting: wal"] if stalled else [],
    )


def _server_use(operations: int, seconds: int) -> Use:
    cpu_s = min(1.8 * seconds, operations * 20e-6)
    return Use(
        cpu_s=cpu_s,
        cpu_user_s=0.8 * cpu_s,
        cpu_system_s=0.2 * cpu_s,
        context_switches=operations // 10,
        read_bytes=operations * 10,
        write_bytes=operations * 300,
        vsz_bytes=420 << 20,
        rss_bytes=180 << 20,
        processes=9,
    )


def _host_use(server: Use, seconds: int, *, stalled: bool) -> Use:
    return Use(
        cpu_user_s=0.9 * server["cpu_s"],
        cpu_system_s=0.3 * server["cpu_s"],
        cpu_iowait_s=(0.9 if stalled else 0.05) * seconds,
        cpu_steal_s=0.01 * seconds,
        cpu_idle_s=0.2 * seconds,
        context_switches=3 * server["context_switches"],
        interrupts=1000 * seconds,
        reads=10 * seconds,
        read_bytes=server["read_bytes"],
        writes=200 * seconds,
        write_bytes=(40 << 20) * seconds if stalled else server["write_bytes"],
    )


def _histogram(mean_ns: float, count: int, max_ns: int) -> Histogram:
    """A right-skewed distribution in five buckets."""
    shares, multiples = (0.5, 0.3, 0.15, 0.04, 0.01), (0.8, 1.0, 1.3, 2.0, 4.0)
    counts = [int(share * count) for share in shares]
    counts[0] += count - sum(counts)
    return Histogram(
        values_ns=[min(round(multiple * mean_ns), max_ns) for multiple in multiples],
        counts=counts,
        max_ns=max_ns,
        mean_ns=mean_ns,
    )


def _method() -> StepsMethod:
    return StepsMethod(
        workload="quick",
        rows={"l.i0": 500_000, "l.i1": 100_000, "l.i2": 20_000},
        rows_per_commit={**_ROWS_PER_COMMIT, "q": _BESIDE_QUERIES},
        seconds=float(SECONDS),
    )
