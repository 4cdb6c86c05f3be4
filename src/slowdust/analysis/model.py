"""The data of a report, which every output format prints.

`slowdust report --json` writes a `Report`; docs/report.schema.json describes it. Fields that were
not measured are `None` and absent from the JSON.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Literal, cast

import msgspec

from slowdust.analysis.functions.model import FunctionChanges
from slowdust.analysis.metrics import PerOperation
from slowdust.ratios import Amount, Basis, Keys, Ratio, Verdict
from slowdust.store.count import Source
from slowdust.store.finding import Finding
from slowdust.store.latency import LatencyUs
from slowdust.store.manifest import StepFailure
from slowdust.store.measured import Counters
from slowdust.store.waits import WaitKind, WaitSource
from slowdust.units import Microsecond, Second
from slowdust.wording import build_name, short_names

EvidenceKind = Literal[
    "plan", "rows", "pages", "planning", "instructions", "system calls", "settings"
]
"""The kinds of evidence; reasons that explain equally much are listed in this order."""
PartName = Literal[
    "instructions",
    "time per instruction",
    "user CPU",
    "system CPU",
    "server CPU",
    "other server CPU",
    "client CPU",
    "waiting",
    "server",
]
"""`server CPU` is user plus system CPU, and `other server CPU` the server CPU not explained by
instructions; both are used if clock ticks cannot separate user from system mode precisely enough.
`server` is all time outside the client, used if CPU time and waiting cannot be separated."""


class BesideResult(msgspec.Struct, kw_only=True, omit_defaults=True):
    """The background load of a test, and the test's own rate relative to its rate alone."""

    test: str
    """The background load: `transactions` or `queries`."""
    clients: int
    rate: float | None = None
    """Scheduled operations per second; absent for a closed loop."""
    qps: float
    """Achieved operations per second."""
    alone_qps: float | None = None
    """The test's own rate without background load, in neighbouring slices."""
    relative: Annotated[Ratio | None, Keys("relative", "low", "high")] = None
    """The test's own rate with background load / without, of typical slices."""
    p50_us: float | None = None
    p95_us: float | None = None
    p99_us: float | None = None
    """Response times of the background load, from the scheduled start."""
    errors: int
    retries: int
    late_operations: int | None = None
    """Operations that came due while their predecessor was running; absent for a closed loop."""
    freshness_queries: int | None = None
    """Operations whose freshness was measured, at the last query of each; absent, like the fields
    below, without such measurements."""
    stale_queries: int | None = None
    """Operations whose last query missed a transaction that had been committed before it began."""
    freshness_p50_us: float | None = None
    freshness_p99_us: float | None = None
    """The 99th percentile; absent for fewer than a hundred measurements."""
    freshness_max_us: float | None = None
    """Age of the data that these queries saw; 0 if they saw all committed data."""


class FrontierPoint(msgspec.Struct, kw_only=True, omit_defaults=True):
    """The rates of transactions and queries on one contender, for one number of clients of each."""

    contender: str
    transaction_clients: int
    query_clients: int
    transactions_per_s: float
    queries_per_s: float
    freshness_max_us: float | None = None
    on_frontier: bool
    """Whether no other point of the contender dominates it: at least as high in both rates and
    higher in one."""


class Evidence(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A difference from the base: in a plan, in an amount per operation, or in a setting."""

    kind: EvidenceKind
    words: str
    """Words before 'per operation', such as 'rows read by the engine'; for plans and settings, the
    difference."""
    base: float | None = None
    """Amount per operation; absent, like the next two, if the evidence is not a number."""
    contender: float | None = None
    ratio: float | None = None
    """Contender / base; absent if the base's amount is 0."""
    explains: float | None = None
    """ln(`ratio`) / ln(time per operation / the base's), at most 1: the share of the change that it
    can explain. 0 if it moved in the other direction; absent without a number, and if the verdict
    is `same`."""
    nearness: float = 0.0
    """How close its share is to the whole change, from 0 to 1. An amount whose ratio is far above
    the ratio of the times explains too much."""
    leads: bool = False
    """Whether it is a main reason of a faster or slower result; main reasons come first."""


class Part(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A part of the change of the time per operation."""

    name: PartName
    base_us: Microsecond | None = None
    """The base's time per operation in this part; absent, like the next, for the factors of CPU
    time (instructions, time per instruction, other server CPU)."""
    us: Microsecond | None = None
    change: float
    """Contribution to ln(time per operation / the base's): above 0 it makes the contender
    slower. The parts add up to the whole change."""
    low: float | None = None
    high: float | None = None
    """95% interval of `change`; absent with fewer than two blocks."""

    @property
    def is_certain(self) -> bool:
        return self.low is not None and self.high is not None and (self.low > 0 or self.high < 0)


class Explanation(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Time per operation compared with the base's, and the parts of the change."""

    base_us: Microsecond
    """Client time / operations, counting at most as many clients as there are CPUs: the time of an
    operation if no client waits for a CPU."""
    us: Microsecond
    change: float
    """ln(`us` / `base_us`), the mean over the starts; above 0 if slower. Computed from totals,
    excluding outlying blocks unless the verdict is based on all time."""
    low: float | None = None
    high: float | None = None
    parts: list[Part]
    main: list[PartName] = []
    """Main parts of the change, for faster and slower results: at least a quarter of the change,
    with an interval that excludes 0. The largest first."""
    words: str = ""
    """The main parts as the end of a sentence; empty unless the result is faster or slower."""

    def part(self, name: PartName) -> Part | None:
        return next((part for part in self.parts if part.name == name), None)


class StorageUse(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A test's use of storage on one contender."""

    data_per_pool: float | None = None
    """Size of tables and indexes after loading / size of the server's page cache."""
    from_device: float | None = None
    """Share of the bytes returned to the server's read calls that came from storage; the rest came
    from the kernel's page cache."""
    reads_per_s: float | None = None
    """Pages per second that the server read from storage."""
    disk_reads_per_s: float | None = None
    """Pages per second that the driver read directly from the same file, between the slices, with
    one thread for each client; absent for tests that write."""
    of_disk: Annotated[Ratio | None, Keys("of_disk", "of_disk_low", "of_disk_high")] = None
    """`reads_per_s` / `disk_reads_per_s`, paired slice by slice. Its interval includes variation of
    the disk over time; use `share` to compare contenders."""
    share: Annotated[
        Ratio | None, Keys("share_ratio", "share_low", "share_high", "share_verdict", Amount)
    ] = None
    """`of_disk` / the base's, paired block by block; absent for the base."""
    written_kb: float | None = None
    """KB written per operation, from the beginning of the step until all writes were flushed, over
    all operations of the step; absent for read-only tests."""
    log_kb: float | None = None
    """KB of these in the server's log, counted by the server; absent if it has no such counter."""
    written: Annotated[
        Ratio | None,
        Keys("written_ratio", "written_low", "written_high", "written_verdict", Amount),
    ] = None
    """`written_kb` / the base's, paired by start; 1 for the base."""


class HostResult(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A result on one host, as the ratio that the verdict is based on."""

    host: str
    qps: float
    """Total operations / total time of the host's own slices."""
    ratio: Annotated[Ratio | None, Keys("rqps", "low", "high")] = None
    """1 for the base; absent if no block of the host could be paired. The interval applies to more
    starts of the servers on this host."""
    blocks: int | None = None
    """Blocks that were compared; absent for the base."""
    incarnations: int


class GroupResult(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A result on the hosts of one CPU model, judged without the other hosts."""

    group: str
    hosts: list[str]
    ratio: Annotated[Ratio, Keys("rqps", "low", "high", "verdict")]


class ResponseTime(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Mean response time, and its ratio to the base's, paired by blocks."""

    mean_us: Microsecond
    """Mean over all operations of all slices."""
    relative: Annotated[Ratio | None, Keys("relative", "low", "high")] = None
    """Above 1 if responses take longer; 1 for the base; absent if no block could be paired."""


class Writers(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Rates achieved by the background writers of an Insert Benchmark step, in its worst start."""

    target: float
    """Required rows per second, of the inserters of all clients, and likewise of the deleters."""
    inserts: float
    """Rows inserted per second."""
    deletes: float | None = None
    insert_backlog: int | None = None
    """Rows that were due but not written by the end of the step."""
    delete_backlog: int | None = None
    max_lag_s: Second | None = None
    """Longest delay of a write against its schedule."""
    sla_met: bool
    """Whether both rates reached 95% of the target; otherwise the step's query rate is not
    compared."""


class Needed(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Forecast of the measuring that would decide an unsure result if its ratio stays where it is.

    In two of three cases the verdict is then no longer unsure.
    """

    factor: float
    """Multiple of the measured time, with the number of starts multiplied by the same factor."""
    more: bool = False
    """Whether more than `factor` is needed; the forecast goes no further."""
    incarnations: int
    """Starts of the servers in total: `factor` times the number so far."""
    extra_s: Second | None = None
    """Time to add: the share of the budget for this test alone; for long steps, for all steps."""


class Work(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Counted work per operation, relative to the base's."""

    source: Source
    """`valgrind` or `pmu`; counts of different sources are never compared."""
    clients: int
    """Number of clients during counting."""
    instructions: float
    """User-mode instructions per operation of the session's own process or thread; of the whole
    server if a PMU could not separate the session."""
    ratio: Annotated[Ratio | None, Keys("ratio", "low", "high", "verdict", Amount)] = None
    """Contender / base, the geometric mean over the starts that counted both; 1 for the base. Its
    verdict is `more`, `less` or `same` work (margin 1%), else `unsure`."""
    background: float | None = None
    """Instructions per operation of the server's other threads and processes; absent if they were
    not counted separately."""
    events: PerOperation = {}
    """Other events per operation: `system_calls`, `kernel_instructions`, ..."""
    differing: list[str] = []
    """Names in `events` whose counts all lie above, or all below, the base's counts, by more than
    the spread of either; empty for the base."""
    repeats: int
    """Number of counts over all starts."""
    incarnations: int

    @property
    def background_share(self) -> float | None:
        """Background instructions / session instructions; None if they were not counted."""
        if self.background is None:
            return 0.0 if self.source == "pmu" else None
        return self.background / self.instructions

    @property
    def verdict(self) -> Amount | None:
        return None if self.ratio is None else cast("Amount | None", self.ratio.verdict)

    @property
    def bound(self) -> float | None:
        """The bound of the interval that is nearer 1; None if the interval includes 1."""
        return None if self.ratio is None else self.ratio.bound


class Failures(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Executions that failed or returned a wrong result."""

    executions: int
    """All executions, including failed ones."""
    failed: int
    state: str
    """SQLSTATE of the most frequent error, or `wrong-row-count`."""
    text: str | None = None
    """The text of the first such error; absent in experiments of earlier versions."""

    @property
    def wholly(self) -> bool:
        return self.failed >= self.executions


class AmountDifference(msgspec.Struct, kw_only=True, omit_defaults=True):
    """An exact amount per operation that differs between a contender and the base."""

    statement: str | None = None
    """The statement; absent for the sum over all statements of the test."""
    amount: str
    """`rows_read`, `pages`, ...: analysis/evidence.py has the names."""
    base: float
    contender: float
    ratio: float | None = None
    """Contender / base; absent if the base's amount is 0."""


class Result(msgspec.Struct, kw_only=True, omit_defaults=True):
    """One test with one number of clients on one contender, relative to the base."""

    benchmark: str
    test: str
    group: str
    """point, range, range with aggregation, write."""
    clients: int
    contender: str
    unit: str
    qps: float
    """Total operations / total time of all slices, in `unit`; the median rate for long steps and
    single runs, which have no totals. 0 if no execution returned the right result."""
    typical: Annotated[Ratio | None, Keys("rqps", "low", "high")] = None
    """Relative throughput of typical blocks, 1 for the base; absent if no block has both
    contenders."""
    ratio: Annotated[Ratio | None, Keys(verdict="verdict")] = None
    """`typical` or `all_time`, whichever the verdict is based on: the ratio that reports print,
    colour and sort by. There is no verdict for the base, without anything to compare, and
    for single runs, whose noise is unknown."""
    all_time: Annotated[Ratio | None, Keys("rqps", "low", "high", nested=True)] = None
    """The ratio of totals (operations / time, including silent slices); absent for the base, long
    steps and single runs."""
    basis: Basis | None = None
    """The ratio that the verdict is based on: `all time` if stalls make it differ from the typical
    ratio; absent without a verdict."""
    slices: int
    outlasts_slices: bool = False
    """Whether operations, of the contender or the base, take longer than a slice. Each client then
    executes one in each slice, and slices cannot show stalls."""
    incarnations: int
    silent_incarnations: list[int] = []
    """Numbers of the starts during which its slices had no throughput."""
    measured_s: Second | None = None
    errors: int | None = None
    """Failed operations; absent for single runs, like `retries`."""
    errors_by_state: dict[str, int] = {}
    failures: Failures | None = None
    """Executions that failed or returned a wrong result; absent without failures. From 1% on, the
    test has no verdict."""
    retries: int | None = None
    latency_us: LatencyUs | None = None
    """Percentiles of response times; absent if no operation succeeded."""
    storage: StorageUse | None = None
    """Use of storage; absent unless the test's data exceeds the page cache."""
    response_time: ResponseTime | None = None
    """The headline of benchmark slap and of open loops; absent for others."""
    per_op: PerOperation
    """Totals over slices / operations; analysis/metrics.py has the keys."""
    per_op_relative: PerOperation | None = None
    """Each value / the base's; None for the base; absent if the base's is 0 or absent."""
    compared: dict[str, Ratio] = {}
    """Metrics and percentiles of response times relative to the base's, paired by blocks: the
    typical ratio, with an `Amount` as verdict; `per_op_relative` has the ratio of totals. Keys
    are as in `COMPARED` of analysis/metrics.py. Empty for the base and for single runs."""
    peak_vsz_gb: float | None = None
    peak_rss_gb: float | None = None
    work: Work | None = None
    """Counted work; absent if it was not counted."""
    explanation: Explanation | None = None
    """The parts of the change of the time per operation; absent for the base, long steps, open
    loops and single runs, and if CPU time was not measured."""
    amounts: dict[str, float] = {}
    """Exact amounts per operation (rows read, pages, ...), counted over a few operations; empty if
    none were executed for counting."""
    amount_differences: list[AmountDifference] = []
    """Exact amounts, of the operation and of its statements, that differ from the base's."""
    evidence: list[Evidence] = []
    """Exact evidence of a difference, main reasons first; empty for the base."""
    counters: Counters | None = None
    counters_relative: dict[str, float] | None = None
    """Each counter / the base's, per operation; ratios such as GHz unchanged. None for the base and
    if either has no counters."""
    client_busiest_thread: float | None = None
    """Median over slices of the busiest client thread's CPU share; above 0.9 the client was the
    limit."""
    idle_cpu_share: float | None = None
    """CPU of contenders that should have been idle / window, mean over the slices."""
    backends_changed: int | None = None
    """Server processes that started or exited inside the windows."""
    writers: Writers | None = None
    """Background writers of the Insert Benchmark."""
    beside: BesideResult | None = None
    """The background load; absent without any."""
    history_length: float | None = None
    """Undo logs in InnoDB's history list at the end of the step, before maintenance: median of the
    starts; absent for other engines."""
    dead_rows: float | None = None
    """Dead rows in all tables at that time, median of the starts; absent if the server does not
    count them."""
    late_operations: int | None = None
    """Operations of an open loop that started later than scheduled."""
    recall: float | None = None
    """Share of the exact answers that an approximate search finds, mean over the starts; absent for
    other tests."""
    doubt: str | None = None
    """Why it is unsure although its interval excludes 1: 'unsure after the correction for 8 tests'.
    Absent otherwise."""
    needed: Needed | None = None
    """Forecast of the measuring that would decide it; absent unless the verdict is `unsure`."""
    hosts: list[HostResult] = []
    """The result on each host; empty unless the experiment was merged from several hosts."""
    groups: list[GroupResult] = []
    """The result on each CPU model's hosts; empty with fewer than two models."""
    notes: list[str] = []
    """Notes in words: 'client was the limit', 'errors', 'retries', ..."""

    @property
    def verdict(self) -> Verdict | None:
        return None if self.ratio is None else cast("Verdict | None", self.ratio.verdict)

    @property
    def typical_beside(self) -> float | None:
        """The typical ratio, to be reported too if stalls make the verdict based on all time."""
        return self.typical.value if self.has_stalls and self.typical is not None else None

    @property
    def has_stalls(self) -> bool:
        """Whether stalls, its own or the base's, make the verdict based on all time."""
        is_of_totals = self.basis == "all time" and self.all_time is not None
        return is_of_totals and not self.outlasts_slices

    @property
    def has_other_plan(self) -> bool:
        return any(each.kind == "plan" for each in self.evidence)

    @property
    def bound(self) -> float | None:
        """The bound nearer 1 of the interval that the verdict is based on; None if the interval
        includes 1.
        """
        return None if self.ratio is None else self.ratio.bound


class SearchPoint(msgspec.Struct, kw_only=True):
    """A test on one contender as recall and speed."""

    test: str
    effort: int
    recall: float
    """Share of the exact answers that is found, mean over the starts."""
    qps: float


class AtRecall(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A contender's speed at a given recall, interpolated between the measured efforts."""

    recall: float
    qps: float | None = None
    """Interpolated QPS, geometric mean over `starts`; absent if a start has no value."""
    ratio: Annotated[Ratio | None, Keys("rqps", "low", "high", "verdict")] = None
    """This QPS / the base's in the same starts; 1 for the base, absent if either lacks a value in
    some start."""
    reason: str | None = None
    """Why `qps` is absent, or why it is not compared."""
    starts: int | None = None
    """Starts that measured all efforts, on both contenders; absent in reports of earlier versions,
    like the next."""
    reached: int | None = None
    """Number of these starts whose efforts enclose the recall closely enough."""


class SearchCurve(msgspec.Struct, kw_only=True):
    """The tests of one curve on one contender, by increasing effort."""

    contender: str
    points: list[SearchPoint]
    at: list[AtRecall]


class SearchComparison(msgspec.Struct, kw_only=True):
    """A curve of recall and QPS on all contenders that have it, the base first."""

    benchmark: str
    curve: str
    """The searched index: `hnsw`, `ivfflat`, `hnsw.filter10` (within 10% of the rows)."""
    clients: int
    contenders: list[SearchCurve]


class IndexResult(msgspec.Struct, kw_only=True, omit_defaults=True):
    """An index on one contender: its build time and its size."""

    index: str
    contender: str
    build_s: Second | None = None
    """Time to build and drop it; absent, like the next four, if it was not measured."""
    relative: Annotated[Ratio | None, Keys("relative", "low", "high", "verdict")] = None
    """This time / the base's, from paired slices; above 1 if it takes longer. The verdict is on the
    rate of builds: `faster` if it takes less time."""
    bytes: float | None = None
    """Size on disk, mean over the starts."""
    bytes_relative: float | None = None


class Difference(msgspec.Struct, kw_only=True):
    """A difference from the base, over windows that both contenders have, paired by neighbours."""

    base: float
    """The base's value: like all values of `ContenderWaits`, the trimmed mean of its windows."""
    change: float
    """Contender minus base, of trimmed means."""
    low: float
    high: float
    """99% interval of `change` from the scatter of the windows, which includes sampling error."""

    @property
    def is_certain(self) -> bool:
        return self.low > 0 or self.high < 0


class WaitCost(msgspec.Struct, kw_only=True, omit_defaults=True):
    """One event that sessions wait for."""

    event: str
    kind: WaitKind
    us: Microsecond
    """Time per operation."""
    times: float | None = None
    """Number of waits per operation; absent if waits are sampled."""
    beside: Difference | None = None
    """The difference from the base; absent for the base, and if the base has other events."""


class SyncCost(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Waits for the disk, by fsync and the like, of the whole server."""

    per_operation: float
    """Number of calls per operation; in a test that writes, an operation has one commit."""
    us: Microsecond | None = None
    """Time of one call; absent without calls."""
    calls: list[str]
    """The system calls, the most frequent first."""
    per_operation_beside: Difference | None = None
    us_beside: Difference | None = None


class SessionStates(msgspec.Struct, kw_only=True, omit_defaults=True):
    """The time per operation of the processes or threads that serve sessions, from the kernel."""

    run_us: Microsecond | None = None
    """Time on a CPU."""
    queue_us: Microsecond | None = None
    """Time runnable but without a CPU."""
    queue_beside: Difference | None = None
    asleep_us: dict[str, Microsecond] = {}
    """System call -> time asleep in it, estimated from samples; the longest first."""
    asleep_beside: dict[str, Difference] = {}


class ContenderWaits(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Waits of one contender's sessions in one step. Observing has a cost, so only shares and
    differences are meaningful."""

    benchmark: str
    test: str
    clients: int
    contender: str
    windows: int
    time_us: Microsecond
    """Time of an operation during observation: clients * seconds / operations."""
    time_beside: Difference | None = None
    sources: list[WaitSource] = []
    """Sources of the events; empty if the server does not expose waits."""
    samples: int | None = None
    """Number of samples, each of one session; absent if all waits were summed."""
    kinds: dict[WaitKind, Microsecond] = {}
    """Kind -> time per operation, the longest first, excluding waits for the client."""
    kinds_beside: dict[WaitKind, Difference] = {}
    waits: list[WaitCost] = []
    """The events with the most time on either contender, excluding waits for the client."""
    others: int = 0
    """Number of other events."""
    others_us: Microsecond = 0.0
    blockers: dict[str, float] = {}
    """Activity of the session at the head of a lock queue -> share of the waiting sessions."""
    syncs: SyncCost | None = None
    sessions: SessionStates | None = None
    words: str = ""
    """A sentence on its waits."""
    words_of_change: str = ""
    """Waits that are longer or shorter than the base's, as the end of a sentence; empty without a
    significant difference."""


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
    """A contender compared with the base in one test, from the fewest clients to the most."""

    contender: str
    kind: CourseKind
    """`overtakes` and `falls behind`: from slower to faster, or the reverse, once. `sometimes`: at
    some numbers of clients, and neither faster nor slower at the others."""
    at: int | None = None
    """Fewest clients at which it has overtaken or fallen behind."""
    words: str
    """'overtakes at 16 clients: slower up to 8 clients and faster from 16 clients on'."""


class TestConcurrency(msgspec.Struct, kw_only=True):
    """A test that was measured at several numbers of clients."""

    benchmark: str
    test: str
    courses: list[Course]


class ChangeCounts(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Changes between two versions or contenders: the number of tests of a group by change."""

    before: str
    after: str
    tests: int
    """Sum of the five counts below."""
    big_improvements: int
    small_improvements: int
    no_changes: int
    small_regressions: int
    big_regressions: int
    same: int | None = None
    """Tests whose verdict is `same`; absent if 0, like the next."""
    unsure: int | None = None
    """Tests whose verdict is `unsure`, of any change."""
    median: float
    """Median over the tests of `after`'s throughput / `before`'s."""


class GroupChanges(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Changes of a group of tests over the versions of a line."""

    line: str | None = None
    """DBMS, engine, configuration and environment that its versions share; absent if contenders are
    compared with the base."""
    group: str
    clients: int | None = None
    """The number of clients; absent if there is only one."""
    hold_s: Second | None = None
    """The time for which a concurrent transaction was held open; absent without one."""
    steps: list[ChangeCounts]
    """Changes from each version to the next."""
    overall: ChangeCounts | None = None
    """Change from the first version to the last; absent if they have no tests in common."""
    title: str
    """'Point queries (9 tests)', with the line and the clients if there are several."""
    clauses: list[str]
    """'from 5.6 to 5.7 there are big regressions for all tests', ..."""
    unsure_clauses: list[str] | None = None
    """The clauses whose tests are all unsure; absent without any."""

    @property
    def sentence(self) -> str:
        return f"{self.title}: {'; '.join(self.clauses)}."


BUCKETS_US: tuple[int, ...] = (
    256, 1_000, 4_000, 16_000, 64_000, 256_000, 1_000_000, 4_000_000, 16_000_000,
)  # fmt: skip
"""Upper bounds of the classic response-time histogram, in microseconds; one more bucket has the
rest."""


class RoleReport(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Work of one role of a step: inserts, deletes, queries."""

    role: str
    """insert, delete, query, index, transaction."""
    connections: int | None = None
    rate: float | None = None
    """Rate in `unit`."""
    unit: str
    """`inserts/s` and `deletes/s` are rows, `queries/s` statements."""
    statements: int | None = None
    rows: int | None = None
    buckets: list[int] | None = None
    """Statements by response time: one count for each of `BUCKETS_US`, and one for the rest."""
    p50_us: Microsecond | None = None
    """Median response time; absent, like the two below, if no statement succeeded."""
    p99_us: Microsecond | None = None
    max_us: Microsecond | None = None
    client_cpu_us: Microsecond | None = None
    """Client CPU time per row, or per query."""
    errors: int | None = None
    """Failed statements; absent for single runs, like `retries`."""
    retries: int | None = None
    target: float | None = None
    """Target rate in `unit`; absent for a role without pacing."""
    backlog: int | None = None
    late_statements: int | None = None
    max_lag_s: Second | None = None
    mean_lag_s: Second | None = None


class Stall(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A second during which a role achieved less than a tenth of its median."""

    role: str
    second: int
    """Whole seconds since the beginning of the step."""
    rate: float
    """Rows of an inserter or deleter, or statements of queries, in that second."""
    median: float
    """Median of the step's whole seconds; their mean if most are empty."""
    server_cpu: float | None = None
    """CPUs that the server used; like all below, read by the probes in that second."""
    host_cpu: float | None = None
    iowait: float | None = None
    """CPUs waiting for storage."""
    steal: float | None = None
    """CPUs taken by other virtual machines."""
    read_mb: float | None = None
    """MB/s that the server read."""
    write_mb: float | None = None
    host_write_mb: float | None = None
    context_switches: float | None = None
    log: list[str] = []
    """Lines of the server's log."""


class StepRun(msgspec.Struct, kw_only=True, omit_defaults=True):
    """One long step on one contender in one start of the servers."""

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
    size_ratio: float | None = None
    """`data_bytes` / the base's, at the end of the same step in the same start."""
    history_length: int | None = None
    """Undo logs in InnoDB's history list at the end of the step, before maintenance."""
    dead_rows: int | None = None
    """Dead rows in all tables at that time, counted by Postgres."""
    settled_s: Second | None = None
    """Time of the maintenance and waiting after it."""
    chunks: int | None = None
    """Number of chunks; absent if each step ran whole."""
    writes_of_others_bytes: float | None = None
    """Bytes that the disk wrote during its chunks and its server did not: a lower bound of the
    writes of suspended servers and of other programs."""


class CalibratedTest(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A test of a build against itself, slowed by one share or not at all, over all trials."""

    test: str
    clients: int
    slowed: float
    """Share of throughput that the injected delay is chosen to take; 0 without a delay."""
    trials: int
    """Verdicts: each trial is judged like an experiment of two contenders."""
    known: int
    """Trials whose true ratio is known."""
    false: int
    """Wrong verdicts among those: `faster` or `slower` for equal contenders, `faster` for a slowed
    one, and `same` if the truth lies outside the margin."""
    found: int | None = None
    """`slower` verdicts over all trials; absent without a delay."""
    intervals: int
    """Trials with an interval and a known truth, for coverage."""
    covered: int
    """Intervals that contain the truth."""
    truth: float | None = None
    """Median of the trials' true ratios; absent if other work on the CPUs made it unknown."""
    ratio: float | None = None
    """Median of the trials' measured ratios."""
    half_width: float | None = None
    """Median half-width of the intervals, in ln rqps."""


class NeededTime(msgspec.Struct, kw_only=True):
    """Time that a test of two contenders needs to find a difference in nine of ten cases."""

    test: str
    clients: int
    half_width: float
    """Median half-width over all trials, slowed or not."""
    seconds: Second
    """Wall-clock time of both contenders in one trial: warm-up, and blocks including the time
    between slices, without opening connections, restarts and loading."""
    shortest: Second
    """Time of the fewest starts that a verdict needs, with the fewest blocks in each."""
    furthest: Second
    """The longest time that is forecast: 20 times `seconds`."""
    to_find: dict[str, Second]
    """Difference ('1%') -> time of both contenders, counted like `seconds`: at least `shortest`, at
    most `furthest`, which stands for 'more than that'."""


@dataclass(frozen=True)
class Resolution:
    """Time that a host needs to find one difference, over its tests with the fewest clients."""

    difference: str
    times: Sequence[tuple[str, Second, Second]]
    """Test, time, and the longest time that is forecast, by increasing time."""


class Tally(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Counts over all tests that were slowed by the same share."""

    slowed: float
    results: int
    known: int
    false: int
    found: int | None = None
    intervals: int
    covered: int


class Calibration(msgspec.Struct, kw_only=True, omit_defaults=True):
    """The resolution of a host, from a build compared with itself, slowed and not slowed."""

    contender: str
    dbms: str
    engine: str | None = None
    trials: int
    incarnations: int
    """Starts of the servers in each trial."""
    seconds: Second
    """Median measuring time of one contender in one test of one trial."""
    taken: float | None = None
    """Largest share of the clients' time that others may have used their CPUs: the median over
    tests, by trial; absent if it was not measured, or with more clients than CPUs."""
    tests: list[CalibratedTest]
    needed: list[NeededTime]
    tallies: list[Tally]


SCHEMA = 2


class Answer(msgspec.Struct, kw_only=True, omit_defaults=True):
    """The first screen; a part that does not apply is empty, and absent from JSON."""

    failures: str = ""
    """Tests with failures or wrong results in 1% or more of their executions, with the error."""
    warnings: list[str] = []
    """Reasons to doubt the results: a client that was the limit, errors, starts without work."""
    conditions: str = ""
    """Conditions: clients, rows, data size compared with the cache, durability, the host."""
    slower: list[str] = []
    """The slower tests, the largest difference first, with bounds and the reason of each."""
    faster: list[str] = []
    """The faster tests, likewise."""
    work: list[str] = []
    """Tests that are neither slower nor faster, but do more or less work."""
    rest: str = ""
    """How much slower or faster all other tests could be at most."""
    open: str = ""
    """The undecided tests, and the command that would decide them."""
    next: str = ""
    """Other advice."""


class JoinedExperiment(msgspec.Struct, kw_only=True):
    """A source of a merged experiment."""

    experiment: str
    path: str
    """The path of its folder or bundle when it was merged."""


class HostInfo(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A host in the report."""

    name: str
    group: str
    """The model of its CPU."""
    facts: dict[str, str]
    """Label -> value, for facts that differ between hosts."""
    cpus: int | None = None
    """CPUs available to clients and servers."""
    experiments: list[JoinedExperiment]
    incarnations: int
    """Timed starts of the servers."""
    slices: int
    tests: int
    started: str | None = None
    finished: str | None = None
    """The latest end of its parts; absent until all are finished."""
    spent_s: Second
    """Seconds spent of its budgets."""


class HostDisagreement(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A host whose ratio disagrees with the other hosts'."""

    host: str
    others: list[str]
    """The hosts that it is compared with; of two hosts, either may be the odd one."""
    contender: str
    test: str | None = None
    """The test; absent for a host that shifted all tests of the contender."""
    clients: int | None = None
    tests: int
    ratio: float
    """rqps on the host / on the others; the mean if over all tests."""
    chance: float
    """Upper bound of the probability that chance puts any host so far from the others."""


class Noise(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Noise in an experiment of slices: the cause of the widths of its intervals."""

    slices: float | None = None
    """Median difference of two consecutive slices of one contender, as a share."""
    slices_apart_s: Second | None = None
    """Median time between them."""
    restarts: float | None = None
    """Standard deviation of ln rqps between starts of the servers, over all tests, beyond the noise
    of the blocks."""
    other_cpu: float | None = None
    """Share of the host's CPU time used during slices by neither servers nor client."""
    steal: float | None = None
    """Share of the host's CPU time taken during slices by other virtual machines."""


class PlanDifference(msgspec.Struct, kw_only=True):
    """A statement that contenders of one DBMS execute differently."""

    test: str
    statement: str
    base: str
    """The contender that the other plans are compared with: the report's base, or the first
    contender of another DBMS."""
    plans: dict[str, str]
    """Contender -> its plan, as printed by the server, without costs."""
    differences: dict[str, list[str]]
    """Differing contender -> differences in words, the most important first."""
    differing_lines: dict[str, list[int]]
    """Contender -> indices, from 0, of the plan's lines that differ; for the base, from any other
    contender."""


class ContenderInfo(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A contender in the report."""

    name: str
    untold: str | None = None
    """A sentence on facts that servers of its DBMS do not report."""
    dbms: str
    version: str
    """The version printed by the server itself."""
    source: str
    sha256: str | None = None
    """Checksum of the binary; absent for imported runs, like the next."""
    binary_bytes: int | None = None
    stripped_bytes: int | None = None
    config: str
    settings: dict[str, str]
    """Settings that Slowdust gave the server."""
    differing: dict[str, str] = {}
    """Settings that differ from the base's; a setting that only the base has is '(not set)'."""
    settings_in_force: dict[str, str] = {}
    """Given setting -> its value as reported by the running server."""
    skipped_settings: list[str] = []
    """Optional settings of the config that this version does not know."""
    engine: str | None = None
    """The storage engine, if the DBMS has several."""
    environment: list[str] = []
    """Words after the contender's name: 'jemalloc', 'MALLOC_ARENA_MAX=1'."""
    allocator: str | None = None
    """The malloc library loaded in the server: 'glibc', 'jemalloc', 'tcmalloc'."""
    buffer_pool_bytes: int | None = None
    """The server's own page cache."""
    failed: str | None = None
    """Why it dropped out, with the last lines of its log."""
    data_bytes: int | None = None
    running: bool = False
    """Whether the server was already running and was reached by URL."""
    round_trip_us: float | None = None
    """Median time of an empty statement, for a server on another machine."""


class Memory(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A contender's memory and throughput."""

    contender: str
    rqps_median: float | None = None
    """Median over its results with a relative rate; absent for the base, like the two below."""
    rqps_lowest: float | None = None
    rqps_highest: float | None = None
    peak_vsz_gb: float | None = None
    """Peak over all slices."""
    peak_rss_gb: float | None = None
    buffer_pool_gb: float | None = None
    rss_per_buffer_pool: float | None = None


class Report(msgspec.Struct, kw_only=True, omit_defaults=True):
    """One experiment, judged."""

    schema: int = SCHEMA
    experiment: str
    started: str | None = None
    """Start in ISO 8601, UTC; for imported runs the day, if known."""
    imported: str | None = None
    """The kind of import (imported contenders have a single run each); absent if measured here."""
    typed: str | None = None
    """The folder, if the name alone does not identify it on a command line."""
    base: str
    contenders: list[str]
    margin: float
    margins: dict[str, float] | None = None
    """Test, or key of a metric -> its own margin; absent without any."""
    results: list[Result]
    answer: Answer | None = None
    """The summary; absent for imported runs, calibrations and a single contender."""
    unfinished: str | None = None
    """'NOT FINISHED: 6 of 33 tests, 1 start of the servers.'; absent once it is finished."""
    tldr: list[str]
    """Sentences of the tl;dr."""
    group_changes: list[GroupChanges] = []
    """Changes by line of versions, then group; from the base to each contender without a line."""
    contender_info: list[ContenderInfo]
    notes: list[str] = []
    """Notes on other differences between contenders: DBMS, engines, allocators."""
    step_runs: list[StepRun] = []
    """Runs of long steps, in the order of `results`, then by start."""
    failed_steps: list[StepFailure] = []
    concurrency: list[TestConcurrency] = []
    """Empty unless there are several numbers of clients."""
    frontier: list[FrontierPoint] = []
    """Rates of transactions and of concurrent queries; empty without such tests."""
    memory: list[Memory] = []
    """Memory by contender; empty unless they differ in engine, environment or allocator."""
    searches: list[SearchComparison] = []
    """Recall and QPS of approximate searches, by what is searched; empty without any."""
    indexes: list[IndexResult] = []
    """Indexes that were built, by kind, then contender; empty without any."""
    plan_differences: list[PlanDifference] = []
    same_plans: dict[str, list[str]] = {}
    """Test -> contenders with the same plan as the base for all its statements."""
    function_changes: list[FunctionChanges] = []
    """Changes of functions from the base, by step, then contender; empty without profiles."""
    waits: list[ContenderWaits] = []
    """Waits of the servers, by step, then contender; empty if they were not observed."""
    calibration: Calibration | None = None
    """The host's resolution, if the experiment compared a build with itself to learn that."""
    host: dict[str, str] = {}
    """Label -> value, ready to print."""
    findings: list[Finding] = []
    """Findings of the host's checks, the most severe first; empty if it was not checked."""
    hosts: list[HostInfo] = []
    """Hosts of a merged experiment (`host` has the facts they share); else empty."""
    host_disagreements: list[HostDisagreement] = []
    """Hosts whose ratios disagree with the others': first over all tests, then by test."""
    noise: Noise | None = None
    """Noise of an experiment of slices; absent for long steps and imported runs."""
    warnings: list[str] = []
    """Warnings about the whole experiment."""
    method: dict[str, str] = {}
    """Label -> value: slice length, rows, tables, seed, budget, ..."""

    @property
    def repeated(self) -> bool:
        """Whether tests ran several times, so that there are intervals, and settings are known.

        Imported experiments have a single run for each contender.
        """
        return self.imported is None

    @property
    def names(self) -> dict[str, str]:
        """Contender -> its name for readers: a directory's has its DBMS and version."""
        infos = {info.name: info for info in self.contender_info}
        return {
            name: build_name(name, infos[name].dbms, infos[name].version) if name in infos else name
            for name in self.contenders
        }

    @property
    def short_names(self) -> dict[str, str]:
        """Contender -> its name without the parts that all names share."""
        names = self.names
        return dict(zip(names, short_names([*names.values()]).values(), strict=True))

    @property
    def benchmarks(self) -> list[str]:
        """Names of the benchmarks of its results, in order."""
        return list(dict.fromkeys(result.benchmark for result in self.results))
