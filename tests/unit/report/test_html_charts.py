from __future__ import annotations

import json
import re
from itertools import pairwise
from xml.etree import ElementTree

import pytest

from slowdust.ratios import Ratio
from slowdust.report.charts import svg
from slowdust.report.charts.blocks import (
    layout,
    rate_chart,
    ratio_chart,
    static_ratio_chart,
)
from slowdust.report.charts.forest import ForestGroup, ForestPoint, ForestRow, forest
from slowdust.report.charts.marks import marks_of
from slowdust.report.charts.seconds import MOST_SPANS, seconds_chart, spans
from slowdust.store.measured import PerSecond
from slowdust.store.slice import Slice
from tests.unit.synthetic import synthetic_experiment, synthetic_slice

MARKS = marks_of(["a", "b"], "a")


def _slices(blocks: int = 3, incarnations: int = 2) -> list[Slice]:
    return synthetic_experiment(
        ["a", "b"], ["point-query"], blocks=blocks, incarnations=incarnations
    )[1]


def _dots(chart: str, css_class: str) -> int:
    path = re.search(rf'<path class="dot {css_class}[^"]*" d="([^"]*)"', chart)
    return path[1].count("M") if path else 0


def _point(rqps: float, low: float | None, high: float | None) -> ForestPoint:
    return ForestPoint(Ratio(rqps, low, high), "b", MARKS["b"], "slower")


def test_twenty_contenders_all_look_different() -> None:
    names = [f"c{number}" for number in range(20)]

    marks = marks_of(names, "c3")

    assert marks["c3"].colour == "k0"
    assert len({mark.css_class for mark in marks.values()}) == 20


def test_coordinates_are_short() -> None:
    assert svg.dots([(1.0, 2.26), (3.333, 4.0)]) == "M1 2.3h0M3.3 4h0"
    assert svg.dashes([(0, 10, 5)]) == "M0 5H10"
    assert svg.path("x", "") == ""


def test_columns_hold_one_slice_of_each_contender_in_the_order_of_slots() -> None:
    slices = _slices(blocks=3, incarnations=2)

    plan = layout(slices)

    assert len(plan.columns) == 2 * 3 * 2
    assert all(set(column.rates) == {"a", "b"} for column in plan.columns)
    assert [number for number, _, _ in plan.incarnations] == [1, 2]
    positions = [column.x for column in plan.columns]
    assert positions == sorted(positions)
    assert positions[-1] < svg.WIDTH
    first = {record.place.contender: record.qps for record in slices[:2]}
    assert plan.columns[0].rates == first


def test_every_slice_is_a_dot_and_every_pair_a_ratio() -> None:
    slices = _slices()
    plan = layout(slices)

    rates = rate_chart(plan, MARKS, "a", "operations/s")
    ratios = ratio_chart(plan, MARKS, "a", 0.03, {"b": Ratio(0.9, 0.8, 1.0)})

    assert _dots(rates, "k0") + _dots(rates, "k1") == len(slices)
    strays = re.findall(r'class="stray[^"]*" d="([^"]*)"', ratios)
    assert _dots(ratios, "k1") + "".join(strays).count("M") == len(plan.columns)
    ElementTree.fromstring(rates)
    ElementTree.fromstring(ratios)


def test_a_stray_ratio_becomes_an_arrow_and_leaves_the_axis_alone() -> None:
    slices = _slices(blocks=12)
    slices[0].qps *= 100

    chart = ratio_chart(layout(slices), MARKS, "a", 0.03, {})

    assert 'class="stray' in chart
    assert ">100<" not in chart


def test_without_the_base_there_are_rates_but_no_ratios() -> None:
    slices = [record for record in _slices() if record.place.contender == "b"]
    marks = {"b": MARKS["b"]}

    assert _dots(rate_chart(layout(slices), marks, "a", "rows/s"), "k1") == len(slices)
    assert ratio_chart(layout(slices), marks, "a", 0.03, {}) == ""


def test_slices_without_throughput_are_drawn_at_zero() -> None:
    slices = _slices()
    for record in slices:
        record.qps = 0.0

    assert _dots(rate_chart(layout(slices), MARKS, "a", "operations/s"), "k0") == 12
    assert ratio_chart(layout(slices), MARKS, "a", 0.03, {}) == ""


def test_pieces_are_the_seconds_of_a_slice_at_their_real_times() -> None:
    record = synthetic_slice(started=1000.0)
    record.measured.seconds, record.measured.operations, record.qps = 3.2, 320, 200.0
    record.measured.per_second = [PerSecond(n, n * 1000) for n in (90, 110, 80, 40)]

    parts = spans([record], origin=990.0)

    assert [(span.start, span.end) for span in parts] == [
        (10, 11),
        (11, 12),
        (12, pytest.approx(13.2)),
    ]
    # qps counts two units an operation, and the short tail is joined to the third second.
    assert [span.rate for span in parts] == pytest.approx([180, 220, 200])
    assert [span.max_us for span in parts] == [90, 110, 80]


def test_a_long_series_is_thinned_and_keeps_its_worst_response() -> None:
    record = synthetic_slice(started=0.0)
    record.measured.per_second = [PerSecond(10, 1000)] * 9999 + [PerSecond(10, 7_000_000)]
    record.measured.seconds, record.measured.operations, record.qps = 10_000.0, 100_000, 10.0

    parts = spans([record], origin=0.0)

    assert len(parts) <= MOST_SPANS
    assert max(span.max_us for span in parts) == 7000
    assert parts[-1].end == 10_000
    assert {round(span.rate, 6) for span in parts} == {10}


def test_a_slice_without_operations_is_one_piece_at_zero() -> None:
    record = synthetic_slice()
    started, latency = record.measured.started, record.measured.latency
    assert started is not None
    assert latency is not None
    record.measured.operations, record.qps, record.measured.per_second = 0, 0.0, []
    latency.max_ns = 0

    assert [span.rate for span in spans([record], started)] == [0]
    ElementTree.fromstring(f"<x>{seconds_chart([record], started, MARKS, 'operations/s')}</x>")


def test_forest_has_an_interval_for_every_row_and_links_it() -> None:
    rows = tuple(
        ForestRow(f"test-{n}", f"t{n}", (_point(0.8 + n / 10, 0.7, 1.1),)) for n in range(4)
    )

    chart = forest([ForestGroup("Point", rows)], 0.03, "title")

    root = ElementTree.fromstring(chart)
    assert len(root.findall(".//path[@class='whisker']")) == 4
    assert [link.get("href") for link in root.findall(".//a")] == ["#t0", "#t1", "#t2", "#t3"]
    heights = [float(label.get("y") or 0) for label in root.findall(".//a/text")]
    assert min(b - a for a, b in pairwise(heights)) >= 12


def test_forest_cuts_a_huge_interval_with_an_arrow_and_bears_a_missing_one() -> None:
    rows = (
        ForestRow("huge", "huge", (_point(1.0, 0.001, 900.0),)),
        ForestRow("none", "none", (_point(0.9, None, None),)),
    )

    chart = forest([ForestGroup("Point", rows)], 0.03, "title")

    assert chart.count("L0 ") == 1
    assert chart.count("L1000 ") == 1
    assert ">0.001<" not in chart


def test_forest_of_nothing_is_nothing() -> None:
    assert forest([], 0.03, "title") == ""


def test_text_in_charts_is_escaped() -> None:
    rows = (ForestRow("<b>&", "x", (_point(1.0, 0.9, 1.1),)),)

    chart = forest([ForestGroup("</svg>", rows)], 0.03, '"><script>')

    assert "<script>" not in chart
    assert "<b>" not in chart
    ElementTree.fromstring(chart)


def test_a_chart_of_slices_has_the_values_of_its_dots() -> None:
    slices = _slices(blocks=3, incarnations=2)
    plan = layout(slices)
    values = re.compile(r'<script type="application/json" class="values">(.*?)</script>')

    rates = values.search(str(rate_chart(plan, MARKS, "a", "operations/s")))
    ratios = values.search(str(ratio_chart(plan, MARKS, "a", 0.03, {})))

    assert rates is not None
    assert ratios is not None
    drawn = json.loads(rates[1])
    assert [curve["label"] for curve in drawn["curves"]] == ["a", "b"]
    [[_, first, distances]] = drawn["curves"][0]["runs"]
    assert first == [float(f"{column.rates['a']:.4g}") for column in plan.columns]
    assert distances == [1, 1, 1, 1, 1, 2.5, 1, 1, 1, 1, 1]
    [relative] = json.loads(ratios[1])["curves"]
    last = plan.columns[-1].rates
    assert relative["runs"][0][1][-1] == float(f"{last['b'] / last['a']:.4g}")
    assert "values" not in static_ratio_chart(plan, MARKS, "a", 0.03, {})
