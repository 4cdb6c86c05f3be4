"""Contenders compared at equal recall; their true ratio is known."""

from __future__ import annotations

import math

import pytest
from syrupy.assertion import SnapshotAssertion

from slowdust.analysis.model import AtRecall, Report
from slowdust.analysis.results.gate import caught_by, parse_gate
from slowdust.analysis.stored import analyse
from slowdust.store.manifest import Manifest
from slowdust.store.slice import Slice
from tests.unit.ratios import interval_of, value_of
from tests.unit.searches import BASE, OTHER, RATES, RECALLS, measured


def at_recall(report: Report, contender: str = OTHER) -> dict[float, AtRecall]:
    (comparison,) = report.searches
    (curve,) = (each for each in comparison.contenders if each.contender == contender)
    return {at.recall: at for at in curve.at}


def verdict_of(at: AtRecall) -> str | None:
    return at.ratio and at.ratio.verdict


def test_points_of_a_curve_are_its_tests() -> None:
    report = analyse(*measured({BASE: 1.0, OTHER: 1.2}))
    (comparison,) = report.searches
    assert (comparison.curve, comparison.clients) == ("hnsw", 1)
    assert [curve.contender for curve in comparison.contenders] == [BASE, OTHER]
    points = comparison.contenders[1].points
    assert [point.effort for point in points] == [10, 20, 40, 80]
    assert [point.recall for point in points] == pytest.approx(RECALLS)
    assert [point.qps for point in points] == pytest.approx([1.2 * q for q in RATES], rel=0.01)


def test_the_same_curve_faster_has_one_ratio_everywhere() -> None:
    levels = at_recall(analyse(*measured({BASE: 1.0, OTHER: 1.2}, noise=0.01)))
    for level in (0.90, 0.95, 0.99):
        at = levels[level]
        assert value_of(at.ratio) == pytest.approx(1.2, rel=0.03)
        low, high = interval_of(at.ratio)
        assert low < 1.2 < high
        assert verdict_of(at) == "faster"


def test_drift_from_test_to_test_cancels_where_both_need_the_same_effort() -> None:
    levels = at_recall(analyse(*measured({BASE: 1.0, OTHER: 1.2}, drift=0.5)))
    assert value_of(levels[0.95].ratio) == pytest.approx(1.2, rel=0.01)


def test_fewer_neighbours_at_the_same_qps_are_slower_at_equal_recall(
    snapshot: SnapshotAssertion,
) -> None:
    recalls = {OTHER: (0.70, 0.85, 0.93, 0.97)}  # each effort finds what half of it finds elsewhere
    report = analyse(*measured({BASE: 1.0, OTHER: 1.0}, recalls, noise=0.005))
    levels = at_recall(report)
    expected = math.exp(
        (math.log(2500) + math.log(1500 / 2500) * math.log(15 / 10) / math.log(15 / 7))
        - (math.log(4000) + math.log(2500 / 4000) * math.log(15 / 10) / math.log(15 / 7))
    )
    assert value_of(levels[0.90].ratio) == pytest.approx(expected, rel=0.02)
    assert verdict_of(levels[0.90]) == "slower"
    assert levels[0.99].qps is None
    assert levels[0.99].reason == snapshot
    apart = [result for result in report.results if result.notes]
    assert len(apart) == 4
    assert [note for result in apart for note in result.notes] == snapshot
    assert report.tldr == snapshot
    assert all((each.typical, each.ratio, each.needed) == (None,) * 3 for each in apart)
    assert caught_by(parse_gate("slower"), report) == ""


def test_equal_recall_is_compared() -> None:
    report = analyse(*measured({BASE: 1.0, OTHER: 1.2}))
    assert all(result.ratio is not None for result in report.results)
    assert [result.recall for result in report.results][:2] == [0.85, 0.85]


def measured_with_recall(
    number: int, contender: str, test: str, recall: float
) -> tuple[Manifest, list[Slice]]:
    """An experiment of four starts; one search has another recall in one of them."""
    manifest, slices = measured({BASE: 1.0, OTHER: 1.2}, noise=0.01)
    (record,) = (
        each
        for each in manifest.recalls
        if (each.incarnation, each.contender, each.test) == (number, contender, test)
    )
    record.recall = recall
    return manifest, slices


def test_a_recall_that_some_starts_do_not_reach_has_neither_qps_nor_verdict(
    snapshot: SnapshotAssertion,
) -> None:
    at = at_recall(analyse(*measured_with_recall(3, OTHER, "hnsw.ef80", 0.985)))[0.99]
    assert (at.qps, at.ratio) == (None, None)
    assert at.reason == snapshot
    assert (at.starts, at.reached) == (4, 3)


def test_a_recall_that_some_starts_of_the_base_do_not_reach_has_no_verdict(
    snapshot: SnapshotAssertion,
) -> None:
    report = analyse(*measured_with_recall(3, BASE, "hnsw.ef80", 0.985))
    at = at_recall(report)[0.99]
    assert at.qps is not None
    assert at.ratio is None
    assert at.reason == snapshot
    assert at_recall(report, BASE)[0.99].qps is None
    assert verdict_of(at_recall(report)[0.95]) == "faster"
    assert report.tldr == snapshot


def test_a_recall_below_the_least_effort_of_some_starts_has_no_verdict(
    snapshot: SnapshotAssertion,
) -> None:
    at = at_recall(analyse(*measured_with_recall(2, OTHER, "hnsw.ef10", 0.91)))[0.90]
    assert at.reason == snapshot
    assert at.ratio is None


def test_a_gap_that_is_too_wide_in_some_starts_has_no_verdict(snapshot: SnapshotAssertion) -> None:
    at = at_recall(analyse(*measured_with_recall(2, OTHER, "hnsw.ef80", 1.0)))[0.99]
    assert at.reason == snapshot
    assert at.ratio is None


def test_a_gap_that_is_too_wide_everywhere_says_what_is_around_it(
    snapshot: SnapshotAssertion,
) -> None:
    recalls = {OTHER: (0.70, 0.80, 0.80, 0.995)}
    at = at_recall(analyse(*measured({BASE: 1.0, OTHER: 1.0}, recalls)))[0.90]
    assert at.reason == snapshot


@pytest.mark.parametrize("seed", range(3))
def test_qps_of_two_contenders_have_the_ratio_that_is_reported(seed: int) -> None:
    keys: dict[str, float] = {"noise": 0.03, "drift": 0.1, "spread": 0.1}
    report = analyse(*measured({BASE: 1.0, OTHER: 1.2}, seed=seed, **keys))  # type: ignore[arg-type]
    of_base, own = at_recall(report, BASE), at_recall(report)
    compared = [level for level in own if own[level].ratio is not None]
    assert compared
    for level in compared:
        assert own[level].starts == own[level].reached == 4
        ratio = own[level].qps / of_base[level].qps  # type: ignore[operator]
        assert value_of(own[level].ratio) == pytest.approx(ratio)


def test_reading_between_other_efforts_widens_the_interval() -> None:
    recalls = {OTHER: (0.70, 0.85, 0.93, 0.97)}
    at = at_recall(analyse(*measured({BASE: 1.0, OTHER: 1.0}, recalls)))[0.90]
    same = at_recall(analyse(*measured({BASE: 1.0, OTHER: 1.0})))[0.90]
    assert at.ratio is not None and at.ratio.half_width is not None
    assert same.ratio is not None and same.ratio.half_width is not None
    assert same.ratio.half_width < math.log(1.01) / 2
    assert at.ratio.half_width > math.log(1.2) / 2


def test_one_start_has_no_ratio(snapshot: SnapshotAssertion) -> None:
    levels = at_recall(analyse(*measured({BASE: 1.0, OTHER: 1.2}, incarnations=1)))
    assert levels[0.95].qps is not None
    assert levels[0.95].ratio is None
    assert str(levels[0.95].reason) == snapshot


def test_starts_that_left_tests_out_do_not_count() -> None:
    manifest, slices = measured({BASE: 1.0, OTHER: 1.2}, incarnations=3)
    of_third = [s for s in slices if s.place.incarnation == 3 and s.place.test == "hnsw.ef80"]
    for record in of_third:
        record.qps *= 10
    kept = [s for s in slices if s.place.incarnation != 3 or s.place.test == "hnsw.ef80"]
    levels = at_recall(analyse(manifest, kept))
    assert value_of(levels[0.99].ratio) == pytest.approx(1.2, rel=0.01)


@pytest.mark.parametrize("seed", range(8))
def test_a_contender_compared_with_itself_does_not_differ(seed: int) -> None:
    levels = at_recall(
        analyse(*measured({BASE: 1.0, OTHER: 1.0}, noise=0.01, drift=0.3, seed=seed))
    )
    assert {verdict_of(at) for at in levels.values()} <= {"same", "unsure"}


def test_sizes_of_indexes_are_relative_to_the_base_s() -> None:
    report = analyse(*measured({BASE: 1.0, OTHER: 1.0}))
    sizes = {each.contender: each for each in report.indexes}
    assert (sizes[OTHER].bytes, sizes[OTHER].bytes_relative) == (2000, 2.0)
    assert sizes[OTHER].build_s is None


def test_no_searches_no_curves() -> None:
    manifest, slices = measured({BASE: 1.0, OTHER: 1.0})
    manifest.recalls, manifest.index_sizes = [], []
    report = analyse(manifest, slices)
    assert (report.searches, report.indexes) == ([], [])
