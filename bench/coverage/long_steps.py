"""Long steps with one pair per start; 10 steps, two contenders."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from bench.coverage.experiments import MARGIN, Tally
from bench.coverage.intervals import student
from slowdust.stats.estimate import estimate_all
from slowdust.stats.relative import Estimate
from slowdust.stats.verdict import DIFFERENT, judge_estimates
from tests.unit.synthetic_pairs import PairNoise, synthetic_pairs

STEPS = 10
_PAIRS = {
    "1%": PairNoise(0.01),
    "3%": PairNoise(0.03),
    "10%": PairNoise(0.10),
    "3%, tails of t with 3 degrees of freedom": PairNoise(0.03, tail_freedom=3.0),
    "3%, machine drifts by 40%, order alternates": PairNoise(0.03, drift=float(np.log(0.6))),
    "the same, order never alternates": PairNoise(
        0.03, drift=float(np.log(0.6)), alternating=False
    ),
    "3%, drift of 40% either way, order alternates": PairNoise(0.03, drift_spread=0.4),
    "half of the steps 1%, half 8%": PairNoise((*[0.01] * 5, *[0.08] * 5)),
}
_UNRULY = PairNoise((0.10, *[0.01] * (STEPS - 1)))


def long_steps(count: int) -> None:
    """Print how often the intervals and verdicts of long steps are right."""
    print(
        "| incarnations | scatter of a pair | Slowdust covers | half-width | t covers | half-width "
        "| false faster or slower | experiments with one | slower, of a true 0.90 |"
    )
    print("|--:|---|--:|--:|--:|--:|--:|--:|--:|")
    for incarnations in (2, 3, 4, 6):
        for name, noise in _PAIRS.items():
            everything = range(STEPS)
            print(_long_steps(count, incarnations, name, noise, everything), flush=True)
        for name, steps in {
            "nine calm steps (1%) with an unruly one": range(1, STEPS),
            "the unruly step (10%) with nine calm ones": range(1),
        }.items():
            print(_long_steps(count, incarnations, name, _UNRULY, steps), flush=True)


def _long_steps(count: int, incarnations: int, name: str, noise: PairNoise, steps: range) -> str:
    ours, simple = Tally(), Tally()
    false = experiments_with_one = right = 0
    rng = np.random.default_rng(20260102)
    for _ in range(count):
        cells = synthetic_pairs(STEPS, incarnations, noise, rng)
        estimates = estimate_all(cells)
        for step in steps:
            ours.add(estimates[step].interval, 1.0)
            simple.add(student(cells[step]), 1.0)
        wrong = _different(estimates, steps)
        false += wrong
        experiments_with_one += wrong > 0
        slower = synthetic_pairs(STEPS, incarnations, noise, rng, log_shift=float(np.log(0.9)))
        right += _different(estimate_all(slower), steps)
    return (
        f"| {incarnations} | {name} | {ours} | {simple} | {false / len(ours.widths):.1%} "
        f"| {experiments_with_one / count:.1%} | {right / len(ours.widths):.0%} |"
    )


def _different(estimates: Sequence[Estimate], steps: range) -> int:
    judged = judge_estimates(estimates, MARGIN)
    return sum(judged[step].verdict in DIFFERENT for step in steps)
