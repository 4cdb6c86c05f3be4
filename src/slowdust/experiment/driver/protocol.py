"""The commands to the driver and its answers (driver/schema.json describes both)."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec

from slowdust.benchmarks.described import Tables, TestOnDbms
from slowdust.dbms.access import Target
from slowdust.store.latency import Histogram
from slowdust.store.manifest import Executed
from slowdust.store.measured import ClientUse, PerSecond, Schedule
from slowdust.store.step import RoleUse
from slowdust.units import Second


class Stop(msgspec.Struct, kw_only=True, forbid_unknown_fields=True, omit_defaults=True):
    """The end of a run, whichever comes first."""

    seconds: Second | None = None
    """The time after which no operation begins; running operations are finished."""
    positions: list[int] | None = None
    """The number of operations per client since the session was opened."""


class Rate(msgspec.Struct):
    """Open loop: operations per second over all clients."""

    per_second: float
    arrivals: str


class BackgroundRun(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A background session that runs until the foreground session has stopped."""

    session: str
    begin: list[int] | None = None
    """The position in its sequence at which each client begins; None continues."""
    rate: Rate | None = None
    """None: a closed loop."""
    positions: list[int] | None = None
    """The operations of each client since the session was opened after which it stops."""


class _Command(msgspec.Struct, kw_only=True, tag_field="command"):
    id: int = 0


class Load(_Command, kw_only=True, tag="load"):
    """Create and fill the tables of a benchmark."""

    target: Target
    benchmark: str
    tables: int
    rows: int
    seed: int
    parallel: int
    described: Tables | None = None
    """The tables, if the driver does not know them."""


class Open(_Command, kw_only=True, tag="open"):
    """Connect a test's clients and prepare its statements."""

    session: str
    target: Target
    benchmark: str
    test: str
    clients: int
    tables: int
    rows: int
    seed: int
    first: int = 0
    cpus: list[int] | None = None
    described: TestOnDbms | None = None
    """The test, if the driver does not know it."""


class Explain(_Command, kw_only=True, tag="explain"):
    """Ask for the plan of every statement of a session."""

    session: str
    operations: int = 0
    """Maximum number of operations to execute, and roll back, to count their work."""


class Run(_Command, kw_only=True, tag="run"):
    """Run a session's operations."""

    session: str
    stop: Stop
    begin: list[int] | None = None
    """The position in its sequence at which each client begins; None continues."""
    rate: Rate | None = None
    beside: list[BackgroundRun] = []
    patience: Second | None = None
    """The time limit after `stop.seconds` for running operations to finish; for all operations if
    `stop` has no time."""


class Partitions(msgspec.Struct):
    """Ranges of the primary key; the last partition takes what comes after."""

    count: int
    rows_each: int


class Create(_Command, kw_only=True, tag="create"):
    """Drop and create the tables of long steps, empty and without secondary indexes."""

    target: Target
    benchmark: str
    tables: int
    partitions: Partitions | None = None


class Prepare(_Command, kw_only=True, tag="prepare"):
    """Open a session that carries out one long step."""

    session: str
    target: Target
    benchmark: str
    clients: int
    tables: int
    """Number of tables: each client has its own, or all share one."""
    seed: int
    inserted: list[int]
    """Rows that were ever inserted, by table, so that the next ones are different."""
    statements: Literal["prepared", "text"]
    work: Mapping[str, object]
    """The work of each client, as the benchmark describes it."""
    long_transaction: Second | None = None
    cpus: list[int] | None = None
    """CPUs for the server threads of the clients' connections; None: any."""


class UntilSeconds(msgspec.Struct):
    """The end of a chunk, in the step's own time since it began."""

    seconds: Second


class UntilOperations(msgspec.Struct):
    """The end of a chunk, in commits or indexes of each client since the step began."""

    operations: int


Until = UntilSeconds | UntilOperations


class Perform(_Command, kw_only=True, tag="perform"):
    """Continue a session's step to its end, or to the end of a chunk."""

    session: str
    until: Until | None = None
    """None: the end of the step."""
    patience: Second | None = None
    """The longest time without progress."""


class Close(_Command, kw_only=True, tag="close"):
    """Close a session's connections."""

    session: str


class Sql(_Command, kw_only=True, tag="sql"):
    """Execute statements, each in a transaction of its own."""

    target: Target
    statements: list[str]
    parallel: int = 1


class Sample(_Command, kw_only=True, tag="sample"):
    """Execute one statement repeatedly, over a connection of its own."""

    target: Target
    statement: str
    every: Second
    """Time between the beginnings of two executions."""
    seconds: Second
    """Time after which no execution begins."""


class Fetch(_Command, kw_only=True, tag="fetch"):
    """Read pages of a file at random, bypassing the kernel's cache."""

    file: str
    page_bytes: int
    threads: int
    """Concurrent reads."""
    seconds: Second
    """Time after which no read begins."""
    seed: int


Command = Load | Open | Explain | Run | Create | Prepare | Perform | Close | Sql | Sample | Fetch


class AnyEvent(msgspec.Struct, kw_only=True, tag_field="event"):
    """An event; `id` is the id of the answered command."""

    id: int


class Progress(AnyEvent, kw_only=True, tag="progress"):
    """A command is being executed."""

    done: int
    total: int


class Loaded(AnyEvent, kw_only=True, tag="loaded"):
    """The tables are filled."""

    rows: int
    bytes: int
    seconds: Second


class Opened(AnyEvent, kw_only=True, tag="opened"):
    """A session is ready."""

    session: str
    unit: str
    statements: list[str]
    server_processes: list[int]


class PlanText(msgspec.Struct):
    """The plan of one statement, and its work."""

    statement: str
    plan: str
    executed: Executed | None = None


class Explained(AnyEvent, kw_only=True, tag="explained"):
    """The plans of a session's statements."""

    plans: list[PlanText]


class BackgroundRan(msgspec.Struct, kw_only=True):
    """The work of a background session during a `Ran`."""

    session: str
    seconds: Second
    """Time from the opening of the window to the end of the foreground session."""
    operations: int
    statements: int
    rows: int
    qps: float
    """Operations / time."""
    latency: Histogram
    errors: dict[str, int]
    error_texts: dict[str, str] = {}
    """The same keys -> the text of the first such error."""
    retries: int
    schedule: Schedule | None = None
    positions: list[int]


class Ran(AnyEvent, kw_only=True, tag="ran"):
    """The work of a session between two moments at which all its clients were idle."""

    session: str
    started: float
    seconds: Second
    operations: int
    statements: int
    rows: int
    qps: float
    unit: str
    bytes_sent: int | None = None
    """None, as below, if the DBMS runs in the process of its client."""
    bytes_received: int | None = None
    latency: Histogram
    per_second: list[PerSecond]
    errors: dict[str, int]
    error_texts: dict[str, str] = {}
    """The same keys -> the text of the first such error."""
    retries: int
    client: ClientUse | None = None
    schedule: Schedule | None = None
    positions: list[int]
    beside: list[BackgroundRan] = []
    freshness: Histogram | None = None
    """Ages of the data that queries saw; None if no session wrote, or none read timestamps."""


class Created(AnyEvent, kw_only=True, tag="created"):
    """The tables exist and are empty."""


class Seat(msgspec.Struct):
    """A process (or thread) of the server, and its connection."""

    role: str
    process: int
    cpu: int | None
    """The CPU of the connection; None: any."""


class Prepared(AnyEvent, kw_only=True, tag="prepared"):
    """A step can begin."""

    session: str
    statements: list[str]
    seats: list[Seat]


class Performed(AnyEvent, kw_only=True, tag="performed"):
    """The measurements of one long step since it began, in its own time."""

    session: str
    over: bool
    """Whether this is the end of the step, not only of a chunk."""
    chunk_seconds: Second
    """Time of the main roles in the last chunk."""
    started: float
    seconds: Second
    bytes_sent: int | None = None
    """None, as below, if the DBMS runs in the process of its client."""
    bytes_received: int | None = None
    client: ClientUse | None = None
    roles: dict[str, RoleUse]
    growth: list[int]
    """Rows that the step's writes added, less the rows they deleted, by table."""


class Closed(AnyEvent, kw_only=True, tag="closed"):
    """A session's connections are closed."""

    session: str


class ResultSet(msgspec.Struct):
    """The rows that one statement returned, as text."""

    columns: list[str]
    rows: list[list[str | None]]


class Rows(AnyEvent, kw_only=True, tag="rows"):
    """The results of the statements, in order."""

    results: list[ResultSet]


class Fetched(AnyEvent, kw_only=True, tag="fetched"):
    """Pages of a file were read."""

    reads: int
    seconds: Second


class Failed(AnyEvent, kw_only=True, tag="error"):
    """A command failed; the driver continues."""

    id: int | None = None  # type: ignore[assignment]
    """None if the command's line could not be parsed."""
    kind: Literal["connection", "server", "timeout", "protocol", "usage"]
    sqlstate: str | None = None
    message: str


Event = (
    Progress
    | Loaded
    | Opened
    | Explained
    | Ran
    | Created
    | Prepared
    | Performed
    | Closed
    | Rows
    | Fetched
    | Failed
)
