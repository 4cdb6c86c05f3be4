"""The share of intervals and verdicts of work that are right, with a known truth.

    python -m bench.work_intervals [--experiments 1000]

Prints the table of docs/statistics.md, "Work", from seeded counts of two contenders. After two
starts of the servers only undecided steps are counted again, as in an experiment.
"""

from __future__ import annotations

import argparse
import sys
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from slowdust.analysis.work import counts_by_step, judge_work, undecided_steps
from slowdust.experiment.passes.work_counts import MOST_STARTS, STARTS
from slowdust.stats.blocks import Step
from slowdust.stats.verdict import AMOUNTS
from slowdust.store.count import Count
from tests.unit.synthetic_counts import CountNoise, synthetic_counts

SMALLEST = ("--experiments", "1")
READS = (
    *("point-query", "random-points.10", "random-points.100", "hot-points"),
    *("range-covered-pk", "range-notcovered-si", "scan", "read-only.100"),
)
WRITES = ("update-index", "update-one", "write-only", "insert")
TRUTHS = (1.0, 1.005, 1.01, 1.015, 1.02)
"""True ratios of instructions; 1 means equal contenders."""


@dataclass(frozen=True)
class Case:
    """Tests of one kind with their noise."""

    name: str
    tests: Sequence[str]
    noise: CountNoise
    restless: CountNoise | None = None
    """The noise of the last test, if it differs; then the table only has that test."""

    @property
    def judged(self) -> Sequence[str]:
        """The tests in the table."""
        return self.tests if self.restless is None else self.tests[-1:]

    @property
    def shown(self) -> CountNoise:
        """The noise of the tests in the table."""
        return self.restless or self.noise

    def counts(self, truth: float, rng: np.random.Generator, repeats: int) -> list[Count]:
        """Return the counts of one experiment with the most possible starts."""
        quiet = [test for test in self.tests if self.restless is None or test not in self.judged]
        parts = [(quiet, self.noise)]
        if self.restless is not None:
            parts.append(([*self.judged], self.restless))
        return [
            count
            for tests, noise in parts
            for count in synthetic_counts(
                ["a", "b"],
                tests,
                shifts={"b": truth},
                noise=noise,
                incarnations=MOST_STARTS,
                repeats=repeats,
                seed=rng,
            )
        ]


RESTLESS = CountNoise(repeat=0.002, restart=0.06)
CASES = (
    Case("reads", READS, CountNoise(repeat=0.001, restart=0.0005)),
    Case("reads", READS, CountNoise(repeat=0.002, restart=0.0005)),
    Case("reads", READS, CountNoise(repeat=0.005, restart=0.0005)),
    Case("reads, restarts of a write", READS, CountNoise(repeat=0.002, restart=0.003)),
    Case("writes", WRITES, CountNoise(repeat=0.002, restart=0.003)),
    Case("writes", WRITES, CountNoise(repeat=0.005, restart=0.003)),
    Case("restless read", READS, CountNoise(repeat=0.001, restart=0.0005), RESTLESS),
    Case("restless write", WRITES, CountNoise(repeat=0.002, restart=0.003), RESTLESS),
)


@dataclass
class Tally:
    """Results of the tests of one case and truth."""

    verdicts: Counter[str] = field(default_factory=Counter)
    held: int = 0
    """Intervals that contain the truth."""
    beyond_one: int = 0
    """Intervals above 1."""
    false: int = 0
    """Experiments with a `less`, or with a `more` for equal contenders."""
    widths: list[float] = field(default_factory=list)
    starts: int = 0
    """The sum of the tests' starts."""

    def row(self, experiments: int) -> str:
        """Return the cells of the table."""
        tests = self.verdicts.total()
        shares = [self.held / tests, self.beyond_one / tests]
        shares += [self.verdicts[verdict] / tests for verdict in ("more", "same", "unsure")]
        cells = [f"{shares[0]:.1%}", f"{np.median(self.widths):.2%}"]
        cells += [f"{share:.1%}" for share in shares[1:]]
        return " | ".join((*cells, f"{self.false / experiments:.1%}", f"{self.starts / tests:.1f}"))


def tally(case: Case, truth: float, experiments: int, most_starts: int, repeats: int) -> Tally:
    """Judge all experiments of one case and truth."""
    rng = np.random.default_rng(20261123)
    result = Tally()
    for _ in range(experiments):
        counts = taken(case.counts(truth, rng, repeats), most_starts)
        judgements = [
            judgement
            for judgement in judge_work(counts_by_step(counts), ["a", "b"])
            if judgement.estimate.step.test in case.judged
        ]
        verdicts = [AMOUNTS[judgement.verdict] for judgement in judgements]
        result.verdicts.update(verdicts)
        result.false += "less" in verdicts or (truth == 1 and "more" in verdicts)
        for estimate in (judgement.estimate for judgement in judgements):
            interval = estimate.interval
            assert interval is not None, "every test has several pairs"
            result.held += interval.low <= truth <= interval.high
            result.beyond_one += interval.low > 1
            result.widths.append(float(np.log(interval.high / interval.low) / 2))
            result.starts += estimate.incarnations
    return result


def taken(counts: Sequence[Count], most_starts: int) -> list[Count]:
    """Return the counts that an experiment takes: further starts only for undecided steps."""
    own = [count for count in counts if count.place.incarnation <= STARTS]
    for start in range(STARTS + 1, most_starts + 1):
        undecided = undecided_steps(counts_by_step(own), ["a", "b"])
        own += [
            count
            for count in counts
            if count.place.incarnation == start and Step.of(count.place) in undecided
        ]
    return own


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--experiments", type=int, default=1000, help="of each row")
    parser.add_argument("--most-starts", type=int, default=MOST_STARTS)
    parser.add_argument("--repeats", type=int, default=4)
    options = parser.parse_args(arguments)
    print(
        "| tests | repeat | restart | true ratio | covers | half-width | interval above 1 | more "
        "| same | unsure | experiments with a false verdict | starts |"
    )
    print("|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|--:|")
    for case in CASES:
        for truth in TRUTHS:
            own = tally(case, truth, options.experiments, options.most_starts, options.repeats)
            print(
                f"| {len(case.judged)} {case.name} | {case.shown.repeat:.1%} "
                f"| {case.shown.restart:.2%} | {truth:g} | {own.row(options.experiments)} |",
                flush=True,
            )
    return 0


if __name__ == "__main__":
    sys.exit(main())
