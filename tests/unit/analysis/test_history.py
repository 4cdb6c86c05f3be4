"""Histories of experiments whose true throughput is known."""

import math
import re

import pytest
from syrupy.assertion import SnapshotAssertion

from slowdust.analysis.history.history import history_of
from slowdust.analysis.history.lines import UNRECORDED, is_host
from slowdust.analysis.history.model import LineHistory, Series
from slowdust.analysis.history.series import Chained, combined
from slowdust.analysis.story.bands import Bands
from slowdust.report.history import label_of
from slowdust.store.manifest import Manifest
from slowdust.store.slice import Slice
from tests.unit.synthetic import Noise
from tests.unit.synthetic_history import (
    HOST,
    Levels,
    as_build,
    choice,
    experiments,
    measured,
    single_runs,
)
from tests.unit.synthetic_steps import insert_experiment

Pair = tuple[Manifest, list[Slice]]


def only_line(*pairs: Pair, **wanted: object) -> LineHistory:
    (line,) = history_of(experiments(*pairs), choice(**wanted)).lines  # type: ignore[arg-type]
    return line


def series_of(line: LineHistory, name: str) -> Series:
    return next(series for series in (*line.tests, *line.groups) if series.name == name)


def rqps(series: Series) -> dict[str, float]:
    return {point.version: round(point.ratio.value, 2) for point in series.points}


EARLY = measured("early", {"5.6.51": 1.0, "5.7.44": 0.8}, seed=1)
LATE = measured("late", {"5.7.44": 1.0, "8.0.28": 0.5, "9.5.0": 0.5}, seed=2)


def test_versions_are_in_order_for_any_order_of_measuring() -> None:
    line = only_line(measured("all", {"9.5.0": 1.0, "10.1": 1.1, "5.6.51": 2.0}))

    assert [version.label for version in line.versions] == ["5.6.51", "9.5.0", "10.1"]
    assert line.base == "5.6.51"
    assert rqps(series_of(line, "scan")) == {"5.6.51": 1.0, "9.5.0": 0.5, "10.1": 0.55}


def test_ratios_are_chained_through_the_version_that_experiments_share(
    snapshot: SnapshotAssertion,
) -> None:
    line = only_line(EARLY, LATE)

    points = {point.version: point for point in series_of(line, "hot-points").points}
    assert points["5.7.44"].ratio.value == pytest.approx(0.8, abs=0.01)
    assert points["5.7.44"].through == []
    assert points["5.7.44"].experiments == ["early"]
    assert points["9.5.0"].ratio.value == pytest.approx(0.4, abs=0.01)
    assert points["9.5.0"].through == ["5.7.44"]
    assert points["9.5.0"].experiments == ["early", "late"]
    assert line.notes == snapshot


def test_a_chained_interval_is_wider_than_its_links() -> None:
    noise = Noise(slice=0.02, drift=0.05)
    early = measured("early", {"5.6.51": 1.0, "5.7.44": 0.8}, noise=noise, seed=1)
    late = measured("late", {"5.7.44": 1.0, "9.5.0": 0.5}, noise=noise, seed=2)

    def reach(points: Series, version: str) -> float:
        point = next(point for point in points.points if point.version == version)
        assert point.ratio.half_width is not None
        return point.ratio.half_width

    chained = reach(series_of(only_line(early, late), "scan"), "9.5.0")
    links = [
        reach(series_of(only_line(early), "scan"), "5.7.44"),
        reach(series_of(only_line(late), "scan"), "9.5.0"),
    ]
    assert chained == pytest.approx(math.hypot(*links))


def test_rates_of_two_experiments_are_never_compared() -> None:
    """The machine was ten times as fast when `late` was measured."""
    manifest, slices = measured("late", {"5.7.44": 1.0, "9.5.0": 0.5}, seed=2)
    for record in slices:
        record.qps *= 10

    line = only_line(EARLY, (manifest, slices))

    assert rqps(series_of(line, "scan")) == {"5.6.51": 1.0, "5.7.44": 0.8, "9.5.0": 0.4}


def test_an_experiment_with_both_comes_before_a_chain() -> None:
    direct = measured("direct", {"5.6.51": 1.0, "9.5.0": 0.45}, seed=3)

    points = {p.version: p for p in series_of(only_line(EARLY, LATE, direct), "scan").points}

    assert points["9.5.0"].experiments == ["direct"]
    assert points["9.5.0"].ratio.value == pytest.approx(0.45, abs=0.01)
    assert points["8.0.28"].through != []


def test_versions_that_nothing_leads_to_are_skipped_and_named() -> None:
    apart = measured("apart", {"8.4.0": 1.0, "8.4.6": 0.9}, seed=4)

    line = only_line(EARLY, LATE, apart)

    assert [version.label for version in line.versions] == ["5.6.51", "5.7.44", "8.0.28", "9.5.0"]
    assert any("8.4.0 and 8.4.6" in note for note in line.notes)


def test_a_contender_without_results_is_no_version() -> None:
    manifest, slices = measured("failed", {"5.5.62": 1.0, "5.6.51": 1.0, "5.7.44": 0.8})
    slices = [record for record in slices if record.place.contender != "mysql@5.5.62"]
    manifest.base = "mysql@5.6.51"

    line = only_line((manifest, slices))

    assert line.base == "5.6.51"
    assert [version.label for version in line.versions] == ["5.6.51", "5.7.44"]


def test_tests_that_the_base_does_not_have_are_skipped_and_named(
    snapshot: SnapshotAssertion,
) -> None:
    early = measured("early", {"5.6.51": 1.0, "5.7.44": 0.8}, tests=["scan"])

    line = only_line(early, LATE)

    assert [series.name for series in line.tests] == ["scan"]
    assert line.notes == snapshot


@pytest.mark.parametrize(
    ("direct", "words"),
    [
        (["scan"], "9.5.0 (in 3 tests)"),
        (["scan", "point-query", "hot-points"], "9.5.0 (in 1 test)"),
    ],
)
def test_notes_say_in_how_many_tests_a_version_is_chained(direct: list[str], words: str) -> None:
    both = measured("direct", {"5.6.51": 1.0, "9.5.0": 0.4}, tests=direct, seed=3)

    assert any(words in note for note in only_line(EARLY, LATE, both).notes)


def test_a_rebuilt_directory_is_named_by_its_version_its_name_or_its_digits(
    snapshot: SnapshotAssertion,
) -> None:
    pairs = [
        as_build(measured(name, {"17.6": 1.0, "18": level}), "18", "mybuild", sha256)
        for name, level, sha256 in (("mon", 0.5, "bbbb0"), ("tue", 1.5, "aaaa0"))
    ]

    bases = [only_line(*pairs, base=base).base for base in ("18", "18 mybuild", "18 mybuild aaaa")]
    assert bases == snapshot


def test_only_experiments_of_the_host_that_is_chosen_are_in_it() -> None:
    other = measured("other", {"5.7.44": 1.0, "9.5.0": 0.5}, host=HOST | {"CPU": "epyc"}, seed=2)

    (line,) = history_of(experiments(EARLY, other), choice(host="EPYC 2")).lines

    assert line.experiments == ["other"]


def test_another_version_can_be_the_base(snapshot: SnapshotAssertion) -> None:
    line = only_line(LATE, base="8.0.28")

    assert line.base == "8.0.28"
    assert rqps(series_of(line, "scan")) == {"5.7.44": 2.0, "8.0.28": 1.0, "9.5.0": 1.0}
    missing = only_line(LATE, base="8.1.0")
    assert missing.base == "5.7.44"
    assert missing.notes == snapshot


def test_a_group_is_the_geometric_mean_of_the_tests_that_all_versions_have() -> None:
    levels: Levels = {"5.6": 1.0, "5.7": {"point-query": 0.5, "hot-points": 2.0}}
    both = measured("both", levels, tests=["point-query", "hot-points"])
    more = measured("more", {"5.6": 1.0, "5.7": 3.0}, tests=["random-points.10"], seed=5)

    line = only_line(both)
    assert rqps(series_of(line, "point")) == {"5.6": 1.0, "5.7": 1.0}
    assert series_of(line, "point").tests == ["point-query", "hot-points"]

    wider = only_line(both, more)
    assert rqps(series_of(wider, "point"))["5.7"] == round(3 ** (1 / 3), 2)
    third = measured("third", {"5.6": 1.0, "8.0": 1.0}, tests=["point-query"], seed=6)
    assert series_of(only_line(both, more, third), "point").tests == ["point-query"]


def test_a_group_has_a_mean_for_each_hold(snapshot: SnapshotAssertion) -> None:
    shifts = {"mysql@8.0.28": {"l.i1.hold60": 0.5}}
    steps = ["l.i1", "l.i1.hold60"]
    line = only_line(insert_experiment(["mysql@5.6.51", "mysql@8.0.28"], steps, shifts=shifts))

    assert [(group.name, group.group) for group in line.groups] == [
        ("write", "write"), ("write.hold60", "write"),
    ]  # fmt: skip
    assert [group.points[-1].ratio.value for group in line.groups] == [
        pytest.approx(1.0, rel=0.02), pytest.approx(0.5, rel=0.02),
    ]  # fmt: skip
    assert label_of(line.groups[1]) == snapshot
    assert [changes.hold_s for changes in line.changes] == [None, 60.0]


def test_a_true_step_is_marked_and_noise_is_not(snapshot: SnapshotAssertion) -> None:
    levels = {"5.6.51": 1.0, "5.7.44": 1.0, "8.0.28": 0.8, "8.4.6": 0.8, "9.5.0": 0.8}
    noise = Noise(drift=0.05)

    line = only_line(measured("stepped", levels, noise=noise))
    flat = only_line(measured("flat", dict.fromkeys(levels, 1.0), noise=noise))

    for name in ("scan", "point"):
        (change,) = series_of(line, name).change_points
        assert (change.version, change.before) == ("8.0.28", "5.7.44")
        assert change.ratio == pytest.approx(0.8, abs=0.02)
        assert change.words == snapshot
    assert [series.name for series in (*flat.tests, *flat.groups) if series.change_points] == []


def test_few_single_runs_have_no_interval_and_change_points_by_size_alone(
    snapshot: SnapshotAssertion,
) -> None:
    levels: Levels = {"5.6": 1.0, "5.7": 1.02, "8.0": {"scan": 0.5, "hot-points": 1.04}}

    line = only_line(single_runs("few", levels, tests=["scan", "hot-points"]))

    points = series_of(line, "scan").points
    assert [point.ratio.low for point in points] == [None, None, None]
    assert [point.ratio.value for point in points] == pytest.approx([1.0, 1.02, 0.5])
    (change,) = series_of(line, "scan").change_points
    assert change.by_size_alone
    assert [change.version, change.words] == snapshot
    assert series_of(line, "hot-points").change_points == []
    assert line.notes == snapshot


def test_by_size_alone_the_bands_say_what_is_a_change(snapshot: SnapshotAssertion) -> None:
    runs = single_runs("few", {"5.6": 1.0, "8.0": 0.88}, tests=["scan"])

    assert len(series_of(only_line(runs), "scan").change_points) == 1
    wide = only_line(runs, bands=Bands(0.2, 0.3))
    assert series_of(wide, "scan").change_points == []
    assert wide.notes == snapshot


def test_changes_above_noise_are_never_by_size_alone(snapshot: SnapshotAssertion) -> None:
    line = only_line(LATE)

    changes = [c for series in (*line.tests, *line.groups) for c in series.change_points]
    assert changes
    assert not any(change.by_size_alone for change in changes)
    assert line.notes == snapshot


def test_many_single_runs_say_themselves_how_noisy_they_are() -> None:
    levels = dict(
        zip(
            ["5.6", "5.7", "8.0.1", "8.0.2", "8.0.3", "8.0.4", "8.0.5", "8.0.6"],
            [1.0, 1.01, 0.99, 1.0, 0.6, 0.61, 0.6, 0.595],
            strict=True,
        )
    )

    line = only_line(single_runs("many", levels))

    assert {c.version for series in line.tests for c in series.change_points} == {"8.0.3"}
    assert all(series.change_points for series in line.tests)
    assert not any(c.by_size_alone for series in line.tests for c in series.change_points)


def test_rates_of_different_units_are_not_compared() -> None:
    manifest, slices = single_runs("units", {"5.6": 1.0, "5.7": 2.0}, tests=["scan", "hot-points"])
    next(record for record in slices if record.place.test == "scan").unit = "seconds"

    line = only_line((manifest, slices))

    assert [series.name for series in line.tests] == ["hot-points"]


def test_changes_are_reported_in_bands(snapshot: SnapshotAssertion) -> None:
    line = only_line(LATE)

    assert line.changes[0].title == snapshot
    assert line.changes[0].clauses == snapshot


def test_a_group_that_some_versions_do_not_have_is_distinguished_from_one_that_has_it_to_the_next(
    snapshot: SnapshotAssertion,
) -> None:
    both = measured("both", {"5.6": 1.0, "8.0": 0.5}, tests=["scan"])
    other = measured("other", {"5.6": 1.0, "5.7": 1.0, "8.0": 1.0}, tests=["update-index"], seed=2)

    (scan,) = [changes for changes in only_line(both, other).changes if changes.group == "range"]

    assert scan.clauses[0] == snapshot


def test_only_what_was_chosen_is_in_it() -> None:
    assert [series.name for series in only_line(EARLY, test="scan").tests] == ["scan"]
    assert history_of(experiments(EARLY), choice(benchmark="insert")).lines == []
    assert history_of(experiments(EARLY), choice(test="no-such-test")).lines == []


def test_dbms_have_histories_of_their_own() -> None:
    postgres = measured("pg", {"15.8": 1.0, "17.6": 1.2}, dbms="postgres", seed=8)

    lines = history_of(experiments(EARLY, postgres), choice()).lines

    assert [(line.line, line.base) for line in lines] == [("mysql", "5.6.51"), ("postgres", "15.8")]


def test_versions_that_all_share_are_named(snapshot: SnapshotAssertion) -> None:
    alone = measured("alone", {"11.4": 1.0}, dbms="mariadb", seed=9)

    history = history_of(experiments(EARLY, alone), choice())

    assert history.notes == snapshot


@pytest.mark.parametrize(
    ("changed", "same"),
    [
        ({"Memory": "8.1 GiB, 2 GiB available"}, True),
        ({"Kernel": "6.9"}, True),
        ({"Load average": "9"}, True),
        ({"Memory": "16.0 GiB, 7 GiB available"}, False),
        ({"CPU": "another"}, False),
        ({"Cores": "4 logical"}, False),
    ],
)
def test_equal_facts_make_hosts_the_same(changed: dict[str, str], same: bool) -> None:  # noqa: FBT001
    other = measured("late", {"5.7.44": 1.0, "9.5.0": 0.5}, host=HOST | changed, seed=2)

    lines = history_of(experiments(EARLY, other), choice()).lines

    assert len(lines) == (1 if same else 2)


def test_it_is_reported_what_of_a_host_has_changed(snapshot: SnapshotAssertion) -> None:
    early = measured("early", {"5.6.51": 1.0, "5.7.44": 0.8}, host=HOST | {"Kernel": "6.1"})
    late = measured("late", {"5.7.44": 1.0, "9.5.0": 0.5}, host=HOST | {"Kernel": "6.9"})

    assert only_line(early, late).notes == snapshot


def test_unrecorded_hosts_are_one_only_if_the_user_says_so() -> None:
    early = single_runs("early", {"5.6": 1.0, "5.7": 0.8}, host={})
    late = single_runs("late", {"5.7": 1.0, "8.0": 0.5}, host={})

    assert len(history_of(experiments(early, late), choice()).lines) == 2
    together_ = only_line(early, late, host=UNRECORDED)
    assert rqps(series_of(together_, "scan")) == {"5.6": 1.0, "5.7": 0.8, "8.0": 0.4}


@pytest.mark.parametrize(
    ("early", "late", "lines"),
    [
        ({"host": "box", "CPUs": "8"}, {"host": "box", "CPUs": "8"}, 1),
        ({"host": "box", "CPUs": "8"}, {"host": "box", "CPUs": "16"}, 2),
        ({"host": "box", "CPUs": "8"}, {"host": "other", "CPUs": "8"}, 2),
        ({"CPUs": "8"}, {"CPUs": "8"}, 2),
    ],
)
def test_hosts_of_archived_runs_are_the_same_by_name_and_cpus(
    early: dict[str, str], late: dict[str, str], lines: int
) -> None:
    pairs = (
        single_runs("early", {"5.6": 1.0, "5.7": 0.8}, host=early),
        single_runs("late", {"5.7": 1.0, "8.0": 0.5}, host=late),
    )

    assert len(history_of(experiments(*pairs), choice()).lines) == lines


def test_a_host_is_meant_by_words_of_its_facts() -> None:
    manifest, _ = EARLY
    nowhere, _ = single_runs("old", {"5.6": 1.0}, host={})

    assert is_host(manifest, "synthetic 2 logical")
    assert not is_host(manifest, "epyc")
    assert not is_host(manifest, "unrecorded")
    assert is_host(nowhere, "unrecorded")


def test_experiments_with_other_amounts_of_data_are_separate() -> None:
    manifest, slices = measured("late", {"5.7.44": 1.0, "9.5.0": 0.5}, seed=2)
    manifest.method.rows = 5_000_000

    lines = history_of(experiments(EARLY, (manifest, slices)), choice()).lines

    rows = [re.findall(r"[\d,]{4,}", line.data) for line in lines]
    assert sorted(rows) == [["100,000"], ["5,000,000"]]


def test_one_row_or_partition_is_not_reported_in_the_plural(snapshot: SnapshotAssertion) -> None:
    manifest, slices = measured("late", {"5.7.44": 1.0, "9.5.0": 0.5}, seed=2)
    manifest.method.tables, manifest.method.rows = 2, 1

    assert only_line((manifest, slices)).data == snapshot


def test_the_same_ratio_of_several_experiments_is_weighted_by_its_intervals() -> None:
    sure, vague = Chained(0.10, 0.01, ("a",)), Chained(0.12, 0.1, ("b",))

    ratio = combined([sure, vague])

    assert ratio.experiments == ("a", "b")
    assert ratio.log == pytest.approx((0.10 + 0.0012) / 1.01)
    assert ratio.half_width is not None and ratio.half_width < 0.0201


def test_experiments_that_disagree_are_unsure() -> None:
    ratio = combined([Chained(0.0, 0.001, ("a",)), Chained(0.2, 0.001, ("b",))])

    assert ratio.log == pytest.approx(0.1)
    assert ratio.half_width is not None and ratio.half_width > 0.1


def test_single_runs_are_averaged_without_an_interval() -> None:
    ratio = combined([Chained(0.0, None, ("a",)), Chained(0.2, 0.01, ("b",))])

    assert ratio.log == pytest.approx(0.1)
    assert ratio.half_width is None
