"""Cells of unsure results are pale on every page, and in parentheses in Markdown."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from slowdust.analysis.history.history import history_of
from slowdust.analysis.history.series import Chained, Details, series_of
from slowdust.analysis.model import Report
from slowdust.analysis.stored import analyse
from slowdust.analysis.versions import Release
from slowdust.exchange import write_classic
from slowdust.kinds import KINDS
from slowdust.report import html
from slowdust.report.formats import HISTORIES, render_as
from slowdust.report.markdown import report as markdown
from slowdust.store.slice import Slice
from tests.unit.synthetic import Noise, synthetic_experiment
from tests.unit.synthetic_history import choice, experiments, measured
from tests.unit.synthetic_steps import insert_experiment

A, B, C = "postgres@15.8", "postgres@16.4", "postgres@17.6"
PALE = "not-sure"


@pytest.fixture(scope="module")
def noisy() -> tuple[Report, list[Slice]]:
    manifest, slices = synthetic_experiment(
        [A, B, C],
        ["point-query", "scan", "insert"],
        clients=(1, 8),
        shifts={C: {"scan": 0.5}, B: 0.93},
        noise=Noise(slice=0.12),
        blocks=5,
        seed=3,
    )
    return analyse(manifest, slices), slices


@pytest.fixture(scope="module")
def long() -> Report:
    return analyse(*insert_experiment([A, B], shifts={B: {"l.i0": 0.5}}, noise=0.06))


def count(report: Report, verdict: str) -> int:
    return sum(result.verdict == verdict for result in report.results)


def section(page: str, name: str) -> str:
    whole = page.split(f'<section id="{name}"', 1)[1]
    return re.split(r'\n<section id="(?!clients-)', whole, maxsplit=1)[0]


@pytest.mark.parametrize("name", ["results", "concurrency"])
def test_the_tables_of_a_page_have_a_pale_cell_for_each_unsure_result(
    noisy: tuple[Report, list[Slice]], name: str
) -> None:
    report, slices = noisy
    cells = re.findall(r'<td class="number rel [^"]*"', section(html.render(report, slices), name))

    assert 0 < count(report, "unsure") < len(cells)
    assert sum(PALE in cell for cell in cells) == count(report, "unsure")


def test_a_cell_and_the_section_of_its_test_say_what_would_decide_it(
    noisy: tuple[Report, list[Slice]],
) -> None:
    page = html.render(*noisy)

    assert re.search(r'title="[^"]*; unsure: (about|more than) [^"]* would decide it', page)
    assert re.search(r"<small>(about|more than) [^<]* would decide it", page)


def test_markdown_has_parentheses_and_a_table_of_what_would_decide(
    noisy: tuple[Report, list[Slice]],
    snapshot: SnapshotAssertion,
) -> None:
    text = markdown.render(noisy[0])
    throughput = text.split("## Throughput")[1].split("\n## ")[0]

    assert throughput == snapshot
    assert len(re.findall(r"\(\d\.\d+ \[[^]]*\]\) unsure", throughput)) == count(noisy[0], "unsure")
    assert "(" not in re.sub(r"\([^)]*\) unsure", "", throughput.split("| test")[1])
    needs = text.split("## Time to decide the unsure results")[1].split("\n## ")[0]
    assert needs.count("\n| ") == count(noisy[0], "unsure") + 2


def test_version_by_version_counts_unsure_changes_and_is_pale_where_all_are(
    noisy: tuple[Report, list[Slice]],
) -> None:
    report, slices = noisy
    marked = [clause for group in report.group_changes for clause in group.unsure_clauses or []]
    versions = section(html.render(report, slices), "versions")

    assert marked
    assert all(clause.endswith(" (unsure)") for clause in marked)
    assert versions.count(f'<li class="{PALE}">') == len(marked)
    steps = [step for group in report.group_changes for step in group.steps]
    assert all((step.unsure or 0) + (step.same or 0) <= step.tests for step in steps)


def test_the_summary_of_long_steps_is_grey_where_its_steps_are_unsure(long: Report) -> None:
    page = html.render(long, [])
    summary = page.partition('<section id="summary">')[2].partition('<section id="results">')[0]
    text = markdown.render(long).split("## Relative to the first row")[1].split("\n## ")[0]

    # The tables of rates and of relative rates have each result once.
    # No rate of an undecided step has a classic colour.
    assert summary.count(PALE) >= 2 * count(long, "unsure")
    assert len(re.findall(r"\d\.\d+\?", text)) == count(long, "unsure") > 0
    assert "? unsure." in text


def test_the_classic_summary_is_pale_there_too(long: Report, tmp_path: Path) -> None:
    manifest, slices = insert_experiment([A, B], shifts={B: {"l.i0": 0.5}}, noise=0.06)

    files = write_classic(KINDS, manifest, long, slices, tmp_path)

    [summary] = [path.read_text() for path in files if path.name == "summary_tables.html"]
    # In the rates, and in the relative rates.
    assert summary.count('<td class="unsure"') == 2 * count(long, "unsure")


def test_a_history_is_pale_where_a_single_experiment_was_unsure() -> None:
    levels = {"8.0.1": 1.0, "8.0.2": 1.0, "8.0.3": 0.5}
    noisy = measured("one", levels, noise=Noise(slice=0.1))
    history = history_of(experiments(noisy), choice())
    [line] = history.lines
    points = [point for series in (*line.groups, *line.tests) for point in series.points]
    unsure = sum(point.unsure is True for point in points)

    assert 0 < unsure < len(points)
    assert not any(point.unsure for point in points if point.version == "8.0.1")
    page, text = (render_as(name, HISTORIES, history) for name in ("html", "md"))
    assert len(re.findall(rf'<td class="number rel [^"]*{PALE}"', page)) == unsure
    assert len(re.findall(r"\(\d\.\d+\)", text)) == unsure


@pytest.mark.parametrize(("half_width", "unsure"), [(0.029, False), (0.034, False), (0.036, True)])
def test_a_ratio_of_several_experiments_is_the_same_by_the_90_interval(
    half_width: float, *, unsure: bool
) -> None:
    ratio = Chained(log=0.0, half_width=half_width, experiments=("x", "y"))
    [experiment] = experiments(measured("one", {"8.0.1": 1.0, "8.0.2": 1.0}))
    details = Details([(experiment, {})])
    release = Release("8.0.2")

    [point] = series_of(details.order[0], {release: ratio}, details, {release: "8.0.2"}).points

    assert (point.unsure is True) == unsure
