"""Simulated experiments with a known truth, and the tally of Slowdust's results."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from slowdust.ratios import Verdict
from slowdust.stats.blocks import BlockRatios
from slowdust.stats.estimate import estimate_all
from slowdust.stats.hosts import ONE_HOST, Hosts
from slowdust.stats.relative import Estimate, Interval
from slowdust.stats.verdict import DIFFERENT, judge_estimates
from tests.unit.synthetic import Noise, synthetic_rates, synthetic_ratios

MARGIN = 0.03
CALM = Noise()
"""Slices with 2% of noise, restarts with 0.5%."""
SHARED = Noise(slice=0.15)
"""Slices with 15% of noise, as on a shared machine."""


@dataclass(frozen=True)
class Layout:
    """The size of an experiment."""

    tests: int
    incarnations: int
    blocks: int
    contenders: int = 2

    def __str__(self) -> str:
        of_contenders = "" if self.contenders == 2 else f", {self.contenders} contenders"
        return f"{self.tests} x {self.incarnations} x {self.blocks}{of_contenders}"


MEDIUM = Layout(8, 3, 12)


def experiments(
    count: int, layout: Layout, noise: Noise, log_shift: float = 0.0
) -> Iterator[list[BlockRatios]]:
    """Make seeded experiments; all contenders but the base are shifted by `log_shift`."""
    rng = np.random.default_rng(20260101)
    for _ in range(count):
        yield cells(layout, noise, rng, log_shift)


def cells(
    layout: Layout, noise: Noise, rng: np.random.Generator, log_shift: float = 0.0
) -> list[BlockRatios]:
    """Make one experiment."""
    shifts = np.zeros((layout.tests, layout.contenders))
    shifts[:, 1:] = log_shift
    rates = synthetic_rates(
        shifts, noise=noise, incarnations=layout.incarnations, blocks=layout.blocks, rng=rng
    )
    return synthetic_ratios(rates, layout.contenders)


def half_width(interval: Interval) -> float:
    """Return half the width of an interval, in ln rqps."""
    return float(np.log(interval.high / interval.low) / 2)


@dataclass
class Tally:
    """Coverage and half-widths of the intervals of one method."""

    held: int = 0
    widths: list[float] = field(default_factory=list)

    def add(self, interval: Interval | None, truth: float = 1.0) -> None:
        """Count one interval."""
        assert interval is not None
        self.held += interval.low <= truth <= interval.high
        self.widths.append(half_width(interval))

    def __str__(self) -> str:
        return f"{self.held / len(self.widths):6.1%} | {np.median(self.widths):6.2%}"


@dataclass
class Verdicts:
    """The verdicts of many experiments."""

    of_experiments: list[list[Verdict]] = field(default_factory=list)

    def add(self, estimates: Sequence[Estimate]) -> None:
        """Judge one experiment."""
        self.of_experiments.append([j.verdict for j in judge_estimates(estimates, MARGIN)])

    def number(self, *verdicts: Verdict) -> int:
        """Return the number of results with one of `verdicts`."""
        return sum(verdict in verdicts for of_one in self.of_experiments for verdict in of_one)

    def share(self, *verdicts: Verdict) -> float:
        """Return the share of results with one of `verdicts`."""
        return self.number(*verdicts) / sum(map(len, self.of_experiments))

    def with_a_difference(self) -> int:
        """Return the number of experiments with a `faster` or `slower`; the goal for A/A is 0."""
        return sum(any(v in DIFFERENT for v in of_one) for of_one in self.of_experiments)

    def experiments_with_a_difference(self) -> float:
        """Return the share of experiments with a `faster` or `slower`."""
        return self.with_a_difference() / len(self.of_experiments)


def judge(
    simulated: Iterable[Sequence[BlockRatios]], truth: float = 1.0, hosts: Hosts = ONE_HOST
) -> tuple[Tally, Verdicts]:
    """Estimate and judge experiments; the true rqps of all contenders is `truth`."""
    tally, verdicts = Tally(), Verdicts()
    for of_experiment in simulated:
        estimates = estimate_all(of_experiment, hosts=hosts)
        verdicts.add(estimates)
        for estimate in estimates:
            tally.add(estimate.interval, truth)
    return tally, verdicts


def print_header(*columns: str) -> None:
    """Print the header of a table."""
    print(f"| {' | '.join(columns)} |")
    print(f"|---|{'--:|' * (len(columns) - 1)}")


def print_row(*cells_of_row: object) -> None:
    """Print one row of a table and flush."""
    print(f"| {' | '.join(map(str, cells_of_row))} |", flush=True)
