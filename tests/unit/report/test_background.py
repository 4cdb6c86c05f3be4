"""The mixed load in each format: sides relative to alone, and the frontier."""

from __future__ import annotations

import csv
import io
import json
import re

import jsonschema

from slowdust.analysis.model import FrontierPoint, Report
from slowdust.analysis.stored import analyse
from slowdust.report import csv as report_csv
from slowdust.report import json as report_json
from slowdust.report.charts.marks import marks_of
from slowdust.report.charts.trade_offs import envelope, frontier_chart
from slowdust.report.html import render
from slowdust.report.markdown import report as markdown
from slowdust.store.slice import Slice
from tests.unit.analysis.test_background_load import A, B, add_beside, mixed
from tests.unit.report.sample import plain_experiment
from tests.unit.synthetic import synthetic_experiment


def frontier_experiment() -> tuple[Report, list[Slice]]:
    tests = ["mixed.t0q1", "mixed.t1q0", "mixed.t1q1"]
    manifest, slices = synthetic_experiment([A, B], tests, blocks=4)
    for record in slices:
        record.place.benchmark = "htap"
        if record.place.test == "mixed.t1q1":
            add_beside(record, 1.5, 40.0)
    return analyse(manifest, slices), slices


def test_markdown_has_a_row_for_each_test_and_contender() -> None:
    text = markdown.render(mixed(alone=2.0)[0])
    section = text.partition("## Mixed load")[2].partition("\n## ")[0]
    rows = [line for line in section.splitlines() if line.startswith("| queries.beside")]
    assert len(rows) == 2
    cells = [cell.strip() for cell in rows[1].strip("|").split("|")]
    assert cells[:4] == ["queries.beside", "1", B, "transactions, 2 clients, at 100/s"]
    assert re.fullmatch(r"0\.[45]\d \[0\.4\d, 0\.5\d\]", cells[6])
    assert cells[-1] == "48 of 192"


def test_points_are_in_markdown_json_and_the_page() -> None:
    report, slices = frontier_experiment()
    section = markdown.render(report).partition("## Frontier")[2]
    assert section.count("| t1 q1 ") == 2 and section.count("| t0 q1 ") == 2
    written = json.loads(report_json.render(report))
    jsonschema.validate(written, json.loads(report_json.report_schema()))
    point = next(each for each in written["frontier"] if each["query_clients"] == 0)
    assert "freshness_p99_us" not in point, "it was not measured"
    page = render(report, slices)
    assert 'href="#beside">Mixed load' in page
    assert page.count('aria-label="Points of the frontier"') == 1
    assert f"{A}: 0 and 1 clients" in page


def test_reports_without_any_have_no_section() -> None:
    report, slices = plain_experiment()
    assert "Mixed load" not in markdown.render(report)
    assert 'id="beside"' not in render(report, slices)


def test_csv_has_columns_of_the_background_load() -> None:
    rows = list(csv.DictReader(io.StringIO(report_csv.render(mixed()[0]))))
    assert [row["beside_test"] for row in rows] == ["transactions"] * 2
    assert 0.45 < float(rows[1]["beside_relative"]) < 0.55
    assert rows[1]["compared_beside_rate_verdict"] == "same"
    assert rows[0]["compared_beside_rate_verdict"] == ""


def test_a_line_joins_the_points_that_none_surpasses() -> None:
    def point(contender: str, t: float, q: float, *, on_frontier: bool) -> FrontierPoint:
        return FrontierPoint(
            contender=contender,
            transaction_clients=1,
            query_clients=1,
            transactions_per_s=t,
            queries_per_s=q,
            on_frontier=on_frontier,
        )

    points = [
        point(A, 100, 0, on_frontier=True),
        point(A, 50, 5, on_frontier=False),
        point(A, 80, 8, on_frontier=True),
        point(A, 0, 10, on_frontier=True),
        point("<b>", 1, 1, on_frontier=True),
    ]
    rates = [each.transactions_per_s for each in envelope(points, A)]
    assert rates == [0, 80, 100]
    chart = str(frontier_chart(points, marks_of([A, "<b>"], A)))
    (line,) = re.findall(r'class="course" d="([^"]*)"', chart)
    assert line.count("M") == 2, "two strokes join three points"
    assert chart.count("h0") == len(points) and "<b>" not in chart
