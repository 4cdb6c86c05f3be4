"""Verdicts (same, faster, slower, unsure) over all tests of an experiment, and when to stop."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace

import numpy as np

from slowdust.ratios import Amount, Basis, Margins, Ratio, Verdict
from slowdust.stats.blocks import BlockRatios, Step
from slowdust.stats.estimate import estimate_all
from slowdust.stats.hosts import ONE_HOST, Hosts
from slowdust.stats.relative import (
    CONFIDENCE,
    EQUIVALENCE,
    SETTLED_DIFFERENT,
    SETTLED_SAME,
    AllTime,
    Estimate,
    Interval,
    Relative,
)

FALSE_DISCOVERIES = 1 - CONFIDENCE
"""Share of `faster` and `slower` verdicts that may be false (Benjamini and Hochberg 1995)."""
FEWEST_INCARNATIONS = 3
"""Fewest starts at which a verdict is settled: the servers were restarted twice."""
MINIMUM_BLOCKS = 2
"""Blocks that a test gets in each start, even with a small budget."""
_PERHAPS_DIFFERENT = 1 - EQUIVALENCE
"""p-value of the difference between the ratio of totals and the typical ratio below which no
verdict is `same`."""
_SURELY_DIFFERENT = 0.005
"""p-value of that difference below which the verdict is based on totals. Four stalls of one
contender and none of the other have 0.05, which happens with many tests on a stalling machine."""
FAR = 3.0
"""Ratio beyond which a difference is too large for restarts and noise."""
DIFFERENT: tuple[Verdict, ...] = ("faster", "slower")
AMOUNTS: dict[Verdict, Amount] = {
    "faster": "more",
    "slower": "less",
    "same": "same",
    "unsure": "unsure",
}
"""Verdict on a rate -> verdict on an amount."""
Estimator = Callable[[Sequence[BlockRatios], Hosts], list[Estimate]]
"""Function that estimates cells measured on some hosts."""


@dataclass(frozen=True, kw_only=True)
class Judgement:
    """An estimate with its verdict."""

    estimate: Estimate
    verdict: Verdict
    settled: bool
    """Whether measuring can stop."""
    basis: Basis
    """The ratio that the verdict is based on."""
    far: bool = False
    """Whether it differs by more than `FAR` at the confidence at which measuring can stop."""
    groups: Mapping[str, Judgement] = field(default_factory=dict)
    """Group of hosts -> judgement by its hosts alone; empty with fewer than two groups."""
    doubt: str = ""
    """Why it is unsure although the interval excludes 1; else empty."""
    margin: float
    """The margin that was applied."""

    @property
    def relative(self) -> Relative:
        """The ratio that the verdict is based on."""
        of_totals = self.basis == "all time" and self.estimate.all_time is not None
        return self.estimate.all_time if of_totals and self.estimate.all_time else self.estimate

    @property
    def ratio(self) -> Ratio | None:
        return self.relative.judged(self.verdict, self.margin)

    @property
    def ratio_of_amounts(self) -> Ratio | None:
        """The typical ratio of an amount: `faster` means more of it."""
        return self.estimate.judged(AMOUNTS[self.verdict], self.margin)


def estimated(cells: Sequence[BlockRatios], hosts: Hosts) -> list[Estimate]:
    return estimate_all(cells, hosts=hosts)


def judge_cells(
    cells: Sequence[BlockRatios],
    margins: Margins | float,
    hosts: Hosts = ONE_HOST,
    estimate: Estimator = estimated,
) -> list[Judgement]:
    """Judge cells that were measured on some hosts, in their order.

    With several groups of hosts each group is also judged separately. The overall verdict requires
    that all groups agree: two or three models of CPUs do not represent all others.
    """
    judged = judge_estimates(estimate(cells, hosts), margins)
    groups = hosts.group_names(hosts.of)
    if len(groups) < 2:
        return judged
    by_place: dict[tuple[Step, str], dict[str, Judgement]] = {}
    for group in groups:
        numbers = hosts.numbers(*hosts.in_group(group))
        parts = [part for cell in cells if (part := cell.on(numbers)).every_number]
        for judgement in judge_estimates(estimate(parts, hosts), margins):
            own = by_place.setdefault((judgement.estimate.step, judgement.estimate.contender), {})
            own[group] = judgement
    return [
        _of_groups(each, by_place.get((each.estimate.step, each.estimate.contender), {}))
        for each in judged
    ]


def _of_groups(judgement: Judgement, groups: Mapping[str, Judgement]) -> Judgement:
    verdicts = {each.verdict for each in groups.values()}
    if len(verdicts) > 1:
        doubt = "unsure, since groups of hosts have different verdicts"
        return replace(judgement, verdict="unsure", settled=False, groups=groups, doubt=doubt)
    verdict = next(iter(verdicts), judgement.verdict)
    doubt = judgement.doubt if verdict == judgement.verdict else ""
    return replace(judgement, verdict=verdict, groups=groups, doubt=doubt)


def judge_estimates(estimates: Sequence[Estimate], margins: Margins | float) -> list[Judgement]:
    """Judge estimates together; a number is the margin of all of them."""
    if not isinstance(margins, Margins):
        margins = Margins(margins)
    own = [margins.of(estimate.step.test) for estimate in estimates]
    with_margins = list(zip(estimates, own, strict=True))
    alone = [verdict_alone(estimate, margin) for estimate, margin in with_margins]
    judged = [chosen_ratio(estimate, margin) for estimate, margin in with_margins]
    candidates = [
        relative.p_value
        for relative, verdict in zip(judged, alone, strict=True)
        if verdict in DIFFERENT
    ]
    chances = [
        chance_of_not_same(relative, margin) for relative, margin in zip(judged, own, strict=True)
    ]
    threshold = discovery_threshold(candidates, chances)
    judgements = []
    for (estimate, margin), relative, lone in zip(with_margins, judged, alone, strict=True):
        by_chance = lone in DIFFERENT and relative.p_value > threshold
        verdict: Verdict = "unsure" if by_chance else lone
        doubt = ""
        if by_chance:
            doubt = f"unsure after the correction for {_family(estimates)}"
        elif verdict == "unsure" and relative.interval and relative.interval.excludes_one():
            doubt = _doubt_of_totals(estimate)
        judgements.append(
            Judgement(
                estimate=estimate,
                verdict=verdict,
                settled=verdict != "unsure" and settled_alone(estimate, margin) == verdict,
                basis=choose_basis(estimate, margin),
                far=verdict in DIFFERENT and is_far(estimate, margin),
                doubt=doubt,
                margin=margin,
            )
        )
    return judgements


def is_far(estimate: Estimate, margin: float) -> bool:
    """Return whether the interval at which measuring can stop lies beyond `FAR`.

    If totals may differ from the typical ratio, their interval has to lie beyond it, too.
    """
    in_doubt = _totals_in_doubt(estimate, margin)
    intervals = [
        relative.difference_interval
        for relative in (chosen_ratio(estimate, margin), in_doubt)
        if relative is not None
    ]
    return not _silent(estimate) and all(
        interval is not None and interval.lies_beyond(FAR) for interval in intervals
    )


def _family(estimates: Sequence[Estimate]) -> str:
    """Return the number of comparisons that are judged together: '8 tests'."""
    several = len({estimate.contender for estimate in estimates}) > 1
    noun = "comparison" if several else "test"
    return f"{len(estimates):,} {noun}{'' if len(estimates) == 1 else 's'}"


def _doubt_of_totals(estimate: Estimate) -> str:
    """Return why totals leave a ratio whose interval excludes 1 without a verdict."""
    interval = None if estimate.all_time is None else estimate.all_time.interval
    if interval is None or not interval.excludes_one():
        return "unsure, since its all-time interval includes 1"
    return "unsure, since its all-time interval has a different verdict"


def chance_of_not_same(relative: Relative, margin: float) -> float:
    """Return the probability that equal contenders are not `same`, given the interval's width.

    It is the probability of an estimate so far from 1 that its interval leaves the margin: close to
    0 for a calm test, 1 if the interval is wider than the margin. 0 without an interval.
    """
    interval = relative.equivalence_interval
    if interval is None:
        return 0.0
    return tail_beyond(relative, math.log1p(margin) - interval.half_width)


def tail_beyond(relative: Relative, distance: float) -> float:
    """Return the two-sided tail probability at a distance in ln rqps, interpolated from intervals.

    Its logarithm is linear in the logarithm of the distance, between the intervals and beyond the
    widest; nearer than the narrowest interval it follows the normal distribution.
    """
    from scipy.special import ndtr, ndtri

    intervals = (
        (EQUIVALENCE, relative.equivalence_interval),
        (CONFIDENCE, relative.interval),
        (SETTLED_SAME, relative.sameness_interval),
        (SETTLED_DIFFERENT, relative.difference_interval),
    )
    reaches = np.log([interval.half_width for _, interval in intervals if interval])
    tails = np.log([1 - confidence for confidence, interval in intervals if interval])
    if distance <= 0:
        return 1.0
    log_distance = math.log(distance)
    if log_distance < reaches[0]:
        return 2 * float(ndtr(ndtri((1 - EQUIVALENCE) / 2) * distance / math.exp(reaches[0])))
    if log_distance > reaches[-1]:
        slope = (tails[-1] - tails[-2]) / (reaches[-1] - reaches[-2])
        return float(np.exp(tails[-1] + slope * (log_distance - reaches[-1])))
    return float(np.exp(np.interp(log_distance, reaches, tails)))


def choose_basis(estimate: Estimate, margin: float) -> Basis:
    """Return the ratio that the verdict is based on.

    It is the ratio of totals if it surely differs by more than the margin, or if the typical ratio
    is incomplete: too few blocks, or starts during which a contender was silent.
    """
    all_time = estimate.all_time
    if all_time is None:
        return "typical"
    if all_time.to_typical_p is None:
        return "all time"
    surely = stalls(all_time, margin) and all_time.to_typical_p < _SURELY_DIFFERENT
    return "all time" if surely else "typical"


def chosen_ratio(estimate: Estimate, margin: float) -> Relative:
    if estimate.all_time is not None and choose_basis(estimate, margin) == "all time":
        return estimate.all_time
    return estimate


def stalls(all_time: AllTime, margin: float) -> bool:
    """Return whether totals differ from the typical ratio by over `margin`, hardly by chance."""
    if all_time.to_typical is None or all_time.to_typical_p is None:
        return False
    difference = Interval(all_time.to_typical, all_time.to_typical)
    return not difference.lies_inside(margin) and all_time.to_typical_p < _PERHAPS_DIFFERENT


def verdict_alone(estimate: Estimate, margin: float) -> Verdict:
    """Return the verdict as if this were the experiment's only test.

    If stalls may be either the contender's or chance, the typical ratio has a verdict only if the
    totals have the same one. A contender that was silent for a whole start is never `same`.
    """
    verdict = _verdict_now(chosen_ratio(estimate, margin), margin)
    if verdict == "same" and _silent(estimate):
        return "unsure"
    all_time = _totals_in_doubt(estimate, margin)
    return verdict if all_time is None or _verdict_now(all_time, margin) == verdict else "unsure"


def settled_alone(estimate: Estimate, margin: float) -> Verdict:
    """Return the verdict with which measuring can stop before the budget is spent, else `unsure`.

    Repeated looks, one after each block, raise the rate of false verdicts. Following Haybittle
    (1971, Br. J. Radiol. 44) and Peto et al. (1976, Br. J. Cancer 34), an interim look has to reach
    a far stricter level than the last look, which then needs no correction: a difference has to
    hold at 99.9%. `same` may stop at 99%: at every look the interval has to lie inside the margin
    on both sides, which happens by chance far less often (the simulation in docs/statistics.md
    counts both).
    """
    if estimate.incarnations < FEWEST_INCARNATIONS or _silent(estimate):
        return "unsure"
    verdict = _verdict_settled(chosen_ratio(estimate, margin), margin)
    all_time = _totals_in_doubt(estimate, margin)
    agree = all_time is None or _verdict_settled(all_time, margin) == verdict
    return verdict if agree else "unsure"


def _totals_in_doubt(estimate: Estimate, margin: float) -> AllTime | None:
    """Return the totals if stalls may be the contender's and the typical ratio is judged."""
    all_time = estimate.all_time
    if all_time is None or choose_basis(estimate, margin) == "all time":
        return None
    return all_time if stalls(all_time, margin) else None


def _silent(estimate: Estimate) -> bool:
    return estimate.all_time is not None and bool(estimate.all_time.silent)


def _verdict_now(relative: Relative, margin: float) -> Verdict:
    return verdict_of(relative.interval, relative.equivalence_interval, margin)


def _verdict_settled(relative: Relative, margin: float) -> Verdict:
    return verdict_of(relative.difference_interval, relative.sameness_interval, margin)


def discovery_threshold(p_values: Sequence[float], chances: Sequence[float]) -> float:
    """Return the largest of `p_values` that is a discovery at `FALSE_DISCOVERIES`; 0 without any.

    `p_values` are from the tests that look different; `chances` has for every test the probability
    that equal contenders look different. At a threshold t each test is a false discovery with
    probability min(t, chance); their sum over the number of discoveries is the false share (Storey
    2002, J. R. Stat. Soc. B 64). If every chance is 1, this is the procedure of Benjamini and
    Hochberg 1995 (J. R. Stat. Soc. B 57): the largest p(k) with p(k) <= k q / n.
    """
    ordered = np.sort(np.asarray(p_values))
    expected = np.minimum(ordered[:, None], np.asarray(chances)[None, :]).sum(axis=1)
    passed = ordered[expected <= np.arange(1, len(ordered) + 1) * FALSE_DISCOVERIES]
    return float(passed[-1]) if len(passed) else 0.0


def verdict_of(difference: Interval | None, equivalence: Interval | None, margin: float) -> Verdict:
    """Return the verdict of two intervals: one must exclude 1, the other lie inside the margin."""
    if difference is None or equivalence is None:
        return "unsure"
    if equivalence.lies_inside(margin):
        return "same"
    if difference.excludes_one():
        return "faster" if difference.low > 1 else "slower"
    return "unsure"
