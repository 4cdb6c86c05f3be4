"""The section by host: the tests of each host, and its own ratio."""

from __future__ import annotations

from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from slowdust.analysis.model import Report
from slowdust.analysis.stored import read_stored
from slowdust.report.markdown.document import lines
from slowdust.report.sections.hosts import MOST_COLUMNS, by_host, overview
from slowdust.store.folder import Folder
from tests.unit.report.media import tables_in
from tests.unit.synthetic_hosts import NEW, TESTS, joined_of


@pytest.fixture
def report(tmp_path: Path) -> Report:
    slow = {NEW: dict.fromkeys(TESTS, 0.88)}
    tests = {"alpha": TESTS, "beta": TESTS, "gamma": TESTS[:-1], "delta": TESTS}
    joined = joined_of(tmp_path, {"alpha": {}, "beta": {}, "gamma": {}, "delta": slow}, tests=tests)
    return read_stored(joined.folder).report()


def test_each_host_has_a_column_and_an_odd_one_is_marked(report: Report) -> None:
    _, (head, *rows) = tables_in(by_host(report))
    assert head[3:] == ["all hosts", "alpha", "beta", "gamma", "delta"]
    of_test = {row[0]: row[3:] for row in rows}
    assert ["!" in cell for cell in of_test["scan"]] == [False, False, False, False, True]
    assert of_test["scan"][-1].startswith("0.88! [")
    assert of_test[TESTS[-1]][3] == "-"


def test_hosts_are_listed_with_what_they_measured(
    report: Report, snapshot: SnapshotAssertion
) -> None:
    (_, *rows), _ = tables_in(by_host(report))
    assert ["gamma", "synthetic", "-", "on-gamma", "3", "288", "3"] in rows
    assert overview(report)[0] == snapshot


def test_markdown_says_what_the_mark_is(report: Report, snapshot: SnapshotAssertion) -> None:
    section = by_host(report)
    assert section is not None
    shown = lines([section])
    assert shown[0] == "## By host"
    assert " ".join(shown) == snapshot


def test_many_hosts_are_shown_by_the_lowest_and_the_highest(tmp_path: Path) -> None:
    hosts = {f"h{number}": {NEW: {"scan": 1 - 0.02 * number}} for number in range(MOST_COLUMNS + 1)}
    tests = {name: ["scan"] for name in hosts}
    report = read_stored(joined_of(tmp_path, hosts, tests=tests).folder).report()
    _, (head, row) = tables_in(by_host(report))
    assert head[3:] == ["all hosts", "lowest", "highest"]
    assert [cell.split()[-1] for cell in row[4:]] == [f"h{MOST_COLUMNS}", "h0"]


def test_an_experiment_of_one_host_has_no_such_section(tmp_path: Path) -> None:
    joined_of(tmp_path, {"alpha": {}})
    report = read_stored(Folder(tmp_path / "on-alpha")).report()
    assert report.hosts == []
    assert by_host(report) is None
