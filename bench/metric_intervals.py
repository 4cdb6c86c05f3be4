"""The share of intervals and verdicts of metrics that are right, with a known truth.

    python -m bench.metric_intervals [--experiments 40]

Prints the table of docs/statistics.md, "Other metrics", from seeded experiments. The slices have
response times in the driver's buckets, and CPU times that vary with the machine's speed.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

import numpy as np

from slowdust.analysis.metrics import METRICS, PERCENTILES, Metric, Percentile
from slowdust.analysis.results.compared import Pair, judge_quantity, pairs_of
from slowdust.ratios import Margins, Verdict
from tests.unit.synthetic import Noise
from tests.unit.synthetic_times import Truth, timed_slices

SMALLEST = ("--experiments", "1", "--tests", "1", "--blocks", "4", "--operations", "50")
MARGIN = 0.03
INCARNATIONS = 3
SLOWER = 1.1
"""True ratio of CPU time per operation and of all response times, if not equal."""
LONGER_TAIL = 1.5
"""True ratio of the slowest operations, if only these differ."""
TRUTHS = {"equal": Truth(), "slower": Truth(times=SLOWER), "tail": Truth(tail=LONGER_TAIL)}


@dataclass
class Tally:
    """Results of one metric."""

    cells: int = 0
    """Tests that could be compared."""
    experiments: int = 0
    false: int = 0
    """Experiments of equal contenders with a `less` or `more`."""
    held: int = 0
    """Intervals that contain the truth."""
    widths: list[float] = field(default_factory=list)
    verdicts: dict[str, Counter[Verdict]] = field(default_factory=dict)
    """Name of the truth -> its verdicts."""

    def share(self, truth: str, verdict: Verdict) -> str:
        """Return the share of a verdict among the verdicts for one truth."""
        verdicts = self.verdicts[truth]
        return f"{verdicts[verdict] / verdicts.total():.0%}" if verdicts else "-"

    def row(self) -> str:
        """Return the cells of the table."""
        compared = self.verdicts["equal"].total()
        if not compared:
            return "0% | - | - | - | - | - | -"
        return (
            f"{compared / self.cells:.0%} | {self.held / compared:.1%} "
            f"| {np.median(self.widths):.1%} | {self.false / self.experiments:.0%} "
            f"| {self.share('equal', 'same')} | {self.share('slower', 'faster')} "
            f"| {self.share('tail', 'faster')}"
        )


@dataclass(frozen=True)
class Layout:
    """Size of the experiments."""

    experiments: int
    """Experiments of equal contenders; there are half as many of different ones."""
    tests: int
    blocks: int

    def pairs(self, truth: Truth, operations: int, noise: Noise) -> Iterator[list[Pair]]:
        """Make seeded experiments of two contenders."""
        rng = np.random.default_rng(20261122)
        for _ in range(self.experiments if truth == Truth() else (self.experiments + 1) // 2):
            slices = timed_slices(
                truth,
                operations=operations,
                noise=noise,
                tests=self.tests,
                incarnations=INCARNATIONS,
                blocks=self.blocks,
                rng=rng,
            )
            yield pairs_of(slices, ["a", "b"])


def tally(
    quantities: Sequence[Metric | Percentile], layout: Layout, operations: int, noise: Noise
) -> list[Tally]:
    """Judge all experiments by each of `quantities`."""
    tallies = [Tally() for _ in quantities]
    for name, truth in TRUTHS.items():
        for own in tallies:
            own.verdicts[name] = Counter()
        for pairs in layout.pairs(truth, operations, noise):
            for quantity, own in zip(quantities, tallies, strict=True):
                judged = judge_quantity(quantity, pairs, Margins(MARGIN))
                own.verdicts[name].update(judgement.verdict for judgement in judged)
                if name != "equal":
                    continue
                own.cells += len(pairs)
                own.experiments += 1
                own.false += any(j.verdict in ("faster", "slower") for j in judged)
                for interval in (judgement.estimate.interval for judgement in judged):
                    assert interval is not None
                    own.held += interval.low <= 1 <= interval.high
                    own.widths.append(float(np.log(interval.high / interval.low) / 2))
    return tallies


NOISES = {"2%": Noise(slice=0.02), "15%": Noise(slice=0.15)}
"""Noise of a slice's speed on a calm and on a shared machine."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument(
        "--experiments", type=int, default=40, help="of equal contenders; half as many of others"
    )
    parser.add_argument("--tests", type=int, default=8)
    parser.add_argument("--blocks", type=int, default=12)
    parser.add_argument(
        "--operations", type=int, action="append", help="in a slice; repeatable  [2000, 200, 20]"
    )
    options = parser.parse_args(arguments)
    layout = Layout(options.experiments, options.tests, options.blocks)
    server_cpu = next(metric for metric in METRICS if metric.key == "server_cpu_us")
    quantities: list[Metric | Percentile] = [server_cpu, *PERCENTILES]
    print(
        f"| operations in a slice | noise | metric | compared | covers | half-width "
        f"| experiments with a false verdict | same | more, of a true {SLOWER:.2f} "
        f"| more, of a tail {LONGER_TAIL:.2f} as long |"
    )
    print("|--:|--:|---|--:|--:|--:|--:|--:|--:|--:|")
    for operations in options.operations or (2000, 200, 20):
        for noise_name, noise in NOISES.items():
            tallies = tally(quantities, layout, operations, noise)
            for quantity, own in zip(quantities, tallies, strict=True):
                label = quantity.label if isinstance(quantity, Metric) else quantity.field
                print(f"| {operations} | {noise_name} | {label} | {own.row()} |", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
