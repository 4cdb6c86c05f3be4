"""Different starting states and different work are found; small differences are ignored."""

from __future__ import annotations

import msgspec
import pytest
from syrupy.assertion import SnapshotAssertion

from slowdust.analysis.preparation import (
    ALIKE,
    FACTS,
    OTHER_BUILD,
    UNKNOWN_START,
    WORK,
    WORK_OF_READS,
    Difference,
    Kind,
    differences,
    work_differences,
    worst_work_difference,
)
from slowdust.analysis.stored import analyse
from slowdust.store.manifest import BuildFacts, ContenderFacts
from slowdust.store.preparation import Preparation, ServerCounters
from tests.unit.synthetic import synthetic_experiment

Facts = dict[str, dict[str, float]]


def contender(name: str, version: str = "17.6", **settings: str) -> ContenderFacts:
    return ContenderFacts(
        name=name,
        dbms="postgres",
        build=BuildFacts(source="directory", version=version, sha256=version),
        config="default",
        settings=settings,
    )


def prepared(name: str, facts: Facts, after: str = "load") -> Preparation:
    return Preparation(contender=name, incarnation=1, moment=1, after=after, facts=facts)


def apart(base: Facts, other: Facts, after: str = "load", version: str = "17.6") -> list[str]:
    records = [prepared("a", base, after), prepared("b", other, after)]
    apart = differences(records, [contender("a"), contender("b", version)])
    return [difference.sentence() for difference in apart if difference.contender == "b"]


def table(pages: float, hidden: float) -> Facts:
    return {"t": {"pages": pages, "pages_not_all_visible": hidden, "rows": 1e5, "dead_rows": 0}}


def test_pages_that_are_not_all_visible(snapshot: SnapshotAssertion) -> None:
    assert apart(table(2736, 33), table(2736, 2736)) == snapshot
    assert apart(table(2736, 2736), table(2736, 33)), "also when the base is the worse one"
    assert apart(table(2703, 0), table(2736, 33), version="16.1") == [], "empty pages of 16"
    assert apart(table(270_000, 0), table(270_000, 2_000)) == [], "less than 1%"


def test_other_builds_need_only_be_in_the_same_state(snapshot: SnapshotAssertion) -> None:
    base, other = table(2736, 0), table(4000, 0)
    assert apart(base, other) == snapshot
    assert apart(base, other, version="18.4") == []
    assert apart(base, table(4000, 4000), version="18.4") == snapshot


def test_other_settings_may_change_the_layout() -> None:
    records = [prepared("a", table(2736, 0)), prepared("b", table(4000, 0))]
    assert not differences(records, [contender("a"), contender("b", work_mem="1MB")])


def test_the_largest_difference_comes_first(snapshot: SnapshotAssertion) -> None:
    sentences = apart({"i": {"pages": 200, "height": 2}}, {"i": {"pages": 230, "height": 3}})
    assert sentences == snapshot


def test_layout_differs_more_after_writes() -> None:
    base, other = {"i": {"leaf_pages": 1000.0}}, {"i": {"leaf_pages": 1030.0}}
    assert apart(base, other)
    assert apart(base, other, after="writes") == []
    assert apart(base, {"i": {"leaf_pages": 1100.0}}, after="writes")


@pytest.mark.parametrize("name", [name for name, q in FACTS.items() if q.floor])
def test_small_numbers_raise_no_alarm(name: str) -> None:
    floor = FACTS[name].floor
    assert apart({"s": {name: 0.0}}, {"s": {name: floor}}) == []
    assert len(apart({"s": {name: 0.0}}, {"s": {name: 2 * floor}})) == 1


def test_unreported_facts_are_not_compared() -> None:
    assert apart({"t": {"pages": 100}}, {"t": {"height": 9}, "u": {"pages": 1}}) == []
    assert apart({"t": {"of no table": 100}}, {"t": {"of no table": 900}}) == []


def test_only_one_dbms_and_engine_share_a_state() -> None:
    other = contender("b")
    other.dbms = "mysql"
    records = [prepared("a", table(2736, 0)), prepared("b", table(2736, 2736))]
    assert [d.beside for d in differences(records, [contender("a"), other])] == [None]
    assert FACTS["pages_not_all_visible"].kind is Kind.STATE


def test_both_sides_of_a_difference_are_in_it() -> None:
    names = ("a", "b", "c", "d")
    hidden = dict(zip(names, (50.0, 60.0, 2736.0, 40.0), strict=True))
    records = [prepared(name, table(2736, hidden[name])) for name in names]
    apart = differences(records, [contender(name) for name in names])
    assert {(d.contender, d.beside) for d in apart} == {("c", "d"), ("d", "c")}
    base_is_other = differences(records[2:] + records[:2], [contender(n) for n in "cdab"])
    assert {d.contender for d in base_is_other} == set(names)


@pytest.mark.parametrize(
    ("subject", "facts"),
    [
        ("t", {"pages": 2736.0, "pages_not_all_visible": 33.0}),
        ("t", {"rows": 1e6, "dead_rows": 5e3}),
        ("server", {"dirty_pages": 90.0}),
        ("server", {"change_buffer_pages": 9000.0}),
    ],
)
def test_little_that_preparation_left_is_not_reported(
    subject: str, facts: dict[str, float]
) -> None:
    assert left_on_both(subject, facts) == []


def left_on_both(subject: str, facts: dict[str, float]) -> list[Difference]:
    records = [prepared(name, {subject: facts}) for name in ("a", "b")]
    return differences(records, [contender("a"), contender("b", "18.4")])


def test_pending_maintenance_is_seen_on_all_servers(snapshot: SnapshotAssertion) -> None:
    for subject, facts in (
        ("t", {"pages": 2736.0, "pages_not_all_visible": 2736.0}),
        ("t", {"rows": 1e6, "dead_rows": 2e5}),
        ("server", {"compaction_pending": 1.0}),
        ("server", {"dirty_pages": 9000.0}),
    ):
        left = left_on_both(subject, facts)
        assert [each.contender for each in left] == ["a", "b"]
        assert [each.sentence() for each in left] == snapshot


def work(
    contender: str, per_operation: float, operations: int, incarnation: int = 1
) -> ServerCounters:
    return ServerCounters(
        step="point-query@1",
        contender=contender,
        incarnation=incarnation,
        operations=operations,
        amounts={"heap_blocks": per_operation * operations, "page_reads": 99.0 * operations},
    )


def test_twice_as_many_blocks(snapshot: SnapshotAssertion) -> None:
    (difference,) = work_differences(work("b", 2.0, 20_000), work("a", 1.0, 30_000), WORK, ALIKE)
    assert difference.sentence() == snapshot


@pytest.mark.parametrize(
    ("own", "base", "operations", "share", "seen"),
    [
        (10.2, 10.0, 100_000, ALIKE, True),
        (10.05, 10.0, 100_000, ALIKE, False),
        (10.2, 10.0, 100_000, OTHER_BUILD, False),
        (12.0, 10.0, 100_000, OTHER_BUILD, True),
        (0.06, 0.02, 1_000_000, ALIKE, False),  # next to nothing per operation
        (12.0, 10.0, 500, ALIKE, False),  # of a session, not of its operations
    ],
)
def test_other_work_is_recognised(
    own: float, base: float, operations: int, share: float, *, seen: bool
) -> None:
    pair = work("b", own, operations), work("a", base, operations)
    assert bool(work_differences(*pair, WORK, share)) is seen


def test_the_worst_start_is_named() -> None:
    works = [
        work("a", 1.0, 20_000, 1), work("b", 1.5, 20_000, 1),
        work("a", 1.0, 20_000, 2), work("b", 3.0, 20_000, 2),
        work("b", 9.0, 20_000, 3),
    ]  # fmt: skip
    worst = worst_work_difference(works, "b", "a", WORK, ALIKE)
    assert worst is not None
    assert (worst[0].value, worst[1]) == (3.0, 2)
    assert worst_work_difference(works, "c", "a", WORK, ALIKE) is None


def test_no_operations_have_no_work_per_operation() -> None:
    assert not work_differences(work("b", 2.0, 0), work("a", 1.0, 9000), WORK, ALIKE)


def test_notes_and_warnings_of_a_report(snapshot: SnapshotAssertion) -> None:
    names = ["postgres@17.6", "postgres@17.6#2"]
    manifest, slices = synthetic_experiment(names, ["point-query", "update-index"])
    base, other = (facts.name for facts in manifest.contenders)
    manifest.contenders[1].build = manifest.contenders[0].build
    hidden = [prepared(base, table(2736, 33)), prepared(other, table(2736, 2736))]
    for record in hidden:
        record.steps = ["point-query@1"]
    mended = [prepared(base, table(2736, 33)), prepared(other, table(2736, 33))]
    for record in mended:
        record.moment, record.incarnation, record.repeated = 2, 2, 1
        record.steps = ["point-query@1", "update-index@1"]
    manifest.preparations = hidden + mended
    manifest.counters = [work(base, 1.0, 20_000), work(other, 2.0, 20_000)]
    for amounts in (manifest.counters[0].amounts, manifest.counters[1].amounts):
        amounts["page_reads"] = amounts["heap_blocks"]
    report = analyse(manifest, slices)
    notes = {(r.test, r.contender): r.notes for r in report.results}
    assert notes["point-query", other] == snapshot
    assert notes["point-query", base] == snapshot
    assert not [note for note in notes["update-index", other] if "different" in note]
    assert report.warnings == snapshot


def test_page_reads_count_only_where_nothing_writes() -> None:
    own, base = (
        msgspec.structs.replace(work(name, 1.0, 9000), amounts={"page_reads": reads})
        for name, reads in (("b", 90_000.0), ("a", 180_000.0))
    )
    assert not work_differences(own, base, WORK, ALIKE)
    assert work_differences(own, base, WORK_OF_READS, ALIKE)


def test_unfinished_preparation_of_all_servers_is_noted(snapshot: SnapshotAssertion) -> None:
    names = ["postgres@17.6", "postgres@17.6#2"]
    manifest, slices = synthetic_experiment(names, ["point-query"])
    manifest.preparations = [prepared(name, table(2736, 2736)) for name in names]
    for record in manifest.preparations:
        record.steps = ["point-query@1"]
    report = analyse(manifest, slices)
    assert all(result.notes for result in report.results)
    assert report.warnings == snapshot


@pytest.mark.parametrize("engine", ["rocksdb", "innodb"])
def test_engines_are_not_compared_by_their_work(engine: str, snapshot: SnapshotAssertion) -> None:
    names = ["mariadb@10.11.18/innodb", "mariadb@10.11.18/other"]
    manifest, slices = synthetic_experiment(names, ["point-query"])
    base, other = manifest.contenders
    base.dbms = other.dbms = "mariadb"
    base.engine, other.engine = "innodb", engine
    manifest.counters = [work(base.name, 8.0, 20_000), work(other.name, 4.0, 20_000)]
    notes = [note for result in analyse(manifest, slices).results for note in result.notes]
    assert notes == snapshot


def test_a_server_that_reports_nothing_does_not_pass_as_alike() -> None:
    names = ["postgres@17.6", "postgres@17.6#2"]
    manifest, slices = synthetic_experiment(names, ["point-query"])
    reported = [prepared(names[0], table(2736, 33)), prepared(names[1], {})]
    again = [msgspec.structs.replace(record, moment=2) for record in reported]
    manifest.preparations = reported + again
    for record in manifest.preparations:
        record.steps = ["point-query@1"]
    notes = {result.contender: result.notes for result in analyse(manifest, slices).results}
    assert notes[names[1]].count(UNKNOWN_START) == 1
    assert UNKNOWN_START not in notes[names[0]]
