"""Shapes of an analysis, which every report format prints.

`Report` is the object that `slowdust report --json` writes; docs/report.schema.json describes it.
A field that was not measured is `None` and absent from the JSON.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from slowdust.analysis.calibration.model import Calibration
from slowdust.analysis.metrics import PerOperation
from slowdust.store.archived import Counters
from slowdust.store.latency import LatencyUs
from slowdust.store.manifest import StepFailure
from slowdust.units import Microsecond, Second

Verdict = Literal["faster", "slower", "same", "unsure"]
Amount = Literal["less", "more", "same", "unsure"]
"""Verdict on a metric of which no amount is good or bad in itself."""
Basis = Literal["typical", "all time"]
"""The ratio that a verdict is about: that of typical blocks, or that of totals."""

SCHEMA = 2


class MetricComparison(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A metric, or a percentile of response times, relative to the base's: paired by blocks."""

    ratio: float
    """The typical ratio of a block; that of the totals is in `per_op_relative`."""
    low: float | None = None
    high: float | None = None
    """95% interval of `ratio`; absent with fewer than two blocks."""
    verdict: Amount


class ResponseTime(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Mean response time, relative to the base's as rqps is: paired by blocks."""

    mean_us: Microsecond
    """Mean over all operations of all slices."""
    relative: float | None = None
    """Ratio, above 1 if answers take longer; 1 for the base; absent if no block could be paired."""
    low: float | None = None
    high: float | None = None
    """95% interval of `relative`; absent for the base and with fewer than two blocks."""


class Writers(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Rates that the writers beside the queries of an Insert Benchmark step kept.

    The worst of several incarnations counts.
    """

    target: float
    """Rows per second that the inserters, and the deleters, of all clients had to keep."""
    inserts: float
    """Rows inserted per second."""
    deletes: float | None = None
    insert_backlog: int | None = None
    """Rows that were due by the end of the step and not written by then."""
    delete_backlog: int | None = None
    max_lag_s: Second | None = None
    """Longest time that a write began behind its schedule."""
    sla_met: bool
    """Whether both rates reached 95% of the target; else the step's query rate is not compared."""


class Needed(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Forecast of what would decide an unsure result, if its ratio stays about where it is.

    In two of three such results the verdict is then another one.
    """

    factor: float
    """Multiple of the budget, or of the incarnations of long steps."""
    more: bool = False
    """Whether more than `factor` is needed, which is as far as the forecast looks."""
    seconds: Second | None = None
    """The budget times `factor`; of long steps, the time that all of them took times `factor`."""
    incarnations: int
    """Incarnations that the forecast spreads it over: as many times as there were. Slowdust takes
    at most six by itself, more have to be asked for."""
    alone_s: Second | None = None
    """The part of `seconds` that is this test's: the budget of an experiment without the others."""


class AllTimeRatio(msgspec.Struct, kw_only=True):
    """Relative throughput as the ratio of totals: operations over time, silent slices included."""

    rqps: float
    low: float
    high: float
    """95% interval."""


class Result(msgspec.Struct, kw_only=True, omit_defaults=True):
    """One test at one number of clients on one contender, relative to the base."""

    benchmark: str
    test: str
    group: str
    """point, range, range with aggregation, write."""
    clients: int
    contender: str
    unit: str
    qps: float
    """Total over total time of all slices, in `unit`; the median rate of long steps and of archived
    runs, which have no totals."""
    rqps: float | None = None
    """Relative throughput of typical blocks, 1 for the base; absent if no block has that of both
    contenders."""
    low: float | None = None
    high: float | None = None
    """95% interval of rqps; absent for the base and with fewer than two blocks."""
    verdict: Verdict | None = None
    """None for the base, where nothing could be compared, and for archived runs: one run does not
    say how far another would be from it."""
    all_time: AllTimeRatio | None = None
    """The ratio of totals; absent for the base, long steps and archived runs."""
    basis: Basis | None = None
    """The ratio that the verdict is about; absent without a verdict."""
    slices: int
    incarnations: int
    measured_s: Second | None = None
    errors: int | None = None
    """Failed operations; like retries, absent for archived runs."""
    errors_by_state: dict[str, int] = {}
    retries: int | None = None
    latency_us: LatencyUs | None = None
    """Percentiles of response times; absent if no operation succeeded."""
    response_time: ResponseTime | None = None
    """Headline of some results: benchmark slap, and every open loop."""
    per_op: PerOperation
    """Totals over slices / operations; analysis/metrics.py has the keys."""
    per_op_relative: PerOperation | None = None
    """Each value / the base's; None for the base; absent where the base's is 0 or absent."""
    compared: dict[str, MetricComparison] = {}
    """Metrics with an interval and a verdict, by their keys; analysis/metrics.py has those in
    `COMPARED`. Empty for the base, and for archived runs."""
    peak_vsz_gb: float | None = None
    peak_rss_gb: float | None = None
    counters: Counters | None = None
    counters_relative: dict[str, float] | None = None
    """Each counter / the base's, per operation, and ratios such as GHz as they are; None for the
    base, and where one of the two has no counters."""
    client_busiest_thread: float | None = None
    """Median over slices of the busiest client thread's CPU share; above 0.9 it was the limit."""
    idle_cpu_share: float | None = None
    """CPU of the contenders that should have been idle / window, mean over the slices."""
    backends_changed: int | None = None
    """Server processes that came or went inside the windows."""
    writers: Writers | None = None
    """Writers beside the queries of the Insert Benchmark."""
    late_operations: int | None = None
    """Operations of an open loop that started later than scheduled."""
    needed: Needed | None = None
    """Forecast of what would decide it; absent unless the verdict is `unsure`."""
    notes: list[str] = []
    """Notes in words: 'client was the limit', 'errors', 'plan differs', ..."""

    @property
    def judged_rqps(self) -> float | None:
        """The ratio that the verdict is about."""
        return self.rqps if self._all_time is None else self._all_time.rqps

    @property
    def bound(self) -> float | None:
        """The bound nearer 1 of the interval that the verdict is about.

        None without an interval that excludes 1.
        """
        low, high = self.judged_interval
        if low is None or high is None or low <= 1 <= high:
            return None
        return low if low > 1 else high

    def lies_beyond(self, margin: float) -> bool:
        """Return whether all of the interval is beyond the margin, on one side of 1."""
        return self.bound is not None and not 1 / (1 + margin) <= self.bound <= 1 + margin

    @property
    def _all_time(self) -> AllTimeRatio | None:
        return self.all_time if self.basis == "all time" else None

    @property
    def judged_interval(self) -> tuple[float | None, float | None]:
        """The bounds of the 95% interval of `judged_rqps`; None without one."""
        judged = self if self._all_time is None else self._all_time
        return judged.low, judged.high


class Noise(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Noise that an experiment of slices saw: why its intervals are as wide as they are."""

    slices: float | None = None
    """Median difference of two slices of one contender that follow each other, a share of 1."""
    slices_apart_s: Second | None = None
    """Median time from the one to the other."""
    restarts: float | None = None
    """Standard deviation of ln rqps from one start of the servers to the next, over all tests, as
    far as the noise of the blocks does not explain it."""
    other_cpu: float | None = None
    """Share of the host's CPU time that neither servers nor client used, in the slices."""
    steal: float | None = None
    """Share of the host's CPU time that other virtual machines took, in the slices."""


class PlanDifference(msgspec.Struct, kw_only=True):
    """A statement whose EXPLAIN differs between contenders of one DBMS."""

    test: str
    statement: str
    plans: dict[str, str]
    """Contender -> plan text."""


class ContenderInfo(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A contender as the report lists it."""

    name: str
    dbms: str
    version: str
    """The version that the server itself prints."""
    source: str
    sha256: str | None = None
    """Checksum of the binary; like the next, absent for archived runs."""
    binary_bytes: int | None = None
    stripped_bytes: int | None = None
    config: str
    settings: dict[str, str]
    """Every setting that Slowdust gave the server."""
    differing: dict[str, str] = {}
    """Settings that are not the base's; one that only the base has is '(not set)'."""
    settings_in_force: dict[str, str] = {}
    """Setting that was given -> its value as the running server writes it."""
    skipped_settings: list[str] = []
    """Optional settings of the config that this version does not know."""
    engine: str | None = None
    """The storage engine, where the DBMS has several."""
    environment: list[str] = []
    """Parts written behind the contender: 'jemalloc', 'MALLOC_ARENA_MAX=1'."""
    allocator: str | None = None
    """The malloc library that was loaded in the server: 'glibc', 'jemalloc', 'tcmalloc'."""
    buffer_pool_bytes: int | None = None
    """The server's own page cache."""
    failed: str | None = None
    """Reason why it dropped out, with the last lines of its log."""
    data_bytes: int | None = None


BUCKETS_US: tuple[int, ...] = (
    256, 1_000, 4_000, 16_000, 64_000, 256_000, 1_000_000, 4_000_000, 16_000_000,
)  # fmt: skip
"""Upper bounds of the classic response-time histogram, in microseconds; one more holds the rest."""


class RoleReport(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Work of one role of a step: inserts, deletes, queries."""

    role: str
    """insert, delete, query, index, transaction."""
    connections: int | None = None
    rate: float | None = None
    """Rate in `unit`."""
    unit: str
    """inserts/s and deletes/s are rows, queries/s statements."""
    statements: int | None = None
    rows: int | None = None
    buckets: list[int] | None = None
    """Statements by response time: one count for each of `BUCKETS_US`, and one for the rest."""
    p50_us: Microsecond | None = None
    """Median response time; like the two below, absent if no statement succeeded."""
    p99_us: Microsecond | None = None
    max_us: Microsecond | None = None
    client_cpu_us: Microsecond | None = None
    """CPU time of the client per row, or per query."""
    errors: int | None = None
    """Failed statements; like retries, absent for archived runs."""
    retries: int | None = None
    target: float | None = None
    """Rate that was asked for, in `unit`; absent if the role is unpaced."""
    backlog: int | None = None
    late_statements: int | None = None
    max_lag_s: Second | None = None
    mean_lag_s: Second | None = None


class Stall(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A second in which a role did less than a tenth of its median."""

    role: str
    second: int
    """Number of whole seconds since the beginning of the step."""
    rate: float
    """Rows of an inserter or deleter, statements of queries, in that second."""
    median: float
    """Median of the step's whole seconds; their mean if most have none."""
    server_cpu: float | None = None
    """CPUs that the server used; this and all below is what the probes read in that second."""
    host_cpu: float | None = None
    iowait: float | None = None
    """CPUs that waited for storage."""
    steal: float | None = None
    """CPUs that another virtual machine took."""
    read_mb: float | None = None
    """MB that the server read, per second."""
    write_mb: float | None = None
    host_write_mb: float | None = None
    context_switches: float | None = None
    log: list[str] = []
    """Lines of the server's log."""


class StepRun(msgspec.Struct, kw_only=True, omit_defaults=True):
    """One long step on one contender in one incarnation."""

    benchmark: str
    test: str
    clients: int
    contender: str
    incarnation: int
    seconds: Second | None = None
    qps: float
    """Rate in `unit`."""
    unit: str
    roles: list[RoleReport]
    stalls: list[Stall] = []
    rows_expected: int | None = None
    rows_counted: int | None = None
    data_bytes: int | None = None
    table_bytes: int | None = None
    index_bytes: int | None = None
    settled_s: Second | None = None
    """Time of maintenance and waiting after it."""


CourseKind = Literal[
    "always faster",
    "always slower",
    "overtakes",
    "falls behind",
    "sometimes faster",
    "sometimes slower",
    "changes more than once",
    "never differs",
]


class Course(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A contender beside the base from the fewest clients to the most, in one test."""

    contender: str
    kind: CourseKind
    """`overtakes` and `falls behind`: from slower to faster, or the reverse, once. `sometimes`:
    at some levels, and at the others neither faster nor slower."""
    at: int | None = None
    """Number of clients from which it has overtaken, or fallen behind."""
    words: str
    """'overtakes at 16 clients: slower up to 8 clients and faster from 16 clients on'."""


class TestConcurrency(msgspec.Struct, kw_only=True):
    """A test that was measured at several numbers of clients."""

    benchmark: str
    test: str
    courses: list[Course]


class Memory(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A contender's memory beside its throughput."""

    contender: str
    rqps_median: float | None = None
    """Median over its results with a relative rate; absent for the base, as the two below."""
    rqps_lowest: float | None = None
    rqps_highest: float | None = None
    peak_vsz_gb: float | None = None
    """Peak of all slices."""
    peak_rss_gb: float | None = None
    buffer_pool_gb: float | None = None
    rss_per_buffer_pool: float | None = None


class ChangeCounts(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Counts of the tests of a group that two versions, or contenders, have, by their change."""

    before: str
    after: str
    tests: int
    """Sum of the five counts below."""
    big_improvements: int
    small_improvements: int
    no_changes: int
    small_regressions: int
    big_regressions: int
    unsure: int | None = None
    """Improvements and regressions whose verdict is unsure; absent if none is."""
    median: float
    """Median of the tests' throughput of `after` / that of `before`."""


class GroupChanges(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Changes of a group of tests over the versions of a line."""

    line: str | None = None
    """DBMS, engine, configuration and environment that its versions share; absent if contenders
    are described beside the base."""
    group: str
    clients: int | None = None
    """The number of clients; absent if there is only one."""
    steps: list[ChangeCounts]
    """Changes from each version to the next newer one."""
    overall: ChangeCounts | None = None
    """Change from the first version to the last; absent if they have no test in common."""
    title: str
    """'Point queries (9 tests)', with the line or the clients if there are several."""
    clauses: list[str]
    """'from 5.6 to 5.7 there are big regressions for all tests', ..."""
    unsure_clauses: list[str] | None = None
    """The clauses of which all changes are unsure; absent if there are none."""

    @property
    def sentence(self) -> str:
        """Title and clauses as one sentence."""
        return f"{self.title}: {'; '.join(self.clauses)}."


class Report(msgspec.Struct, kw_only=True, omit_defaults=True):
    """One experiment, judged."""

    schema: int = SCHEMA
    experiment: str
    started: str | None = None
    """Start in ISO 8601, UTC; the day of archived runs, if they have it."""
    imported: str | None = None
    """Kind of its archived runs: sysbench, iibench; absent if Slowdust itself measured."""
    base: str
    contenders: list[str]
    margin: float
    results: list[Result]
    tldr: list[str]
    """Sentences of the tl;dr."""
    group_changes: list[GroupChanges] = []
    """Changes by line of versions, then group; contenders beside the base if there is no line."""
    contender_info: list[ContenderInfo]
    notes: list[str] = []
    """Notes on what differs beside what is compared: DBMS, engines, allocators."""
    step_runs: list[StepRun] = []
    """Runs of long steps, in the order of `results`, then by incarnation."""
    failed_steps: list[StepFailure] = []
    concurrency: list[TestConcurrency] = []
    """Empty unless there are several numbers of clients."""
    memory: list[Memory] = []
    """Memory by contender; empty unless they differ in engine, environment or allocator."""
    plan_differences: list[PlanDifference] = []
    calibration: Calibration | None = None
    """What the host can tell, where a build was compared with itself to learn that."""
    host: dict[str, str] = {}
    """Label -> value, ready to print."""
    noise: Noise | None = None
    """The noise of an experiment of slices; absent for long steps and archived runs."""
    warnings: list[str] = []
    """Warnings about the whole experiment."""
    method: dict[str, str] = {}
    """Label -> value: slice length, rows, tables, seed, budget, ..."""
