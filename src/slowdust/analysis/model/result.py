"""Results: one test on one contender, relative to the base."""

from __future__ import annotations

from typing import Annotated, Literal, cast

import msgspec

from slowdust.analysis.metrics import PerOperation
from slowdust.ratios import Amount, Keys, Ratio, Verdict
from slowdust.store.count import Source
from slowdust.store.latency import LatencyUs
from slowdust.store.printed import Counters
from slowdust.units import Microsecond, Second

Basis = Literal["typical", "all time"]
"""The ratio that a verdict is about: that of typical blocks, or that of totals."""
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
