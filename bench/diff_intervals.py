"""The share of intervals and verdicts of `slowdust diff` that are right, where the truth is known.

    python -m bench.diff_intervals [--pairs 300]

Two experiments of eight tests, each with a base and a contender, have seeded noise of their own.
In half of the tests the contender is the same in both; in the others it is slower in the second.
Prints the table of docs/site.md, "How often it is right".
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
"""True ratio of ratios of the tests that change."""


@dataclass(frozen=True)
class Night:
    """How one experiment was measured."""

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
    """Tests whose interval has the truth."""
    different: int = 0
    """Tests that are called slower or faster than before."""

    def add(self, change: float, changes: Judgements, tests: range) -> None:
        """Count the tests of one pair, whose true ratio of ratios is `change`."""
        for (step, _), judgement in changes.items():
            interval = judgement.estimate.interval
            if int(step.test.removeprefix("t")) not in tests or interval is None:
                continue
            self.tests += 1
            self.with_truth += interval.low <= change <= interval.high
            self.different += judgement.verdict in ("slower", "faster")


def judged(night: Night, shifts: Sequence[float], rng: np.random.Generator) -> Judgements:
    """Measure one experiment; `shifts` has the true relative throughput of each test."""
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
    """Compare pairs of experiments; return the tests that changed, and those that did not."""
    changed, unchanged = Tally(), Tally()
    # What the contender is beside the base says nothing about the change of it.
    level = [float(each) for each in np.exp(rng.normal(0, 0.1, TESTS))]
    half = TESTS // 2
    for _ in range(pairs):
        after = [x * (change if test < half else 1) for test, x in enumerate(level)]
        changes = judge_changes(judged(first, level, rng), judged(second, after, rng), MARGIN)
        changed.add(change, changes, range(half))
        unchanged.add(1.0, changes, range(half, TESTS))
    return changed, unchanged


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table; return 1 if intervals or verdicts are wrong more often than they say."""
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
