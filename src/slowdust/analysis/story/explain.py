"""Why a test got faster or slower, as far as hardware per operation tells.

    cpu/o moved, cs/o did not        CPU overhead
    cs/o moved                       contention
    r/o, rKB/o or wKB/o moved        IO

More of something explains slower, less explains faster. What moved the other way explains
nothing, and what moved less than the throughput explains a part of it at most. Nor does what
could not have taken the time: twice the context switches of a scan, where ten become twenty in as
many milliseconds, are no contention.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from slowdust.analysis.model import PerOperation, Result
from slowdust.benchmarks import measured_in_steps, was_imported
from slowdust.units import Microsecond
from slowdust.wording import operation

FLAT = 0.05
"""A relative change below this is not worth a word."""
DEAREST: dict[str, Microsecond] = {
    "read_kb": 50.0,
    "write_kb": 20.0,
    "cs": 50.0,
    "server_cpu_us": 1.0,
    "host_read_kb": 50.0,
    "host_write_kb": 20.0,
    "host_cs": 50.0,
    "host_cpu_us": 1.0,
    "host_share_us": 100.0,
}
"""What one of it may cost where it is dear: a KB of small reads or writes on a slow disk, a switch
that wakes another CPU of a virtual machine."""
SHARE_OF_CHANGE = 0.25
"""What cannot have taken so much of the change of time per operation explains none of it."""
WHOLE = 0.5
"""Share of the change of time per operation from which a cause is not called partial."""
_US_PER_S = 1e6


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
    ("read_kb", Cause.IO, "KB read"),
    ("write_kb", Cause.IO, "KB written"),
    ("cs", Cause.CONTENTION, "context switches"),
    ("server_cpu_us", Cause.CPU, "server CPU"),
)
"""Rarest first: CPU nearly always moves along with contention and IO."""
_OF_HOST: tuple[tuple[str, Cause, str], ...] = (
    ("host_read_kb", Cause.IO, "KB read"),
    ("host_write_kb", Cause.IO, "KB written"),
    ("host_cs", Cause.CONTENTION, "context switches"),
    ("host_cpu_us", Cause.CPU, "host CPU"),
    ("host_share_us", Cause.CPU, "host CPU"),
)
"""Of archived runs, which have nothing of the server alone."""


def explain(result: Result, base: Result) -> list[Explanation]:
    """The causes of a `faster` or `slower`, the likely one first; empty if nothing explains it."""
    if result.rqps is None or result.per_op_relative is None:
        return []
    slowdown = 1 / result.rqps
    found = []
    of_server = any(_value(result.per_op, field) is not None for field, _, _ in _CANDIDATES)
    for field, cause, metric in _CANDIDATES if of_server else _OF_HOST:
        ratio = _value(result.per_op_relative, field)
        if ratio is None or not _could_take(field, result, base):
            continue
        agrees = (ratio > 1) == (slowdown > 1)
        enough = WHOLE * abs(slowdown - 1)
        if agrees and abs(ratio - 1) >= min(FLAT, enough):
            partial = abs(ratio - 1) < enough
            per = f"{metric} per {operation(result.unit)}"
            found.append(Explanation(cause, per, ratio, partial))
    # What moved as much as the throughput comes first; among those, the rarest.
    return sorted(found, key=lambda explanation: explanation.partial)


def _value(per_op: PerOperation, field: str) -> float | None:
    value: float | None = getattr(per_op, field)
    return value


def _could_take(field: str, result: Result, base: Result) -> bool:
    """Whether the change of a metric, at its dearest, is a good part of that of the time."""
    if field == "write_kb" and result.writers is not None:
        return False  # it is of the writers beside the queries, who do the same for both
    ours, theirs = _value(result.per_op, field), _value(base.per_op, field)
    time = _time_us(base)
    if ours is None or theirs is None or result.rqps is None or time is None:
        return False
    change = time * abs(1 / result.rqps - 1)
    return abs(ours - theirs) * DEAREST[field] >= SHARE_OF_CHANGE * change


def _time_us(base: Result) -> Microsecond | None:
    """What an operation, one of those that the rate counts, takes a client.

    Response times are of other things where a statement of a long step writes many rows, and where
    an event of sysbench is 16 queries, or a scan of a whole table.
    """
    if measured_in_steps(base.benchmark) or was_imported(base.benchmark):
        return base.clients * _US_PER_S / base.qps if base.qps > 0 else None
    if base.latency_us is None:
        return None
    return base.latency_us.p50 or base.latency_us.mean
