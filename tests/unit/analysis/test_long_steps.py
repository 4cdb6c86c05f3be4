"""Intervals of long steps, one pair a start: the truth is known."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np
import pytest

from slowdust.analysis.comparison import block_ratios
from slowdust.stats.blocks import BlockRatios, Step
from slowdust.stats.estimate import estimate_all
from slowdust.stats.relative import Estimate
from slowdust.stats.verdict import DIFFERENT, judge_estimates
from tests.tiers.selection import full
from tests.unit.synthetic import Noise, synthetic_rates, synthetic_ratios
from tests.unit.synthetic_pairs import PairNoise, synthetic_pairs
from tests.unit.synthetic_steps import Overload, insert_experiment

STEPS = 10


def pairs(*values: float, test: str = "l.i0") -> BlockRatios:
    return BlockRatios(
        step=Step("insert", test, 1),
        contender="b",
        by_incarnation=tuple(np.array([[value]]) for value in values),
        numbers=tuple(range(1, 1 + len(values))),
        parts="steps",
    )


def simulated(
    count: int, noise: PairNoise, incarnations: int, contenders: int = 2
) -> list[list[Estimate]]:
    rng = np.random.default_rng(11)
    return [
        estimate_all(synthetic_pairs(STEPS, incarnations, noise, rng, contenders=contenders))
        for _ in range(count)
    ]


def half_width(estimate: Estimate) -> float:
    assert estimate.interval is not None
    return math.log(estimate.interval.high / estimate.interval.low) / 2


def covered(estimates: Sequence[Estimate]) -> float:
    held = [e.interval.low <= 1 <= e.interval.high for e in estimates if e.interval is not None]
    assert len(held) == len(estimates)
    return sum(held) / len(held)


def together(experiments: list[list[Estimate]]) -> list[Estimate]:
    return [estimate for experiment in experiments for estimate in experiment]


@pytest.mark.parametrize("incarnations", [2, pytest.param(3, marks=full), 4])
@pytest.mark.parametrize("scatter", [0.01, pytest.param(0.03, marks=full), 0.10])
def test_intervals_hold_however_far_pairs_scatter(scatter: float, incarnations: int) -> None:
    experiments = simulated(120, PairNoise(scatter), incarnations)

    # 94%, less two standard errors of the simulation itself, whose steps share what they know.
    assert covered(together(experiments)) >= 0.915
    wrong = sum(
        any(judged.verdict in DIFFERENT for judged in judge_estimates(experiment, 0.03))
        for experiment in experiments
    )
    assert wrong / len(experiments) <= 0.08


def test_intervals_hold_for_four_contenders_that_share_their_base() -> None:
    assert covered(together(simulated(60, PairNoise(0.03), 3, contenders=4))) >= 0.92


def test_two_starts_do_not_give_the_width_of_one_degree_of_freedom() -> None:
    widths = [half_width(estimate) for estimate in together(simulated(40, PairNoise(0.01), 2))]

    # Student's t over two pairs of 1% has a median half-width of 6%.
    assert np.median(widths) < 0.035


def test_an_unruly_step_widens_itself_more_than_its_neighbours() -> None:
    noise = PairNoise((0.10, *[0.01] * (STEPS - 1)))
    experiments = simulated(120, noise, 3)

    unruly = [experiment[0] for experiment in experiments]
    calm = [estimate for experiment in experiments for estimate in experiment[1:]]

    assert covered(unruly) >= 0.85
    assert covered(calm) >= 0.95
    assert np.median([half_width(estimate) for estimate in unruly]) > 2 * np.median(
        [half_width(estimate) for estimate in calm]
    )


def test_drift_cancels_because_the_order_alternates() -> None:
    drift = math.log(0.6)
    there = together(simulated(80, PairNoise(0.01, drift=drift), 4))
    always_last = together(simulated(80, PairNoise(0.01, drift=drift, alternating=False), 4))

    assert covered(there) >= 0.95
    assert covered(always_last) < 0.5


def test_one_pair_has_a_value_and_neither_interval_nor_verdict() -> None:
    others = [pairs(0.01, -0.01, test=f"q{place}") for place in range(5)]

    alone = estimate_all([pairs(math.log(0.9)), *others])[0]

    assert alone.ratio == pytest.approx(0.9)
    assert alone.interval is None
    assert judge_estimates([alone], 0.03)[0].verdict == "unsure"


def test_pairs_that_agree_wholly_do_not_divide_by_zero() -> None:
    [estimate] = estimate_all([pairs(0.1, 0.1, 0.1)])

    assert estimate.ratio == pytest.approx(math.exp(0.1))
    assert 0 < half_width(estimate) < 0.2


def test_a_start_that_is_missing_counts_for_nothing() -> None:
    two, three = estimate_all([pairs(0.02, 0.04), pairs(0.02, 0.03, 0.04, test="l.x")])

    assert two.ratio == pytest.approx(three.ratio)
    assert (two.incarnations, three.incarnations) == (2, 3)
    assert half_width(two) > half_width(three)


def test_calm_neighbours_make_a_step_surer() -> None:
    calm = [pairs(0.004, -0.004, test=f"q{place}") for place in range(8)]

    assert half_width(estimate_all([pairs(0.0, 0.006), *calm])[0]) < 0.8 * half_width(
        estimate_all([pairs(0.0, 0.006)])[0]
    )


def test_slices_and_long_steps_are_independent() -> None:
    rng = np.random.default_rng(1)
    rates = synthetic_rates(np.zeros((4, 2)), noise=Noise(), incarnations=2, blocks=8, rng=rng)
    short = synthetic_ratios(rates, 2)
    long = [pairs(0.3, -0.2), pairs(0.1, -0.2, test="l.x")]

    mixed = estimate_all([long[0], *short, long[1]])

    assert mixed[1:-1] == estimate_all(short)
    assert [mixed[0], mixed[-1]] == estimate_all(long)


def test_each_start_gives_a_pair() -> None:
    _, slices = insert_experiment(["a", "b"], ["l.i0", "qr100"], incarnations=3)

    for ratios in block_ratios(slices, "a", ["a", "b"]):
        assert ratios.parts == "steps"
        assert [len(of_incarnation) for of_incarnation in ratios.by_incarnation] == [1, 1, 1]
        assert ratios.incomplete == 0


def test_a_step_that_missed_its_sla_is_not_paired() -> None:
    _, slices = insert_experiment(
        ["a", "b", "c"], ["qr100"], overloaded=[Overload("b", "qr100", deletes=0.9)]
    )

    of_b, of_c = block_ratios(slices, "a", ["a", "b", "c"])

    assert (of_b.blocks, of_c.blocks) == (0, 3)
