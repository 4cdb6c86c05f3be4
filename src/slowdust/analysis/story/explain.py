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

from slowdust.analysis.metrics import HOST, METRICS, Cause, Evidence, Metric, PerOperation
from slowdust.analysis.model import Result
from slowdust.benchmarks import measured_in_steps, was_imported
from slowdust.units import Microsecond
from slowdust.wording import operation

FLAT = 0.05
"""A relative change below this is not worth a word."""
SHARE_OF_CHANGE = 0.25
"""What cannot have taken so much of the change of time per operation explains none of it."""
WHOLE = 0.5
"""Share of the change of time per operation from which a cause is not called partial."""
_US_PER_S = 1e6


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


_RARITY = (Cause.IO, Cause.CONTENTION, Cause.CPU)
"""The rarest cause first: CPU nearly always moves along with contention and IO."""


def explain(result: Result, base: Result) -> list[Explanation]:
    """The causes of a `faster` or `slower`, the likely one first; empty if nothing explains it."""
    if result.rqps is None or result.per_op_relative is None:
        return []
    slowdown = 1 / result.rqps
    explanations = []
    for metric, evidence in _candidates(result.per_op):
        ratio = result.per_op_relative.get(metric.key)
        if ratio is None or not _could_take(metric, evidence, result, base):
            continue
        agrees = (ratio > 1) == (slowdown > 1)
        enough = WHOLE * abs(slowdown - 1)
        if agrees and abs(ratio - 1) >= min(FLAT, enough):
            partial = abs(ratio - 1) < enough
            per = f"{evidence.words} per {operation(result.unit)}"
            explanations.append(Explanation(evidence.cause, per, ratio, partial))
    # What moved as much as the throughput comes first; among those, the rarest.
    return sorted(explanations, key=lambda explanation: explanation.partial)


def _candidates(per_op: PerOperation) -> list[tuple[Metric, Evidence]]:
    """Return the metrics that speak for a cause, the rarest first.

    The host's count only where nothing is known of the server alone, as of archived runs.
    """
    evidence = [(metric, metric.evidence) for metric in METRICS if metric.evidence is not None]
    of_server = [(metric, cause) for metric, cause in evidence if metric.probe != HOST]
    if not any(metric.key in per_op for metric, _ in of_server):
        of_server = [(metric, cause) for metric, cause in evidence if metric.probe == HOST]
    return sorted(of_server, key=lambda candidate: _RARITY.index(candidate[1].cause))


def _could_take(metric: Metric, evidence: Evidence, result: Result, base: Result) -> bool:
    """Return whether the metric's change, at its dearest, is a good part of that of the time."""
    if metric.key == "write_kb" and result.writers is not None:
        return False  # it is of the writers beside the queries, who do the same for both
    ours, theirs = result.per_op.get(metric.key), base.per_op.get(metric.key)
    time = _time_us(base)
    if ours is None or theirs is None or result.rqps is None or time is None:
        return False
    change = time * abs(1 / result.rqps - 1)
    return abs(ours - theirs) * evidence.dearest >= SHARE_OF_CHANGE * change


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
