"""The ratio of two ratios, each from an experiment of its own, with its interval and verdict.

A difference of verdicts is no difference: `slower` last night and `unsure` tonight may be the same
ratio seen twice (Gelman and Stern 2006, Am. Stat. 60(4)). So the two ratios are compared
themselves. They are independent, and their intervals are symmetric in ln ratio about the estimates,
so that the half-widths of the logs add up in squares: the limits of a difference from the limits of
its parts (Zou and Donner 2008, Stat. Med. 27(10)). This is done at each of the levels at which an
estimate has intervals, which gives the tail that a p-value needs. Verdicts are those of any other
result: a difference is said only where the 95% interval excludes 1 and the false-discovery
correction over all tests of the pair of experiments lets it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace

from slowdust.analysis.comparison.ratio import Estimate, Interval, Relative
from slowdust.analysis.comparison.relative import Step
from slowdust.analysis.comparison.verdict import (
    Judgement,
    judge_estimates,
    relative_of,
    stalls,
    tail_beyond,
    verdict_of,
)

Judgements = Mapping[tuple[Step, str], Judgement]
"""Step and contender -> how the contender was judged beside the base."""


def judge_changes(before: Judgements, after: Judgements, margin: float) -> Judgements:
    """Judge how ratios to the base changed from one experiment to another, all together.

    The ratio of a judgement is that of the ratios, after / before. Steps and contenders that only
    one has, or for which one has no ratio, are left out.
    """
    estimates = []
    for place, earlier in before.items():
        later = after.get(place)
        relative = None if later is None else _change(earlier, later, margin)
        if later is not None and relative is not None:
            estimates.append(_estimate(place, relative, earlier, later))
    judged = judge_estimates(estimates, margin)
    places = [(each.estimate.step, each.estimate.contender) for each in judged]
    return {
        place: _doubted(judgement, before[place], after[place], margin)
        for place, judgement in zip(places, judged, strict=True)
    }


def ratio_of(before: Relative, after: Relative) -> Relative | None:
    """Return `after` / `before` of two independent ratios; None where one has no ratio."""
    if before.ratio is None or after.ratio is None:
        return None
    center = math.log(after.ratio / before.ratio)
    relative = Relative(
        ratio=math.exp(center),
        interval=_joined(center, before.interval, after.interval),
        equivalence_interval=_joined(
            center, before.equivalence_interval, after.equivalence_interval
        ),
        sameness_interval=_joined(center, before.sameness_interval, after.sameness_interval),
        difference_interval=_joined(center, before.difference_interval, after.difference_interval),
    )
    if relative.interval is None:
        return relative
    return replace(relative, p_value=tail_beyond(relative, abs(center)))


def _joined(center: float, before: Interval | None, after: Interval | None) -> Interval | None:
    if before is None or after is None:
        return None
    reach = math.hypot(_half_width(before), _half_width(after))
    return Interval(math.exp(center - reach), math.exp(center + reach))


def _half_width(interval: Interval) -> float:
    return math.log(interval.high / interval.low) / 2


def _change(before: Judgement, after: Judgement, margin: float) -> Relative | None:
    """Return the ratio of ratios; where the verdicts are about different ones, that of totals."""
    if before.basis == after.basis:
        return ratio_of(relative_of(before.estimate, margin), relative_of(after.estimate, margin))
    return _change_of_totals(before, after)


def _change_of_totals(before: Judgement, after: Judgement) -> Relative | None:
    earlier, later = before.estimate.all_time, after.estimate.all_time
    return None if earlier is None or later is None else ratio_of(earlier, later)


def _estimate(
    place: tuple[Step, str], relative: Relative, before: Judgement, after: Judgement
) -> Estimate:
    step, contender = place
    both: Sequence[Estimate] = (before.estimate, after.estimate)
    return Estimate(
        **vars(relative),
        step=step,
        contender=contender,
        blocks=min(each.blocks for each in both),
        incarnations=min(each.incarnations for each in both),
        incomplete=sum(each.incomplete for each in both),
        with_zero=sum(each.with_zero for each in both),
    )


def _doubted(change: Judgement, before: Judgement, after: Judgement, margin: float) -> Judgement:
    """Return the judgement, unsure where one experiment may have stalls and totals disagree."""
    totals = _change_of_totals(before, after)
    may_stall = any(
        each.estimate.all_time is not None and stalls(each.estimate.all_time, margin)
        for each in (before, after)
    )
    if totals is None or not may_stall or change.verdict == "unsure":
        return change
    of_totals = verdict_of(totals.interval, totals.equivalence_interval, margin)
    return change if of_totals == change.verdict else replace(change, verdict="unsure")
