from __future__ import annotations

import math

import pytest

from slowdust.analysis.model import Result
from slowdust.analysis.stored import analyse
from slowdust.stats.forecast import FACTORS, Forecast, forecast
from slowdust.stats.relative import Interval, Relative
from tests.unit.synthetic import Noise, synthetic_experiment
from tests.unit.synthetic_steps import insert_experiment

A, B = "postgres@15.8", "postgres@17.6"
MARGIN = 0.03
TESTS = ["point-query", "hot-points", "scan", "update-index", "insert", "read-only.100"]


def relative(center: float, error: float) -> Relative:
    """Return a ratio with normal intervals; logarithms."""

    def around(reach: float) -> Interval:
        return Interval(math.exp(center - reach * error), math.exp(center + reach * error))

    return Relative(
        ratio=math.exp(center),
        interval=around(1.96),
        equivalence_interval=around(1.645),
        standard_error=error,
    )


def factor(center: float, error: float, level: float = 0.05) -> float:
    """Return the forecast multiple; infinity for more than the largest."""
    outlook = forecast(relative(center, error), MARGIN, level)
    assert outlook is not None
    return math.inf if outlook.more else outlook.factor


def test_more_noise_needs_more() -> None:
    needs = [factor(0.0, error) for error in (0.019, 0.025, 0.04, 0.06, 0.2)]

    assert needs == sorted(needs)
    assert needs[0] <= 4
    assert needs[-1] == math.inf


def test_twice_the_noise_needs_about_four_times_as_much() -> None:
    assert 3 <= factor(0.0, 0.04) / factor(0.0, 0.02) <= 5


def test_a_ratio_somewhat_inside_the_margin_needs_most() -> None:
    needs = [factor(center, 0.01) for center in (0.015, 0.02, 0.03, 0.06)]

    assert max(needs) == needs[1]
    assert needs[1] > needs[2] >= needs[3]


def test_many_tests_ask_for_more_of_each() -> None:
    assert factor(-0.06, 0.03, level=0.05 / 40) > factor(-0.06, 0.03, level=0.05)


def test_beyond_the_largest_multiple_nothing_is_forecast() -> None:
    assert forecast(relative(0.0, 0.5), MARGIN, 0.05) == Forecast(FACTORS[-1], more=True)


def test_without_an_interval_or_inside_the_margin_there_is_no_forecast() -> None:
    assert forecast(Relative(ratio=1.0), MARGIN, 0.05) is None
    assert forecast(relative(0.0, 0.005), MARGIN, 0.05) is None


def results(blocks: int, noise: Noise) -> list[Result]:
    manifest, slices = synthetic_experiment([A, B], TESTS, noise=noise, blocks=blocks, seed=4)
    return [result for result in analyse(manifest, slices).results if result.contender == B]


def test_only_unsure_results_say_what_they_need() -> None:
    judged = results(6, Noise(slice=0.06))

    assert {result.verdict for result in judged} >= {"unsure"}
    assert all((result.needed is None) == (result.verdict != "unsure") for result in judged)


def test_the_time_to_add_matches_the_test_alone() -> None:
    unsure = [r.needed for r in results(6, Noise(slice=0.15)) if r.needed]

    assert any(needed.extra_s for needed in unsure)
    for needed in unsure:
        alone = 600.0 / len(TESTS)
        expected = None if needed.more else pytest.approx((needed.factor - 1) * alone, rel=0.01)
        assert needed.extra_s == expected


@pytest.mark.parametrize("budget", [None, 600.0])
def test_long_steps_need_the_time_of_all_steps(budget: float | None) -> None:
    manifest, slices = insert_experiment([A, B], ["l.i0", "l.x"], noise=0.1, incarnations=2)
    manifest.method.budget_s = budget
    measured = budget or sum(record.measured.seconds or 0.0 for record in slices)

    needs = [r.needed for r in analyse(manifest, slices).results if r.needed]

    assert any(needed.extra_s for needed in needs)
    for needed in needs:
        expected = None if needed.more else pytest.approx((needed.factor - 1) * measured)
        assert needed.extra_s == expected
