"""Contenders that stall, and tests that vary much more between restarts than others."""

from __future__ import annotations

from dataclasses import replace

from bench.coverage.experiments import (
    CALM,
    SHARED,
    Layout,
    Tally,
    Verdicts,
    experiments,
    print_header,
    print_row,
)
from slowdust.stats.estimate import estimate_all
from slowdust.stats.verdict import DIFFERENT
from tests.unit.synthetic import STALL, Noise

_STALLS = 0.05


def totals(count: int) -> None:
    """Print the verdicts with and without the ratio of totals, when one contender stalls."""
    print_header(
        "8 tests",
        "incarnations x blocks",
        "truth of all time",
        "typical alone: same",
        "different",
        "unsure",
        "with totals: same",
        "different",
        "unsure",
        "all time covers",
        "half-width",
    )
    truth = 1 - _STALLS * (1 - STALL)
    cases = {
        "5% of one contender's slices stalled": Noise(contender_stalls=_STALLS),
        "the same, slices of 15%": replace(SHARED, contender_stalls=_STALLS),
        "none stalled": CALM,
        "none stalled, slices of 15%": SHARED,
        "1% of all slices stalled": Noise(stalled_share=0.01),
        "5% of all slices stalled": Noise(stalled_share=_STALLS),
        "the machine at half its speed for 2 s at a time": Noise(regime_s=2.0),
    }
    for name, noise in cases.items():
        for layout in (Layout(8, 3, 20), Layout(8, 6, 20)):
            of_all_time = truth if noise.contender_stalls else 1.0
            typical, both, tally = Verdicts(), Verdicts(), Tally()
            for of_experiment in experiments(count, layout, noise):
                estimates = estimate_all(of_experiment)
                both.add(estimates)
                typical.add([replace(estimate, all_time=None) for estimate in estimates])
                for estimate in estimates:
                    assert estimate.all_time is not None
                    tally.add(estimate.all_time.interval, of_all_time)
            print_row(
                *(name, f"{layout.incarnations} x {layout.blocks}", f"{of_all_time:.3f}"),
                *(
                    f"{shown.share(*verdicts):.1%}"
                    for shown in (typical, both)
                    for verdicts in (("same",), DIFFERENT, ("unsure",))
                ),
                tally,
            )


def outsiders(count: int) -> None:
    """Print one test that varies much more between starts than the seven others."""
    print_header(
        "layout",
        "slice",
        "restart of the unruly test, of the others",
        "covers the unruly test",
        "half-width",
        "the others",
        "half-width",
        "false verdict",
    )
    for layout in (Layout(8, 6, 2, contenders=8), Layout(8, 3, 5), Layout(8, 6, 12)):
        for slice_noise, restart in ((0.3, 0.45), (0.1, 0.2), (0.05, 0.1)):
            noise = Noise(slice=slice_noise, restart=(restart, *[0.01] * (layout.tests - 1)))
            unruly, others, verdicts = Tally(), Tally(), Verdicts()
            for of_experiment in experiments(count, layout, noise):
                estimates = estimate_all(of_experiment)
                verdicts.add(estimates)
                for estimate in estimates:
                    tally = unruly if estimate.step.test == "t0" else others
                    tally.add(estimate.interval)
            false = f"{verdicts.experiments_with_a_difference():.1%}"
            print_row(layout, f"{slice_noise:.0%}", f"{restart:.0%}, 1%", unruly, others, false)
