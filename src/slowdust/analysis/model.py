"""Shapes of an analysis, which every report format prints.

`Report` is the object that `slowdust report --json` writes; docs/report.schema.json describes it.
A field that was not measured is `None` and absent from the JSON.
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
"""The kinds, in the order in which reasons name those that explain as much."""
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
"""`server CPU` is user and system CPU in one, and `other server CPU` what it has beside the
instructions, where ticks of the clock cannot tell user from system mode well enough; `server` is
all of the time outside the client, where CPU time and waiting cannot be told apart."""


class BesideResult(msgspec.Struct, kw_only=True, omit_defaults=True):
    """The work beside a test, and the test's own relative to what it does alone."""

    test: str
    """The work: `transactions` or `queries`."""
    clients: int
    rate: float | None = None
    """Operations per second that were wanted of it; absent for a closed loop."""
    qps: float
    """Operations per second that it did."""
    alone_qps: float | None = None
    """The test's own rate without it, in slices next to those with it."""
    relative: Annotated[Ratio | None, Keys("relative", "low", "high")] = None
    """The test's own rate with it / without it, of typical slices."""
    p50_us: float | None = None
    p95_us: float | None = None
    p99_us: float | None = None
    """Response times of the work beside the test, from when it was due."""
    errors: int
    retries: int
    late_operations: int | None = None
    """Operations that were due while their predecessor was under way; absent for a closed loop."""
    freshness_queries: int | None = None
    """Operations of queries whose freshness was measured, that of the last query of each; absent,
    as below, where that of none was."""
    stale_queries: int | None = None
    """Operations whose last query did not see a transaction that was committed before it began."""
    freshness_p50_us: float | None = None
    freshness_p99_us: float | None = None
    """The 99th percentile; absent where fewer than a hundred were measured."""
    freshness_max_us: float | None = None
    """Ages of the data that these queries saw; 0 where all that was committed is seen."""


class FrontierPoint(msgspec.Struct, kw_only=True, omit_defaults=True):
    """The rates of both sides on one contender, with so many clients of each."""

    contender: str
    transaction_clients: int
    query_clients: int
    transactions_per_s: float
    queries_per_s: float
    freshness_max_us: float | None = None
    on_frontier: bool
    """Whether no other point of the contender has more of both, or more of one and as much of
    the other."""


class Evidence(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A plan, an amount per operation or a setting in which a contender differs from the base."""

    kind: EvidenceKind
    words: str
    """The amount before 'per operation', such as 'rows read by the engine'; of a plan or a setting,
    the difference."""
    base: float | None = None
    """Amount per operation; absent, as the next two, where the evidence is no number."""
    contender: float | None = None
    ratio: float | None = None
    """Contender / base; absent where the base's amount is 0."""
    explains: float | None = None
    """ln(`ratio`) / ln(time per operation / the base's), at most 1: the share of the change that it
    can explain. 0 where it moved the other way; absent without a number, and where the verdict is
    `same`."""
    nearness: float = 0.0
    """How near its share of the change is to all of it, from 0 to 1: a ratio of amounts that is far
    above that of the time explains too much."""
    leads: bool = False
    """Whether it is the reason of a faster or slower result, which has what leads first."""


class Part(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A part of the change of the time per operation."""

    name: PartName
    base_us: Microsecond | None = None
    """The base's time per operation that is this; absent, as the next, for factors of CPU
    time: instructions and what is beside them."""
    us: Microsecond | None = None
    change: float
    """What it adds to ln(time per operation / the base's): above 0 it makes the contender slower.
    The parts add up to the change of the whole."""
    low: float | None = None
    high: float | None = None
    """95% interval of `change`; absent with fewer than two blocks."""

    @property
    def is_certain(self) -> bool:
        return self.low is not None and self.high is not None and (self.low > 0 or self.high < 0)


class Explanation(msgspec.Struct, kw_only=True, omit_defaults=True):
    """The time per operation of a contender beside the base's, and what its change consists of."""

    base_us: Microsecond
    """Time of the clients, but of no more of them than there are CPUs, / operations: the time of an
    operation where no client waits for a CPU."""
    us: Microsecond
    change: float
    """ln(`us` / `base_us`), the mean over the incarnations; above 0 if slower. It is of totals, but
    without blocks that lie far from the others, unless the verdict is about all time."""
    low: float | None = None
    high: float | None = None
    parts: list[Part]
    main: list[PartName] = []
    """Parts that are a good part of the change of a result that is faster or slower: at least a
    quarter of it, with an interval that excludes 0. The largest first."""
    words: str = ""
    """The same in a sentence's end; empty unless the result is faster or slower."""

    def part(self, name: PartName) -> Part | None:
        return next((part for part in self.parts if part.name == name), None)


class StorageUse(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Use of the storage by one test on one contender."""

    data_per_pool: float | None = None
    """Size of tables and indexes after their load / that of the server's page cache."""
    from_device: float | None = None
    """Share of the bytes that the server's reading calls returned which came from storage; the rest
    was in the kernel's memory."""
    reads_per_s: float | None = None
    """Pages per second that the server read from storage."""
    disk_reads_per_s: float | None = None
    """Pages per second that the driver read directly from the same file, with as many threads as
    there are clients, beside the slices; absent for tests that write."""
    of_disk: Annotated[Ratio | None, Keys("of_disk", "of_disk_low", "of_disk_high")] = None
    """The first of these two / the second, paired slice by slice. The moments of the incarnations
    have a part in its interval: whether two contenders differ is told by `share`."""
    share: Annotated[
        Ratio | None, Keys("share_ratio", "share_low", "share_high", "share_verdict", Amount)
    ] = None
    """`of_disk` / the base's, paired block by block; absent for the base."""
    written_kb: float | None = None
    """KB written per operation from the beginning of the step until nothing was left to be written,
    all operations of the step included; absent for tests that only read."""
    log_kb: float | None = None
    """KB of the server's log among these, by its own count; absent where it does not count them."""
    written: Annotated[
        Ratio | None,
        Keys("written_ratio", "written_low", "written_high", "written_verdict", Amount),
    ] = None
    """`written_kb` / the base's, paired by incarnation; 1 for the base."""


class HostResult(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A result on one host, by the ratio that the verdict is about."""

    host: str
    qps: float
    """Total over total time of the host's own slices."""
    ratio: Annotated[Ratio | None, Keys("rqps", "low", "high")] = None
    """1 for the base; absent if no block of the host could be paired. The interval is that of what
    the host itself would show with more starts of its servers."""
    blocks: int | None = None
    """Blocks that were compared; absent for the base."""
    incarnations: int


class GroupResult(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A result on the hosts of one model of CPU, judged without all others."""

    group: str
    hosts: list[str]
    ratio: Annotated[Ratio, Keys("rqps", "low", "high", "verdict")]


class ResponseTime(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Mean response time, relative to the base's as rqps is: paired by blocks."""

    mean_us: Microsecond
    """Mean over all operations of all slices."""
    relative: Annotated[Ratio | None, Keys("relative", "low", "high")] = None
    """Ratio, above 1 if answers take longer; 1 for the base; absent if no block could be paired."""


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
    """Multiple of the time that was measured, in as many times the incarnations."""
    more: bool = False
    """Whether more than `factor` is needed, which is as far as the forecast looks."""
    incarnations: int
    """Incarnations that the forecast spreads it over: as many times as there were."""
    extra_s: Second | None = None
    """Time to add: of the budget for this test alone; of long steps, the time of all of them."""


class Work(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Counted work per operation, relative to the base's."""

    source: Source
    """`valgrind` or `pmu`: two sources are never compared."""
    clients: int
    """Number of clients with which it was counted."""
    instructions: float
    """Instructions in user mode per operation, of the session's own process or thread; of all of
    the server's where a PMU could not tell the session apart."""
    ratio: Annotated[Ratio | None, Keys("ratio", "low", "high", "verdict", Amount)] = None
    """Contender / base, as the geometric mean over what both did; 1 for the base. Its verdict is
    `more`, `less` or `same` work (margin 1%), else `unsure`."""
    background: float | None = None
    """Instructions per operation of the server's other threads and processes; absent where they
    were not counted apart."""
    events: PerOperation = {}
    """Other events per operation: `system_calls`, `kernel_instructions`, ..."""
    differing: list[str] = []
    """Names in `events` whose counts all lie above, or all below, the base's, by more than the
    counts of either differ among themselves; empty for the base."""
    repeats: int
    """Number of counts, over all incarnations."""
    incarnations: int

    @property
    def background_share(self) -> float | None:
        """Instructions of the background / the session's; None where nobody counted them."""
        if self.background is None:
            return 0.0 if self.source == "pmu" else None
        return self.background / self.instructions

    @property
    def verdict(self) -> Amount | None:
        return None if self.ratio is None else cast("Amount | None", self.ratio.verdict)

    @property
    def bound(self) -> float | None:
        """The bound nearer 1 of its interval; None without an interval that excludes 1."""
        return None if self.ratio is None else self.ratio.bound


class Failures(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Executions that failed, or had a wrong result."""

    executions: int
    """All executions, those that failed too."""
    failed: int
    state: str
    """SQLSTATE of the most frequent error, or `wrong-row-count`."""
    text: str | None = None
    """The text of the first such error; absent where an earlier version measured."""

    @property
    def wholly(self) -> bool:
        return self.failed >= self.executions


class AmountDifference(msgspec.Struct, kw_only=True, omit_defaults=True):
    """An exact amount per operation in which a contender differs from the base."""

    statement: str | None = None
    """The statement to which it belongs; absent for the sum over all statements of the test."""
    amount: str
    """`rows_read`, `pages`, ...: analysis/evidence.py has the names."""
    base: float
    contender: float
    ratio: float | None = None
    """Contender / base; absent where the base's is 0."""


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
    """Total over total time of all slices, in `unit`; the median rate of long steps and of single
    runs, which have no totals. 0 where no execution had the right result."""
    typical: Annotated[Ratio | None, Keys("rqps", "low", "high")] = None
    """Relative throughput of typical blocks, 1 for the base; absent if no block has that of both
    contenders."""
    ratio: Annotated[Ratio | None, Keys(verdict="verdict")] = None
    """The one of `typical` and `all_time` that the verdict is about: what reports print, colour and
    rank. The verdict is None for the base, where nothing could be compared, and for single runs:
    one run does not say how far another would be from it."""
    all_time: Annotated[Ratio | None, Keys("rqps", "low", "high", nested=True)] = None
    """The ratio of totals, operations over time, silent slices included; absent for the base, long
    steps and single runs."""
    basis: Basis | None = None
    """The ratio that the verdict is about: rqps, or that of `all_time` where stalls make the two
    differ; absent without a verdict."""
    slices: int
    outlasts_slices: bool = False
    """Whether an operation, of it or of the base, takes longer than a slice: each client executes
    one in each slice, and no slice shows a stall."""
    incarnations: int
    silent_incarnations: list[int] = []
    """Numbers of the incarnations in which no slice of it had any throughput."""
    measured_s: Second | None = None
    errors: int | None = None
    """Failed operations; like retries, absent for single runs."""
    errors_by_state: dict[str, int] = {}
    failures: Failures | None = None
    """Executions that failed or had a wrong result; absent where there are none. From 1% on, the
    test has no verdict."""
    retries: int | None = None
    latency_us: LatencyUs | None = None
    """Percentiles of response times; absent if no operation succeeded."""
    storage: StorageUse | None = None
    """Use of the storage, of a test of data beyond the page cache; absent for every other."""
    response_time: ResponseTime | None = None
    """Headline of some results: benchmark slap, and every open loop."""
    per_op: PerOperation
    """Totals over slices / operations; analysis/metrics.py has the keys."""
    per_op_relative: PerOperation | None = None
    """Each value / the base's; None for the base; absent where the base's is 0 or absent."""
    compared: dict[str, Ratio] = {}
    """Metrics, and percentiles of response times, relative to the base's, paired by blocks: the
    typical ratio of a block, and an `Amount` as verdict; that of totals is in `per_op_relative`.
    Keys are those of `COMPARED` in analysis/metrics.py. Empty for the base, and for single runs."""
    peak_vsz_gb: float | None = None
    peak_rss_gb: float | None = None
    work: Work | None = None
    """Counted work; absent where nothing was counted."""
    explanation: Explanation | None = None
    """What the change of the time per operation consists of; absent for the base, long steps, open
    loops and single runs, and where CPU time was not measured."""
    amounts: dict[str, float] = {}
    """Exact amounts per operation, counted in a few operations: rows read, pages, ...; empty where
    none were executed."""
    amount_differences: list[AmountDifference] = []
    """The exact amounts, of the operation and of its statements, that differ from the base's."""
    evidence: list[Evidence] = []
    """Exact evidence of a difference, in the order in which it is told; empty for the base."""
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
    beside: BesideResult | None = None
    """The work that ran beside it; absent where none did."""
    history_length: float | None = None
    """Undo logs in InnoDB's history list at the end of the step, before any maintenance: median of
    the incarnations; absent where the engine has no such list."""
    dead_rows: float | None = None
    """Dead rows in all tables at that time, likewise; absent where the server counts none."""
    late_operations: int | None = None
    """Operations of an open loop that started later than scheduled."""
    recall: float | None = None
    """Share of the exact answers that an approximate search finds, mean over the incarnations;
    absent of all other tests."""
    doubt: str | None = None
    """Why it is unsure although its interval excludes 1: 'unsure after the correction for 8 tests'.
    Absent where the interval has 1 in it, and where there is a verdict."""
    needed: Needed | None = None
    """Forecast of what would decide it; absent unless the verdict is `unsure`."""
    hosts: list[HostResult] = []
    """The result on each host that measured it; empty unless the experiment was joined."""
    groups: list[GroupResult] = []
    """The result on the hosts of each model of CPU; empty unless there are several models."""
    notes: list[str] = []
    """Notes in words: 'client was the limit', 'errors', 'retries', ..."""

    @property
    def verdict(self) -> Verdict | None:
        return None if self.ratio is None else cast("Verdict | None", self.ratio.verdict)

    @property
    def typical_beside(self) -> float | None:
        """The typical ratio, to be told where stalls make the verdict one about all time."""
        return self.typical.value if self.has_stalls and self.typical is not None else None

    @property
    def has_stalls(self) -> bool:
        """Whether stalls, its own or the base's, make the verdict one about all time."""
        is_of_totals = self.basis == "all time" and self.all_time is not None
        return is_of_totals and not self.outlasts_slices

    @property
    def has_other_plan(self) -> bool:
        return any(each.kind == "plan" for each in self.evidence)

    @property
    def bound(self) -> float | None:
        """The bound nearer 1 of the interval that the verdict is about.

        None without an interval that excludes 1.
        """
        return None if self.ratio is None else self.ratio.bound


class SearchPoint(msgspec.Struct, kw_only=True):
    """A test on one contender: how much it finds, and how fast."""

    test: str
    effort: int
    recall: float
    """The share of the exact answers that is found, mean over the incarnations."""
    qps: float


class AtRecall(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A contender where it finds a given share, between the efforts that were measured."""

    recall: float
    qps: float | None = None
    """Interpolated QPS, geometric mean over `starts`; absent where one of them has none."""
    ratio: Annotated[Ratio | None, Keys("rqps", "low", "high", "verdict")] = None
    """That QPS / the base's in the same starts; 1 for the base, absent where a start of either of
    the two has none."""
    reason: str | None = None
    """Why `qps` is absent, or why it is not compared."""
    starts: int | None = None
    """Incarnations that measured all efforts, of another than the base those that have both; absent
    in reports of earlier versions, as the next is."""
    reached: int | None = None
    """Incarnations of these in which it lies between two efforts that are close enough."""


class SearchCurve(msgspec.Struct, kw_only=True):
    """The tests of one curve on one contender, from the least effort to the most."""

    contender: str
    points: list[SearchPoint]
    at: list[AtRecall]


class SearchComparison(msgspec.Struct, kw_only=True):
    """A curve of recall and QPS with all contenders that have it, the base first."""

    benchmark: str
    curve: str
    """What is searched: `hnsw`, `ivfflat`, `hnsw.filter10` among 10% of the rows."""
    clients: int
    contenders: list[SearchCurve]


class IndexResult(msgspec.Struct, kw_only=True, omit_defaults=True):
    """An index of one contender: how long it takes to be built, and how large it is."""

    index: str
    contender: str
    build_s: Second | None = None
    """Time to build and drop it; absent where it was not measured, as the next four are."""
    relative: Annotated[Ratio | None, Keys("relative", "low", "high", "verdict")] = None
    """That time / the base's, from the slices in pairs; above 1 if it takes longer. The verdict is
    that on the rate of builds: `faster` if it takes less time."""
    bytes: float | None = None
    """Size on disk, mean over the incarnations."""
    bytes_relative: float | None = None


class Difference(msgspec.Struct, kw_only=True):
    """A value beside the base's, from the windows that both have: neighbours are paired."""

    base: float
    """The base's value, the trimmed mean of its windows, as all values of `ContenderWaits` are."""
    change: float
    """Contender minus base, of trimmed means."""
    low: float
    high: float
    """99% interval of `change`, by the scatter of the windows, which sampling is a part of."""

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
    """Number of waits per operation; absent where they are sampled."""
    beside: Difference | None = None
    """The time beside the base's; absent for the base, and where the base has other events."""


class SyncCost(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Waits for the disk, by fsync and the like, of the whole server."""

    per_operation: float
    """Number of calls per operation; in a test that writes an operation has one commit."""
    us: Microsecond | None = None
    """Time of one call; absent where there were none."""
    calls: list[str]
    """The system calls, the most frequent first."""
    per_operation_beside: Difference | None = None
    us_beside: Difference | None = None


class SessionStates(msgspec.Struct, kw_only=True, omit_defaults=True):
    """The time per operation of the processes or threads that serve sessions, by the kernel."""

    run_us: Microsecond | None = None
    """Time on a CPU."""
    queue_us: Microsecond | None = None
    """Time in which they could have run and had no CPU."""
    queue_beside: Difference | None = None
    asleep_us: dict[str, Microsecond] = {}
    """System call -> time asleep in it, estimated from samples; the longest first."""
    asleep_beside: dict[str, Difference] = {}


class ContenderWaits(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What one contender's sessions waited for in one step. It was observed with what observing
    costs, so that only shares and differences count."""

    benchmark: str
    test: str
    clients: int
    contender: str
    windows: int
    time_us: Microsecond
    """Time of an operation while it was observed: clients * seconds / operations."""
    time_beside: Difference | None = None
    sources: list[WaitSource] = []
    """Where the events come from; empty where the server cannot tell."""
    samples: int | None = None
    """Looks at one session each; absent where all waits were added up."""
    kinds: dict[WaitKind, Microsecond] = {}
    """Kind -> time per operation, the longest first, without the client's."""
    kinds_beside: dict[WaitKind, Difference] = {}
    waits: list[WaitCost] = []
    """The events with the most time on either contender, without the client's."""
    others: int = 0
    """Number of events with less time."""
    others_us: Microsecond = 0.0
    blockers: dict[str, float] = {}
    """What the session at the head of a queue for a lock did -> share of those that waited."""
    syncs: SyncCost | None = None
    sessions: SessionStates | None = None
    words: str = ""
    """What it waits for, as a sentence."""
    words_of_change: str = ""
    """What it waits for longer or less long than the base, as a sentence's end; empty where no
    difference is certain."""


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
    same: int | None = None
    """Tests whose verdict is `same`; like the next, absent if none is."""
    unsure: int | None = None
    """Tests whose verdict is unsure, whatever their change is."""
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
    hold_s: Second | None = None
    """The time for which a transaction was held open beside the tests; absent if none was."""
    steps: list[ChangeCounts]
    """Changes from each version to the next newer one."""
    overall: ChangeCounts | None = None
    """Change from the first version to the last; absent if they have no test in common."""
    title: str
    """'Point queries (9 tests)', with the line or the clients if there are several."""
    clauses: list[str]
    """'from 5.6 to 5.7 there are big regressions for all tests', ..."""
    unsure_clauses: list[str] | None = None
    """The clauses of which all tests are unsure; absent if there are none."""

    @property
    def sentence(self) -> str:
        return f"{self.title}: {'; '.join(self.clauses)}."


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
    """Failed statements; like retries, absent for single runs."""
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
    size_ratio: float | None = None
    """`data_bytes` relative to the base's, at the end of the same step of the same incarnation."""
    history_length: int | None = None
    """Undo logs in InnoDB's history list at the end of the step, before any maintenance."""
    dead_rows: int | None = None
    """Dead rows in all tables at that time, as Postgres counts them."""
    settled_s: Second | None = None
    """Time of maintenance and waiting after it."""
    chunks: int | None = None
    """Chunks in which contenders took turns; absent where each step ran whole."""
    writes_of_others_bytes: float | None = None
    """Bytes that the disk wrote in its chunks and its server did not: at least so many were of
    servers that stood still, or of other programs."""


class CalibratedTest(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A test of the build against itself, slowed by one share or not at all, over all trials."""

    test: str
    clients: int
    slowed: float
    """The share of throughput that the delay was chosen to take; 0 for the build against itself."""
    trials: int
    """Verdicts: each trial is judged like an experiment of two contenders."""
    known: int
    """Trials whose truth is known."""
    false: int
    """Verdicts of those that are not true: `faster` or `slower` of equals, `faster` of what is
    slower, and `same` where the truth lies outside the margin."""
    found: int | None = None
    """Verdicts `slower`, of all trials; absent for the build against itself."""
    intervals: int
    """Trials with an interval and a known truth, whose coverage is counted."""
    covered: int
    """Intervals that cover the truth."""
    truth: float | None = None
    """Median of the trials' true ratio; absent where other work on the CPUs made it unknown."""
    ratio: float | None = None
    """Median of the trials' measured ratio."""
    half_width: float | None = None
    """Median half-width of the intervals, in ln rqps."""


class NeededTime(msgspec.Struct, kw_only=True):
    """The time in which a test of two contenders finds a difference, nine times out of ten."""

    test: str
    clients: int
    half_width: float
    """Median half-width over all trials, slowed or not."""
    seconds: Second
    """Wall clock of both contenders together in one trial: their warm-up, and their blocks with
    all that is between the slices. Opening connections, restarts and loading are left out."""
    shortest: Second
    """The time of the fewest incarnations that a verdict needs, with the fewest blocks in each."""
    furthest: Second
    """The longest time that is foretold: 20 times `seconds`."""
    to_find: dict[str, Second]
    """Difference ('1%') -> time of both contenders together, as in `seconds`; at least `shortest`,
    and at most `furthest`, which stands for more than that."""


@dataclass(frozen=True)
class Resolution:
    """The time in which a host finds one difference, over its tests with the fewest clients."""

    difference: str
    times: Sequence[tuple[str, Second, Second]]
    """Test, time, and the longest time that is foretold, from the quickest test to the longest."""


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
    """What a build against itself, and against itself slowed, shows of a host."""

    contender: str
    dbms: str
    engine: str | None = None
    trials: int
    incarnations: int
    """Starts of the servers in each trial."""
    seconds: Second
    """Median time that one contender was measured in one test of one trial."""
    taken: float | None = None
    """Largest share of the clients' time in which others may have had their CPUs: the median of the
    tests, trial by trial; absent where it was not measured, or with more clients than CPUs."""
    tests: list[CalibratedTest]
    needed: list[NeededTime]
    tallies: list[Tally]


SCHEMA = 2


class Answer(msgspec.Struct, kw_only=True, omit_defaults=True):
    """The first screen; a part that does not apply is empty, and absent from JSON."""

    failures: str = ""
    """Tests of which 1% of the executions or more failed or had a wrong result, with the error."""
    warnings: list[str] = []
    """Reasons to doubt the results: a client that was the limit, errors, starts without work."""
    conditions: str = ""
    """What was measured: clients, rows and MB compared with the cache, durability, the host."""
    slower: list[str] = []
    """The slower tests, the largest difference first, with bounds and the reason of each."""
    faster: list[str] = []
    """The faster tests, likewise."""
    work: list[str] = []
    """Tests that are neither slower nor faster, but do more or less work."""
    rest: str = ""
    """How much slower and how much faster any other test can still be."""
    open: str = ""
    """What is not decided, and the command that would decide it."""
    next: str = ""
    """Other advice."""


class JoinedExperiment(msgspec.Struct, kw_only=True):
    """An experiment that was joined with others."""

    experiment: str
    path: str
    """The path of its folder, or bundle, when it was joined."""


class HostInfo(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A host as the report lists it."""

    name: str
    group: str
    """The model of its CPU."""
    facts: dict[str, str]
    """Label -> value, of those that are not the same on all hosts."""
    cpus: int | None = None
    """CPUs that clients and servers could use."""
    experiments: list[JoinedExperiment]
    incarnations: int
    """Starts of the servers that were timed."""
    slices: int
    tests: int
    started: str | None = None
    finished: str | None = None
    """The latest end of its parts; absent while one is not finished."""
    spent_s: Second
    """Seconds of its budgets that were spent."""


class HostDisagreement(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A host whose ratio is not that of the others."""

    host: str
    others: list[str]
    """The hosts that it is compared with; of two hosts either may be the odd one."""
    contender: str
    test: str | None = None
    """The test; absent of a host that moved all tests of the contender."""
    clients: int | None = None
    tests: int
    ratio: float
    """rqps on the host / on the others; of all tests the mean."""
    chance: float
    """Probability, at most, that chance alone puts any host so far from the others."""


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
    """A statement that contenders of one DBMS execute in different ways."""

    test: str
    statement: str
    base: str
    """The contender whose plan the others are compared with: the report's base, or the first one of
    another DBMS."""
    plans: dict[str, str]
    """Contender -> its plan, as the server prints it without costs."""
    differences: dict[str, list[str]]
    """Contender -> what differs in words, the most important first; only those that differ."""
    differing_lines: dict[str, list[int]]
    """Contender -> the places of the lines of its plan that differ, from 0; of the base those that
    differ from any other."""


class ContenderInfo(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A contender as the report lists it."""

    name: str
    untold: str | None = None
    """What servers of its DBMS do not tell, as a sentence."""
    dbms: str
    version: str
    """The version that the server itself prints."""
    source: str
    sha256: str | None = None
    """Checksum of the binary; like the next, absent for imported runs."""
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
    running: bool = False
    """Whether the server ran already, and was reached by its URL."""
    round_trip_us: float | None = None
    """The median time of a statement that asks for nothing, where a server runs elsewhere."""


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


class Report(msgspec.Struct, kw_only=True, omit_defaults=True):
    """One experiment, judged."""

    schema: int = SCHEMA
    experiment: str
    started: str | None = None
    """Start in ISO 8601, UTC; the day of imported runs, if they have it."""
    imported: str | None = None
    """The kind of import, whose contenders have a single run each; absent if Slowdust measured."""
    typed: str | None = None
    """What names it on a command line, where that is not its name alone: its folder."""
    base: str
    contenders: list[str]
    margin: float
    margins: dict[str, float] | None = None
    """Test, or key of a metric -> its own margin; absent where none has one."""
    results: list[Result]
    answer: Answer | None = None
    """What a reader has to know first; absent for imported runs, calibrations and one contender."""
    unfinished: str | None = None
    """'NOT FINISHED: 6 of 33 tests, 1 start of the servers.'; absent once it is finished."""
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
    frontier: list[FrontierPoint] = []
    """Rates of transactions against those of queries beside them; empty without such tests."""
    memory: list[Memory] = []
    """Memory by contender; empty unless they differ in engine, environment or allocator."""
    searches: list[SearchComparison] = []
    """Recall and QPS of approximate searches, by what is searched; empty without any."""
    indexes: list[IndexResult] = []
    """Indexes that were built, by kind, then contender; empty where none was measured."""
    plan_differences: list[PlanDifference] = []
    same_plans: dict[str, list[str]] = {}
    """Test -> the contenders that were seen to execute all its statements as the base does."""
    function_changes: list[FunctionChanges] = []
    """Functions beside the base's, by step, then contender; empty where there are no profiles."""
    waits: list[ContenderWaits] = []
    """What servers waited for, by step, then contender; empty where they were not observed."""
    calibration: Calibration | None = None
    """What the host can tell, where a build was compared with itself to learn that."""
    host: dict[str, str] = {}
    """Label -> value, ready to print."""
    findings: list[Finding] = []
    """What the checks of the host found, the most severe first; empty if it was not checked."""
    hosts: list[HostInfo] = []
    """Hosts of a joined experiment, of which `host` has what they have in common; else empty."""
    host_disagreements: list[HostDisagreement] = []
    """Hosts whose ratios are not those of the others, over all tests first."""
    noise: Noise | None = None
    """The noise of an experiment of slices; absent for long steps and imported runs."""
    warnings: list[str] = []
    """Warnings about the whole experiment."""
    method: dict[str, str] = {}
    """Label -> value: slice length, rows, tables, seed, budget, ..."""

    @property
    def repeated(self) -> bool:
        """Whether tests ran several times, so that there are intervals, and settings are known.

        Imported ones have a single run on each contender.
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
        """Names of the benchmarks of its results, in their order."""
        return list(dict.fromkeys(result.benchmark for result in self.results))
