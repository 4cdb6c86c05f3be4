"""Recall and QPS in Markdown and on the page."""

from __future__ import annotations

import csv
import io
import re

import pytest
from syrupy.assertion import SnapshotAssertion

from slowdust.analysis.model import Report
from slowdust.analysis.stored import analyse
from slowdust.report import html
from slowdust.report.charts.trade_offs import RecallAxis
from slowdust.report.csv import render as csv_of
from slowdust.report.markdown.report import render as markdown_of
from tests.unit.searches import BASE, OTHER, measured

POORER = {OTHER: (0.70, 0.85, 0.93, 0.97)}


def report_of(**keys: object) -> Report:
    return analyse(*measured({BASE: 1.0, OTHER: 1.2}, noise=0.005, **keys))  # type: ignore[arg-type]


def section(markdown: str, heading: str) -> list[str]:
    part = markdown.partition(f"## {heading}\n")[2].partition("\n## ")[0]
    return [re.sub(r" +", " ", line) for line in part.splitlines()]


def test_markdown_has_a_row_for_each_effort_and_recall(snapshot: SnapshotAssertion) -> None:
    lines = section(markdown_of(report_of()), "Recall and QPS")
    assert lines == snapshot
    assert any(
        re.match(r"\| hnsw\.ef20 \| 0\.930 \| 2,[45]\d\d \| 0\.930 \|", line) for line in lines
    )
    row = next(line for line in lines if line.startswith(f"| 0.95 | {OTHER} |"))
    assert f"| 0.95 | {OTHER} | 4 of 4 |" in row
    assert re.search(r"\| 1\.\d\d \[1\.\d\d, 1\.\d\d\] \| faster \|$", row)


def test_unreachable_results_have_their_reason_in_every_format() -> None:
    report = analyse(*measured({BASE: 1.0, OTHER: 1.0}, POORER))
    reason = "97.0%"
    assert reason in markdown_of(report)
    assert reason in html.render(report, [], [])


def test_indexes_have_their_sizes() -> None:
    lines = section(markdown_of(report_of()), "Indexes")
    assert any(line.startswith(f"| hnsw | {OTHER} | - | - |") for line in lines)


def test_the_chart_has_a_curve_for_each_contender_with_its_values() -> None:
    page = html.render(report_of(), [], [])
    chart = page.partition('aria-label="QPS of hnsw over its recall, by contender"')[2]
    chart = chart.partition("</figure>")[0]
    titles = re.findall(r"<title>(.*?)</title>", chart)
    assert [title.partition(":")[0] for title in titles] == [BASE, OTHER]
    assert "hnsw.ef20: 0.930" in titles[0]


def test_the_chart_has_several_ticks_of_qps() -> None:
    page = html.render(report_of(), [], [])
    axis = re.findall(r'class="tick end"[^>]*>([^<]+)<', page.partition('id="searches"')[2])
    assert axis == ["1k", "1.5k", "2k", "3k", "5k"]


def test_the_page_says_how_many_starts_reach_a_recall() -> None:
    assert '<td class="number">4 of 4</td>' in html.render(report_of(), [], [])


def test_reports_without_searches_have_no_such_section() -> None:
    manifest, slices = measured({BASE: 1.0, OTHER: 1.0})
    manifest.recalls, manifest.index_sizes = [], []
    report = analyse(manifest, slices)
    assert "Recall and QPS" not in markdown_of(report)
    assert 'id="searches"' not in html.render(report, [], [])


def test_csv_has_the_recall() -> None:
    first = next(csv.DictReader(io.StringIO(csv_of(report_of()))))
    assert float(first["recall"]) == pytest.approx(0.85)


def test_the_axis_stretches_towards_1() -> None:
    axis = RecallAxis(0.5)
    places = [axis(recall) for recall in (0.5, 0.9, 0.95, 0.99, 1.0)]
    assert places == sorted(places)
    assert axis(0.99) - axis(0.98) > axis(0.91) - axis(0.90)
