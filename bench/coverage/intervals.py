"""How often the 95% interval contains the truth, and how often verdicts are wrong or right."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy.special import stdtrit

from bench.coverage.experiments import (
    CALM,
    MEDIUM,
    SHARED,
    Layout,
    Tally,
    Verdicts,
    experiments,
    judge,
    print_header,
    print_row,
)
from slowdust.stats.blocks import BlockRatios
from slowdust.stats.estimate import estimate_all
from slowdust.stats.relative import Interval
from tests.unit.synthetic import FloatArray, Noise

RESAMPLES = 200
LAYOUTS = (
    Layout(1, 4, 20),
    Layout(8, 2, 5),
    MEDIUM,
    Layout(8, 6, 20),
    Layout(8, 3, 12, contenders=4),
)


def bootstrap(cell: BlockRatios, rng: np.random.Generator) -> Interval:
    """Return percentiles of the means of resampled blocks, which ignore restarts."""
    blocks = np.concatenate(cell.by_incarnation).mean(axis=1)
    means = rng.choice(blocks, (RESAMPLES, len(blocks))).mean(axis=1)
    low, high = np.exp(np.quantile(means, [0.025, 0.975]))
    return Interval(float(low), float(high))


def student(cell: BlockRatios) -> Interval:
    """Return Student's t interval over the means of starts."""
    means: FloatArray = np.array([ratios.mean() for ratios in cell.by_incarnation])
    quantile = float(stdtrit(len(means) - 1, 0.975))
    reach = quantile * means.std(ddof=1) / np.sqrt(len(means))
    return Interval(float(np.exp(means.mean() - reach)), float(np.exp(means.mean() + reach)))


def coverage(count: int) -> None:
    """Print the coverage of the 95% interval, and the false verdicts of A/A."""
    print_header(
        "tests x incarnations x blocks",
        "slice",
        "restart",
        "Slowdust covers",
        "half-width",
        "bootstrap covers",
        "half-width",
        "t covers",
        "half-width",
        "experiments with a false verdict",
        "same",
    )
    rng = np.random.default_rng(1)
    for layout in LAYOUTS:
        for kind in (CALM, SHARED):
            for restart in (0.005, 0.01, 0.02):
                ours, resampled, simple = Tally(), Tally(), Tally()
                verdicts = Verdicts()
                for cells in experiments(count, layout, replace(kind, restart=restart)):
                    estimates = estimate_all(cells)
                    verdicts.add(estimates)
                    for estimate, cell in zip(estimates, cells, strict=True):
                        ours.add(estimate.interval)
                        resampled.add(bootstrap(cell, rng))
                        simple.add(student(cell))
                print_row(
                    *(layout, f"{kind.slice:.0%}", f"{restart:.1%}", ours, resampled, simple),
                    f"{verdicts.experiments_with_a_difference():.1%}",
                    f"{verdicts.share('same'):.0%}",
                )


def other_noise(count: int) -> None:
    """Print the coverage for kinds of noise that the model does not assume."""
    print_header(
        f"{MEDIUM} with",
        "covers",
        "half-width",
        "all time covers",
        "half-width",
        "experiments with a false verdict",
        "same",
    )
    cases = {
        "the calm noise of table 1": CALM,
        "its slices of 15%": SHARED,
        "a machine at half its speed for 0.05 s at a time": Noise(regime_s=0.05),
        "the same, 0.3 s": Noise(regime_s=0.3),
        "the same, 2 s": Noise(regime_s=2.0),
        "the same, 30 s": Noise(regime_s=30.0),
        "stalls of the machine in 1% of the slices": Noise(stalled_share=0.01),
        "stalls of the machine in 5% of the slices": Noise(stalled_share=0.05),
        "restarts of 1% that move all tests together": Noise(restart=0.01, restart_shared=0.9),
        "the same, 2%": Noise(restart=0.02, restart_shared=0.9),
        "one unruly test (3%), seven calm (0.2%)": Noise(restart=(0.03, *[0.002] * 7)),
        "heavier tails (t with 2.1 degrees of freedom)": Noise(tail_freedom=2.1, slice=0.04),
        "a fifth of the slices stolen": Noise(stolen_share=0.2),
        "drift of 40% within 20 s": Noise(drift=0.4, drift_time_s=20.0),
    }
    for name, noise in cases.items():
        tally, totals, verdicts = Tally(), Tally(), Verdicts()
        for cells in experiments(count, MEDIUM, noise):
            estimates = estimate_all(cells)
            verdicts.add(estimates)
            for estimate in estimates:
                tally.add(estimate.interval)
                assert estimate.all_time is not None
                totals.add(estimate.all_time.interval)
        print_row(
            *(name, tally, totals, f"{verdicts.experiments_with_a_difference():.1%}"),
            f"{verdicts.share('same'):.0%}",
        )


def power(count: int) -> None:
    """Print the verdicts on a known shift of all tests: many starts compared with many blocks."""
    print_header(
        "layout",
        "slice",
        "restart",
        "true rqps",
        "covers",
        "half-width",
        "faster",
        "slower",
        "same",
        "unsure",
    )
    for noise in (CALM, replace(CALM, restart=0.01), SHARED):
        for layout in (Layout(8, 2, 60), Layout(8, 3, 40), Layout(8, 6, 20)):
            for truth in (0.95, 0.97, 0.985, 1.0):
                shifted = experiments(count, layout, noise, float(np.log(truth)))
                tally, verdicts = judge(shifted, truth)
                print_row(
                    *(layout, f"{noise.slice:.0%}", f"{noise.restart:.1%}", f"{truth:.3f}", tally),
                    *(
                        f"{verdicts.share(verdict):.0%}"
                        for verdict in ("faster", "slower", "same", "unsure")
                    ),
                )
