"""The share of intervals and verdicts of `slowdust diff` that are right, with a known truth.

    python -m bench.diff_intervals [--pairs 300]

Two experiments of eight tests, each with a base and a contender, have independent seeded noise. In
half of the tests the contender does not change; in the others it is slower in the second
experiment. Prints the table of docs/site.md, "How often it is right".
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from slowdust.analysis.diff import Judgements, judge_changes
from slowdust.stats.estimate import estimate_all
from slowdust.stats.verdict import judge_estimates
from tests.unit.synthetic import Noise, synthetic_rates, synthetic_ratios

SMALLEST = ("--pairs", "2")
MARGIN = 0.03
TESTS = 8
CHANGES = (1.0, 0.97, 0.95, 0.9)
"""True ratios of ratios of the changed tests."""


@dataclass(frozen=True)
class Night:
    """The measurement of one experiment."""

    noise: Noise
    incarnations: int
    blocks: int


CALM = Night(Noise(slice=0.02, restart=0.005), incarnations=4, blocks=20)
RESTLESS = Night(Noise(slice=0.04, restart=0.02), incarnations=4, blocks=20)
SHORT = Night(Noise(slice=0.02, restart=0.005), incarnations=2, blocks=6)
CASES = (
    ("both calm", CALM, CALM),
    ("both restless", RESTLESS, RESTLESS),
    ("calm, then restless", CALM, RESTLESS),
    ("both short", SHORT, SHORT),
)


@dataclass
class Tally:
    """Counts of the tests of one kind."""

    tests: int = 0
    with_truth: int = 0
    """Tests whose interval contains the truth."""
    different: int = 0
    """Tests with a verdict slower or faster than before."""

    def add(self, change: float, changes: Judgements, tests: range) -> None:
        """Count the tests of one pair; the true ratio of ratios is `change`."""
        for (step, _), judgement in changes.items():
            interval = judgement.estimate.interval
            if int(step.test.removeprefix("t")) not in tests or interval is None:
                continue
            self.tests += 1
            self.with_truth += interval.low <= change <= interval.high
            self.different += judgement.verdict in ("slower", "faster")


def judged(night: Night, shifts: Sequence[float], rng: np.random.Generator) -> Judgements:
    """Judge one experiment; `shifts` has the true relative throughput of each test."""
    log_shifts = np.stack([np.zeros(len(shifts)), np.log(shifts)], axis=1)
    rates = synthetic_rates(
        log_shifts,
        noise=night.noise,
        incarnations=night.incarnations,
        blocks=night.blocks,
        rng=rng,
    )
    judgements = judge_estimates(estimate_all(synthetic_ratios(rates, 2)), MARGIN)
    return {(each.estimate.step, each.estimate.contender): each for each in judgements}


def compared(
    first: Night, second: Night, change: float, pairs: int, rng: np.random.Generator
) -> tuple[Tally, Tally]:
    """Compare pairs of experiments; return the tallies of changed and unchanged tests."""
    changed, unchanged = Tally(), Tally()
    # The contender's level relative to the base does not affect its change.
    level = [float(each) for each in np.exp(rng.normal(0, 0.1, TESTS))]
    half = TESTS // 2
    for _ in range(pairs):
        after = [x * (change if test < half else 1) for test, x in enumerate(level)]
        changes = judge_changes(judged(first, level, rng), judged(second, after, rng), MARGIN)
        changed.add(change, changes, range(half))
        unchanged.add(1.0, changes, range(half, TESTS))
    return changed, unchanged


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; return 1 if intervals or verdicts are wrong more often than they claim."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--pairs", type=int, default=300)
    pairs = parser.parse_args(arguments).pairs
    rng = np.random.default_rng(15)
    good = True
    print("| nights | true change | intervals that hold | called changed | of those unchanged |")
    print("| --- | ---: | ---: | ---: | ---: |")
    for name, first, second in CASES:
        for change in CHANGES:
            changed, unchanged = compared(first, second, change, pairs, rng)
            holds = (changed.with_truth + unchanged.with_truth) / (changed.tests + unchanged.tests)
            false = unchanged.different / unchanged.tests
            print(
                f"| {name} | {change - 1:+.0%} | {holds:.1%} | "
                f"{changed.different / changed.tests:.1%} | {false:.1%} |"
            )
            good &= holds > 0.93 and false < 0.05
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
