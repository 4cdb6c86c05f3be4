from __future__ import annotations

import math

import pytest

from slowdust.analysis.recall import Lack, OutOfReachError, Point, read_at

CURVE = [Point(0.8, 1000), Point(0.9, 500), Point(0.97, 200), Point(0.97, 150)]


def qps_at(points: list[Point], recall: float) -> float:
    return math.exp(read_at(points, recall).ln_qps)


def test_at_a_measured_recall_the_qps_is_the_measured_one() -> None:
    assert qps_at(CURVE, 0.9) == pytest.approx(500)
    assert qps_at(CURVE, 0.97) == pytest.approx(200)


def test_between_two_efforts_ln_qps_is_linear_in_ln_of_what_is_missed() -> None:
    halfway = 1 - math.sqrt(0.2 * 0.1)
    assert qps_at(CURVE, halfway) == pytest.approx(math.sqrt(1000 * 500))


def test_qps_that_fall_with_recall_fall_between_the_efforts_too() -> None:
    rates = [qps_at(CURVE, 0.8 + 0.001 * step) for step in range(170)]
    assert rates == sorted(rates, reverse=True)


def test_a_reading_has_the_tests_that_it_is_between() -> None:
    points = [Point(0.9, 500, "b"), Point(0.8, 1000, "a"), Point(0.95, 400, "c")]
    assert read_at(points, 0.92).tests == ("b", "c")
    assert read_at(points, 0.9).tests == ("b", "b")


def test_of_efforts_that_find_as_much_the_fastest_counts() -> None:
    assert qps_at([Point(1.0, 300), Point(0.9, 400), Point(1.0, 100)], 1.0) == pytest.approx(300)


@pytest.mark.parametrize(
    ("points", "recall", "lack", "around"),
    [
        (CURVE, 0.99, Lack.BELOW, [0.97]),
        (CURVE, 0.7, Lack.ABOVE, [0.8]),
        ([], 0.9, Lack.SILENT, []),
        ([Point(0.95, 0.0)], 0.9, Lack.SILENT, []),
        ([Point(0.80, 900), Point(0.985, 100)], 0.9, Lack.TOO_FAR, [0.80, 0.985]),
        ([Point(0.98, 900), Point(1.0, 100)], 0.99, Lack.TOO_FAR, [0.98, 1.0]),
    ],
)
def test_nothing_is_read_beyond_the_efforts_or_across_a_wide_gap(
    points: list[Point], recall: float, lack: Lack, around: list[float]
) -> None:
    with pytest.raises(OutOfReachError) as error:
        read_at(points, recall)
    assert error.value.lack is lack
    assert [point.recall for point in error.value.around] == around


def test_a_gap_from_90_to_99_percent_is_read_across() -> None:
    assert qps_at([Point(0.9, 400), Point(0.99, 100)], 0.95) > 100
