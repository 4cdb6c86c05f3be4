"""Details of a long step: roles, seconds, samples, sizes."""

from __future__ import annotations

import re

import msgspec

from slowdust.store.bounds import Amount, Duration, Natural, Rate, Span
from slowdust.store.latency import Histogram
from slowdust.store.measured import PrintedRole, Use, sum_quantities
from slowdust.units import Second

_HELD = re.compile(r"(?P<step>.+)\.hold(?P<seconds>\d+(?:\.\d+)?)")


def name_with_hold(step: str, hold: Second) -> str:
    """Return the name of a step in the sequence with a transaction held open: `l.i1.hold60`.

    The hold has a resolution of milliseconds; with a hold of 0 it is the plain name. Because
    results are identified by names, a hold needs no key of its own.
    """
    return f"{step}.hold{f'{hold:.3f}'.rstrip('0').rstrip('.')}" if hold else step


def split_hold(name: str) -> tuple[str, Second]:
    """Return the plain name of a step, and the hold of its sequence; 0 if it has none."""
    match = _HELD.fullmatch(name)
    return (name, 0.0) if match is None else (match["step"], float(match["seconds"]))


class RoleSecond(msgspec.Struct, array_like=True):
    """Finished work of one role in one second of the window."""

    statements: Natural
    rows: Natural
    max_ns: Natural
    late_ns: Natural
    """Longest lag of a statement that began in it; 0 if unpaced."""


class WriteSchedule(msgspec.Struct, kw_only=True):
    """Lag and backlog of a paced writer with an absolute schedule."""

    rate: Rate
    """Target rows per second of all connections of the role."""
    due: Natural
    """Rows that were due by the end of the window."""
    backlog: Natural
    """Rows that were due by then but not written."""
    late_statements: Natural
    max_lag_ns: Natural
    mean_lag_ns: Amount


class RoleUse(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Work of all connections of one role in a long step."""

    connections: Natural | None = None
    statements: Natural | None = None
    """Statements that succeeded: commits, queries, indexes created, transactions ended."""
    rows: Natural | None = None
    """Rows inserted, deleted, returned or indexed."""
    seconds: Span | None = None
    """Time from the start of the window to the role's last completion."""
    latency: Histogram | None = None
    per_second: list[RoleSecond] = []
    errors: dict[str, int] = {}
    error_texts: dict[str, str] = {}
    retries: int = 0
    client_cpu_s: Second | None = None
    schedule: WriteSchedule | None = None
    printed: PrintedRole | None = None
    """Values that another program printed, instead of totals."""


class Sample(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Readings of the probes in about one second of a long step."""

    start: Span
    seconds: Duration
    uses: dict[str, Use] = {}
    """Probe -> its use; probes that could not be read are absent."""
    log: list[str] = []
    """The first few lines of the server's log in that time."""

    def per_second(self, probe: str, *quantities: str) -> float | None:
        """Return the sum of a probe's quantities per second; None if one was not measured."""
        total = sum_quantities(self.uses, probe, quantities)
        return None if total is None else total / self.seconds


class Chunk(msgspec.Struct, kw_only=True):
    """A part of a long step, while the servers of all other contenders were suspended."""

    block: Natural
    """Number within the step, 0-based: chunks of the same block are compared."""
    slot: Natural
    """Position within its block, 0-based (A B B A: 0 1 2 3)."""
    started: float
    amount: Natural
    """Amount in the unit of the step's rate."""
    seconds: Span
    """Time of the main role in the chunk."""


class StepDetail(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Details of a slice that is a long step."""

    roles: dict[str, RoleUse]
    """Role -> its work: `insert`, `delete`, `query`, `index`, `transaction`."""
    target: Amount | None = None
    """Target rows per second of all inserters, and of all deleters; None if unpaced."""
    samples: list[Sample] = []
    chunks: list[Chunk] = []
    """The chunks of the contenders' turns; empty for a step that ran whole."""
    rows_expected: int | None = None
    """Expected rows in all tables at the end of the step, if inserts and deletes kept up."""
    rows_counted: int | None = None
    """Rows that the server counted at the end of the step."""
    data_bytes: int | None = None
    table_bytes: int | None = None
    index_bytes: int | None = None
    history_length: int | None = None
    """Undo logs in InnoDB's history list at the end of the step, before any maintenance; absent for
    other engines."""
    dead_rows: int | None = None
    """Dead rows in all tables at that time; absent if the server does not count them."""
    settled_s: Second | None = None
    """Time of maintenance and waiting after the step, outside the window."""
