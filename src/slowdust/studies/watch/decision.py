"""Sequential statistics on plain numbers: whether a series of nights has changed its level.

A point of a series is the log cost of a night's subject relative to the base, x, and relative to
the last good subject of the same experiment, d. After each night, each night k is tested for a
change of level from k on (a generalised likelihood ratio over the last nights: Lai, J. R. Stat.
Soc. B 57, 1995). The change at k is estimated from

- d of the nights from k on whose last good subject was before k;
- x from k on minus the mean of x before k, within a segment (nights on one host under the same
  conditions) with at least `FEWEST` nights before k.

Both share the noise of the new subject. In each segment the estimate with the smaller variance
counts, and segments are averaged by their variances. The standard deviation of a night comes from
the differences between consecutive nights of the series (a median, which single nights influence
little). It is shrunk towards the value of all series of the metric, and is at least the standard
error of the night.

A night counts for at most `cap` standard deviations, so that one bad night opens no alarm.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from statistics import NormalDist, fmean, median

from slowdust.analysis.results.log_ratio import TIME, WORK

FEWEST = 4
"""Nights that a segment needs before a change, for their mean to be the level before it."""
WINDOW = 15
"""Last nights that are searched for a change."""
_REFERENCE = 40
"""Maximum number of nights before a change whose mean is the level before it."""
MEMORY = WINDOW + _REFERENCE
"""Last nights that a decision depends on."""
_PRIOR = 10
"""Weight of all series of a metric in the scale of one series, in differences."""
_TO_DEVIATION = 1.4826 / math.sqrt(2)
"""Factor from the median difference of two nights to the standard deviation of a night."""


@dataclass(frozen=True)
class Rule:
    """How significant and how large a change of a metric has to be."""

    least: float
    """Smallest change of the log cost that is reported."""
    floor: float
    """Minimum standard deviation of a night."""
    unknown: float
    """Standard deviation of a night while no series is long enough."""
    cap: float
    """Maximum number of standard deviations that a night counts for."""
    threshold: float
    """Standard errors at which a change is significant."""


RULES: Mapping[str, Rule] = {
    TIME: Rule(least=0.015, floor=0.003, unknown=0.01, cap=3.0, threshold=4.7),
    WORK: Rule(least=0.01, floor=0.0015, unknown=0.0015, cap=math.inf, threshold=4.7),
}
_DOUBTFUL_NIGHTS = 0.05
"""Share of the nights without any change that may have a doubt."""


@dataclass(frozen=True)
class Point:
    """A series in one night."""

    night: int
    segment: str
    """Digest of host, base and conditions: levels are compared within a segment."""
    level: float
    """ln(cost of the subject / cost of the base)."""
    error: float
    """Standard error of `level` in the experiment."""
    direct: float | None = None
    """ln(cost of the subject / cost of the last good one); None without a good one."""
    direct_error: float = 0.0
    good: int = 0
    """The night of the last good subject; 0 for the base."""
    again: bool = False
    """Whether the subject is the same as in the night before, so that nothing can have changed."""


@dataclass(frozen=True)
class Shift:
    """A change of level that was found earlier."""

    night: int
    """The first night of the new level."""
    log: float
    error: float


@dataclass(frozen=True)
class Finding:
    """The likeliest change of a series."""

    night: int
    """The first night of the new level."""
    log: float
    """Size, of the log cost."""
    error: float
    """Standard error of `log`."""
    sureness: float
    """Size in standard errors, with each night limited to its cap."""


def doubt_among(series: int) -> float:
    """Return the standard errors at which a change is in doubt, among this number of series.

    The subject of a doubtful change does not count as good. The limit grows with the number of
    series; otherwise a watch of many tests would have a doubt every night.
    """
    return NormalDist().inv_cdf(1 - _DOUBTFUL_NIGHTS / (2 * max(1, series) * WINDOW))


def scales(series: Sequence[Sequence[Point]], rule: Rule) -> list[float]:
    """Return the standard deviation of a night for each series of one metric.

    The largest difference of each series is excluded, because it may be the change itself.
    """
    steps = [sorted(_differences(points))[:-1] for points in series]
    typical = [median(each) * _TO_DEVIATION for each in steps if len(each) >= FEWEST]
    shared = median(typical) if typical else rule.unknown
    return [max(rule.floor, _scale(each, shared)) for each in steps]


def _scale(steps: Sequence[float], shared: float) -> float:
    own = median(steps) * _TO_DEVIATION if steps else 0.0
    weight = len(steps)
    return math.sqrt((weight * own**2 + _PRIOR * shared**2) / (weight + _PRIOR))


def _differences(points: Sequence[Point]) -> Iterable[float]:
    return (
        abs(after.level - before.level)
        for before, after in pairwise(points[-_REFERENCE:])
        if before.segment == after.segment
    )


def find(
    points: Sequence[Point], shifts: Sequence[Shift], scale: float, rule: Rule
) -> Finding | None:
    """Return the likeliest change since the last shift, of at least `rule.least`; None if none.

    The caller decides whether it is significant: see `Finding.sureness`.
    """
    start = max((shift.night for shift in shifts), default=0)
    known = [point for point in points if point.night >= start]
    best: Finding | None = None
    for point in known[-WINDOW:]:
        if point.night == start or point.again:
            continue
        found = _estimate(known, point.night, shifts, scale, rule)
        if found is None or abs(found.log) < rule.least:
            continue
        if best is None or found.sureness > best.sureness:
            best = found
    return best


def _estimate(
    known: Sequence[Point], night: int, shifts: Sequence[Shift], scale: float, rule: Rule
) -> Finding | None:
    """Return the change at a night, from all segments with an estimate."""
    after: dict[str, list[Point]] = {}
    for point in known:
        if point.night >= night:
            after.setdefault(point.segment, []).append(point)
    pieces: list[_Piece] = []
    for segment, points in after.items():
        before = [p.level for p in known if p.night < night and p.segment == segment]
        said = _from_direct(points, night, shifts, scale, rule)
        if len(before) >= FEWEST:
            said.append(_from_levels(before[-_REFERENCE:], points, scale, rule))
        if said:
            pieces.append(min(said, key=lambda piece: piece.variance))
    if not pieces:
        return None
    weight = sum(1 / piece.variance for piece in pieces)
    value, capped = (
        sum(amount / piece.variance for piece, amount in zip(pieces, amounts, strict=True)) / weight
        for amounts in ([p.value for p in pieces], [p.capped for p in pieces])
    )
    return Finding(night, value, weight**-0.5, abs(capped) * math.sqrt(weight))


@dataclass(frozen=True)
class _Piece:
    """The estimate of a change from one segment."""

    value: float
    capped: float
    """The mean with each night limited to its cap."""
    variance: float


def _from_levels(
    before: Sequence[float], after: Sequence[Point], scale: float, rule: Rule
) -> _Piece:
    middle = median(before)
    reach = 2 * scale
    level = fmean(min(max(value, middle - reach), middle + reach) for value in before)
    values = [(point.level - level, point.error) for point in after]
    return _mean(values, scale, rule, scale**2 / len(before))


def _from_direct(
    after: Sequence[Point], night: int, shifts: Sequence[Shift], scale: float, rule: Rule
) -> list[_Piece]:
    """Return the change relative to last good subjects before it; empty without them.

    Shifts between a last good subject and the change are subtracted.
    """
    values, unsure = [], 0.0
    for point in after:
        if point.direct is None or point.good >= night:
            continue
        between = [shift for shift in shifts if point.good < shift.night < night]
        offset = sum(shift.log for shift in between)
        unsure = max(unsure, sum(shift.error**2 for shift in between))
        values.append((point.direct - offset, point.direct_error))
    return [_mean(values, scale, rule, unsure)] if values else []


def _mean(values: Sequence[tuple[float, float]], scale: float, rule: Rule, unsure: float) -> _Piece:
    """Return the weighted mean of values with their errors; `unsure` is the level's variance."""
    weight = total = capped = 0.0
    for value, error in values:
        deviation = max(scale, error)
        reach = rule.cap * deviation
        weight += deviation**-2
        total += value * deviation**-2
        capped += min(max(value, -reach), reach) * deviation**-2
    return _Piece(total / weight, capped / weight, 1 / weight + unsure)
