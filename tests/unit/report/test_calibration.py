from __future__ import annotations

import json

import msgspec
from syrupy.assertion import SnapshotAssertion

from slowdust.analysis.model import Calibration
from slowdust.analysis.stored import analyse
from slowdust.report import html, terminal
from slowdust.report.calibration import (
    explanations,
    lines,
    sentences,
    share_label,
    tally_table,
)
from slowdust.report.calibration import (
    test_table as table_of_tests,
)
from slowdust.report.json import render as render_json
from slowdust.report.markdown.report import render as render_markdown
from tests.unit.synthetic import synthetic_experiment
from tests.unit.synthetic_calibration import AGAIN, BASE, synthetic_calibration


def calibration(**how: object) -> Calibration:
    report = analyse(*synthetic_calibration(**how))  # type: ignore[arg-type]
    assert report.calibration is not None
    return report.calibration


def test_the_counts_are_a_row_for_each_delay(snapshot: SnapshotAssertion) -> None:
    table = tally_table([calibration()])
    assert [list(row) for row in table.rows] == snapshot


def test_several_calibrations_are_told_apart_and_counted_together() -> None:
    both = [calibration(), calibration(seed=2)]
    assert [row[1] for row in tally_table(both).rows] == ["4", "4"]
    table = table_of_tests(both)
    assert table.header[:2] == ["contender", "test"]
    assert len(table.rows) == 4
    assert all(len(row) == len(table.header) for row in table.rows)


def test_a_test_at_several_numbers_of_clients_has_several_rows(snapshot: SnapshotAssertion) -> None:
    table = table_of_tests([calibration(tests=["scan"], clients=(1, 4))])
    assert [row[0] for row in table.rows] == snapshot
    assert table.rows[0][2].endswith("(0.900)")
    assert table.rows[1][2].endswith("(-)")


def test_a_test_without_an_interval_has_a_row(snapshot: SnapshotAssertion) -> None:
    shown = calibration()
    tests = [msgspec.structs.replace(test, half_width=None, intervals=0) for test in shown.tests]
    shown = msgspec.structs.replace(shown, tests=tests, needed=[])
    table = table_of_tests([shown])
    assert [row[0] for row in table.rows] == ["point-query", "update-index"]
    assert all(len(row) == len(table.header) for row in table.rows)
    assert table.rows[0][-1] == "-"
    assert sentences([shown])[0] == snapshot


def test_a_time_beyond_what_is_foretold_is_told_as_more(snapshot: SnapshotAssertion) -> None:
    shown = calibration(blocks=2, noise=0.3)
    assert table_of_tests([shown]).rows[0][-4].startswith("more than ")
    (text,) = sentences([shown])
    assert text == snapshot


def test_results_without_a_known_truth_are_counted(snapshot: SnapshotAssertion) -> None:
    assert explanations([calibration()]) == snapshot
    disturbed = calibration(taken=0.3)
    assert explanations([disturbed])[-1] == snapshot
    assert list(tally_table([disturbed]).rows[1])[:3] == ["10%", "2", "-"]


def test_a_host_with_other_work_is_called_so(snapshot: SnapshotAssertion) -> None:
    (calm,) = sentences([calibration()])
    assert calm == snapshot
    (levels,) = sentences([calibration(tests=["scan"], clients=(1, 2))])
    assert levels == snapshot
    _, disturbed = sentences([calibration(taken=0.3)])
    assert disturbed == snapshot


def test_a_delay_has_a_label() -> None:
    assert [share_label(share) for share in (0.0, 0.005, 0.03, 0.1)] == [
        "nothing",
        "0.5%",
        "3%",
        "10%",
    ]


def test_every_format_has_the_calibration() -> None:
    manifest, slices = synthetic_calibration()
    report = analyse(manifest, slices)
    shown = calibration()
    assert terminal.lines(report)[-len(lines([shown])) :] == lines([shown])
    assert "\n".join(lines([shown])) in render_markdown(report, slices)
    page = html.render(report, slices)
    assert '<section id="calibration">' in page
    assert "intervals with the truth" in page
    found = json.loads(render_json(report))["calibration"]["tests"]
    assert [test["false"] for test in found] == [0, 0, 0, 0]


def test_other_experiments_have_no_section_of_it() -> None:
    manifest, slices = synthetic_experiment([BASE, AGAIN], ["scan"])
    report = analyse(manifest, slices)
    assert "Calibration" not in render_markdown(report, slices)
    assert 'id="calibration"' not in html.render(report, slices)
