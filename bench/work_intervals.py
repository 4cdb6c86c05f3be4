"""The share of intervals and verdicts of work that are right, where the truth is known.

    python -m bench.work_intervals [--experiments 1000]

Prints the table of docs/statistics.md, "Work", from seeded counts of two contenders.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from slowdust.analysis.comparison.verdict import AMOUNTS
from slowdust.analysis.work.estimate import counts_by_step, judge_work
from tests.unit.synthetic_counts import CountNoise, synthetic_counts

SMALLEST = ("--experiments", "1")
READS = (
    *("point-query", "random-points.10", "random-points.100", "hot-points"),
    *("range-covered-pk", "range-notcovered-si", "scan", "read-only.100"),
)
WRITES = ("update-index", "update-one", "write-only", "insert")
TRUTHS = (1.0, 1.005, 1.01, 1.015, 1.02)
"""True ratios of instructions; 1: the contenders are equal."""


@dataclass(frozen=True)
class Case:
    """Tests of one kind with their noise."""

    name: str
    tests: Sequence[str]
    noise: CountNoise


CASES = (
    Case("reads", READS, CountNoise(repeat=0.001, restart=0.0005)),
    Case("reads", READS, CountNoise(repeat=0.002, restart=0.0005)),
    Case("reads", READS, CountNoise(repeat=0.005, restart=0.0005)),
    Case("reads, restarts of a write", READS, CountNoise(repeat=0.002, restart=0.003)),
    Case("writes", WRITES, CountNoise(repeat=0.002, restart=0.003)),
    Case("writes", WRITES, CountNoise(repeat=0.005, restart=0.003)),
)


@dataclass
class Tally:
    """Outcomes of the tests of one case and truth."""

    verdicts: Counter[str] = field(default_factory=Counter)
    held: int = 0
    """Intervals that have the truth in them."""
    beyond_one: int = 0
    """Intervals that are above 1."""
    false: int = 0
    """Experiments with a `less`, or with a `more` though the contenders are equal."""
    widths: list[float] = field(default_factory=list)

    def row(self, experiments: int) -> str:
        """Return the cells of the table."""
        tests = self.verdicts.total()
        shares = [self.held / tests, self.beyond_one / tests]
        shares += [self.verdicts[verdict] / tests for verdict in ("more", "same", "unsure")]
        cells = [f"{shares[0]:.1%}", f"{np.median(self.widths):.2%}"]
        cells += [f"{share:.1%}" for share in shares[1:]]
        return " | ".join((*cells, f"{self.false / experiments:.1%}"))


def tally(case: Case, truth: float, experiments: int, incarnations: int, repeats: int) -> Tally:
    """Judge all experiments of one case and truth."""
    rng = np.random.default_rng(20261123)
    result = Tally()
    for _ in range(experiments):
        counts = synthetic_counts(
            ["a", "b"],
            case.tests,
            shifts={"b": truth},
            noise=case.noise,
            incarnations=incarnations,
            repeats=repeats,
            seed=rng,
        )
        judged = judge_work(counts_by_step(counts), ["a", "b"])
        verdicts = [AMOUNTS[judgement.verdict] for judgement in judged]
        result.verdicts.update(verdicts)
        result.false += "less" in verdicts or (truth == 1 and "more" in verdicts)
        for interval in (judgement.estimate.interval for judgement in judged):
            assert interval is not None, "every test has several pairs"
            result.held += interval.low <= truth <= interval.high
            result.beyond_one += interval.low > 1
            result.widths.append(float(np.log(interval.high / interval.low) / 2))
    return result


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--experiments", type=int, default=1000, help="of each row")
    parser.add_argument("--incarnations", type=int, default=2)
    parser.add_argument("--repeats", type=int, default=4)
    options = parser.parse_args(arguments)
    print(
        "| tests | repeat | restart | true ratio | covers | half-width | interval above 1 | more "
        "| same | unsure | experiments with a false verdict |"
    )
    print("|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|")
    for case in CASES:
        for truth in TRUTHS:
            own = tally(case, truth, options.experiments, options.incarnations, options.repeats)
            print(
                f"| {len(case.tests)} {case.name} | {case.noise.repeat:.1%} "
                f"| {case.noise.restart:.2%} | {truth:g} | {own.row(options.experiments)} |",
                flush=True,
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
