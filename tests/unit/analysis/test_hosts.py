"""Hosts as a random effect in merged experiments."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from itertools import chain
from pathlib import Path

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from slowdust.analysis.comparison import hosts_of, judge
from slowdust.analysis.model import Report, Result
from slowdust.analysis.stored import read_stored
from slowdust.analysis.work import counts_by_step, judge_work
from slowdust.merge.merge import merge
from slowdust.stats.blocks import BlockRatios
from slowdust.stats.common_shift import find_host_outliers
from slowdust.stats.estimate import estimate_all, relate
from slowdust.stats.hosts import ONE_HOST, Hosts, Students
from slowdust.stats.location import Location
from slowdust.stats.mixture import Mixture
from slowdust.stats.relative import Relative
from slowdust.stats.verdict import judge_cells
from slowdust.store.folder import Folder, writing
from slowdust.store.manifest import Counting
from slowdust.store.slice import Slice
from tests.unit.ratios import interval_of, value_of
from tests.unit.synthetic import Noise, synthetic_experiment, synthetic_rates, synthetic_ratios
from tests.unit.synthetic_counts import CountNoise, synthetic_counts
from tests.unit.synthetic_hosts import NEW, OLD, TESTS, joined_of, keep_parts, part_of
from tests.unit.synthetic_pairs import PairNoise, synthetic_pairs

SMALL = Noise(slice=0.01, stolen_share=0.0, drift=0.0, restart=0.002)


def _cells(effects: np.ndarray, seed: int = 1) -> tuple[list[BlockRatios], Hosts]:
    """Cells of hosts whose ln ratios are `effects`, shape (hosts, tests); two starts each."""
    rng = np.random.default_rng(seed)
    parts = [
        synthetic_ratios(
            synthetic_rates(
                np.stack((np.zeros(len(own)), own), axis=1),
                noise=SMALL,
                incarnations=2,
                blocks=8,
                rng=rng,
            ),
            2,
        )
        for own in effects
    ]
    cells = [
        replace(
            own[0],
            by_incarnation=tuple(chain.from_iterable(each.by_incarnation for each in own)),
            numbers=tuple(n + 2 * host for host, each in enumerate(own) for n in each.numbers),
            totals={
                n + 2 * host: totals
                for host, each in enumerate(own)
                for n, totals in each.totals.items()
            },
        )
        for own in zip(*parts, strict=True)
    ]
    names = [f"h{host}" for host in range(len(effects))]
    numbers = {n + 2 * host: name for host, name in enumerate(names) for n in (1, 2)}
    return cells, Hosts(numbers, dict.fromkeys(names, "cpu"))


def _width(relative: Relative | None) -> float:
    assert relative is not None
    assert relative.interval is not None
    return math.log(relative.interval.high / relative.interval.low) / 2


def _report(results: Path, hosts: Mapping[str, object], **options: object) -> Report:
    joined = joined_of(results, hosts, **options)  # type: ignore[arg-type]
    return read_stored(joined.folder).report()


def _result(report: Report, test: str) -> Result:
    [found] = [r for r in report.results if r.test == test and r.contender == NEW]
    return found


def _is_of_first_block(record: Slice) -> bool:
    return (record.place.incarnation, record.place.block) == (1, 0)


def test_one_host_is_estimated_exactly_as_without_hosts() -> None:
    manifest, slices = synthetic_experiment([OLD, NEW], TESTS, seed=3)
    contenders = [OLD, NEW]
    plain = judge(slices, contenders, 0.03)
    one = Hosts({1: "a", 2: "a"}, {"a": "cpu"})
    assert judge(slices, contenders, 0.03, hosts=one) == plain
    assert hosts_of(manifest) == ONE_HOST


def test_variation_between_hosts_widens_the_interval() -> None:
    effects = np.array([[0.03, 0.02, 0.04, -0.03], [-0.03, -0.02, -0.04, 0.03], [0.0] * 4])
    cells, hosts = _cells(effects)
    apart = estimate_all(cells, hosts=hosts)
    alike, same_hosts = _cells(np.zeros((3, 4)))
    together = estimate_all(alike, hosts=same_hosts)
    assert all(_width(a) > 1.4 * _width(b) for a, b in zip(apart, together, strict=True))
    for estimate in apart:
        assert estimate.all_time is not None
        assert _width(estimate.all_time) > _width(estimate.hosts[0].all_time)
        assert [own.host for own in estimate.hosts] == ["h0", "h1", "h2"]


def test_more_hosts_narrow_the_interval() -> None:
    widths = []
    for count in (2, 4, 8):
        cells, hosts = _cells(np.zeros((count, 4)))
        widths.append(_width(estimate_all(cells, hosts=hosts)[0]))
    assert widths[0] > widths[1] > widths[2]


def test_a_cell_on_one_host_is_that_hosts_own() -> None:
    cells, hosts = _cells(np.zeros((2, 3)))
    first = cells[0].on(hosts.numbers("h0"))
    estimate = estimate_all([first, *cells[1:]], hosts=hosts)[0]
    assert estimate.hosts == ()
    assert estimate.incarnations == 2
    assert _width(estimate) < _width(estimate_all(cells, hosts=hosts)[1])


def test_a_contender_that_did_nothing_on_a_host_has_no_ratio_over_hosts() -> None:
    cells, hosts = _cells(np.zeros((2, 1)))
    [cell] = cells
    silent = {
        number: replace(totals, amount=totals.amount * [0.0, 1.0]) if number > 2 else totals
        for number, totals in cell.totals.items()
    }
    kept = cell.on(hosts.numbers("h0"))
    dead = replace(cell, by_incarnation=kept.by_incarnation, numbers=kept.numbers, totals=silent)
    [estimate] = estimate_all([dead], hosts=hosts)
    assert estimate.interval is None
    assert estimate.all_time is None


def test_the_nearest_students_t_has_the_tails_of_one() -> None:
    mixture = Mixture(
        weight=np.ones((2, 1)),
        center=np.array([[0.1], [-0.2]]),
        scale=np.array([[0.02], [0.3]]),
        freedom=np.array([[5.0], [40.0]]),
    )
    students = Students.nearest(mixture)
    assert students.center == pytest.approx([0.1, -0.2])
    assert students.scale == pytest.approx([0.02, 0.3], rel=0.01)
    assert students.freedom == pytest.approx([5.0, 40.0], rel=0.05)


def test_a_host_that_differs_in_one_test_is_named_with_its_probability() -> None:
    effects = np.zeros((6, 4))
    effects[2, 1] = math.log(0.9)
    cells, hosts = _cells(effects)
    [found] = find_host_outliers(estimate_all(cells, hosts=hosts), 0.03)
    assert (found.host, found.step and found.step.test, found.tests) == ("h2", "t1", 1)
    assert found.ratio == pytest.approx(0.9, abs=0.01)
    assert 0 < found.chance < 0.05
    assert found.others == ("h0", "h1", "h3", "h4", "h5")


def test_a_host_that_differs_in_all_tests_is_named_once() -> None:
    effects = np.zeros((3, 5))
    effects[1] = math.log(0.9)
    cells, hosts = _cells(effects)
    [found] = find_host_outliers(estimate_all(cells, hosts=hosts), 0.03)
    assert (found.host, found.step, found.tests) == ("h1", None, 5)


def test_no_host_is_named_where_all_are_alike() -> None:
    for seed in range(3):
        cells, hosts = _cells(np.zeros((4, 4)), seed)
        assert find_host_outliers(estimate_all(cells, hosts=hosts), 0.03) == []


def test_a_verdict_over_models_of_cpus_is_one_that_each_has() -> None:
    effects = np.array([[math.log(0.8), 0.0]] * 2 + [[math.log(0.8), math.log(0.7)]] * 2)
    cells, hosts = _cells(effects)
    hosts = replace(hosts, groups={"h0": "old", "h1": "old", "h2": "new", "h3": "new"})
    slower, mixed = judge_cells(cells, 0.03, hosts)
    assert slower.verdict == "slower"
    assert {group: own.verdict for group, own in slower.groups.items()} == {
        "old": "slower",
        "new": "slower",
    }
    assert (mixed.verdict, mixed.settled) == ("unsure", False)
    assert {group: own.verdict for group, own in mixed.groups.items()} == {
        "old": "same",
        "new": "slower",
    }


def test_parts_of_a_change_allow_for_hosts() -> None:
    def at(mean: float) -> Location:
        return Location(mean, 8.0, np.array([0.001, -0.001] * 4))

    cell = {1: at(0.1), 2: at(0.1), 3: at(-0.1), 4: at(-0.1)}
    hosts = Hosts({1: "a", 2: "a", 3: "b", 4: "b"}, {"a": "cpu", "b": "cpu"})
    [over_hosts] = relate([cell], [NEW], hosts)
    [alike] = relate([{number: at(0.0) for number in cell}], [NEW], hosts)
    assert _width(over_hosts) > 3 * _width(alike)


def test_counted_work_allows_for_hosts(tmp_path: Path) -> None:
    both = [part_of("alpha"), part_of("beta", seed=2)]
    for manifest, _ in both:
        manifest.counting = Counting(source="valgrind")
    parts = keep_parts(tmp_path, *both)
    for part, shift in zip(parts, (1.00, 1.05), strict=True):
        with writing(part.folder) as writer:
            writer.append_count(
                *synthetic_counts(
                    [OLD, NEW], ["point-query"], shifts={NEW: shift}, noise=CountNoise(), seed=1
                )
            )
    joined = merge(parts, Folder(tmp_path / "joined"))
    counts = counts_by_step(joined.folder.read_counts())
    [over_hosts] = judge_work(counts, [OLD, NEW], hosts=hosts_of(joined.manifest))
    assert [own.host for own in over_hosts.estimate.hosts] == ["alpha", "beta"]
    assert _width(over_hosts.estimate) > 0.02


def test_every_interval_of_a_joined_report_is_over_its_hosts(tmp_path: Path) -> None:
    hosts = {
        "alpha": {NEW: {"point-query": 1.08}},
        "beta": {NEW: {"point-query": 0.92}},
        "gamma": {NEW: {"point-query": 1.0}},
    }
    report = _report(tmp_path, hosts)
    result = _result(report, "point-query")
    of_host = {host.host: host for host in result.hosts}
    assert value_of(of_host["alpha"].ratio) == pytest.approx(1.08, abs=0.02)
    assert value_of(of_host["beta"].ratio) == pytest.approx(0.92, abs=0.02)
    low, high = interval_of(result.ratio)
    assert low < 0.95
    assert high > 1.05
    assert result.verdict == "unsure"
    assert result.needed is None
    cpu = result.compared["server_cpu_us"]
    assert (cpu.half_width or 0) > math.log(1.1) / 2
    assert result.explanation is not None
    assert result.explanation.low is not None
    assert result.explanation.high is not None
    assert result.explanation.high - result.explanation.low > 0.1
    # What a restart does is not what hosts do.
    assert report.noise is not None
    assert report.noise.restarts is not None
    assert report.noise.restarts < 0.02


def test_replicates_on_equal_hosts_agree_with_one_host(
    tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    shifts = {NEW: {"scan": 0.85}}
    report = _report(tmp_path, {"alpha": shifts, "beta": shifts, "gamma": shifts})
    assert _result(report, "scan").verdict == "slower"
    assert _result(report, "point-query").verdict == "same"
    assert report.host_disagreements == []
    assert report.answer is not None
    assert report.answer.conditions == snapshot
    assert report.notes[0] == snapshot


def test_tests_on_one_host_are_distinguished_from_those_on_several(
    tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    tests = {"alpha": ["scan", "point-query"], "beta": ["scan", "hot-points"]}
    report = _report(tmp_path, {"alpha": {}, "beta": {}}, tests=tests)
    assert report.notes[0] == snapshot
    alone = _result(report, "point-query")
    assert alone.notes == snapshot
    assert value_of(alone.hosts[0].ratio) == value_of(alone.ratio)
    assert len(_result(report, "scan").hosts) == 2


def test_the_next_command_for_hosts_of_a_fleet_is_no_merge(
    tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    fleet = tmp_path / "night.fleet/hosts"
    parts = [
        keep_parts(
            fleet / host, part_of(host, tests=["scan"], incarnations=1, blocks=1, seed=seed)
        )[0]
        for seed, host in enumerate(("alpha", "beta"), start=1)
    ]
    report = read_stored(merge(parts, Folder(tmp_path / "night")).folder).report()
    assert report.answer is not None
    assert report.answer.open == snapshot


def test_a_spread_says_that_nothing_is_known_of_hosts(
    tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    tests = {"alpha": ["scan"], "beta": ["hot-points"]}
    report = _report(tmp_path, {"alpha": {}, "beta": {}}, tests=tests)
    assert report.notes[0] == snapshot


def test_models_of_cpus_that_disagree_are_named(
    tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    hosts = {
        "alpha": {NEW: {"scan": 0.8}},
        "beta": {NEW: {"scan": 0.8}},
        "gamma": {},
        "delta": {},
    }
    report = _report(tmp_path, hosts, cpus={"gamma": "Epyc", "delta": "Epyc"})
    scan = _result(report, "scan")
    assert scan.verdict == "unsure"
    assert scan.notes == snapshot
    assert [(g.group, g.hosts, g.ratio.verdict) for g in scan.groups] == [
        ("synthetic", ["alpha", "beta"], "slower"),
        ("Epyc", ["gamma", "delta"], "same"),
    ]
    assert report.notes[1] == snapshot
    assert _result(report, "point-query").verdict == "same"


def test_a_group_names_the_hosts_that_measured_the_test(tmp_path: Path) -> None:
    tests = {"alpha": ["scan"], "beta": ["point-query"], "gamma": ["hot-points"]}
    hosts: dict[str, object] = {host: {} for host in tests}
    report = _report(tmp_path, hosts, tests=tests, cpus={"gamma": "Epyc"})
    assert [(g.group, g.hosts) for g in _result(report, "scan").groups] == [
        ("synthetic", ["alpha"])
    ]


def test_a_host_that_disagrees_is_a_note_of_the_report(
    tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    slow = {NEW: dict.fromkeys(TESTS, 0.88)}
    report = _report(tmp_path, {"alpha": {}, "beta": {}, "gamma": slow})
    assert report.notes[1] == snapshot


def test_whole_long_steps_with_one_pair_on_each_host_have_an_interval() -> None:
    rng = np.random.default_rng(1)
    cells = synthetic_pairs(4, 3, PairNoise(0.01), rng, log_shift=math.log(0.8))
    hosts = Hosts({1: "a", 2: "b", 3: "c"}, dict.fromkeys("abc", "cpu"))
    for estimate in estimate_all(cells, hosts=hosts):
        assert estimate.interval is not None
        assert estimate.interval.low < 0.8 < estimate.interval.high < 0.95
        assert len(estimate.hosts) == 3
        assert estimate.incarnations == 3


def test_a_host_with_one_block_is_excluded_from_the_ratio() -> None:
    cells, hosts = _cells(np.zeros((3, 2)))
    short = replace(
        cells[0],
        by_incarnation=(*cells[0].by_incarnation[:4], cells[0].by_incarnation[4][:1]),
        numbers=cells[0].numbers[:5],
        totals={number: totals for number, totals in cells[0].totals.items() if number < 5},
    )
    estimate = estimate_all([short, cells[1]], hosts=hosts)[0]
    assert [own.host for own in estimate.hosts] == ["h0", "h1"]


def test_a_host_that_was_hardly_begun_is_named(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    parts = [part_of("alpha"), part_of("beta", seed=2)]
    parts[1][1][:] = [record for record in parts[1][1] if _is_of_first_block(record)]
    joined = merge(keep_parts(tmp_path, *parts), Folder(tmp_path / "joined"))
    result = _result(read_stored(joined.folder).report(), "scan")
    assert result.notes == snapshot
    alpha, beta = result.hosts
    assert value_of(alpha.ratio) == pytest.approx(value_of(result.ratio))
    assert beta.ratio is None
