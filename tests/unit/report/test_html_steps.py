"""Charts and tables of long steps; test_html_insert_page.py tests the whole page."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import pytest
from syrupy.assertion import SnapshotAssertion

from slowdust.analysis.model import BUCKETS_US, Report, RoleReport, StepRun, Writers
from slowdust.benchmarks.steps import INSERTER, in_order
from slowdust.report.charts.bars import Bar, bars_chart
from slowdust.report.charts.marks import marks_of
from slowdust.report.charts.seconds import Graph, Line, Run, step_graph
from slowdust.report.document import Cell, Section, Table
from slowdust.report.html.steps import (
    backlog,
    late_us,
    rates,
    server_cpus,
    server_written_mb,
    thinned,
    worst_us,
)
from slowdust.report.sections.measured import sla_failure
from slowdust.report.sections.steps import buckets
from slowdust.store.latency import Histogram
from slowdust.store.measured import Use
from slowdust.store.step import RoleSecond, RoleUse, Sample, WriteSchedule
from tests.unit.analysis.results import a_result

(QUERIER,) = in_order(["query"])

MARKS = marks_of(["a", "b"], "a")


def _use(
    seconds: list[RoleSecond], length: float, schedule: WriteSchedule | None = None
) -> RoleUse:
    return RoleUse(
        connections=1,
        statements=sum(second.statements for second in seconds),
        rows=sum(second.rows for second in seconds),
        seconds=length,
        latency=Histogram(values_ns=[], counts=[], max_ns=0, mean_ns=0.0),
        per_second=seconds,
        client_cpu_s=0.1,
        schedule=schedule,
    )


def _run(contender: str, incarnation: int, **buckets: list[int]) -> StepRun:
    return StepRun(
        benchmark="insert",
        test="qr100",
        clients=1,
        contender=contender,
        incarnation=incarnation,
        seconds=10.0,
        qps=1.0,
        unit="range queries/s",
        roles=[
            RoleReport(
                role=role,
                connections=1,
                rate=1.0,
                unit="queries/s",
                statements=sum(counts),
                rows=0,
                buckets=counts,
            )
            for role, counts in buckets.items()
        ],
    )


def _histograms(runs: list[StepRun]) -> list[Table]:
    """The tables of bars of all roles of the runs, as a page has them."""
    report = Report(
        experiment="e",
        base="a",
        contenders=["a", "b"],
        margin=0.03,
        results=[],
        tldr=[],
        contender_info=[],
        step_runs=runs,
    )
    [run, *_] = runs
    result = a_result("a", test=run.test, clients=run.clients)
    result.benchmark = run.benchmark
    section = buckets(report, [result])
    assert section is not None
    inner = (block for block in section.blocks if isinstance(block, Section))
    return [table for each in inner for table in each.blocks if isinstance(table, Table)]


def _cell(table: Table, row: int, column: int) -> Cell:
    cell = table.rows[row].cells[column]
    assert isinstance(cell, Cell)
    return cell


def _buckets(**at: int) -> list[int]:
    counts = [0] * (len(BUCKETS_US) + 1)
    for place, count in at.items():
        counts[int(place.removeprefix("at"))] = count
    return counts


def _flat(runs: tuple[Run, ...]) -> list[tuple[int, float]]:
    return [point for run in runs for point in run]


def test_writers_are_rated_by_rows_and_queries_by_statements() -> None:
    use = _use([RoleSecond(2, 100, 5_000_000, 0), RoleSecond(3, 150, 6_000_000, 0)], 2.0)

    assert rates(INSERTER, use, 2.0) == [100, 150]
    assert rates(QUERIER, use, 2.0) == [2, 3]
    assert worst_us(use, 2.0) == [5000, 6000]


def test_a_short_last_second_is_scaled_and_a_very_short_one_has_no_rate() -> None:
    seconds = [RoleSecond(1, 10, 1000, 0), RoleSecond(1, 10, 9000, 0)]

    assert rates(INSERTER, _use(seconds, 1.5), 1.5) == [10, 20]
    assert rates(INSERTER, _use(seconds, 1.1), 1.1) == [10]
    assert rates(INSERTER, _use(seconds[:1], 0.2), 0.2) == [50]


def test_operations_that_end_after_the_last_second_count_in_it() -> None:
    seconds = [RoleSecond(1, 10, 1000, 5000), RoleSecond(1, 10, 9000, 7000)]

    assert worst_us(_use(seconds, 1.1), 1.1) == [9]
    assert late_us(_use(seconds, 1.1), 1.1) == [7]
    assert worst_us(_use(seconds, 1.6), 1.6) == [1, 9]


def test_a_role_that_had_work_left_stood_still_after_its_last_completion() -> None:
    use = _use([RoleSecond(1, 10, 1000, 0), RoleSecond(0, 0, 0, 0)], 0.9)

    assert rates(INSERTER, use, 4.0) == [10, 0, 0, 0]
    assert worst_us(use, 4.0) == [1, None, None]


def test_backlog_is_what_was_due_and_not_written() -> None:
    schedule = WriteSchedule(
        rate=100.0, due=250, backlog=50, late_statements=1, max_lag_ns=0, mean_lag_ns=0.0
    )
    use = _use([RoleSecond(2, 100, 1, 0), RoleSecond(0, 0, 1, 0), RoleSecond(2, 100, 1, 0)], 2.5)
    use.schedule = schedule

    assert backlog(use) == [0, 100, 50]
    use.per_second.pop()
    assert backlog(use) == [0, 100, 150]
    use.schedule = None
    assert backlog(use) == []


def test_samples_become_rates_of_the_nearest_second_and_gaps_stay_gaps() -> None:
    samples = [
        Sample(start=0.01, seconds=1.0, uses={"server": Use(cpu_s=0.5, write_bytes=3 << 20)}),
        Sample(start=1.98, seconds=2.0, uses={"server": Use(cpu_s=3.0)}),
        Sample(start=4.0, seconds=0.1, uses={"server": Use(cpu_s=0.1, write_bytes=9)}),
    ]

    assert server_cpus(samples) == [0.5, None, 1.5]
    assert server_written_mb(samples) == [3]
    assert server_cpus([]) == []


def test_a_long_series_is_thinned_and_keeps_every_stall_and_peak_at_its_second() -> None:
    values: list[float | None] = [1000.0 + second % 7 for second in range(20_000)]
    values[12_345], values[15_000] = 0.0, 9999.0

    points = _flat(thinned(values, 1000))

    assert len(points) <= 1000
    assert (12_345, 0.0) in points
    assert (15_000, 9999.0) in points
    assert [second for second, _ in points] == sorted({second for second, _ in points})


def test_short_stretches_stay_and_gaps_break_them() -> None:
    assert thinned([1.0, 2.0, None, 4.0], 10) == (((0, 1.0), (1, 2.0)), ((3, 4.0),))
    assert thinned([None], 10) == ()


def test_a_graph_is_drawn_in_seconds_and_its_target_in_pixels(snapshot: SnapshotAssertion) -> None:
    lines = (
        Line("a", 1, (((0, 0.0), (1, 10.0), (2, 10.0)),)),
        Line("b", 2, (((0, 5.0),), ((2, 0.0), (3, 10.0)))),
    )

    chart = step_graph(Graph("inserts/s", lines, target=5.0), 4.0, MARKS)

    root = ElementTree.fromstring(chart)
    marks = root.find(".//svg[@class='marks']")
    assert marks is not None
    low, high = 840, 840 - 840 / 1.06
    assert marks.get("viewBox") == "-0.5 0 4 840"
    first, second, alone = (path.get("d") for path in marks)
    assert first == f"M0 {low}l1{round(high) - low} 1 0"
    assert second == f"M2 {low}l1{round(high) - low}"
    assert alone == f"M0 {round((low + high) / 2)}h0"
    assert [path.get("class") for path in marks] == snapshot
    target = root.find(".//line[@class='target']")
    assert target is not None
    assert float(target.get("y1") or 0) == pytest.approx((low + high) / 20, abs=0.1)
    assert root.findtext(".//g[@class='times']/text") == "0:00"


def test_response_times_are_on_a_logarithmic_axis_with_units() -> None:
    lines = (Line("a", 1, (((0, 200.0), (1, 2_000_000.0)),)),)

    chart = step_graph(Graph("Maximum", lines, response_time=True), 2.0, MARKS)

    labels = re.findall(r'class="tick end">([^<]*)<', chart)
    assert labels == ["1 ms", "10 ms", "100 ms", "1 s"]


def test_a_graph_of_nothing_is_nothing() -> None:
    assert step_graph(Graph("inserts/s", (Line("a", 1, ()),)), 4.0, MARKS) == ""
    assert step_graph(Graph("inserts/s", ()), 4.0, MARKS) == ""


def test_a_graph_of_zeros_bears_it() -> None:
    chart = step_graph(Graph("inserts/s", (Line("a", 1, (((0, 0.0), (1, 0.0)),)),)), 2.0, MARKS)

    ElementTree.fromstring(chart)


def test_bars_start_at_zero_and_starts_are_dots(snapshot: SnapshotAssertion) -> None:
    bars = [
        Bar("a", MARKS["a"], 50.0, (40.0, 60.0)),
        Bar("b", MARKS["b"], 100.0, (100.0,), "SLA failed: 1 of 2 inserts/s"),
        Bar("<c>", MARKS["b"], None, ()),
    ]

    chart = bars_chart(bars, "inserts/s")

    root = ElementTree.fromstring(chart)
    widths = [rect.get("width") for rect in root.findall(".//rect")]
    assert widths == ["50.00%", "100.00%"]
    assert [rect.get("class") for rect in root.findall(".//rect")] == snapshot
    assert [(path.get("d") or "").count("M") for path in root.findall(".//path")] == [2, 1]
    text = [label.text for label in root.findall(".//text")]
    assert "50.0 inserts/s" in text
    assert text == snapshot
    assert text[-2:] == ["<c>", "not measured"]
    assert bars_chart([bars[2]], "inserts/s") == ""


def test_histograms_add_starts_and_skip_empty_ends() -> None:
    runs = [
        _run("a", 1, query=_buckets(at1=90, at3=9)),
        _run("a", 2, query=_buckets(at1=1)),
        _run("b", 1, query=_buckets(at3=1), insert=_buckets(at9=2)),
    ]

    query, insert = _histograms(runs)

    assert [column.contender for column in query.columns[1:]] == ["a", "b"]
    assert [row.cells[0] for row in query.rows] == ["≤ 1 ms", "≤ 4 ms", "≤ 16 ms"]
    first, empty = (_cell(query, 0, place) for place in (1, 2))
    assert (first.text, first.note, first.bar) == ("91", "91.0%", (91.0, "a"))
    assert (empty.text, empty.note, empty.bar) == ("0", "", None)
    assert [row.cells[0] for row in insert.rows] == ["> 16 s"]


def test_a_single_slow_statement_among_millions_is_still_seen() -> None:
    (query,) = _histograms([_run("a", 1, query=_buckets(at0=9_999_999, at8=1))])

    slow = _cell(query, len(query.rows) - 1, 1)
    assert slow.note == "0.00001%"
    assert slow.bar is not None
    assert slow.bar[0] > 0.5


def test_the_sla_is_reported_by_what_was_kept_worse(snapshot: SnapshotAssertion) -> None:
    writers = Writers(
        target=1000.0,
        inserts=960.0,
        deletes=612.4,
        insert_backlog=0,
        delete_backlog=0,
        max_lag_s=0.0,
        sla_met=False,
    )

    assert sla_failure(writers) == snapshot
    writers.sla_met = True
    assert sla_failure(writers) == ""
    assert sla_failure(None) == ""
