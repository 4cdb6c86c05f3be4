"""Verdicts: same, faster, slower or unsure, over all tests of an experiment, and when to stop."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from slowdust.analysis.comparison.estimate import (
    CONFIDENCE,
    AllTime,
    Estimate,
    Interval,
    Relative,
    estimate_all,
)
from slowdust.analysis.comparison.relative import block_ratios
from slowdust.analysis.model import Basis, Verdict
from slowdust.store.slice import Slice

FALSE_DISCOVERIES = 1 - CONFIDENCE
"""Share of `faster` and `slower` verdicts that may be false (Benjamini and Hochberg 1995)."""
FEWEST_INCARNATIONS = 2
"""Fewest incarnations with which a verdict is settled: the servers were restarted once."""
DIFFERENT: tuple[Verdict, ...] = ("faster", "slower")


@dataclass(frozen=True)
class Judgement:
    """An estimate with its verdict."""

    estimate: Estimate
    verdict: Verdict
    settled: bool
    """Whether more slices would be wasted."""
    basis: Basis
    """The ratio that the verdict is about."""


def judge(
    slices: Iterable[Slice], contenders: Sequence[str], margin: float, base: str | None = None
) -> list[Judgement]:
    """Judge every step and contender in `slices`.

    `contenders` are in the manifest's order; `base` is the first unless named. The more steps
    of the experiment `slices` has, the more is known about restarts.
    """
    cells = block_ratios(slices, base or contenders[0], contenders)
    return judge_estimates(estimate_all(cells), margin)


def judge_estimates(estimates: Sequence[Estimate], margin: float) -> list[Judgement]:
    """Judge the estimates of one experiment together, in their order."""
    alone = [verdict_alone(estimate, margin) for estimate in estimates]
    judged = [relative_of(estimate, margin) for estimate in estimates]
    threshold = discovery_threshold(
        [
            relative.p_value
            for relative, verdict in zip(judged, alone, strict=True)
            if verdict != "same"
        ]
    )
    judgements = []
    for estimate, relative, lone in zip(estimates, judged, alone, strict=True):
        by_chance = lone in DIFFERENT and relative.p_value > threshold
        verdict = "unsure" if by_chance else lone
        settled = verdict != "unsure" and settled_alone(estimate, margin) == verdict
        judgements.append(Judgement(estimate, verdict, settled, basis_of(estimate, margin)))
    return judgements


def basis_of(estimate: Estimate, margin: float) -> Basis:
    """Return the ratio that decides: that of totals where it surely differs by over the margin."""
    all_time = estimate.all_time
    if all_time is None or not stalls(all_time, margin):
        return "typical"
    return "all time" if all_time.beside_typical_interval.excludes_one() else "typical"


def relative_of(estimate: Estimate, margin: float) -> Relative:
    """Return the ratio that decides, with its intervals."""
    if estimate.all_time is not None and basis_of(estimate, margin) == "all time":
        return estimate.all_time
    return estimate


def stalls(all_time: AllTime, margin: float) -> bool:
    """Return whether totals differ from what is typical by more than `margin`, surely or not."""
    return not Interval(all_time.beside_typical, all_time.beside_typical).lies_inside(margin)


def verdict_alone(estimate: Estimate, margin: float) -> Verdict:
    """Return the verdict as if this were the experiment's only test.

    What is typical is not `same` where stalls may be the contender's own, or chance.
    """
    relative = relative_of(estimate, margin)
    verdict = _verdict_of(relative.interval, relative.equivalence_interval, margin)
    return "unsure" if verdict == "same" and _may_stall(estimate, margin) else verdict


def settled_alone(estimate: Estimate, margin: float) -> Verdict:
    """Return the verdict that measuring can stop with before the budget is spent, else `unsure`.

    Looking again after each block gives chance many tries. After Haybittle (1971, Br. J. Radiol.
    44) and Peto et al. (1976, Br. J. Cancer 34) an interim look has to reach a far stricter
    level than the last one, which then needs no correction: a difference has to hold at 99.9%.
    `same` may stop at 99%: with every look the interval has to lie inside the margin on both
    sides, which chance does far less often (the simulation in docs/statistics.md counts both).
    """
    if estimate.incarnations < FEWEST_INCARNATIONS:
        return "unsure"
    relative = relative_of(estimate, margin)
    verdict = _verdict_of(relative.difference_interval, relative.sameness_interval, margin)
    return "unsure" if verdict == "same" and _may_stall(estimate, margin) else verdict


def _may_stall(estimate: Estimate, margin: float) -> bool:
    if estimate.all_time is None or basis_of(estimate, margin) == "all time":
        return False
    return stalls(estimate.all_time, margin)


def discovery_threshold(p_values: Sequence[float]) -> float:
    """Return the largest p-value that is a discovery, at `FALSE_DISCOVERIES`; 0 without any.

    Benjamini and Hochberg 1995, J. R. Stat. Soc. B 57: the largest p(k) with p(k) <= k q / n.
    """
    ordered = np.sort(np.asarray(p_values))
    ranks = np.arange(1, len(ordered) + 1)
    passed = ordered[ordered <= ranks * FALSE_DISCOVERIES / max(len(ordered), 1)]
    return float(passed[-1]) if len(passed) else 0.0


def _verdict_of(
    difference: Interval | None, equivalence: Interval | None, margin: float
) -> Verdict:
    """Return the verdict of the interval that has to exclude 1, and of that inside the margin."""
    if difference is None or equivalence is None:
        return "unsure"
    if equivalence.lies_inside(margin):
        return "same"
    if difference.excludes_one():
        return "faster" if difference.low > 1 else "slower"
    return "unsure"
