"""Verdicts: same, faster, slower or unsure, over all tests of an experiment, and when to stop."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from slowdust.analysis.comparison.estimate import CONFIDENCE, Estimate, Interval, estimate_all
from slowdust.analysis.comparison.relative import block_ratios
from slowdust.analysis.model import Verdict
from slowdust.store.slice import Slice

FALSE_DISCOVERIES = 1 - CONFIDENCE
"""Share of `faster` and `slower` verdicts that may be false (Benjamini and Hochberg 1995)."""
FEWEST_INCARNATIONS = 3
"""Fewest incarnations with which a verdict is settled: the servers were restarted twice."""
DIFFERENT: tuple[Verdict, ...] = ("faster", "slower")


@dataclass(frozen=True)
class Judgement:
    """An estimate with its verdict."""

    estimate: Estimate
    verdict: Verdict
    settled: bool
    """Whether more slices would be wasted."""


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
    threshold = discovery_threshold([estimate.p_value for estimate in estimates])
    judgements = []
    for estimate in estimates:
        verdict = verdict_alone(estimate, margin)
        if verdict in DIFFERENT and estimate.p_value > threshold:
            verdict = "unsure"
        judgements.append(Judgement(estimate, verdict, settled(estimate, margin)))
    return judgements


def verdict_alone(estimate: Estimate, margin: float) -> Verdict:
    """Return the verdict as if this were the experiment's only test."""
    return _verdict_of(estimate.interval, margin)


def settled(estimate: Estimate, margin: float) -> bool:
    """Return whether the verdict is so sure that measuring can stop before the budget is spent.

    Looking again after each block gives chance many tries. After Haybittle (1971, Br. J. Radiol.
    44) and Peto et al. (1976, Br. J. Cancer 34) an interim look has to reach a far stricter
    level than the last one, which then needs no correction: a difference has to hold at 99.9%.
    `same` may stop at 99%: with every look the interval has to lie inside the margin on both
    sides, which chance does far less often (the simulation in docs/statistics.md counts both).
    """
    if estimate.incarnations < FEWEST_INCARNATIONS:
        return False
    return (
        _verdict_of(estimate.sameness_interval, margin) == "same"
        or _verdict_of(estimate.difference_interval, margin) in DIFFERENT
    )


def discovery_threshold(p_values: Sequence[float]) -> float:
    """Return the largest p-value that is a discovery, at `FALSE_DISCOVERIES`; 0 without any.

    Benjamini and Hochberg 1995, J. R. Stat. Soc. B 57: the largest p(k) with p(k) <= k q / n.
    """
    ordered = np.sort(np.asarray(p_values))
    ranks = np.arange(1, len(ordered) + 1)
    passed = ordered[ordered <= ranks * FALSE_DISCOVERIES / max(len(ordered), 1)]
    return float(passed[-1]) if len(passed) else 0.0


def _verdict_of(interval: Interval | None, margin: float) -> Verdict:
    if interval is None:
        return "unsure"
    if interval.lies_inside(margin):
        return "same"
    if interval.excludes_one():
        return "faster" if interval.low > 1 else "slower"
    return "unsure"
