"""What each choice of the estimator does, beside the estimator without it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from bench.coverage.experiments import (
    CALM,
    MARGIN,
    MEDIUM,
    SHARED,
    Layout,
    Tally,
    Verdicts,
    cells,
    experiments,
    print_header,
    print_row,
)
from slowdust.analysis.comparison.estimate import estimate_all
from slowdust.analysis.comparison.location import trimmed_mean
from slowdust.analysis.comparison.posterior import RESTARTS
from slowdust.analysis.comparison.ratio import Estimate
from slowdust.analysis.comparison.relative import BlockRatios
from slowdust.analysis.comparison.together import independent_share
from slowdust.analysis.comparison.verdict import (
    DIFFERENT,
    discovery_threshold,
    judge_estimates,
    relative_of,
    verdict_alone,
)
from tests.unit.synthetic import STALL, Noise

_STALLS = 0.05


def totals(count: int) -> None:
    """Print the verdicts with and without the ratio of totals, where one contender stalls."""
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


def discoveries(count: int) -> None:
    """Print the share of false verdicts among those shown, by what Benjamini-Hochberg runs over."""
    print_header(
        "experiments",
        "all: false share",
        "found",
        "those not same: false share",
        "found",
        "Slowdust: false share",
        "found",
    )
    exact = Noise(slice=0.01, stolen_share=0.0, drift=0.05, restart=0.003)
    middling = Noise(restart=0.007)
    noisy = replace(SHARED, restart=0.01)
    mixtures = {
        "30 calm tests at 0.985, 10 noisy at 1": [(30, 0.985, exact), (10, 1.0, noisy)],
        "40 tests at 1 whose intervals are about as wide as the margin": [(40, 1.0, middling)],
        "35 of these, 3 at 0.95, and 2 noisy ones at 0.95": [
            (35, 1.0, middling),
            (3, 0.95, middling),
            (2, 0.95, noisy),
        ],
    }
    for name, mixture in mixtures.items():
        rng = np.random.default_rng(20260103)
        truths = np.concatenate([np.full(tests, truth) for tests, truth, _ in mixture])
        false: list[list[float]] = []
        hits: list[list[float]] = []
        for _ in range(count):
            experiment = [
                cell
                for tests, truth, noise in mixture
                for cell in cells(Layout(tests, 3, 12), noise, rng, float(np.log(truth)))
            ]
            ways = _shown_by_each_way(estimate_all(experiment))
            false.append([(shown & (truths == 1)).sum() / max(shown.sum(), 1) for shown in ways])
            hits.append([shown[truths <= 1 / (1 + MARGIN)].sum() for shown in ways])
        real = int((truths <= 1 / (1 + MARGIN)).sum())
        print_row(
            name,
            *(
                f"{false_share:.1%} | {f'{found / real:.0%}' if real else '-'}"
                for false_share, found in zip(
                    np.mean(false, axis=0), np.mean(hits, axis=0), strict=True
                )
            ),
        )


def _shown_by_each_way(estimates: Sequence[Estimate]) -> list[np.ndarray]:
    """Return which estimates are `faster` or `slower`, by the way of the correction."""
    alone = np.array([verdict_alone(estimate, MARGIN) for estimate in estimates])
    p_values = np.array([relative_of(estimate, MARGIN).p_value for estimate in estimates])
    different = np.isin(alone, DIFFERENT)
    thresholds = (
        discovery_threshold(shown.tolist(), [1.0] * len(shown))
        for shown in (p_values, p_values[alone != "same"])
    )
    judged = [judgement.verdict for judgement in judge_estimates(estimates, MARGIN)]
    return [
        *(different & (p_values <= threshold) for threshold in thresholds),
        np.isin(judged, DIFFERENT),
    ]


def _all_independent(*_: object) -> float:
    return 1.0


def restarts(count: int) -> None:
    """Print priors of restarts, and borrowing with and without regard to common moves."""
    print_header(
        "restarts",
        "layout",
        "prior 1%, borrows always: covers",
        "half-width",
        "false verdict",
        "prior 1.5%, borrows always: covers",
        "half-width",
        "false verdict",
        "Slowdust: covers",
        "half-width",
        "false verdict",
    )
    for layout in (MEDIUM, Layout(8, 6, 20)):
        for size in (0.005, 0.01, 0.02):
            for together in (0.0, 0.9):
                noise = Noise(restart=size, restart_shared=together)
                columns = []
                for scale, independent in (
                    (0.01, _all_independent),
                    (0.015, _all_independent),
                    (0.015, independent_share),
                ):
                    tally, verdicts = Tally(), Verdicts()
                    expected = replace(RESTARTS, scale=scale, independent=independent)
                    for of_experiment in experiments(count, layout, noise):
                        estimates = estimate_all(of_experiment, expected)
                        verdicts.add(estimates)
                        for estimate in estimates:
                            tally.add(estimate.interval)
                    columns += [tally, f"{verdicts.experiments_with_a_difference():.1%}"]
                words = f"{size:.1%}, {'all tests together' if together else 'each test by itself'}"
                print_row(words, layout, *columns)


def outsiders(count: int) -> None:
    """Print one test that scatters far more between incarnations than the seven others do."""
    print_header(
        "layout",
        "slice",
        "restart of the unruly test, of the others",
        "same tails for all: covers the unruly test",
        "half-width",
        "the others",
        "half-width",
        "false verdict",
        "Slowdust: covers the unruly test",
        "half-width",
        "the others",
        "half-width",
        "false verdict",
    )
    same_tails = replace(RESTARTS, outsider_freedom=RESTARTS.prior_freedom)
    for layout in (Layout(8, 6, 2, contenders=8), Layout(8, 3, 5), Layout(8, 6, 12)):
        for slice_noise, restart in ((0.3, 0.45), (0.1, 0.2), (0.05, 0.1)):
            noise = Noise(slice=slice_noise, restart=(restart, *[0.01] * (layout.tests - 1)))
            columns = []
            for expected in (same_tails, RESTARTS):
                unruly, others, verdicts = Tally(), Tally(), Verdicts()
                for of_experiment in experiments(count, layout, noise):
                    estimates = estimate_all(of_experiment, expected)
                    verdicts.add(estimates)
                    for estimate in estimates:
                        tally = unruly if estimate.step.test == "t0" else others
                        tally.add(estimate.interval)
                columns += [unruly, others, f"{verdicts.experiments_with_a_difference():.1%}"]
            print_row(layout, f"{slice_noise:.0%}", f"{restart:.0%}, 1%", *columns)


def halves(count: int) -> None:
    """Print the trimmed mean of half blocks beside that of blocks."""
    print_header(
        "8 x 3 x 12 with",
        "blocks cover",
        "half-width",
        "half blocks cover",
        "half-width",
        "standard error, of that of blocks",
    )
    cases = {
        "slices of 2%": CALM,
        "slices of 15%": SHARED,
        "no stolen slices": Noise(stolen_share=0.0),
        "a fifth of the slices stolen": Noise(stolen_share=0.2),
        "half speed for 0.05 s at a time": Noise(regime_s=0.05),
        "half speed for 0.3 s at a time": Noise(regime_s=0.3),
        "half speed for 2 s at a time": Noise(regime_s=2.0),
        "half speed for 30 s at a time": Noise(regime_s=30.0),
        "drift of 40% within 20 s": Noise(drift=0.4, drift_time_s=20.0),
    }
    for name, noise in cases.items():
        whole, half = Tally(), Tally()
        errors: list[float] = []
        for of_experiment in experiments(count, MEDIUM, replace(noise, restart=0.0)):
            blocks = [_whole(cell) for cell in of_experiment]
            for tally, of_one in ((whole, blocks), (half, of_experiment)):
                for estimate in estimate_all(of_one):
                    tally.add(estimate.interval)
            errors += [
                np.log(_error(cell) / _error(by_block))
                for cell, by_block in zip(of_experiment, blocks, strict=True)
            ]
        print_row(name, whole, half, f"{np.exp(np.mean(errors)):.2f}")


def _whole(cell: BlockRatios) -> BlockRatios:
    """Return the cell with blocks that have no halves."""
    by_incarnation = tuple(ratios.mean(axis=1, keepdims=True) for ratios in cell.by_incarnation)
    return replace(cell, by_incarnation=by_incarnation, totals={})


def _error(cell: BlockRatios) -> float:
    location = trimmed_mean(np.concatenate(cell.by_incarnation))
    return float(np.sqrt(location.squares / (location.size * (location.size - 1))))


def disagreement(count: int) -> None:
    """Print how often incarnations are said to disagree, and what `same` by 90% gains."""
    print_header(
        "slice",
        "restart",
        "layout",
        "noted before",
        "noted now",
        "same by 95%",
        "same by 90%",
        "same by 90%, of a true 0.97",
    )
    for layout in (MEDIUM, Layout(8, 6, 20)):
        for kind in (CALM, SHARED):
            for restart in (0.0, 0.005, 0.01, 0.02, 0.04):
                noise = replace(kind, restart=restart)
                before = now = 0
                strict, verdicts, border = Verdicts(), Verdicts(), Verdicts()
                for of_experiment in experiments(count, layout, noise):
                    estimates = estimate_all(of_experiment)
                    verdicts.add(estimates)
                    strict.add([replace(e, equivalence_interval=e.interval) for e in estimates])
                    before += sum((e.restart_spread or 0) > MARGIN for e in estimates)
                    now += sum(e.restarts_disagree for e in estimates)
                for of_experiment in experiments(count, layout, noise, -float(np.log1p(MARGIN))):
                    border.add(estimate_all(of_experiment))
                results = count * layout.tests
                print_row(
                    *(f"{kind.slice:.0%}", f"{restart:.1%}", layout),
                    *(f"{before / results:.1%}", f"{now / results:.1%}"),
                    *(f"{shown.share('same'):.1%}" for shown in (strict, verdicts, border)),
                )
