from __future__ import annotations

import math

import msgspec
import pytest

from slowdust.analysis.calibration import (
    Trial,
    calibration_of,
    groups_of_incarnations,
    judge_trials,
    resolution,
    seconds_to_find,
    taken_share,
    tally_tests,
    true_ratio,
    upper_bound,
)
from slowdust.analysis.model import CalibratedTest, Calibration
from slowdust.analysis.stored import analyse
from slowdust.ratios import Ratio, Verdict
from slowdust.stats.blocks import Step
from tests.unit.synthetic import SLICE_S, synthetic_experiment
from tests.unit.synthetic_calibration import AGAIN, BASE, SLOWED, synthetic_calibration

MARGIN = 0.03


def calibrated(**how: object) -> Calibration:
    calibration = calibration_of(*synthetic_calibration(**how))  # type: ignore[arg-type]
    assert calibration is not None
    return calibration


def cell_of(calibration: Calibration, test: str, slowed: float, clients: int = 1) -> CalibratedTest:
    return next(
        one
        for one in calibration.tests
        if (one.test, one.slowed, one.clients) == (test, slowed, clients)
    )


def trial(verdict: Verdict, slowed: float, truth: float | None = 0.95) -> Trial:
    return Trial(
        step=Step("micro", "scan", 1),
        slowed=slowed,
        ratio=Ratio(0.95, 0.94, 0.96, verdict, MARGIN),
        truth=truth,
        measured=60.0,
    )


def test_the_truth_is_what_the_waits_leave() -> None:
    _, slices = synthetic_calibration(waits=0.25)
    own = [record for record in slices if record.place.contender == SLOWED]
    base = [record for record in slices if record.place.contender == BASE]
    assert true_ratio(own, base) == pytest.approx(0.75)
    assert true_ratio(base, own) == pytest.approx(1 / 0.75)
    assert true_ratio(own, []) is None


def test_the_truth_of_all_time_is_the_mean() -> None:
    slices = [record for waits in (0.25, 0.55) for record in synthetic_calibration(waits=waits)[1]]
    own = [record for record in slices if record.place.contender == SLOWED]
    base = [record for record in slices if record.place.contender == BASE]
    uneven = own[: len(own) // 2] + own[-len(own) // 4 :]
    assert true_ratio(uneven, base) == pytest.approx(0.75)
    assert true_ratio(uneven, base, "all time") == pytest.approx(0.65)


def test_the_waits_of_all_clients_are_taken_from_the_time_of_all() -> None:
    _, slices = synthetic_calibration(waits=0.25, clients=(2,))
    own = [record for record in slices if record.place.contender == SLOWED]
    base = [record for record in slices if record.place.contender == BASE]
    assert true_ratio(own, base) == pytest.approx(0.75)


def test_slices_without_waits_have_no_truth() -> None:
    _, slices = synthetic_experiment([BASE, AGAIN], ["scan"])
    assert true_ratio(slices, slices) is None


@pytest.mark.parametrize("elsewhere", [0.0, 0.8])
@pytest.mark.parametrize("taken", [0.0, 0.2])
def test_other_programs_on_the_clients_cpu_take_time(taken: float, elsewhere: float) -> None:
    _, slices = synthetic_calibration(taken=taken, elsewhere=elsewhere)
    assert taken_share(slices, 1) == pytest.approx(taken, abs=0.01)
    assert taken_share([], 1) is None


@pytest.mark.parametrize(("elsewhere", "at_most"), [(0.0, 0.0), (0.1, 0.1), (0.9, 0.3)])
def test_a_test_that_waits_is_undisturbed_where_the_host_runs_little_else(
    elsewhere: float, at_most: float
) -> None:
    _, slices = synthetic_calibration(asleep=0.3, elsewhere=elsewhere)
    assert taken_share(slices, 1) == pytest.approx(at_most, abs=0.01)


def test_a_server_that_works_on_other_cpus_too_does_not_hide_others() -> None:
    _, slices = synthetic_calibration(taken=0.2)
    for record in slices:
        in_background = 0.5 * (record.measured.seconds or 0.0)
        record.measured.uses["server"]["cpu_s"] += in_background
        record.measured.uses["host"]["cpu_user_s"] += in_background
    assert taken_share(slices, 1) == pytest.approx(0.2, abs=0.01)


def test_steal_time_counts_as_taken() -> None:
    _, slices = synthetic_calibration(taken=0.2)
    for record in slices:
        stolen = 0.2 * (record.measured.seconds or 0.0)
        record.measured.uses["host"] |= {"cpu_steal_s": stolen}
        record.measured.uses["host"]["cpu_user_s"] -= stolen
    assert taken_share(slices, 1) == pytest.approx(0.2, abs=0.01)


def test_a_build_compared_with_itself_and_slowed_is_judged_correctly() -> None:
    calibration = calibrated()
    assert (calibration.contender, calibration.trials, calibration.incarnations) == (BASE, 1, 3)
    for name in ("point-query", "update-index"):
        equal, slowed = cell_of(calibration, name, 0.0), cell_of(calibration, name, 0.10)
        assert (equal.false, equal.found, equal.truth) == (0, None, 1.0)
        assert (equal.intervals, equal.covered) == (1, 1)
        assert (slowed.false, slowed.found) == (0, 1)
        assert slowed.truth == pytest.approx(0.9)
        assert (slowed.intervals, slowed.covered) == (1, 1)
        assert slowed.ratio == pytest.approx(0.9, abs=0.02)


def test_an_interval_that_misses_the_truth_does_not_cover_it() -> None:
    slowed = cell_of(calibrated(waits=0.02, slows=0.2), "point-query", 0.10)
    assert (slowed.intervals, slowed.covered, slowed.found) == (1, 0, 1)


def test_a_difference_between_equals_is_false() -> None:
    equal = cell_of(calibrated(shifts={AGAIN: 0.8}), "point-query", 0.0)
    assert (equal.false, equal.intervals, equal.covered) == (1, 1, 0)


@pytest.mark.parametrize(
    ("verdict", "slowed", "truth", "false"),
    [
        ("same", 0.0, 1.0, False),
        ("unsure", 0.0, 1.0, False),
        ("slower", 0.0, 1.0, True),
        ("faster", 0.0, 1.0, True),
        ("slower", 0.05, 0.95, False),
        ("unsure", 0.05, 0.95, False),
        ("faster", 0.05, 0.95, True),
        ("faster", 0.05, None, None),
        ("same", 0.05, 0.95, True),
        ("same", 0.05, 0.98, False),
        ("same", 0.05, None, None),
    ],
)
def test_verdicts_that_contradict_the_truth_are_false(
    verdict: Verdict, slowed: float, truth: float | None, *, false: bool | None
) -> None:
    assert trial(verdict, slowed, truth).is_false is false


def test_three_starts_are_a_trial_and_the_last_has_what_is_left() -> None:
    manifest, slices = synthetic_calibration(incarnations=8, blocks=2)
    groups = groups_of_incarnations(manifest, slices)
    assert [sorted({record.place.incarnation for record in group}) for group in groups] == [
        [1, 2, 3],
        [4, 5, 6, 7, 8],
    ]
    few = [record for record in slices if record.place.incarnation < 3]
    assert len(groups_of_incarnations(manifest, few)) == 1
    manifest.method = msgspec.structs.replace(manifest.method, trial=4)
    assert len(groups_of_incarnations(manifest, slices)) == 2


def test_each_trial_is_judged_alone() -> None:
    manifest, slices = synthetic_calibration(incarnations=6)
    trials = judge_trials(manifest, slices)
    assert len(trials) == 2 * 2 * 2
    first = judge_trials(manifest, [record for record in slices if record.place.incarnation <= 3])
    assert trials[: len(first)] == first


def test_the_truth_is_unknown_beyond_the_cpus_and_next_to_other_work() -> None:
    crowded = calibrated(clients=(1, 4))
    assert cell_of(crowded, "point-query", 0.10, clients=1).truth is not None
    beyond = cell_of(crowded, "point-query", 0.10, clients=4)
    assert (beyond.truth, beyond.known, beyond.intervals, beyond.found) == (None, 0, 0, 1)
    assert cell_of(crowded, "point-query", 0.0, clients=4).truth == 1.0
    beside = cell_of(calibrated(taken=0.2), "point-query", 0.10)
    assert (beside.truth, beside.intervals) == (None, 0)


def test_half_the_noise_takes_a_quarter_of_the_time() -> None:
    assert seconds_to_find(0.03, 0.01, 40.0) == pytest.approx(4 * seconds_to_find(0.03, 0.005, 40))
    # A difference of 1.65 half-widths is found nine times out of ten: 1.96 + 1.28 standard errors.
    wide = -math.log(1 - 0.03) / (1 + 1.2816 / 1.96)
    assert seconds_to_find(0.03, wide, 40.0) == pytest.approx(40.0)


def test_the_time_matches_two_contenders_with_their_warm_up() -> None:
    manifest, slices = synthetic_calibration(["scan"], incarnations=6, blocks=10)
    manifest.method.warmup_s, manifest.method.discard_s = 0.5, 0.01
    calibration = calibration_of(manifest, slices)
    assert calibration is not None
    (need,) = calibration.needed
    # Two of three contenders in three incarnations of ten blocks, a slice every 0.275 s.
    block = 2 * 2 * 1.1 * SLICE_S
    assert need.seconds == pytest.approx(3 * (10 * block + 2 * 0.5), rel=0.01)
    assert need.shortest == pytest.approx(3 * (2 * block + 2 * 0.5), rel=0.01)
    assert list(need.to_find) == ["1%", "2%", "3%", "5%"]
    resolved = resolution(calibration.needed)
    assert resolved is not None
    assert resolved.times == [("scan", need.to_find["2%"], need.furthest)]


def test_no_time_is_below_the_shortest_or_beyond_the_furthest() -> None:
    quiet = calibrated(blocks=40).needed
    assert all(need.to_find["5%"] == need.shortest for need in quiet)
    wide = calibrated(blocks=2, noise=0.3).needed
    assert all(need.to_find["1%"] == need.furthest == 20 * need.seconds for need in wide)


def test_the_tests_with_the_fewest_clients_say_what_is_resolved() -> None:
    resolved = resolution(calibrated(tests=["scan", "point-query"], clients=(1, 4)).needed)
    assert resolved is not None
    assert sorted(test for test, _, _ in resolved.times) == ["point-query", "scan"]
    assert [seconds for _, seconds, _ in resolved.times] == sorted(
        seconds for _, seconds, _ in resolved.times
    )
    assert resolution([]) is None


@pytest.mark.parametrize(
    ("count", "of", "bound"), [(0, 1, 0.95), (0, 400, 0.00746), (4, 400, 0.0227), (3, 3, 1.0)]
)
def test_the_largest_share_that_a_count_leaves_possible(count: int, of: int, bound: float) -> None:
    assert upper_bound(count, of) == pytest.approx(bound, rel=0.01)


def test_counts_of_several_calibrations_are_added_up() -> None:
    tests = calibrated().tests + calibrated(seed=2).tests
    equal, slowed = tally_tests(tests)
    assert (equal.slowed, equal.results, equal.found) == (0.0, 4, None)
    assert (slowed.slowed, slowed.results, slowed.found) == (0.10, 4, 4)
    disturbed = calibrated(taken=0.2).tests
    equal, slowed = tally_tests([*tests, *disturbed])
    assert (equal.results, equal.known) == (6, 6)
    assert (slowed.results, slowed.known) == (6, 4)


def test_other_experiments_are_no_calibrations() -> None:
    manifest, slices = synthetic_experiment([BASE, AGAIN], ["scan"])
    assert calibration_of(manifest, slices) is None
    manifest, _ = synthetic_calibration()
    assert calibration_of(manifest, []) is None
    assert analyse(*synthetic_calibration()).calibration is not None
    of_slowed_base = msgspec.structs.replace(manifest, base=SLOWED)
    assert calibration_of(of_slowed_base, slices) is None
