"""The share of Slowdust's intervals and verdicts that are right, where the truth is known.

    python -m bench.interval_coverage [--experiments 400]

Prints the tables of docs/statistics.md, from seeded experiments. Beside Slowdust's interval stand
the two that one would take first: a bootstrap of all blocks, and Student's t over the incarnations'
means.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from scipy.special import stdtrit

from slowdust.analysis.comparison.estimate import Estimate, Interval, estimate_all
from slowdust.analysis.comparison.relative import BlockRatios
from slowdust.analysis.comparison.verdict import DIFFERENT, Judgement, judge_estimates
from slowdust.analysis.model import Verdict
from tests.unit.synthetic import FloatArray, Noise, shortened, synthetic_rates, synthetic_ratios
from tests.unit.synthetic_pairs import PairNoise, synthetic_pairs

SMALLEST = ("--experiments", "1")
MARGIN = 0.03
RESAMPLES = 200


@dataclass(frozen=True)
class Layout:
    """Size of an experiment; two contenders unless it says otherwise."""

    tests: int
    incarnations: int
    blocks: int
    contenders: int = 2

    def __str__(self) -> str:
        return f"{self.tests} x {self.incarnations} x {self.blocks}, {self.contenders}"


SMALL, MEDIUM, LARGE = Layout(3, 2, 12), Layout(8, 3, 12), Layout(8, 4, 20)
ALONE, SHORT, MANY = Layout(1, 2, 20), Layout(8, 2, 5), Layout(8, 3, 12, contenders=4)


def experiments(
    count: int, layout: Layout, noise: Noise, log_shift: float = 0.0
) -> Iterator[list[BlockRatios]]:
    """Make seeded experiments; every contender but the base is shifted by `log_shift`."""
    rng = np.random.default_rng(20260101)
    shifts = np.zeros((layout.tests, layout.contenders))
    shifts[:, 1:] = log_shift
    for _ in range(count):
        rates = synthetic_rates(
            shifts,
            noise=noise,
            incarnations=layout.incarnations,
            blocks=layout.blocks,
            rng=rng,
        )
        yield synthetic_ratios(rates, layout.contenders)


def bootstrap(cell: BlockRatios, rng: np.random.Generator) -> Interval:
    """Return percentiles of the means of resampled blocks; they leave out restarts."""
    blocks = np.concatenate(cell.by_incarnation).mean(axis=1)
    means = rng.choice(blocks, (RESAMPLES, len(blocks))).mean(axis=1)
    low, high = np.exp(np.quantile(means, [0.025, 0.975]))
    return Interval(float(low), float(high))


def student(cell: BlockRatios) -> Interval:
    """Return Student's t interval over the incarnations' means."""
    means: FloatArray = np.array([ratios.mean() for ratios in cell.by_incarnation])
    quantile = float(stdtrit(len(means) - 1, 0.975))
    reach = quantile * means.std(ddof=1) / np.sqrt(len(means))
    return Interval(float(np.exp(means.mean() - reach)), float(np.exp(means.mean() + reach)))


@dataclass
class Tally:
    """Coverage and half-widths of the intervals of one method."""

    held: int = 0
    total: int = 0
    widths: list[float] | None = None

    def add(self, interval: Interval | None, truth: float) -> None:
        """Count one interval."""
        assert interval is not None
        self.widths = self.widths or []
        self.held += interval.low <= truth <= interval.high
        self.total += 1
        self.widths.append(np.log(interval.high / interval.low) / 2)

    def __str__(self) -> str:
        return f"{self.held / self.total:6.1%} | {np.median(self.widths or []):6.2%}"


def coverage(count: int) -> None:
    """Print table 1: coverage and half-width of the 95% interval, and false verdicts of A/A."""
    print(
        "| tests x incarnations x blocks, contenders | restart | "
        "Slowdust covers | half-width | bootstrap covers | half-width | t covers | half-width | "
        "experiments with a false verdict | same |"
    )
    print("|---|--:|--:|--:|--:|--:|--:|--:|--:|--:|")
    rng = np.random.default_rng(1)
    for layout in (ALONE, SMALL, SHORT, MEDIUM, LARGE, MANY):
        for restart in (0.0, 0.0025, 0.005, 0.01):
            ours, resampled, simple = Tally(), Tally(), Tally()
            false = same = 0
            for cells in experiments(count, layout, Noise(restart=restart)):
                estimates = estimate_all(cells)
                for estimate, cell in zip(estimates, cells, strict=True):
                    ours.add(estimate.interval, 1.0)
                    resampled.add(bootstrap(cell, rng), 1.0)
                    simple.add(student(cell), 1.0)
                verdicts = [judged.verdict for judged in judge_estimates(estimates, MARGIN)]
                false += any(verdict in DIFFERENT for verdict in verdicts)
                same += verdicts.count("same")
            print(
                f"| {layout} | {restart:.2%} | {ours} | {resampled} | {simple} "
                f"| {false / count:.1%} | {same / ours.total:.0%} |",
                flush=True,
            )


def other_noise(count: int) -> None:
    """Print table 2: kinds of noise that the model does not assume."""
    print("| 8 x 3 x 12 with | covers | half-width | experiments with a false verdict | same |")
    print("|---|--:|--:|--:|--:|")
    cases = {
        "the noise of table 1": Noise(),
        "restarts shared by all tests": Noise(restart=0.01, restart_shared=0.9),
        "one unruly test (3%), seven calm (0.2%)": Noise(restart=(0.03, *[0.002] * 7)),
        "heavier tails (t with 2.1 degrees of freedom)": Noise(tail_freedom=2.1, slice=0.04),
        "a fifth of the slices stolen": Noise(stolen_share=0.2),
        "drift of 40% within 20 s": Noise(drift=0.4, drift_time_s=20.0),
        "restarts of 2%": Noise(restart=0.02),
        "slices of 30% noise": Noise(slice=0.3),
    }
    for name, noise in cases.items():
        tally, false, same = Tally(), 0, 0
        for cells in experiments(count, MEDIUM, noise):
            estimates = estimate_all(cells)
            for estimate in estimates:
                tally.add(estimate.interval, 1.0)
            verdicts = [judged.verdict for judged in judge_estimates(estimates, MARGIN)]
            false += any(verdict in DIFFERENT for verdict in verdicts)
            same += verdicts.count("same")
        print(f"| {name} | {tally} | {false / count:.1%} | {same / tally.total:.0%} |", flush=True)


def power(count: int) -> None:
    """Print table 3: the verdicts of a known shift of all tests."""
    print("| layout | true rqps | covers | half-width | faster | slower | same | unsure |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|")
    for layout in (SMALL, MEDIUM):
        for truth in (0.9, 0.95, 0.97, 0.985, 1.0, 1.03, 1.05):
            tally, verdicts = Tally(), []
            for cells in experiments(count, layout, Noise(), float(np.log(truth))):
                estimates = estimate_all(cells)
                for estimate in estimates:
                    tally.add(estimate.interval, truth)
                verdicts += [judged.verdict for judged in judge_estimates(estimates, MARGIN)]
            shares = " | ".join(
                f"{verdicts.count(verdict) / len(verdicts):.0%}"
                for verdict in ("faster", "slower", "same", "unsure")
            )
            print(f"| {layout} | {truth:.3f} | {tally} | {shares} |", flush=True)


def stop_early(cells: Sequence[BlockRatios]) -> tuple[list[Judgement], int]:
    """Measure the tests in turn, incarnation by incarnation; look after each block.

    Returns the judgements as the experiment ends, and the number of blocks measured.
    """
    measured: list[list[int]] = [[] for _ in cells]
    done = [False] * len(cells)
    for incarnation in range(len(cells[0].by_incarnation)):
        for index, cell in enumerate(cells):
            if done[index]:
                continue
            measured[index].append(0)
            for _ in cell.by_incarnation[incarnation]:
                measured[index][-1] += 1
                if incarnation and _so_far(cells, measured)[index].settled:
                    done[index] = True
                    break
    return _so_far(cells, measured), sum(map(sum, measured))


def _so_far(cells: Sequence[BlockRatios], measured: Sequence[Sequence[int]]) -> list[Judgement]:
    so_far = [shortened(cell, blocks) for cell, blocks in zip(cells, measured, strict=True)]
    return judge_estimates(estimate_all(so_far), MARGIN)


_OUTCOMES: dict[float, tuple[Verdict, tuple[Verdict, ...]]] = {
    1.0: ("same", DIFFERENT),
    1.03: ("faster", ("same", "slower")),
    0.95: ("slower", ("same", "faster")),
}
"""True rqps -> the right verdict and the wrong ones; `unsure` is neither."""


def early_stop(count: int) -> None:
    """Print table 4: looking after each block, against looking once at the end."""
    print(
        "| layout | restart | true rqps | wrong, one look | wrong, every block | "
        "right, one look | right, every block | blocks measured |"
    )
    print("|---|--:|--:|--:|--:|--:|--:|--:|")
    for layout in (Layout(3, 2, 20), Layout(8, 3, 12)):
        for restart in (0.005, 0.01):
            for truth in _OUTCOMES:
                print(_look_both_ways(count, layout, restart, truth), flush=True)


def _look_both_ways(count: int, layout: Layout, restart: float, truth: float) -> str:
    right, wrong = _OUTCOMES[truth]
    one_look: list[Verdict] = []
    many_looks: list[Verdict] = []
    blocks = 0
    for cells in experiments(count, layout, Noise(restart=restart), float(np.log(truth))):
        one_look += [judged.verdict for judged in judge_estimates(estimate_all(cells), MARGIN)]
        judgements, used = stop_early(cells)
        many_looks += [judged.verdict for judged in judgements]
        blocks += used
    errors, hits = (
        [
            sum(verdict in outcomes for verdict in verdicts) / len(verdicts)
            for verdicts in (one_look, many_looks)
        ]
        for outcomes in (wrong, (right,))
    )
    share = blocks / (layout.tests * layout.incarnations * layout.blocks * count)
    return (
        f"| {layout} | {restart:.2%} | {truth:.2f} | {errors[0]:.1%} | {errors[1]:.1%} "
        f"| {hits[0]:.0%} | {hits[1]:.0%} | {share:.0%} |"
    )


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
    """Print table 5: long steps, one pair in each incarnation; 10 steps, two contenders."""
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
            "nine calm steps (1%) beside an unruly one": range(1, STEPS),
            "the unruly step (10%) beside nine calm ones": range(1),
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
        f"| {incarnations} | {name} | {ours} | {simple} | {false / ours.total:.1%} "
        f"| {experiments_with_one / count:.1%} | {right / ours.total:.0%} |"
    )


def _different(estimates: Sequence[Estimate], steps: range) -> int:
    judged = judge_estimates(estimates, MARGIN)
    return sum(judged[step].verdict in DIFFERENT for step in steps)


TABLES: dict[str, tuple[Callable[[int], None], float]] = {
    "coverage": (coverage, 1.0),
    "other-noise": (other_noise, 1.0),
    "power": (power, 0.5),
    "early-stop": (early_stop, 0.15),
    "long-steps": (long_steps, 1.0),
}
"""Name -> the function that prints it, and the share of the experiments that it needs."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--experiments", type=int, default=400, help="in each row of table 1")
    parser.add_argument("--table", choices=TABLES, action="append", help="repeatable  [all]")
    options = parser.parse_args(arguments)
    for name in options.table or TABLES:
        table, share = TABLES[name]
        print(f"\n{name}\n")
        table(max(1, round(options.experiments * share)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
