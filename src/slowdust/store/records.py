"""The record of one slice: what `slices.ndjson` holds, one JSON object a line.

Every number of a record belongs to the same window: the driver stands still before it and after
it, the probes read their counters at those two moments. What was not measured is absent; of an
archived run that is most of it.
"""

from __future__ import annotations

import msgspec

from slowdust.units import Microsecond, Second

SCHEMA = 1
"""Version of the results folder: the manifest's and each record's shape."""


class Histogram(msgspec.Struct, kw_only=True, forbid_unknown_fields=False):
    """Response times of one slice as sparse buckets of fixed bounds (two significant digits).

    `values_ns` holds the buckets' representative values in ascending order, `counts` their
    populations; both have the same length. `max_ns` is exact, not a bucket.
    """

    values_ns: list[int]
    counts: list[int]
    max_ns: int
    mean_ns: float


class PerSecond(msgspec.Struct, array_like=True):
    """One second of a slice: operations finished in it, and its largest response time."""

    operations: int
    max_ns: int


class ClientUse(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What the driver's own threads used in the window."""

    cpu_user_s: Second
    cpu_system_s: Second
    voluntary_switches: int
    involuntary_switches: int
    threads: int
    busiest_thread: float
    """CPU time of the busiest thread / length of the window: near 1 the client is the limit."""


class Schedule(msgspec.Struct, kw_only=True, omit_defaults=True):
    """How an open-loop slice (`--rate`) kept its schedule."""

    rate: float
    arrivals: str
    late_operations: int
    max_lag_ns: int
    mean_lag_ns: float


class ServerUse(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What the process tree of the measured server used in the window."""

    cpu_s: Second | None = None
    """User plus system time, nanosecond clocks of the processes alive at both ends, and what
    ended inside, in the kernel's ticks."""
    cpu_user_s: Second | None = None
    cpu_system_s: Second | None = None
    context_switches: int | None = None
    read_bytes: int | None = None
    write_bytes: int | None = None
    vsz_bytes: int | None = None
    rss_bytes: int | None = None
    processes: int | None = None
    processes_started: int = 0
    processes_ended: int = 0


class HostUse(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What the whole host did in the window: what vmstat and iostat show."""

    cpu_user_s: Second
    cpu_system_s: Second
    cpu_iowait_s: Second
    cpu_steal_s: Second
    cpu_idle_s: Second
    context_switches: int
    interrupts: int
    reads: int | None = None
    read_bytes: int | None = None
    writes: int | None = None
    write_bytes: int | None = None


class ResponseTimes(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What an archived run says of its response times: what it printed, nothing made of it."""

    mean_us: Microsecond | None = None
    p50_us: Microsecond | None = None
    p95_us: Microsecond | None = None
    p99_us: Microsecond | None = None
    max_us: Microsecond | None = None
    buckets: list[int] | None = None
    """Statements by response time, in the buckets of the classic Insert Benchmark."""


class UsePerOperation(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Hardware per operation of an archived run, whose files have means, not totals."""

    host_cpu_us: Microsecond | None = None
    host_share_us: Microsecond | None = None
    """Time of the whole host with all of its CPUs: `host_cpu_us` / CPUs, where nothing says how
    many these are."""
    host_cs: float | None = None
    reads: float | None = None
    writes: float | None = None
    host_read_kb: float | None = None
    host_write_kb: float | None = None


class Counters(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Hardware counters of a slice; what the machine does not have is absent."""

    per_operation: dict[str, float] = {}
    """Events per operation, which is one of what the rate's unit counts, by counter."""
    ratios: dict[str, float] = {}
    """What is a ratio by itself: GHz, ipc, percentages."""
    of_one_process: bool = False
    """Whether one process of many was counted, beside the operations of all: then
    `per_operation` has a meaning only relative to another contender's."""
    relative_to: str | None = None
    """The archived run whose counters are 1, where only what the others are relative to these
    was published; None where counters are what was counted."""


class Archived(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What the classic files of an archived test are written from again, to the last digit."""

    run: str
    """The run directory, or the name of the table's column."""
    file: str | None = None
    """The test in names of files: `hot-points.range100.pk1`."""
    rate: str | None = None
    """By which the published numbers per operation were divided, as printed."""
    whole_rate: str | None = None
    """The rate of the published tables: an integer, with the text that stands behind it in its
    file after a tab."""
    storage: list[float] | None = None
    """Samples, and sums over them: reads/s, KB read/s, writes/s, KB written/s."""
    cpu: list[float] | None = None
    """Samples by the published rule, and sums over them: context switches/s, percent of CPU."""
    met: list[str] | None = None
    """The fourteen numbers of a file sb.met as printed, where nothing else is left of it."""
    table_row: list[str] | None = None
    """The numbers of a row of a table, as printed, where the run directory is not there."""
    counters: dict[str, dict[str, str]] = {}
    """Iteration -> counter -> value as printed."""


class RoleSecond(msgspec.Struct, array_like=True):
    """What one role of a step finished in one second of the window."""

    statements: int
    rows: int
    max_ns: int
    """Largest response time."""
    late_ns: int
    """How far behind its schedule the latest of the statements begun in it was; 0 unpaced."""


class WriteSchedule(msgspec.Struct, kw_only=True):
    """How a paced writer kept its absolute schedule."""

    rate: float
    """Rows per second that were asked of all connections of the role."""
    due: int
    """Rows that were due by the end of the window."""
    backlog: int
    """Of those, the ones that were not written by then."""
    late_statements: int
    max_lag_ns: int
    mean_lag_ns: float


class RoleUse(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What all connections of one role did in a step of the Insert Benchmark."""

    connections: int | None = None
    statements: int | None = None
    """That succeeded: commits, queries, indexes created, transactions ended."""
    rows: int | None = None
    """Inserted, deleted, returned or indexed."""
    rate: float | None = None
    """Of an archived step of which only the rate is known: rows, or queries, per second."""
    seconds: Second | None = None
    """From the opening of the window to the role's last completion."""
    latency: Histogram | None = None
    response: ResponseTimes | None = None
    """Of an archived step, in place of `latency`."""
    per_second: list[RoleSecond] = []
    errors: dict[str, int] = {}
    retries: int = 0
    client_cpu_s: Second | None = None
    schedule: WriteSchedule | None = None


class Sample(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What the probes saw in about one second of a long step."""

    start: Second
    """Since the opening of the window."""
    seconds: Second
    server: ServerUse | None = None
    host: HostUse | None = None
    log: list[str] = []
    """Lines that the server wrote into its log meanwhile, the first few."""


class StepDetail(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What a step of the Insert Benchmark has beyond a slice."""

    roles: dict[str, RoleUse]
    """`insert`, `delete`, `query`, `index`, `transaction`: those that took part."""
    target: float | None = None
    """Rows per second that all inserters, and all deleters, had to keep; None where unpaced."""
    samples: list[Sample] = []
    rows_expected: int | None = None
    """In all tables at the end of the step, if inserts and deletes kept pace."""
    rows_counted: int | None = None
    """By the server, at the end of the step."""
    data_bytes: int | None = None
    table_bytes: int | None = None
    index_bytes: int | None = None
    settled_s: Second | None = None
    """Maintenance and waiting after the step, outside of the window."""


class Slice(msgspec.Struct, kw_only=True, omit_defaults=True):
    """One timed measurement of one step on one contender."""

    benchmark: str
    test: str
    clients: int
    contender: str
    incarnation: int
    """1-based: which start of the servers."""
    block: int
    """0-based within (test, clients, incarnation): slices of one block are compared."""
    slot: int
    """0-based place within its block (A B B A: 0 1 2 3)."""
    started: float | None = None
    """Unix time at which the window opened."""
    seconds: Second | None = None
    operations: int | None = None
    statements: int | None = None
    rows: int | None = None
    qps: float
    """The rate of the test's `unit` (operations/s; rows/s for scan): summed over the clients,
    each its own count over the time to its last completion."""
    unit: str = "operations/s"
    bytes_sent: int | None = None
    bytes_received: int | None = None
    latency: Histogram | None = None
    response: ResponseTimes | None = None
    """Of an archived run, in place of `latency`."""
    per_second: list[PerSecond] = []
    errors: dict[str, int] = {}
    """By SQLSTATE, or `wrong-row-count`."""
    retries: int = 0
    client: ClientUse | None = None
    schedule: Schedule | None = None
    server: ServerUse | None = None
    host: HostUse | None = None
    idle_cpu_s: dict[str, Second] = {}
    """CPU time of each contender that was not measured in this window."""
    probe_seconds: Second | None = None
    """Distance of the probes' two readings; never shorter than `seconds`."""
    skipped_probes: list[str] = []
    per_op: UsePerOperation | None = None
    """Of an archived run, in place of `server` and `host`."""
    counters: Counters | None = None
    flags: list[str] = []
    """What a reader has to know of an archived run: its numbers are the published ones, ..."""
    archived: Archived | None = None
    """Of a run that was imported: there is one slice of each test then, and no interval."""
    step: StepDetail | None = None
    """Of a long step, which is one slice: `operations` are then in the unit of `qps` (rows
    inserted, rows indexed, queries), `latency` is of its statements."""
