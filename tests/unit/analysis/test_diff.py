"""Changes between two experiments whose truth is known."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace

import pytest
from syrupy.assertion import SnapshotAssertion

from slowdust.analysis.diff import Diff, TestDifference, diff_of, divide
from slowdust.analysis.stored import Stored
from slowdust.errors import UsageError
from slowdust.stats.relative import Interval, Relative
from tests.unit.ratios import interval_of, value_of
from tests.unit.synthetic import Noise
from tests.unit.synthetic_counts import synthetic_counts
from tests.unit.synthetic_history import Levels, measured

TESTS = ("point-query", "hot-points", "scan", "update-index")


def night(
    name: str,
    levels: Levels | None = None,
    *,
    seed: int = 1,
    base: str = "8.0.28",
    host: Mapping[str, str] | None = None,
) -> Stored:
    """One experiment of 8.0.40 and the base."""
    contenders = {base: 1.0, **({"8.0.40": 1.0} if levels is None else levels)}
    return Stored(*measured(name, contenders, noise=Noise(), seed=seed, host=host))


def by_test(diff: Diff) -> dict[str, TestDifference]:
    return {test.test: test for test in diff.tests}


def test_changes_are_distinguished_from_noise(snapshot: SnapshotAssertion) -> None:
    slower = {"8.0.40": {"point-query": 0.9, "hot-points": 1.0, "scan": 1.0, "update-index": 1.0}}
    diff = diff_of(night("last"), night("tonight", slower, seed=2))
    tests = by_test(diff)
    point = tests["point-query"]
    assert point.verdict == "slower"
    low, high = interval_of(point.ratio)
    assert low < 0.9 < high
    assert point.before is not None
    assert point.after is not None
    assert value_of(point.ratio) == pytest.approx(point.after.value / point.before.value)
    assert {tests[name].verdict for name in TESTS[1:]} <= {"same", "unsure"}
    assert diff.summary[0] == snapshot
    assert diff.summary[1] == snapshot
    assert diff.summary[2] == snapshot


def test_a_verdict_may_differ_where_no_change_is_sure(snapshot: SnapshotAssertion) -> None:
    """Two nights of one truth, 4% slower: sure in one, unsure in the other."""
    levels = {"8.0.40": 0.97}
    diffs = [diff_of(night("a", levels, seed=s), night("b", levels, seed=s + 50)) for s in range(6)]
    changed = [test for diff in diffs for test in diff.tests if test.verdict_changed]
    assert changed, "no night of these decided otherwise than the other"
    assert {test.verdict for test in changed} <= {"same", "unsure"}
    assert [diff.summary for diff in diffs] == snapshot


def test_equal_nights_seldom_differ() -> None:
    """Two of 40 results of equal truth may be called changed, at 5% false discoveries."""
    tests = [
        test
        for seed in range(10)
        for test in diff_of(night("a", seed=seed), night("b", seed=seed + 100)).tests
    ]
    assert len(tests) == 40
    assert sum(test.verdict in ("slower", "faster") for test in tests) <= 2
    covered = sum(test.ratio is not None and test.ratio.bound is None for test in tests)
    assert covered >= 35


def test_half_widths_add_up_in_squares() -> None:
    def relative(ratio: float, half_width: float) -> Relative:
        levels = [
            Interval(ratio * math.exp(-half_width * k), ratio * math.exp(half_width * k))
            for k in (1.0, 0.8, 1.4, 1.8)
        ]
        return Relative(
            ratio=ratio,
            interval=levels[0],
            equivalence_interval=levels[1],
            sameness_interval=levels[2],
            difference_interval=levels[3],
        )

    change = divide(relative(0.5, 0.03), relative(0.6, 0.04))
    assert change is not None
    assert change.ratio == pytest.approx(1.2)
    assert change.interval is not None
    assert math.log(change.interval.high / 1.2) == pytest.approx(0.05)
    assert change.p_value < 0.001
    alike = divide(relative(0.5, 0.03), relative(0.5, 0.04))
    assert alike is not None
    assert alike.p_value == 1


def test_other_bases_are_replaced_by_one_that_both_have(snapshot: SnapshotAssertion) -> None:
    before = night("a", {"8.0.28": 1.0, "8.0.40": 0.9}, base="5.7.44")
    diff = diff_of(before, night("b", {"8.0.40": 0.9}, seed=3))
    assert diff.base == "mysql@8.0.28"
    assert {test.contender for test in diff.tests} == {"mysql@8.0.40"}
    assert {test.verdict for test in diff.tests} <= {"same", "unsure"}
    notes = " ".join(diff.notes)
    assert "Only a has mysql@5.7.44." in notes
    assert notes == snapshot


def test_without_a_common_contender_nothing_is_compared(snapshot: SnapshotAssertion) -> None:
    diff = diff_of(night("a"), Stored(*measured("b", {"9.0.1": 1.0, "9.4.0": 1.0})))
    assert (diff.base, diff.tests) == (None, [])
    assert diff.summary[0] == snapshot
    assert diff.notes[-1] == snapshot


def test_conditions_that_differ_are_listed() -> None:
    before, after = (
        night("a", host={"CPU": "x", "Kernel": "6.1", "Load average": "1.0"}),
        night("b", host={"CPU": "x", "Load average": "2.0"}),
    )
    before.manifest.method.rows, after.manifest.method.rows = 1000, 2000
    before.manifest.contenders[1].settings = {"sync_binlog": "1"}
    after.manifest.contenders[1].settings = {"sync_binlog": "0", "jit": "off"}
    after.manifest.contenders[1].build.sha256 = "f" * 64
    conditions = {
        (each.subject, each.label): (each.before, each.after)
        for each in diff_of(before, after).conditions
    }
    assert conditions["method", "rows per table"] == ("1,000", "2,000")
    assert conditions["host", "Kernel"] == ("6.1", None)
    assert conditions["mysql@8.0.40", "sync_binlog"] == ("1", "0")
    assert conditions["mysql@8.0.40", "jit"] == (None, "off")
    assert conditions["mysql@8.0.40", "sha256"][1] == "f" * 64
    assert not any(subject == "mysql@8.0.28" for subject, _ in conditions)
    assert ("host", "Load average") not in conditions


def test_values_in_force_are_compared_where_the_given_ones_are_alike(
    snapshot: SnapshotAssertion,
) -> None:
    before, after = night("a"), night("b")
    for stored, value in ((before, "2GB"), (after, "1GB")):
        facts = stored.manifest.contenders[1]
        facts.settings = {"buffers": "half"}
        facts.settings_in_force = {"buffers": value}
    after.manifest.contenders[0].settings_in_force = {"jit": "on"}
    conditions = diff_of(before, after).conditions
    assert [(each.label, each.before, each.after) for each in conditions] == snapshot


def test_tests_of_only_one_are_named(snapshot: SnapshotAssertion) -> None:
    before = Stored(*measured("a", {"8.0.28": 1.0, "8.0.40": 1.0}, tests=["scan", "hot-points"]))
    after = Stored(*measured("b", {"8.0.28": 1.0, "8.0.40": 1.0}, tests=["scan", "point-query"]))
    notes = diff_of(before, after).notes
    assert notes[1:] == snapshot


def counted(name: str, ratio: float, seed: int) -> Stored:
    stored = night(name, seed=seed)
    contenders = [facts.name for facts in stored.manifest.contenders]
    shifts = {"mysql@8.0.40": {"scan": ratio}}
    return replace(stored, counts=synthetic_counts(contenders, TESTS, shifts=shifts, seed=seed))


def test_work_is_compared_separately_from_time(snapshot: SnapshotAssertion) -> None:
    diff = diff_of(counted("a", 1.0, 1), counted("b", 1.2, 2))
    works = {test.test: test.work for test in diff.tests}
    scan = works["scan"]
    assert scan is not None
    assert scan.ratio.verdict == "more"
    assert scan.ratio.value == pytest.approx(1.2, rel=0.02)
    others = [work for name, work in works.items() if name != "scan"]
    assert all(work is not None and work.ratio.verdict in ("same", "unsure") for work in others)
    assert diff.summary == snapshot
    assert by_test(diff)["scan"].verdict in ("same", "unsure")


def test_work_of_two_counters_is_not_compared() -> None:
    before, after = counted("a", 1.0, 1), counted("b", 1.0, 2)
    for count in after.counts:
        count.source = "pmu"
    assert all(test.work is None for test in diff_of(before, after).tests)


def test_an_unfinished_experiment_is_said_to_be_one(snapshot: SnapshotAssertion) -> None:
    before, after = night("a"), night("b", seed=2)
    after.manifest.finished = None
    diff = diff_of(before, after)
    assert not diff.after.finished
    assert diff.notes == snapshot


def test_an_experiment_has_no_difference_to_itself(snapshot: SnapshotAssertion) -> None:
    with pytest.raises(UsageError) as error:
        diff_of(night("a"), night("a"))
    assert str(error.value) == snapshot
