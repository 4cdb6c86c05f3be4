"""Waits of servers, in the formats of a report."""

from __future__ import annotations

import csv as csv_format
import json as json_format
from collections.abc import Mapping

from syrupy.assertion import SnapshotAssertion

from slowdust.analysis.model import Report
from slowdust.analysis.stored import analyse
from slowdust.report import csv, html, json
from slowdust.report.markdown import report as markdown
from slowdust.store.slice import Slice
from slowdust.store.waits import WaitWindow
from slowdust.units import Microsecond
from tests.unit.report.sample import BASE, NEWER, plain_experiment
from tests.unit.report.test_markdown import section, table_rows
from tests.unit.synthetic import synthetic_experiment
from tests.unit.synthetic_waits import synthetic_waits

SLOWER_DISK: Mapping[str, Mapping[str, Microsecond]] = {
    BASE: {"IO/WalSync": 100.0, "Lock/tuple": 900.0},
    NEWER: {"IO/WalSync": 2100.0, "Lock/tuple": 900.0},
}


def observed(windows: list[WaitWindow]) -> tuple[Report, list[Slice]]:
    manifest, slices = synthetic_experiment([BASE, NEWER], ["update-one"], blocks=4, clients=(4,))
    return analyse(manifest, slices, waits=windows), slices


def test_markdown_has_the_events_of_each_compared_with_the_base(
    snapshot: SnapshotAssertion,
) -> None:
    windows = synthetic_waits(SLOWER_DISK, sync_us={BASE: 90.0, NEWER: 2090.0}, noise=0.01)
    report, _ = observed(windows)
    text = section(markdown.render(report), "Waits")
    assert f"### update-one, 4 clients: {BASE}" in text
    assert text == snapshot
    rows = [row for row in table_rows(text) if row[0] == "`IO/WalSync`"]
    of_base, of_newer = rows
    assert of_base[2] == "-", "the base is beside nothing"
    assert of_newer[:2] == ["`IO/WalSync`", "sync"]
    assert of_newer[5].startswith("+")
    locks = [row for row in table_rows(text) if row[0] == "`Lock/tuple`"]
    assert locks[1][5].startswith("("), "what is not certain is in parentheses"
    assert locks[1][6] == "-", "sampled waits have no number"


def test_the_page_has_them_as_well() -> None:
    windows = synthetic_waits(SLOWER_DISK)
    page = html.render(*observed(windows))
    assert "<h4>Waits</h4>" in page
    assert "<code>IO/WalSync</code>" in page


def test_json_has_what_was_observed_and_nothing_else() -> None:
    report, _ = observed(synthetic_waits(SLOWER_DISK))
    base, newer = json_format.loads(json.render(report))["waits"]
    assert "time_beside" not in base
    assert "syncs" not in newer
    assert newer["waits"][0]["beside"]["base"] > 0


def test_csv_has_a_column_for_each_kind() -> None:
    windows = synthetic_waits(SLOWER_DISK, sync_us={BASE: 90.0, NEWER: 2090.0}, noise=0.01)
    report, _ = observed(windows)
    base, newer = csv_format.DictReader(csv.render(report).splitlines())
    assert float(newer["waits_sync_us"]) > 10 * float(base["waits_sync_us"])
    assert float(newer["syncs_us"]) > 1900
    assert base["waits_io_us"] == "", "nobody saw any"
    plain, _ = plain_experiment()
    first = next(csv_format.DictReader(csv.render(plain).splitlines()))
    assert first["waits_sync_us"] == ""


def test_without_windows_nothing_is_said_of_waits() -> None:
    report, slices = plain_experiment()
    assert "## Waits" not in markdown.render(report)
    assert "Waits per operation" not in html.render(report, slices)
