from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
from scipy import stats
from syrupy.assertion import SnapshotAssertion

from slowdust.analysis.comparison import judge
from slowdust.ratios import Verdict
from slowdust.stats.blocks import BlockRatios, Step
from slowdust.stats.estimate import estimate_all
from slowdust.stats.relative import Estimate, Interval
from slowdust.stats.verdict import (
    DIFFERENT,
    chance_of_not_same,
    discovery_threshold,
    judge_estimates,
    settled_alone,
    verdict_alone,
)
from tests.tiers.selection import full
from tests.unit.synthetic import (
    Noise,
    shortened,
    synthetic_experiment,
    synthetic_rates,
    synthetic_ratios,
)

MARGIN = 0.03


def estimate(
    interval: tuple[float, float] | None,
    *,
    p_value: float = 0.0,
    incarnations: int = 3,
    sameness: tuple[float, float] = (0.5, 2.0),
    difference: tuple[float, float] = (0.5, 2.0),
) -> Estimate:
    return Estimate(
        step=Step("micro", "t", 1),
        contender="b",
        ratio=1.0,
        interval=None if interval is None else Interval(*interval),
        equivalence_interval=None if interval is None else Interval(*interval),
        sameness_interval=Interval(*sameness),
        difference_interval=Interval(*difference),
        p_value=p_value,
        blocks=10,
        incarnations=incarnations,
        restart_spread=0.0,
        incomplete=0,
        with_zero=0,
    )


@pytest.mark.parametrize(
    ("interval", "verdict"),
    [
        ((0.99, 1.02), "same"),
        ((1.001, 1.02), "same"),
        ((1.01, 1.05), "faster"),
        ((0.90, 0.99), "slower"),
        ((0.96, 1.02), "unsure"),
        (None, "unsure"),
    ],
)
def test_verdict_of_an_interval(interval: tuple[float, float] | None, verdict: Verdict) -> None:
    assert verdict_alone(estimate(interval), MARGIN) == verdict


def test_a_difference_that_many_tests_produce_by_chance_is_unsure(
    snapshot: SnapshotAssertion,
) -> None:
    lucky = estimate((1.001, 1.08), p_value=0.04)
    dull = [estimate((0.9, 1.1), p_value=0.5) for _ in range(20)]

    assert judge_estimates([lucky], MARGIN)[0].verdict == "faster"
    [judged, *others] = judge_estimates([lucky, *dull], MARGIN)
    assert judged.verdict == "unsure"
    assert judged.doubt == snapshot
    assert {each.doubt for each in others} == {""}, "their intervals include 1"


def around(center: float, reach: float, p_value: float) -> Estimate:
    """An estimate with normal tails whose 90% interval reaches `reach` from `center`, in ln."""
    intervals = [
        (math.exp(center - reach * ratio), math.exp(center + reach * ratio))
        for ratio in (1.0, 1.1915, 1.566, 2.0)
    ]
    of_90, of_95, of_99, of_999 = intervals
    wide = estimate(of_95, p_value=p_value, sameness=of_99, difference=of_999)
    return replace(wide, equivalence_interval=Interval(*of_90))


def test_calm_tests_that_are_same_do_not_let_noisy_ones_pass() -> None:
    calm = [around(-0.015, 0.005, 1e-6) for _ in range(30)]
    noisy = [around(0.1, 0.0798, 0.039), *(around(0.01, 0.08, 0.8) for _ in range(9))]

    judgements = judge_estimates([*calm, *noisy], MARGIN)

    assert [judgement.verdict for judgement in judgements] == ["same"] * 30 + ["unsure"] * 10


def test_many_that_chance_may_move_out_of_the_margin_count() -> None:
    moved, near = around(0.018, 0.0144, 0.04), around(0.0, 0.0144, 1.0)

    assert verdict_alone(moved, MARGIN) == "faster"
    assert judge_estimates([moved], MARGIN)[0].verdict == "faster"
    assert judge_estimates([moved, *[near] * 10], MARGIN)[0].verdict == "unsure"


def test_calm_tests_do_not_hide_a_difference() -> None:
    found, calm = around(-0.04, 0.02, 0.002), around(0.0, 0.005, 1.0)

    assert chance_of_not_same(calm, MARGIN) < 1e-5
    assert judge_estimates([found, *[calm] * 52], MARGIN)[0].verdict == "slower"


def test_an_interval_wider_than_the_margin_is_never_same() -> None:
    assert chance_of_not_same(around(0.0, 0.05, 1.0), MARGIN) == 1.0
    assert chance_of_not_same(estimate(None), MARGIN) == 0.0


def test_a_clear_difference_among_many_same_ones_is_kept() -> None:
    clear, same = around(-0.06, 0.015, 1e-9), around(0.0, 0.015, 1.0)

    judgements = judge_estimates([clear, *[same] * 52], MARGIN)

    assert judgements[0].verdict == "slower"
    assert judgements[0].settled


@pytest.mark.parametrize("seed", range(5))
def test_discoveries_agree_with_scipy(seed: int) -> None:
    rng = np.random.default_rng(seed)
    p_values = np.concatenate((rng.uniform(0, 1, 30), rng.uniform(0, 0.01, 6)))

    threshold = discovery_threshold(p_values.tolist(), [1.0] * len(p_values))

    adjusted = stats.false_discovery_control(p_values, method="bh")
    assert ((p_values <= threshold) == (adjusted <= 0.05)).all()


def test_nothing_is_discovered_among_nothing() -> None:
    assert discovery_threshold([], []) == 0.0
    assert discovery_threshold([0.9, 0.06], [1.0, 1.0]) == 0.0


def test_settled_needs_stricter_intervals_and_a_restart() -> None:
    different = estimate((1.01, 1.05), difference=(1.001, 1.06))
    same = estimate((0.99, 1.01), sameness=(0.98, 1.02))

    assert settled_alone(estimate((1.01, 1.05)), MARGIN) == "unsure"
    assert settled_alone(different, MARGIN) == "faster"
    assert settled_alone(same, MARGIN) == "same"
    assert settled_alone(estimate((0.99, 1.01), sameness=(0.96, 1.02)), MARGIN) == "unsure"
    assert settled_alone(replace(same, incarnations=1), MARGIN) == "unsure"


def test_results_below_the_threshold_are_not_settled() -> None:
    found = estimate((1.01, 1.05), difference=(1.001, 1.06), p_value=0.004)
    dull = [estimate((0.9, 1.1), p_value=0.5) for _ in range(20)]

    assert judge_estimates([found], MARGIN)[0].settled
    assert not judge_estimates([found, *dull], MARGIN)[0].settled


def judged(experiments: int, noise: Noise, log_shift: float = 0.0) -> list[list[Verdict]]:
    rng = np.random.default_rng(11)
    shifts = np.zeros((8, 2))
    shifts[:, 1] = log_shift
    verdicts = []
    for _ in range(experiments):
        rates = synthetic_rates(shifts, noise=noise, incarnations=3, blocks=12, rng=rng)
        judgements = judge_estimates(estimate_all(synthetic_ratios(rates, 2)), MARGIN)
        verdicts.append([judgement.verdict for judgement in judgements])
    return verdicts


def share_with_a_difference(experiments: list[list[Verdict]]) -> float:
    return float(np.mean([any(v in DIFFERENT for v in verdicts) for verdicts in experiments]))


@pytest.mark.parametrize("restart", [pytest.param(0.0, marks=full), 0.005])
def test_the_same_build_twice_is_rarely_different(restart: float) -> None:
    assert share_with_a_difference(judged(80, Noise(restart=restart))) <= 0.05


def test_large_noise_finds_nothing() -> None:
    experiments = judged(60, Noise(slice=0.3))

    assert share_with_a_difference(experiments) <= 0.1
    assert "same" not in {verdict for verdicts in experiments for verdict in verdicts}


def test_a_known_regression_is_found() -> None:
    verdicts = [v for verdicts in judged(30, Noise(), math.log(0.93)) for v in verdicts]

    assert verdicts.count("slower") / len(verdicts) > 0.95


def looked_at_every_block(blocks: Sequence[BlockRatios]) -> Verdict:
    """One test on its own, with a look after each block of the last incarnation."""
    [cell] = blocks
    *before, last = [len(of_incarnation) for of_incarnation in cell.by_incarnation]
    for length in range(1, last + 1):
        [now] = estimate_all([shortened(cell, (*before, length))])
        if settled_alone(now, MARGIN) != "unsure":
            break
    return verdict_alone(now, MARGIN)


def test_looking_after_every_block_does_not_make_false_differences() -> None:
    rng = np.random.default_rng(13)
    looked, once = [], []
    for _ in range(80):
        rates = synthetic_rates(np.zeros((1, 2)), noise=Noise(), incarnations=3, blocks=20, rng=rng)
        cells = synthetic_ratios(rates, 2)
        looked.append(looked_at_every_block(cells))
        once.append(verdict_alone(estimate_all(cells)[0], MARGIN))

    false = sum(verdict in DIFFERENT for verdict in looked)
    assert false <= sum(verdict in DIFFERENT for verdict in once) + 2
    assert false / len(looked) <= 0.05


def test_looking_after_every_block_does_not_make_false_sameness() -> None:
    rng = np.random.default_rng(17)
    shifts = np.log([[1.0, 1.04]])
    looked = []
    for _ in range(60):
        rates = synthetic_rates(shifts, noise=Noise(), incarnations=3, blocks=20, rng=rng)
        looked.append(looked_at_every_block(synthetic_ratios(rates, 2)))

    assert looked.count("same") / len(looked) <= 0.05
    assert looked.count("faster") / len(looked) > 0.5


def test_judge_reads_slices_of_several_steps_in_the_manifests_order() -> None:
    manifest, slices = synthetic_experiment(
        ["a", "b", "c"],
        ["point-query", "scan"],
        shifts={"c": {"scan": 0.7}},
        blocks=6,
        incarnations=3,
    )

    judgements = judge(slices, [facts.name for facts in manifest.contenders], MARGIN)

    judged = [(j.estimate.step.test, j.estimate.contender) for j in judgements]
    assert judged == [("point-query", "b"), ("point-query", "c"), ("scan", "b"), ("scan", "c")]
    assert judgements[3].verdict == "slower"
    assert judgements[3].settled


def test_judge_can_be_given_another_base() -> None:
    _, slices = synthetic_experiment(["a", "b"], ["scan"], shifts={"b": 0.7})

    [judgement] = judge(slices, ["a", "b"], MARGIN, base="b")

    assert judgement.estimate.contender == "a"
    assert judgement.verdict == "faster"


def test_judge_of_nothing_is_nothing() -> None:
    assert judge([], ["a", "b"], MARGIN) == []
