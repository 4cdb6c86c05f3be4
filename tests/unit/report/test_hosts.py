"""The section by host: who measured what, and each host's own ratio."""

from __future__ import annotations

from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from slowdust.analysis.model import Report
from slowdust.analysis.stored import read_stored
from slowdust.report.markdown.contenders import by_host
from slowdust.report.tables import MOST_COLUMNS, overview, rows_of_hosts, table_by_host
from slowdust.store.folder import Folder
from tests.unit.synthetic_hosts import NEW, TESTS, joined_of


@pytest.fixture
def report(tmp_path: Path) -> Report:
    slow = {NEW: dict.fromkeys(TESTS, 0.88)}
    tests = {"alpha": TESTS, "beta": TESTS, "gamma": TESTS[:-1], "delta": TESTS}
    joined = joined_of(tmp_path, {"alpha": {}, "beta": {}, "gamma": {}, "delta": slow}, tests=tests)
    return read_stored(joined.folder).report()


def test_each_host_has_a_column_and_an_odd_one_is_marked(report: Report) -> None:
    table = table_by_host(report)
    assert table is not None
    assert table.head == ("all hosts", "alpha", "beta", "gamma", "delta")
    row = next(row for row in table.rows if row.test == "scan")
    assert [bool(cell.odd) for cell in row.cells] == [False, False, False, False, True]
    assert row.cells[-1].text.startswith("0.88! [")
    missing = next(row for row in table.rows if row.test == TESTS[-1])
    assert missing.cells[3].text == "-"


def test_hosts_are_listed_with_what_they_measured(
    report: Report, snapshot: SnapshotAssertion
) -> None:
    rows = {row[0]: row for row in rows_of_hosts(report)}
    assert rows["gamma"] == ("gamma", "synthetic", "-", "on-gamma", "3", "288", "3")
    assert overview(report)[0] == snapshot


def test_markdown_says_what_the_mark_is(report: Report, snapshot: SnapshotAssertion) -> None:
    lines = by_host(report)
    assert lines[0] == "## By host"
    assert " ".join(lines) == snapshot


def test_many_hosts_are_shown_by_the_lowest_and_the_highest(tmp_path: Path) -> None:
    hosts = {f"h{number}": {NEW: {"scan": 1 - 0.02 * number}} for number in range(MOST_COLUMNS + 1)}
    tests = {name: ["scan"] for name in hosts}
    report = read_stored(joined_of(tmp_path, hosts, tests=tests).folder).report()
    table = table_by_host(report)
    assert table is not None
    assert table.head == ("all hosts", "lowest", "highest")
    [row] = table.rows
    assert [cell.verdict for cell in row.cells[1:]] == [f"h{MOST_COLUMNS}", "h0"]


def test_an_experiment_of_one_host_has_no_such_section(tmp_path: Path) -> None:
    joined_of(tmp_path, {"alpha": {}})
    report = read_stored(Folder(tmp_path / "on-alpha")).report()
    assert report.hosts == []
    assert by_host(report) == []
