"""The share of forecasts for `unsure` that come true when the experiment continues.

    python -m bench.forecasts [--experiments 100]

Prints a table of docs/statistics.md. Seeded experiments with tests that differ by a few percent are
measured up to a budget. Each unsure test has a forecast: a multiple of the budget. The same
experiment continues to that multiple with more starts, and the table counts the tests with a
verdict at the multiple, and at half of it.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from slowdust.stats.blocks import BlockRatios
from slowdust.stats.estimate import estimate_all
from slowdust.stats.forecast import FACTORS, Forecast, forecast_all
from slowdust.stats.verdict import Judgement, judge_estimates
from tests.unit.synthetic import Noise, shortened, synthetic_rates, synthetic_ratios

SMALLEST = ("--experiments", "1")
MARGIN = 0.03
TESTS = 8
INCARNATIONS = 4
BLOCKS = 12
SPREAD = 0.03
"""Standard deviation of the tests' true ln rqps."""


@dataclass
class Tally:
    """Unsure tests with one forecast, and how many of them were decided."""

    tests: int = 0
    decided: int = 0
    with_half: int = 0
    """Tests with a forecast of more than twice the budget, whose half was not measured yet."""
    decided_at_half: int = 0


def judge(cells: Sequence[BlockRatios], incarnations: int) -> list[Judgement]:
    """Judge an experiment by its first starts."""
    cut = [shortened(cell, [BLOCKS] * incarnations) for cell in cells]
    return judge_estimates(estimate_all(cut), MARGIN)


def add_experiment(tallies: dict[Forecast, Tally], cells: Sequence[BlockRatios]) -> None:
    """Forecast the unsure tests after the first starts, and count the outcomes."""
    forecasts = forecast_all(judge(cells, INCARNATIONS))
    for forecast in {each for each in forecasts if each is not None}:
        needed = round(forecast.factor * INCARNATIONS)
        later = judge(cells, needed)
        halfway = judge(cells, max(INCARNATIONS, needed // 2))
        tally = tallies[forecast]
        for index, own in enumerate(forecasts):
            if own == forecast:
                tally.tests += 1
                tally.decided += later[index].verdict != "unsure"
                if forecast.factor > 2:
                    tally.with_half += 1
                    tally.decided_at_half += halfway[index].verdict != "unsure"


def simulate_forecasts(count: int, noise: Noise) -> dict[Forecast, Tally]:
    """Return a tally for each forecast over `count` seeded experiments."""
    rng = np.random.default_rng(20261122)
    tallies: dict[Forecast, Tally] = defaultdict(Tally)
    for _ in range(count):
        shifts = np.zeros((TESTS, 2))
        shifts[:, 1] = rng.normal(0, SPREAD, TESTS)
        rates = synthetic_rates(
            shifts,
            noise=noise,
            incarnations=round(FACTORS[-1] * INCARNATIONS),
            blocks=BLOCKS,
            rng=rng,
        )
        add_experiment(tallies, synthetic_ratios(rates, 2))
    return tallies


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="bench.forecasts", description=__doc__)
    parser.add_argument("--experiments", type=int, default=100)
    count = parser.parse_args(arguments).experiments
    cases = {
        "2% of noise": Noise(),
        "2% of noise, restarts of 1.5%": Noise(restart=0.015),
        "15% of noise": Noise(slice=0.15),
    }
    print("| slices with | forecast | tests | decided then | decided at half of it |")
    print("|---|--:|--:|--:|--:|")
    everything = Tally()
    for name, noise in cases.items():
        tallies = simulate_forecasts(count, noise)
        for forecast in sorted(tallies, key=lambda f: (f.more, f.factor)):
            tally = tallies[forecast]
            times = f"{'more than ' if forecast.more else ''}{forecast.factor:g} times"
            print_row(name, times, tally)
            if not forecast.more:
                everything.tests += tally.tests
                everything.decided += tally.decided
                everything.with_half += tally.with_half
                everything.decided_at_half += tally.decided_at_half
    print_row("all", "up to 20 times", everything)
    return 0


def print_row(name: str, times: str, tally: Tally) -> None:
    """Print a row; up to twice the budget, half of it was measured already."""
    tests = max(1, tally.tests)
    half = f"{tally.decided_at_half / tally.with_half:.0%}" if tally.with_half else "-"
    print(
        f"| {name} | {times} | {tally.tests} | {tally.decided / tests:.0%} | {half} |", flush=True
    )


if __name__ == "__main__":
    sys.exit(main())
