"""How often verdicts are false if an experiment continues until its tests are decided.

    python -m bench.until_decided [--experiments 200]

Prints a table of docs/statistics.md. Seeded experiments are judged after four starts; each unsure
test continues to its forecast, like in `slowdust more --until-decided`, until all tests are decided
or the forecast is unbounded. Decided tests are not measured again. A verdict is false if it is
`faster` or `slower` for an equal test, or the opposite of the true difference.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from slowdust.ratios import Verdict
from slowdust.stats.blocks import BlockRatios
from slowdust.stats.estimate import estimate_all
from slowdust.stats.forecast import forecast_all
from slowdust.stats.verdict import DIFFERENT, Judgement, judge_estimates
from tests.unit.synthetic import Noise, shortened, synthetic_rates, synthetic_ratios

SMALLEST = ("--experiments", "1")
MARGIN = 0.03
TESTS = 8
BLOCKS = 12
FIRST, MOST = 4, 80
"""Starts of an experiment at first, and at most."""
SPREADS = (0.0, 0.03)
"""Standard deviations of the tests' true ln rqps: equal builds, and builds that differ."""


@dataclass
class Tally:
    """Numbers of tests by verdict, and of experiments with a false one."""

    tests: int = 0
    unsure: int = 0
    false: int = 0
    experiments: int = 0
    with_false: int = 0

    def add(self, verdicts: Sequence[str], truth: npt.NDArray[np.float64]) -> None:
        """Count the verdicts of one experiment; `truth` has the tests' true ln rqps."""
        wrong = [
            verdict in DIFFERENT and (shift == 0 or (verdict == "faster") != (shift > 0))
            for verdict, shift in zip(verdicts, truth, strict=True)
        ]
        self.tests += len(verdicts)
        self.unsure += sum(verdict == "unsure" for verdict in verdicts)
        self.false += sum(wrong)
        self.experiments += 1
        self.with_false += any(wrong)


def judge(cells: Sequence[BlockRatios], incarnations: Sequence[int]) -> list[Judgement]:
    """Judge an experiment by the first starts of each test."""
    cut = [
        shortened(cell, [BLOCKS] * count) for cell, count in zip(cells, incarnations, strict=True)
    ]
    return judge_estimates(estimate_all(cut), MARGIN)


def until_decided(cells: Sequence[BlockRatios]) -> tuple[list[Verdict], list[Verdict], float]:
    """Return the verdicts after the first look and after the last, and the measured multiple."""
    counts = [FIRST] * len(cells)
    judged = judge(cells, counts)
    first = [each.verdict for each in judged]
    while True:
        forecasts = forecast_all(judged)
        longer = [
            min(MOST, max(count + 1, round(each.factor * count)))
            if each is not None and not each.more
            else count
            for count, each in zip(counts, forecasts, strict=True)
        ]
        if longer == counts:
            return first, [each.verdict for each in judged], sum(counts) / (FIRST * len(counts))
        counts = longer
        judged = judge(cells, counts)


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="bench.until_decided", description=__doc__)
    parser.add_argument("--experiments", type=int, default=200)
    count = parser.parse_args(arguments).experiments
    cases = {
        "2% of noise": Noise(),
        "2% of noise, restarts of 1.5%": Noise(restart=0.015),
        "15% of noise": Noise(slice=0.15),
    }
    print(
        "| true differences | slices with | looks | unsure | false | experiments with a false one |"
    )
    print("|---|---|---|--:|--:|--:|")
    for spread in SPREADS:
        for name, noise in cases.items():
            print_case(f"{spread:.0%}" if spread else "none", name, noise, spread, count)
    return 0


def print_case(differences: str, name: str, noise: Noise, spread: float, count: int) -> None:
    """Print the rows of one kind of noise: one look, and until decided."""
    rng = np.random.default_rng(20261123)
    once, later, multiples = Tally(), Tally(), []
    for _ in range(count):
        shifts = np.zeros((TESTS, 2))
        shifts[:, 1] = rng.normal(0, spread, TESTS)
        rates = synthetic_rates(shifts, noise=noise, incarnations=MOST, blocks=BLOCKS, rng=rng)
        first, last, multiple = until_decided(synthetic_ratios(rates, 2))
        once.add(first, shifts[:, 1])
        later.add(last, shifts[:, 1])
        multiples.append(multiple)
    looks = {"one": once, f"until decided, {np.mean(multiples):.1f} times as long": later}
    for words, tally in looks.items():
        print(
            f"| {differences} | {name} | {words} | {tally.unsure / tally.tests:.0%} | "
            f"{tally.false / tally.tests:.2%} | {tally.with_false / tally.experiments:.1%} |",
            flush=True,
        )


if __name__ == "__main__":
    sys.exit(main())
