"""Experiments for the report's tests: a plain one, and one with every kind of failure."""

from __future__ import annotations

from collections.abc import Sequence

from slowdust.analysis.model import Report
from slowdust.analysis.stored import analyse
from slowdust.store.manifest import Plan
from slowdust.store.measured import PerSecond, Schedule
from slowdust.store.profile import Calls, FunctionCost, Profile
from slowdust.store.slice import Slice
from tests.unit.computed import computed_once
from tests.unit.disks import Moments, counted_writes, experiment_on_disk
from tests.unit.synthetic import synthetic_experiment
from tests.unit.synthetic_counts import CountNoise, synthetic_counts
from tests.unit.synthetic_steps import Break, Overload, Standstill, insert_experiment

BASE, NEWER = "postgres@15.8", "postgres@17.6"
TESTS = ("update-index", "write-only", "scan", "point-query", "random-points.10", "read-only.100")
SHIFTS = {NEWER: {"point-query": 0.8, "update-index": 1.2, "read-only.100": 0.9}}

SWEEP = (1, 2, 4, 8, 16, 32, 64)

HOSTILE = "<script>alert('x')</script>&\"@1"
"""A contender's name that would run if it were not escaped."""


@computed_once
def plain_experiment() -> tuple[Report, list[Slice]]:
    """Two contenders, six tests, known to be faster, slower or the same."""
    manifest, slices = synthetic_experiment([BASE, NEWER], TESTS, shifts=SHIFTS, blocks=8)
    return analyse(manifest, slices), slices


@computed_once
def counted_experiment(
    names: Sequence[str] = (BASE, NEWER), clients: Sequence[int] = (1,)
) -> tuple[Report, list[Slice]]:
    """Contenders whose work was counted: less, more, unsure and the same, all with equal times."""
    tests = ("point-query", "scan", "insert", "update-index")
    manifest, slices = synthetic_experiment(names, tests, clients=clients, blocks=4)
    shifts = {NEWER: {"point-query": 0.954, "scan": 1.49, "insert": 1.005}}
    noise = CountNoise(repeat=0.006)
    counts = synthetic_counts(names, tests, shifts=shifts, noise=noise, seed=3)
    return analyse(manifest, slices, counts=counts), slices


@computed_once
def profiled_experiment() -> tuple[Report, list[Slice], list[Profile]]:
    """The plain one with profiles of point-query, whose parser grew."""
    manifest, slices = synthetic_experiment([BASE, NEWER], TESTS, shifts=SHIFTS, blocks=8)
    profiles = [_profile(BASE, parse=3000), _profile(NEWER, parse=5000)]
    return analyse(manifest, slices, profiles=profiles), slices, profiles


@computed_once
def matched_experiment() -> tuple[Report, list[Slice], list[Profile]]:
    """The profiled one with calls: the parser was renamed and split."""
    manifest, slices = synthetic_experiment([BASE, NEWER], TESTS, shifts=SHIFTS, blocks=8)
    before, after = _profile(BASE, parse=3000), _profile(NEWER, parse=2000)
    before.calls = [Calls(1, 0, 2), Calls(0, 2, 4), Calls(1, 2, 1)]
    after.functions[0].name = "parse_statement"
    after.functions.append(FunctionCost("parse_list", "postgres", 1200, 1200))
    after.calls = [*before.calls, Calls(0, 3, 6)]
    profiles = [before, after]
    return analyse(manifest, slices, profiles=profiles), slices, profiles


def _profile(contender: str, *, parse: float) -> Profile:
    return Profile(
        benchmark="micro",
        test="point-query",
        clients=1,
        contender=contender,
        source="callgrind",
        unit="instructions",
        operations=100,
        functions=[
            FunctionCost("parse<1>", "postgres", parse, parse),
            FunctionCost("main", "postgres", 1000, 1300 + parse),
            FunctionCost("(no symbols)", "libz.so.1", 300, 300),
        ],
        stacks={"main": 1000, "main;parse<1>": parse, "main;[libz.so.1]": 300},
        unnamed_objects=["libz.so.1"],
    )


@computed_once
def sized_experiment(
    contenders: int, tests: Sequence[str], *, clients: Sequence[int] = (1,), blocks: int = 4
) -> tuple[Report, list[Slice]]:
    """`contenders` with long names, all alike."""
    names = [f"mariadb@10.{minor}.8/rocksdb:small+jemalloc" for minor in range(contenders)]
    manifest, slices = synthetic_experiment(names, tests, clients=clients, blocks=blocks)
    return analyse(manifest, slices), slices


@computed_once
def sweep_experiment() -> tuple[Report, list[Slice]]:
    """Seven numbers of clients: one test is overtaken in, one always slower, one never differs."""
    courses = {"point-query": (0.8, 0.85, 0.9, 1.0, 1.15, 1.3, 1.6), "scan": (0.7,) * 7}
    manifest, slices = synthetic_experiment(
        [BASE, NEWER],
        ["update-index", "scan", "point-query"],
        shifts={
            NEWER: {
                f"{test}@{clients}": rqps
                for test, course in courses.items()
                for clients, rqps in zip(SWEEP, course, strict=True)
            }
        },
        clients=SWEEP,
        blocks=6,
    )
    return analyse(manifest, slices), slices


@computed_once
def matrix_experiment() -> tuple[Report, list[Slice]]:
    """Twelve contenders of one build, named by a matrix; they differ in settings and allocator."""
    points = [
        {"binlog": binlog, "fsync": fsync, "doublewrite": doublewrite}
        for binlog in ("off", "on")
        for fsync in ("off", "on")
        for doublewrite in ("off", "on", "detect_only")
    ]
    names = [
        " ".join(("mysql@9.7.4", *(f"{axis}={at}" for axis, at in point.items())))
        for point in points
    ]
    manifest, slices = synthetic_experiment(
        names,
        ["update-index", "update-nonindex", "insert"],
        shifts={name: 0.5 for name in names if "fsync=on" in name},
        blocks=4,
    )
    for place, (facts, point) in enumerate(zip(manifest.contenders, points, strict=True)):
        facts.engine, facts.buffer_pool_bytes = "innodb", 128 << 20
        facts.allocator = "tcmalloc" if place % 2 else "glibc"
        facts.environment = ["tcmalloc"] if place % 2 else []
        facts.settings = {
            "innodb_doublewrite": point["doublewrite"].upper(),
            "innodb_flush_log_at_trx_commit": "1" if point["fsync"] == "on" else "2",
            "sync_binlog": "1" if point["fsync"] == "on" else "0",
            "skip_log_bin": "0" if point["binlog"] == "on" else "1",
            "innodb_buffer_pool_size": "128M",
        }
    return analyse(manifest, slices), slices


@computed_once
def disk_experiment() -> tuple[Report, list[Slice]]:
    """Reads and updates of data beyond the page cache, whose use of the disk differs."""
    base, other = "postgres@15.8", "mysql@9.7.4"
    manifest, slices = experiment_on_disk({base: 0.5, other: 0.6}, moments=Moments(), blocks=6)
    manifest.counters = counted_writes({base: 15_000.0, other: 40_000.0})
    for facts in manifest.contenders:
        facts.buffer_pool_bytes, facts.table_bytes = 8 << 20, 80 << 20
    return analyse(manifest, slices), slices


@computed_once
def slap_experiment() -> tuple[Report, list[Slice]]:
    """Response times of two DBMS, whose allocators differ without being asked to."""
    manifest, slices = synthetic_experiment(
        ["postgres@17.6", "mysql@9.7.4"],
        ["range-pk.10", "update-same-indexed"],
        shifts={"mysql@9.7.4": {"update-same-indexed": 0.6}},
        clients=(8,),
        blocks=6,
    )
    for facts, allocator in zip(manifest.contenders, ("glibc", "tcmalloc"), strict=True):
        facts.allocator = allocator
    manifest.contenders[1].engine = "innodb"
    for record in slices:
        record.place.benchmark = "slap"
    return analyse(manifest, slices), slices


@computed_once
def long_experiment() -> tuple[Report, list[Slice]]:
    """The Insert Benchmark with every kind of failure.

    The newer one's writers miss their rate in `qp1000` and the base's in `qr1000`; `qr100` and
    `qr500` stall for a moment; the newer one's server exits in `qp500`, twice, and in `qr500` once,
    with a long log.
    """
    log = "the server ended: signal 9\n" + "LOG:  <line> of the log\n" * 40
    manifest, slices = insert_experiment(
        [BASE, NEWER],
        shifts={NEWER: {"l.i1": 1.3, "l.x": 0.8}},
        incarnations=2,
        overloaded=[
            Overload(NEWER, "qp1000", inserts=0.6),
            Overload(BASE, "qr1000", deletes=0.8),
        ],
        standstills=[
            Standstill(BASE, "qr100", "query", second=12),
            Standstill(NEWER, "qr500", "insert", second=7),
        ],
        broken=[
            Break(NEWER, "qr500", 2, log),
            Break(NEWER, "qp500", 1, "the server ended: signal 9\nFATAL:  <out> of memory"),
            Break(NEWER, "qp500", 2, "the server ended: signal 9"),
        ],
    )
    return analyse(manifest, slices), slices


@computed_once
def troubled_experiment() -> tuple[Report, list[Slice]]:
    """A failed contender, a hostile one, differing plans, errors, gaps, an open loop.

    `scan` has no slice of the hostile contender, `write-only` was run to a schedule and met
    errors, `point-query` has slices of several seconds, `update-index` no probes at all.
    """
    failed = "postgres@9.6"
    manifest, slices = synthetic_experiment(
        [BASE, NEWER, HOSTILE, failed],
        TESTS,
        shifts=SHIFTS,
        clients=(1, 8),
        incarnations=1,
        blocks=5,
    )
    for facts in manifest.contenders:
        if facts.name == failed:
            facts.failed = "exited with 1 while starting\nFATAL: could not map <shared> memory"
            facts.data_bytes = facts.build.stripped_bytes = None
        if facts.name == HOSTILE:
            facts.settings = {"shared_buffers": "1GB", "io_method": "<b>worker</b>"}
    manifest.warnings = ["CPU governor is schedutil: `cpupower frequency-set -g performance`"]
    manifest.plans += [
        Plan(
            test="point-query",
            contender=name,
            statement="SELECT c FROM sbtest1 WHERE id=$1 AND k<5",
            plan=f"{kind} on sbtest1\n  Index Cond: (id = $1)\n  Filter: (k < 5)",
        )
        for name, kind in ((BASE, "Index Scan"), (NEWER, "Bitmap Heap Scan"))
    ]
    kept = [
        record
        for record in slices
        if record.place.contender != failed
        and not (record.place.test == "scan" and record.place.contender == HOSTILE)
    ]
    first = slices[0].measured.started
    assert first is not None
    for record in kept:
        assert record.measured.started is not None
        record.measured.started = first + 14 * (record.measured.started - first)
        _trouble(record)
    return analyse(manifest, kept), kept


def _trouble(record: Slice) -> None:
    if record.place.test == "update-index":
        record.measured.uses = {"client": record.measured.uses["client"]}
        record.measured.probe_seconds = None
        record.measured.skipped_probes = ["process", "host"]
    if record.place.test == "write-only":
        record.measured.errors = {"40001": 3, "<i>": 1}
        record.measured.retries = 3
        record.measured.schedule = Schedule(
            rate=2000.0,
            arrivals="poisson",
            late_operations=12,
            max_lag_ns=3_500_000,
            mean_lag_ns=14_000.0,
        )
    if record.place.test == "point-query":
        per_second, latency = record.measured.operations, record.measured.latency
        assert per_second is not None
        assert latency is not None
        operations = int(3.2 * per_second)
        record.measured.seconds, record.measured.operations = 3.2, operations
        record.qps = operations / 3.2
        record.measured.per_second = [
            PerSecond(per_second, latency.max_ns),
            PerSecond(per_second, 4 * latency.max_ns),
            PerSecond(per_second, latency.max_ns),
            PerSecond(operations - 3 * per_second, latency.max_ns),
        ]
