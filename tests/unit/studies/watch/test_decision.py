"""The statistics find a change of a level at its place, and no other."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

import pytest

from slowdust.analysis.results.log_ratio import TIME, WORK
from slowdust.studies.watch.decision import RULES, Finding, Point, Shift, find, scales


def points(values: Sequence[float], hosts: Sequence[str] | None = None) -> list[Point]:
    """Return nights 1, 2, ...: each compared with the subject of the night before."""
    return [
        Point(
            night=number,
            segment="a" if hosts is None else hosts[number - 1],
            level=value,
            error=0.001,
        )
        for number, value in enumerate(values, start=1)
    ]


def noise(count: int, size: float, seed: int = 0) -> list[float]:
    draw = random.Random(seed)
    return [draw.gauss(0, size) for _ in range(count)]


def found(series: Sequence[Point], metric: str = TIME, shifts: Sequence[Shift] = ()) -> Finding:
    rule = RULES[metric]
    finding = find(series, shifts, scales([series], rule)[0], rule)
    assert finding is not None
    return finding


def test_a_change_is_found_at_its_night_with_its_size() -> None:
    values = [v + (0.03 if place >= 20 else 0) for place, v in enumerate(noise(24, 0.003))]
    finding = found(points(values))
    assert finding.night == 21
    assert finding.log == pytest.approx(0.03, abs=0.004)
    assert finding.sureness > RULES[TIME].threshold


def test_one_bad_night_is_no_change_however_bad() -> None:
    values = [*noise(20, 0.003), 0.5]
    assert found(points(values)).sureness < RULES[TIME].threshold


def test_one_night_of_counted_work_is_enough() -> None:
    finding = found(points([0, 0, 0, 0, 0, 0.03]), WORK)
    assert finding.night == 6
    assert finding.sureness > RULES[WORK].threshold


def test_changes_below_the_least_are_none() -> None:
    series = points([0, 0, 0, 0, 0, 0.009, 0.009, 0.009])
    assert find(series, [], 0.0015, RULES[WORK]) is None


def test_another_host_is_no_change() -> None:
    hosts = ["a"] * 10 + ["b"] * 3
    values = [*noise(10, 0.002), *[v + 0.05 for v in noise(3, 0.002)]]
    assert find(points(values, hosts), [], 0.003, RULES[TIME]) is None


def test_compared_with_the_last_good_a_change_is_seen_on_another_host() -> None:
    before = points(noise(10, 0.002))
    on_another = [
        Point(night, "b", 0.08, 0.001, direct=0.03, direct_error=0.001, good=10)
        for night in (11, 12, 13)
    ]
    finding = found([*before, *on_another])
    assert finding.night == 11
    assert finding.log == pytest.approx(0.03, abs=0.001)


def test_known_changes_are_not_found_again() -> None:
    values = [*noise(10, 0.002), *[v + 0.05 for v in noise(8, 0.002, seed=1)]]
    known = [Shift(night=11, log=0.05, error=0.001)]
    finding = find(points(values), known, 0.003, RULES[TIME])
    assert finding is None or finding.sureness < RULES[TIME].threshold


def test_a_subject_that_is_measured_again_is_no_change() -> None:
    series = points([0, 0, 0, 0, 0, 0.03])
    last = Point(6, "a", 0.03, 0.001, again=True)
    finding = found([*series[:-1], last], WORK)
    assert finding.night == 5, "if anything has changed, then with the night before"


def test_the_scale_comes_from_the_nights_and_not_from_a_change() -> None:
    steady = points(noise(40, 0.01))
    changed = points([v + (0.2 if place > 20 else 0) for place, v in enumerate(noise(40, 0.01))])
    for scale in scales([steady, changed], RULES[TIME]):
        assert scale == pytest.approx(0.01, rel=0.6)


def test_a_change_in_a_short_series_is_no_noise() -> None:
    assert scales([points([0.0, 0.0002, 0.05])], RULES[WORK])[0] < 0.002


def test_before_anything_is_known_the_scale_is_the_rules() -> None:
    rule = RULES[TIME]
    assert scales([points([0.0])], rule) == [pytest.approx(rule.unknown)]
    assert math.isinf(RULES[WORK].cap)
