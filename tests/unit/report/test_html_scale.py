from __future__ import annotations

import math

import pytest

from slowdust.ratios import Ratio
from slowdust.report.charts.scale import (
    Linear,
    Logarithmic,
    broken_time,
    decade_ticks,
    linear_ticks,
    nice_step,
    ratio_domain,
    ratio_ticks,
    time_ticks,
    zero_based,
)


def test_linear_maps_both_ends_and_may_turn_round() -> None:
    scale = Linear(10, 20, 100, 0)

    assert scale(10) == 100
    assert scale(20) == 0
    assert scale(15) == 50


def test_equal_ratios_are_equal_distances() -> None:
    scale = Logarithmic(0.5, 2, 0, 1000)

    assert scale(1) == pytest.approx(500)
    assert scale(0.8) + scale(1.25) == pytest.approx(1000)


@pytest.mark.parametrize(
    ("span", "most", "step"), [(10, 6, 2), (1, 11, 0.1), (0.3, 5, 0.1), (7300, 5, 2000), (9, 2, 10)]
)
def test_nice_step(span: float, most: int, step: float) -> None:
    assert nice_step(span, most) == pytest.approx(step)


def test_linear_ticks_lie_inside_and_are_no_more_than_asked() -> None:
    ticks = linear_ticks(3.2, 17.9, 6)

    assert ticks == [5, 10, 15]
    assert linear_ticks(0, 1, 6) == [0, 0.2, 0.4, 0.6, 0.8, 1.0]


def test_time_is_divided_as_on_a_clock() -> None:
    assert time_ticks(0, 2700, 5) == [0, 900, 1800, 2700]
    assert time_ticks(61, 190, 6) == [90, 120, 150, 180]
    assert time_ticks(0, 1, 6) == [0, 0.2, 0.4, 0.6, 0.8, 1.0]
    assert len(time_ticks(0, 5e5, 6)) <= 7


def test_zero_based_axis_ends_at_a_tick_above_everything() -> None:
    high, ticks = zero_based(8_700, 5)

    assert high == 10_000 == ticks[-1]
    assert ticks[0] == 0
    assert zero_based(0)[0] > 0


def test_the_domain_of_ratios_holds_intervals_unless_they_stray() -> None:
    near = Ratio(1.0, low=0.7, high=1.3)
    far = Ratio(2.0, low=0.0, high=80.0)

    low, high = ratio_domain([near], 0.03, 1.5)
    assert (low, high) == pytest.approx((0.7, 1.3), rel=0.05)
    assert low < 0.7
    assert high > 1.3
    assert 3 < ratio_domain([near, far], 0.03, 1.5)[1] < 3.3
    assert 0 < ratio_domain([near], 1.0, 1.5)[0] < 0.1, "a margin of 100% has room"
    low, high = ratio_domain([Ratio(1.0)], 0.03, 1.5)
    assert low < 0.94
    assert high > 1.06


@pytest.mark.parametrize(
    ("low", "high"), [(0.9, 1.1), (0.97, 1.9), (0.62, 1.55), (0.5, 1.2), (0.2, 4), (0.001, 3000)]
)
def test_ratio_ticks_have_1_and_stay_few(low: float, high: float) -> None:
    ticks = ratio_ticks(low, high)

    assert any(math.isclose(tick, 1) for tick in ticks)
    assert 3 <= len(ticks) <= 9
    assert all(low <= tick * (1 + 1e-9) and tick <= high * (1 + 1e-9) for tick in ticks)


def test_decade_ticks() -> None:
    assert decade_ticks(90, 2100, (1, 2, 5)) == pytest.approx([100, 200, 500, 1000, 2000])


def test_a_restart_is_cut_out_of_the_time_axis() -> None:
    windows = [(start, start + 1.0) for start in range(10)]
    windows += [(start + 500, start + 1.0 + 500) for start in range(10)]

    axis = broken_time(windows, 1000)

    assert axis.spans == ((0, 10), (500, 510))
    assert axis(0) == 0
    assert axis(510) == pytest.approx(1000)
    assert axis(10) - axis(0) == pytest.approx(axis(510) - axis(500))
    assert axis(10) < axis.cuts[0] < axis(500)
    assert axis(250) == axis(10)


def test_regular_pauses_between_slices_are_no_cuts() -> None:
    axis = broken_time([(3.0 * turn, 3.0 * turn + 0.25) for turn in range(40)], 1000)

    assert len(axis.spans) == 1


def test_cuts_are_limited_and_one_window_is_enough() -> None:
    many = [(10.0**4 * turn, 10.0**4 * turn + 1) for turn in range(40)]
    many += [(10.0**4 * turn + 2, 10.0**4 * turn + 3) for turn in range(40)]

    assert len(broken_time(many, 1000).spans) == 12
    assert broken_time([(5.0, 6.0)], 1000)(6.0) == pytest.approx(1000)
    assert broken_time([(5.0, 5.0)], 1000)(5.0) == 0
