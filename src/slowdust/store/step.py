"""The part of a slice that only a long step has: roles, seconds, samples, sizes."""

from __future__ import annotations

import re

import msgspec

from slowdust.store.bounds import Amount, Duration, Natural, Rate, Span
from slowdust.store.latency import Histogram
from slowdust.store.measured import PrintedRole, Use, total_of
from slowdust.units import Second

_HELD = re.compile(r"(?P<step>.+)\.hold(?P<seconds>\d+(?:\.\d+)?)")


def name_with_hold(step: str, hold: Second) -> str:
    """Return the name of a step in the sequence that has a transaction held open: `l.i1.hold60`.

    It is in milliseconds at the finest; in the sequence without such a transaction, whose `hold` is
    0, it is the plain name. Results are identified by names everywhere: a hold needs no key of its
    own.
    """
    return f"{step}.hold{f'{hold:.3f}'.rstrip('0').rstrip('.')}" if hold else step


def split_hold(name: str) -> tuple[str, Second]:
    """Return the plain name of a step, and the hold of its sequence; 0 where it has none."""
    match = _HELD.fullmatch(name)
    return (name, 0.0) if match is None else (match["step"], float(match["seconds"]))


class RoleSecond(msgspec.Struct, array_like=True):
    """Work that one role of a step finished in one second of the window."""

    statements: Natural
    rows: Natural
    max_ns: Natural
    late_ns: Natural
    """Longest time that a statement begun in it was behind its schedule; 0 if unpaced."""


class WriteSchedule(msgspec.Struct, kw_only=True):
    """Lag and backlog of a paced writer with an absolute schedule."""

    rate: Rate
    """Rows per second that all connections of the role had to write."""
    due: Natural
    """Rows that were due by the end of the window."""
    backlog: Natural
    """Rows that were due by then and not written."""
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
    """Time from the opening of the window to the role's last completion."""
    latency: Histogram | None = None
    per_second: list[RoleSecond] = []
    errors: dict[str, int] = {}
    error_texts: dict[str, str] = {}
    retries: int = 0
    client_cpu_s: Second | None = None
    schedule: WriteSchedule | None = None
    printed: PrintedRole | None = None
    """Values that another program printed, in place of totals."""


class Sample(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Readings of the probes in about one second of a long step."""

    start: Span
    seconds: Duration
    uses: dict[str, Use] = {}
    """Probe -> its use; a probe that could not be read is absent."""
    log: list[str] = []
    """The first few lines that the server wrote into its log meanwhile."""

    def per_second(self, probe: str, *quantities: str) -> float | None:
        """Return the sum of a probe's quantities / s; None where one was not measured."""
        total = total_of(self.uses, probe, quantities)
        return None if total is None else total / self.seconds


class Chunk(msgspec.Struct, kw_only=True):
    """A part of a long step, in which the servers of all other contenders stood still."""

    block: Natural
    """Number within the step, 0-based: chunks of one block are compared."""
    slot: Natural
    """Position within its block, 0-based (A B B A: 0 1 2 3)."""
    started: float
    amount: Natural
    """What the step's rate counts."""
    seconds: Span
    """Time of the main role in it."""


class StepDetail(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Part of a slice that only a long step has."""

    roles: dict[str, RoleUse]
    """The roles that took part: `insert`, `delete`, `query`, `index`, `transaction`."""
    target: Amount | None = None
    """Rows per second that all inserters, and all deleters, had to keep; None if unpaced."""
    samples: list[Sample] = []
    chunks: list[Chunk] = []
    """The chunks in which contenders took turns; empty of a step that ran whole."""
    rows_expected: int | None = None
    """Rows in all tables at the end of the step, if inserts and deletes kept pace."""
    rows_counted: int | None = None
    """Rows that the server counted at the end of the step."""
    data_bytes: int | None = None
    table_bytes: int | None = None
    index_bytes: int | None = None
    history_length: int | None = None
    """Undo logs in InnoDB's history list at the end of the step, before any maintenance; absent
    where the engine has no such list."""
    dead_rows: int | None = None
    """Dead rows in all tables at that time; absent where the server does not count them."""
    settled_s: Second | None = None
    """Time of maintenance and waiting after the step, outside of the window."""
