"""Why a test got faster or slower, as far as hardware per operation tells.

    cpu/o moved, cs/o did not        CPU overhead
    cs/o moved                       contention
    r/o, rKB/o or wKB/o moved        IO

More of something explains slower, less explains faster. What moved the other way explains
nothing, and what moved less than the throughput explains a part of it at most.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from slowdust.analysis.model import PerOperation, Result

FLAT = 0.05
"""A relative change below this is not worth a word."""
NEGLIGIBLE = {"cs": 0.05, "read_kb": 0.1, "write_kb": 0.1, "server_cpu_us": 0.0}
"""Per operation: where base and contender are both below, their ratio is noise."""
WHOLE = 0.5
"""Share of the change of time per operation from which a cause is not called partial."""


class Cause(StrEnum):
    """What a change of throughput goes back to."""

    CPU = "CPU overhead"
    CONTENTION = "contention"
    IO = "IO"


@dataclass(frozen=True)
class Explanation:
    """A metric that moved with the throughput."""

    cause: Cause
    metric: str
    """In words, as in 'server CPU per operation'."""
    ratio: float
    """Contender / base."""
    partial: bool
    """Whether it moved clearly less than the throughput did."""


_CANDIDATES: tuple[tuple[str, Cause, str], ...] = (
    ("read_kb", Cause.IO, "KB read per operation"),
    ("write_kb", Cause.IO, "KB written per operation"),
    ("cs", Cause.CONTENTION, "context switches per operation"),
    ("server_cpu_us", Cause.CPU, "server CPU per operation"),
)
"""Rarest first: CPU nearly always moves along with contention and IO."""


def explain(result: Result, base: Result) -> list[Explanation]:
    """The causes of a `faster` or `slower`, the likely one first; empty if nothing explains it."""
    if result.rqps is None or result.per_op_relative is None:
        return []
    slowdown = 1 / result.rqps
    found = []
    for field, cause, metric in _CANDIDATES:
        ratio = _value(result.per_op_relative, field)
        if ratio is None or _is_negligible(field, result.per_op, base.per_op):
            continue
        agrees = (ratio > 1) == (slowdown > 1)
        enough = WHOLE * abs(slowdown - 1)
        if agrees and abs(ratio - 1) >= min(FLAT, enough):
            partial = abs(ratio - 1) < enough
            found.append(Explanation(cause, metric, ratio, partial))
    # What moved as much as the throughput comes first; among those, the rarest.
    return sorted(found, key=lambda explanation: explanation.partial)


def _value(per_op: PerOperation, field: str) -> float | None:
    value: float | None = getattr(per_op, field)
    return value


def _is_negligible(field: str, ours: PerOperation, theirs: PerOperation) -> bool:
    return max(_value(ours, field) or 0.0, _value(theirs, field) or 0.0) < NEGLIGIBLE[field]
