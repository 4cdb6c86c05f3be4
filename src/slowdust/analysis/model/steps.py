"""Runs of long steps: their roles and stalls."""

from __future__ import annotations

import msgspec

from slowdust.units import Microsecond, Second

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
