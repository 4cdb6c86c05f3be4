"""Work and time in every format."""

from __future__ import annotations

import csv as stdlib_csv
import io
import json as stdlib_json
import re

import pytest
from syrupy.assertion import SnapshotAssertion

from slowdust.analysis.model import Report
from slowdust.analysis.stored import analyse
from slowdust.report import csv, html, json
from slowdust.report.markdown import report as markdown
from slowdust.store.slice import Slice
from tests.unit.ratios import interval_of
from tests.unit.report.outline import Outline, words
from tests.unit.report.sample import BASE, NEWER, counted_experiment
from tests.unit.synthetic import synthetic_experiment

A, B = BASE, NEWER
TESTS = ("point-query", "scan", "insert", "update-index")


@pytest.fixture(scope="module")
def counted() -> tuple[Report, list[Slice]]:
    return counted_experiment()


@pytest.fixture(scope="module")
def timed() -> tuple[Report, list[Slice]]:
    manifest, slices = synthetic_experiment([A, B], TESTS, blocks=4)
    return analyse(manifest, slices), slices


def work_cells(page: str) -> list[str]:
    table = page.split('id="results-table"', 1)[1].split("</table>", 1)[0]
    return re.findall(r'<td class="number rel work.*?</td>', table)


def test_markdown_has_a_column_of_work_next_to_that_of_time(
    counted: tuple[Report, list[Slice]],
) -> None:
    text = markdown.render(*counted)

    header = next(line for line in text.splitlines() if line.startswith("| test "))
    assert header.replace(" ", "") == "|test|clients|" + A + "|instructions/o|" + B + f"|{B}work|"
    [row] = [line for line in text.splitlines() if line.startswith("| point-query ")][:1]
    assert re.search(r"\| +0\.9\d\d \[0\.\d{3}, 0\.\d{3}\] less \|", row)
    verdicts = {r.test: r.work.verdict for r in counted[0].results if r.work and r.work.verdict}
    assert verdicts["insert"] == "unsure"
    [row] = [line for line in text.splitlines() if line.startswith("| insert ")][:1]
    assert re.search(r"\(\d\.\d{3} \[.*?\]\) unsure \|$", row)


def test_system_calls_are_next_to_work(counted: tuple[Report, list[Slice]]) -> None:
    lines = markdown.render(*counted).split("## System calls per operation", 1)[1].splitlines()
    [row] = [line for line in lines if line.startswith("| scan ")][:1]
    assert row.replace(" ", "") == "|scan|1|4|4|"

    table = html.render(*counted).split('id="results-table"', 1)[1].split("</table>", 1)[0]
    assert table.count("<small>4.00 system calls/o</small>") == 2 * len(TESTS)


def test_the_page_has_a_cell_of_work_for_each_result(counted: tuple[Report, list[Slice]]) -> None:
    page = html.render(*counted)

    cells = work_cells(page)
    assert len(cells) == len(TESTS)
    words = [word for cell in cells for word in re.findall('<span class="word">(.*?)</span>', cell)]
    assert sorted(words) == sorted(r.work.verdict or "" for r in counted[0].results[1::2] if r.work)
    for cell, word in zip(cells, words, strict=True):
        assert (" not-sure" in cell) == (word == "unsure")
        assert ("slower" in cell, "faster" in cell) == (word == "more", word == "less")
    Outline().feed(page)


def test_a_cell_of_work_says_how_much_it_is_at_least(
    counted: tuple[Report, list[Slice]],
) -> None:
    page = html.render(*counted)

    [result] = [r for r in counted[0].results if r.work and r.work.verdict == "less"][:1]
    assert result.work is not None
    assert result.work.bound == interval_of(result.work.ratio)[1]
    assert re.search(r'title="[^"]*; \d[.\d]*% less work, at least \d', page)


def test_each_test_has_its_instructions(counted: tuple[Report, list[Slice]]) -> None:
    page = html.render(*counted)

    tests = page.split('<section id="tests">', 1)[1]
    assert tests.count("Work<small>instructions per operation</small>") == len(TESTS)
    assert tests.count("<small>4.00 system calls") == 2 * len(TESTS)


@pytest.mark.parametrize("form", ["html", "markdown"])
def test_without_counts_there_is_no_column(
    timed: tuple[Report, list[Slice]], form: str, snapshot: SnapshotAssertion
) -> None:
    text = html.render(*timed) if form == "html" else markdown.render(*timed)

    tables = re.findall(r"<thead.*?</thead>|^\| test .*?$", text, re.DOTALL | re.MULTILINE)
    assert "instructions/o" not in text
    assert [words(table) for table in tables] == snapshot


def test_contenders_by_tests_have_work_below_time() -> None:
    names = [f"postgres@{version}" for version in range(12, 18)]

    page = html.render(*counted_experiment(names))

    overview = page.split('aria-label="Contenders by tests"', 1)[1].split("</table>", 1)[0]
    assert overview.count('<small class="work') == 5 * len(TESTS)


def test_by_number_of_clients_work_stands_where_it_was_counted() -> None:
    page = html.render(*counted_experiment(clients=(1, 8)))

    section = page.split('<section id="concurrency"', 1)[1].split('<section id="tests"', 1)[0]
    assert section.count("<small>work ") == len(TESTS)


def test_intervals_of_work_have_a_plot_of_their_own(counted: tuple[Report, list[Slice]]) -> None:
    page = html.render(*counted)

    section = page.split('<section id="intervals"', 1)[1].split("<section id=", 1)[0]
    assert [f"{what} of each contender" in section for what in ("Rate", "Work")] == [True, True]
    work = section.split("Work of each contender", 1)[1]
    for result in counted[0].results:
        if result.work is not None and result.work.verdict is not None:
            assert f'class="value {result.work.verdict}"' in work


def test_csv_has_columns_of_work(counted: tuple[Report, list[Slice]]) -> None:
    rows = list(stdlib_csv.DictReader(io.StringIO(csv.render(counted[0]))))

    for row, result in zip(rows, counted[0].results, strict=True):
        assert result.work is not None
        low = result.work.ratio and result.work.ratio.low
        assert float(row["work_instructions"]) == result.work.instructions
        assert row["work_verdict"] == (result.work.verdict or "")
        assert row["work_low"] == str(low or "")
        assert float(row["work_system_calls"]) == 4.0
        assert row["work_kernel_instructions"] == ""


def test_csv_is_empty_where_nothing_was_counted(timed: tuple[Report, list[Slice]]) -> None:
    [row, *_] = stdlib_csv.DictReader(io.StringIO(csv.render(timed[0])))

    assert row["work_instructions"] == row["work_system_calls"] == row["work_source"] == ""


def test_json_has_work_as_documented(counted: tuple[Report, list[Slice]]) -> None:
    results = stdlib_json.loads(json.render(counted[0]))["results"]

    work = next(r["work"] for r in results if (r["test"], r["contender"]) == ("scan", B))
    assert work["verdict"] == "more"
    assert work["source"] == "valgrind"
    assert work["low"] < 1.49 < work["high"]
    assert "low" not in results[0]["work"]
