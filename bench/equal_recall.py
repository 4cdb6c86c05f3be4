"""How often intervals and verdicts at equal recall are right, with a known true ratio.

    python -m bench.equal_recall [--experiments 200]

Prints the table of docs/vectors.md. The QPS of seeded searches drift by 30% from test to test for
all contenders together, each contender has noise in each start of the servers, and the recall of
indexes varies between starts. Contenders are compared at a recall of 0.90, 0.95 and 0.99. In some
cases the contender's recall is lower, and some or half of the starts do not reach 0.99.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import NormalDist, fmean, median

import numpy as np

from slowdust.analysis.model import AtRecall
from slowdust.analysis.recall import LEVELS, add_recall, search_comparisons
from slowdust.analysis.results.results import outline, results_of
from tests.unit.searches import BASE, OTHER, RATES, RECALLS, measured

SMALLEST = ("--experiments", "2")
MARGIN = 0.03
DRIFT = 0.3
LEAST_COVERAGE = 0.94
MOST_MISLED = 0.05
_SHIFTS = [NormalDist().inv_cdf((place + 0.5) / 400) for place in range(400)]


@dataclass(frozen=True)
class Case:
    """Searches with a known true ratio."""

    times: float
    """QPS of an effort / the base's."""
    missed: float
    """(1 - recall) of each effort / the base's."""
    noise: float
    """The noise of a contender in a start, in ln QPS."""
    spread: float
    """The spread between indexes, in ln(1 - recall)."""
    starts: int

    def ratio_at(self, recall: float) -> float:
        """Return the true ratio at a recall: the ratio of the means over all possible starts."""
        return float(self.times * np.exp(self._cost(recall, 1.0) - self._cost(recall, self.missed)))

    def _cost(self, recall: float, missed: float) -> float:
        """Return the mean of -ln QPS of an index with `missed` times the base's 1 - recall.

        ln QPS is linear in ln(1 - recall) between efforts, and extrapolated after the last.
        """
        missing, rates = np.log(1 - np.array(RECALLS)), np.log(RATES)
        slopes = np.diff(rates) / np.diff(missing)
        places = np.log((1 - recall) / missed) - self.spread * np.array(_SHIFTS)
        parts = np.clip(np.searchsorted(-missing, -places) - 1, 0, len(slopes) - 1)
        return -fmean(rates[parts] + slopes[parts] * (places - missing[parts]))


CASES = [
    *(
        Case(times, 1.0, noise, spread, starts)
        for times in (1.0, 1.1)
        for noise, spread in ((0.01, 0.02), (0.03, 0.02), (0.01, 0.2), (0.03, 0.2))
        for starts in (3, 6)
    ),
    *(
        Case(times, missed, 0.01, spread, starts)
        for times in (1.0, 1.1)
        for missed, spread in ((1.6, 0.2), (2.0, 0.2), (2.0, 0.02))
        for starts in (3, 6)
    ),
]


@dataclass
class Tally:
    """Results at all recalls of many experiments."""

    verdicts: Counter[str] = field(default_factory=Counter)
    half_widths: list[float] = field(default_factory=list)
    covered: int = 0
    at_the_edge: int = 0
    """Experiments with an interval at the last recall."""
    misled: int = 0
    """Experiments with a wrong verdict."""


def simulate_levels(case: Case, seed: int) -> list[AtRecall]:
    """Return one experiment's comparison at each recall with an interval."""
    recalls = {OTHER: [1 - case.missed * (1 - recall) for recall in RECALLS]}
    manifest, slices = measured(
        {BASE: 1.0, OTHER: case.times},
        recalls,
        noise=case.noise,
        drift=DRIFT,
        spread=case.spread,
        incarnations=case.starts,
        seed=seed,
    )
    names = [BASE, OTHER]
    results = results_of(manifest, slices, names, [], outline)
    add_recall(results, manifest.recalls, BASE)
    (comparison,) = search_comparisons(results, slices, manifest.recalls, names, MARGIN)
    return [at for at in comparison.contenders[1].at if at.ratio and at.ratio.interval]


def is_right(verdict: str | None, true: float) -> bool:
    """Return whether a verdict is correct for a true ratio."""
    same = 1 / (1 + MARGIN) <= true <= 1 + MARGIN
    right = {"unsure", "same"} if same else {"unsure"}
    if true != 1:
        right.add("faster" if true > 1 else "slower")
    return verdict in right


def run_experiments(case: Case, experiments: int) -> Tally:
    """Count over many experiments."""
    tally = Tally()
    for seed in range(experiments):
        levels = simulate_levels(case, seed)
        true = {at.recall: case.ratio_at(at.recall) for at in levels}
        tally.misled += any(
            not is_right(at.ratio and at.ratio.verdict, true[at.recall]) for at in levels
        )
        tally.at_the_edge += any(at.recall == LEVELS[-1] for at in levels)
        for at in levels:
            assert at.ratio is not None
            assert at.ratio.interval is not None
            low, high = at.ratio.interval
            tally.verdicts[str(at.ratio.verdict)] += 1
            tally.covered += low <= true[at.recall] <= high
            tally.half_widths.append((high / low) ** 0.5 - 1)
    return tally


def row(case: Case, tally: Tally, experiments: int) -> str:
    """Return a row of the table."""
    count = tally.verdicts.total()
    decided = 1 - tally.verdicts["unsure"] / count
    return (
        f"| {case.times:.2f} | {case.missed:.1f} | {case.noise:.0%} | {case.spread:.0%} | "
        f"{case.starts} | {tally.at_the_edge / experiments:.0%} | {tally.covered / count:.1%} | "
        f"{median(tally.half_widths):.1%} | {decided:.0%} | {tally.misled / experiments:.1%} |"
    )


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; return 1 if too few intervals hold, or too many verdicts are wrong."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--experiments", type=int, default=200, help="of each row")
    experiments = parser.parse_args(arguments).experiments
    columns = (
        *("times as fast", "misses times as much", "noise of a start", "spread of what it misses"),
        *("starts", "compared at 0.99", "intervals that hold", "half-width", "decided", "misled"),
    )
    print(f"| {' | '.join(columns)} |")
    print(f"|{' --: |' * len(columns)}")
    is_met = True
    for case in CASES:
        tally = run_experiments(case, experiments)
        print(row(case, tally, experiments), flush=True)
        is_met &= tally.covered >= LEAST_COVERAGE * tally.verdicts.total()
        is_met &= tally.misled <= MOST_MISLED * experiments
    return 0 if is_met else 1


if __name__ == "__main__":
    sys.exit(main())
