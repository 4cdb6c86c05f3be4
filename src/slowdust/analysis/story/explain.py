"""Causes of a faster or slower test, as far as hardware per operation tells them.

    cpu/o moved, cs/o did not        CPU overhead
    cs/o moved                       contention; waiting, where there is a single client
    r/o, rKB/o or wKB/o moved        IO

More of a metric explains slower, less explains faster. A metric that moved the other way explains
nothing, nor does one whose interval includes 1. One that moved less than the throughput explains
a part of it at most, and none explains anything that it cannot have taken the time for: twice the
context switches of a scan, where ten become twenty in as many milliseconds, are no contention.
What moved less than CPU did is not the first cause where CPU may be one: 'cpu/o +88%, wKB/o +47%'
is CPU.

CPU time per operation is stated and not called a cause: on a shared machine it moves with the
machine's speed as throughput does, so that it would explain most false verdicts. Archived runs
have no intervals and had machines of their own: there the ratios alone decide, and CPU overhead
is a cause.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

from slowdust.analysis.metrics import HOST, METRICS, Cause, Indication, Metric, PerOperation
from slowdust.analysis.model import Result
from slowdust.benchmarks import measured_in_steps
from slowdust.units import Microsecond
from slowdust.wording import operation

FLAT = 0.05
"""Relative change below which a metric is not mentioned."""
SHARE_OF_CHANGE = 0.25
"""Share of the change of time per operation that a time must account for to be mentioned."""
WHOLE = 0.5
"""Share of the change of time per operation from which a cause is not called partial.

Events and KB, whose costs are guessed at their highest, must be able to account for as much."""
_US_PER_S = 1e6


@dataclass(frozen=True)
class Movement:
    """A metric that moved with the throughput."""

    cause: Cause
    metric: str
    """The metric in words: 'server CPU per operation'."""
    ratio: float
    """Contender / base."""
    partial: bool
    """Whether it moved clearly less than the throughput did."""
    proves_cause: bool
    """Whether it may be called the cause; else it is no more than a fact."""


_RARITY = (Cause.IO, Cause.CONTENTION, Cause.CPU)
"""The rarest cause first: CPU nearly always moves along with contention and IO."""


def explain(result: Result, base: Result) -> list[Movement]:
    """Return what moved with a change, the likely cause first; empty if nothing did."""
    if result.typical is None or result.per_op_relative is None:
        return []
    slowdown = 1 / result.typical.value
    movements = []
    for metric, indication in _candidates(result.per_op):
        ratio = result.per_op_relative.get(metric.key)
        if ratio is None or not _could_account_for(metric, indication, result, base):
            continue
        if _has_intervals(result) and not _is_certain(metric, ratio, result):
            continue
        agrees = (ratio > 1) == (slowdown > 1)
        enough = WHOLE * abs(slowdown - 1)
        if agrees and abs(ratio - 1) >= min(FLAT, enough):
            partial = abs(ratio - 1) < enough
            per = f"{indication.words} per {operation(result.unit)}"
            proves = not (indication.moves_with_speed and _has_intervals(result))
            alone = result.clients == 1 and indication.cause is Cause.CONTENTION
            cause = Cause.WAITING if alone else indication.cause
            movements.append(Movement(cause, per, ratio, partial, proves))
    # Causes come first, then what moved as much as the throughput and as CPU; then the rarest.
    cpu = max((_size(item) for item in movements if item.cause is Cause.CPU), default=0.0)
    return sorted(
        movements, key=lambda item: (not item.proves_cause, item.partial, _size(item) < cpu)
    )


def _size(movement: Movement) -> float:
    return abs(math.log(movement.ratio)) if movement.ratio > 0 else math.inf


def _has_intervals(result: Result) -> bool:
    """Return whether slices were compared: single runs have neither interval nor verdict."""
    return result.verdict is not None


def _is_certain(metric: Metric, ratio: float, result: Result) -> bool:
    """Return whether the metric's own interval lies on the side of 1 that `ratio` is on."""
    compared = result.compared.get(metric.key)
    bound = None if compared is None else compared.bound
    return bound is not None and (bound > 1) == (ratio > 1)


def _candidates(per_op: PerOperation) -> list[tuple[Metric, Indication]]:
    """Return the metrics that speak for a cause, the rarest first.

    The host's metrics count only if the server alone was not measured.
    """
    known = [(metric, metric.indicates) for metric in METRICS if metric.indicates is not None]
    candidates = [(metric, cause) for metric, cause in known if metric.probe != HOST]
    if not any(metric.key in per_op for metric, _ in candidates):
        candidates = [(metric, cause) for metric, cause in known if metric.probe == HOST]
    return sorted(candidates, key=lambda candidate: _RARITY.index(candidate[1].cause))


def _could_account_for(
    metric: Metric, indication: Indication, result: Result, base: Result
) -> bool:
    """Return whether the metric's change, at its highest cost, is a good part of the time's."""
    if metric.key == "write_kb" and result.writers is not None:
        return False  # it comes from the writers beside the queries, who do the same for both
    value, base_value = result.per_op.get(metric.key), base.per_op.get(metric.key)
    time = _time_us(base)
    if value is None or base_value is None or result.typical is None or time is None:
        return False
    change = time * abs(1 / result.typical.value - 1)
    share = SHARE_OF_CHANGE if indication.moves_with_speed else WHOLE
    return abs(value - base_value) * indication.highest_cost >= share * change


def _time_us(base: Result) -> Microsecond | None:
    """Return the time that an operation, as the rate counts them, takes a client.

    It is no response time where a statement of a long step writes many rows. Printed response times
    may be of events that have many queries; errors are counted of what was measured here.
    """
    if measured_in_steps(base.benchmark) or base.errors is None:
        return base.clients * _US_PER_S / base.qps if base.qps > 0 else None
    if base.latency_us is None:
        return None
    return base.latency_us.p50 or base.latency_us.mean
