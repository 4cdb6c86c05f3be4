"""What is said to the driver and what it answers (driver/schema.json describes both)."""

from __future__ import annotations

from typing import Literal

import msgspec

from slowdust.dbms.access import Target
from slowdust.store.latency import Histogram
from slowdust.store.measured import ClientUse, PerSecond, Schedule
from slowdust.store.step import RoleUse
from slowdust.units import Second


class ForSeconds(msgspec.Struct, forbid_unknown_fields=True):
    """Run until this time has passed; operations under way are finished."""

    seconds: Second


class ToPositions(msgspec.Struct, forbid_unknown_fields=True):
    """Run until each client has done that many operations since its session was opened."""

    positions: list[int]


Stop = ForSeconds | ToPositions


class Rate(msgspec.Struct):
    """Open loop: operations per second over all clients."""

    per_second: float
    arrivals: str


class _Command(msgspec.Struct, kw_only=True, tag_field="command"):
    id: int = 0


class Load(_Command, kw_only=True, tag="load"):
    """Create and fill the tables."""

    target: Target
    tables: int
    rows: int
    seed: int
    parallel: int


class Open(_Command, kw_only=True, tag="open"):
    """Connect a test's clients and prepare its statements."""

    session: str
    target: Target
    test: str
    clients: int
    tables: int
    rows: int
    seed: int
    first: int = 0
    cpus: list[int] | None = None


class Explain(_Command, kw_only=True, tag="explain"):
    """Ask for the plan of every statement of a session."""

    session: str


class Run(_Command, kw_only=True, tag="run"):
    """Run a session's operations."""

    session: str
    stop: Stop
    rate: Rate | None = None


class Partitions(msgspec.Struct):
    """Ranges of the primary key; the last partition takes what comes after."""

    count: int
    rows_each: int


class Create(_Command, kw_only=True, tag="create"):
    """Drop and create the tables of the Insert Benchmark, empty and without secondary indexes."""

    target: Target
    tables: int
    partitions: Partitions | None = None


class _Work(msgspec.Struct, kw_only=True, tag_field="kind"):
    pass


class LoadWork(_Work, kw_only=True, tag="load"):
    """Each client inserts so many rows in the order of their keys (l.i0)."""

    rows: int
    rows_per_commit: int


class IndexWork(_Work, kw_only=True, tag="index"):
    """Each client creates the secondary indexes of its table, one after the other (l.x)."""


class ReplaceWork(_Work, kw_only=True, tag="replace"):
    """Each client inserts rows, and deletes as many from the head of its table (l.i1, l.i2)."""

    rows: int
    rows_per_commit: int


class QueryWork(_Work, kw_only=True, tag="query"):
    """Each client queries as fast as possible beside writes at a rate (qr, qp)."""

    query: Literal["range", "point"]
    seconds: Second
    writes_per_second: float
    """Rows of each client that are inserted, and as many that are deleted."""
    rows_per_commit: int


StepWork = LoadWork | IndexWork | ReplaceWork | QueryWork


class Prepare(_Command, kw_only=True, tag="prepare"):
    """Open a session that carries out one step of the Insert Benchmark."""

    session: str
    target: Target
    clients: int
    tables: int
    """As many as clients, each with its own, or one that all share."""
    seed: int
    inserted: list[int]
    """By table: rows that were ever inserted into it, so that the next ones are other rows."""
    statements: Literal["prepared", "text"]
    work: StepWork
    long_transaction: Second | None = None
    cpus: list[int] | None = None
    """CPUs on which the clients' connections have their threads; None: wherever they are put."""


class Perform(_Command, kw_only=True, tag="perform"):
    """Carry out a session's step, to its end."""

    session: str


class Close(_Command, kw_only=True, tag="close"):
    """Close a session's connections."""

    session: str


class Sql(_Command, kw_only=True, tag="sql"):
    """Execute statements, each in a transaction of its own."""

    target: Target
    statements: list[str]
    parallel: int = 1


Command = Load | Open | Explain | Run | Create | Prepare | Perform | Close | Sql


class _Event(msgspec.Struct, kw_only=True, tag_field="event"):
    id: int


class Progress(_Event, kw_only=True, tag="progress"):
    """A command is under way."""

    done: int
    total: int


class Loaded(_Event, kw_only=True, tag="loaded"):
    """The tables are filled."""

    rows: int
    bytes: int
    seconds: Second


class Opened(_Event, kw_only=True, tag="opened"):
    """A session is ready."""

    session: str
    unit: str
    statements: list[str]
    server_processes: list[int]


class PlanText(msgspec.Struct):
    """The plan of one statement, without costs."""

    statement: str
    plan: str


class Explained(_Event, kw_only=True, tag="explained"):
    """The plans of a session's statements."""

    plans: list[PlanText]


class Ran(_Event, kw_only=True, tag="ran"):
    """What a session did between two moments at which all its clients stood still."""

    session: str
    started: float
    seconds: Second
    operations: int
    statements: int
    rows: int
    qps: float
    unit: str
    bytes_sent: int
    bytes_received: int
    latency: Histogram
    per_second: list[PerSecond]
    errors: dict[str, int]
    retries: int
    client: ClientUse
    schedule: Schedule | None = None
    positions: list[int]


class Created(_Event, kw_only=True, tag="created"):
    """The tables are there, empty."""


class Seat(msgspec.Struct):
    """A process (or thread) of the server, and the CPU of the connection that it serves."""

    process: int
    cpu: int


class Prepared(_Event, kw_only=True, tag="prepared"):
    """A step can begin."""

    session: str
    statements: list[str]
    seats: list[Seat]


class Performed(_Event, kw_only=True, tag="performed"):
    """What one step of the Insert Benchmark measured."""

    session: str
    started: float
    seconds: Second
    bytes_sent: int
    bytes_received: int
    client: ClientUse
    roles: dict[str, RoleUse]
    growth: list[int]
    """By table: rows after the step less those before it, as far as its own writes go."""


class Closed(_Event, kw_only=True, tag="closed"):
    """A session's connections are closed."""

    session: str


class ResultSet(msgspec.Struct):
    """What one statement returned, as text."""

    columns: list[str]
    rows: list[list[str | None]]


class Rows(_Event, kw_only=True, tag="rows"):
    """What the statements returned, in their order."""

    results: list[ResultSet]


class Failed(_Event, kw_only=True, tag="error"):
    """A command failed; the driver goes on."""

    id: int | None = None  # type: ignore[assignment]
    """None where the command's line was not understood at all."""
    kind: Literal["connection", "server", "protocol", "usage"]
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
    | Failed
)
