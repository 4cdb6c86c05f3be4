"""The report: an experiment, judged."""

from __future__ import annotations

import msgspec

from slowdust.analysis.calibration.model import Calibration
from slowdust.analysis.model.courses import GroupChanges, TestConcurrency
from slowdust.analysis.model.functions import FunctionChanges
from slowdust.analysis.model.result import FrontierPoint, Result
from slowdust.analysis.model.search import IndexResult, SearchComparison
from slowdust.analysis.model.steps import StepRun
from slowdust.analysis.model.waits import ContenderWaits
from slowdust.store.finding import Finding
from slowdust.store.manifest import StepFailure
from slowdust.units import Second

SCHEMA = 2


class Answer(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Six lines at most; one that does not apply is empty, and absent from JSON."""

    failures: str = ""
    """Tests of which 1% of the executions or more failed or had a wrong result, with the error."""
    conditions: str = ""
    """What was measured: clients, rows and MB beside the cache, durability, the host."""
    slower: str = ""
    """What is slower or more work beyond doubt, by at least how much, in which tests."""
    faster: str = ""
    """What is faster or less work beyond doubt."""
    rest: str = ""
    """How much slower and how much faster any other test can still be."""
    next: str = ""
    """What to type next."""


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
    def benchmarks(self) -> list[str]:
        """Names of the benchmarks of its results, in their order."""
        return list(dict.fromkeys(result.benchmark for result in self.results))
