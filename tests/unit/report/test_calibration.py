from __future__ import annotations

import json

import msgspec
from syrupy.assertion import SnapshotAssertion

from slowdust.analysis.model import Calibration
from slowdust.analysis.stored import analyse
from slowdust.report import html
from slowdust.report.calibration import section
from slowdust.report.document import Table, Text
from slowdust.report.json import render as render_json
from slowdust.report.markdown.document import lines
from slowdust.report.markdown.report import render as render_markdown
from tests.unit.report.media import printed
from tests.unit.synthetic import synthetic_experiment
from tests.unit.synthetic_calibration import AGAIN, BASE, synthetic_calibration


def calibration(**how: object) -> Calibration:
    report = analyse(*synthetic_calibration(**how))  # type: ignore[arg-type]
    assert report.calibration is not None
    return report.calibration


def sentences(calibrations: list[Calibration]) -> list[str]:
    lead, *_ = section(calibrations).blocks
    assert isinstance(lead, Text)
    return [str(line) for line in lead.lines]


def explanations(calibrations: list[Calibration]) -> list[str]:
    *_, explained = section(calibrations).blocks
    assert isinstance(explained, Text)
    return [str(line) for line in explained.lines]


def tables(calibrations: list[Calibration]) -> list[list[list[str]]]:
    """Return the verdicts by delay and the noise by test, each with its head."""
    return [
        [
            [column.title for column in block.columns],
            *([*map(str, row.cells)] for row in block.rows),
        ]
        for block in section(calibrations).blocks
        if isinstance(block, Table)
    ]


def test_the_counts_are_a_row_for_each_delay(snapshot: SnapshotAssertion) -> None:
    (_, *rows), _ = tables([calibration()])
    assert rows == snapshot


def test_several_calibrations_are_distinguished_and_counted_together() -> None:
    both = [calibration(), calibration(seed=2)]
    (_, *counts), (head, *rows) = tables(both)
    assert [row[1] for row in counts] == ["4", "4"]
    assert head[:2] == ["contender", "test"]
    assert len(rows) == 4
    assert all(len(row) == len(head) for row in rows)


def test_a_test_at_several_numbers_of_clients_has_several_rows(snapshot: SnapshotAssertion) -> None:
    _, (_, *rows) = tables([calibration(tests=["scan"], clients=(1, 4))])
    assert [row[0] for row in rows] == snapshot
    assert rows[0][2].endswith("(0.900)")
    assert rows[1][2].endswith("(-)")


def test_a_test_without_an_interval_has_a_row(snapshot: SnapshotAssertion) -> None:
    shown = calibration()
    tests = [msgspec.structs.replace(test, half_width=None, intervals=0) for test in shown.tests]
    shown = msgspec.structs.replace(shown, tests=tests, needed=[])
    _, (head, *rows) = tables([shown])
    assert [row[0] for row in rows] == ["point-query", "update-index"]
    assert all(len(row) == len(head) for row in rows)
    assert rows[0][-1] == "-"
    assert sentences([shown])[0] == snapshot


def test_a_time_beyond_the_forecast_is_more_than_the_largest(snapshot: SnapshotAssertion) -> None:
    shown = calibration(blocks=2, noise=0.3)
    _, (_, row, *_) = tables([shown])
    assert row[-4].startswith("more than ")
    (text,) = sentences([shown])
    assert text == snapshot


def test_results_without_a_known_truth_are_counted(snapshot: SnapshotAssertion) -> None:
    assert explanations([calibration()]) == snapshot
    disturbed = calibration(taken=0.3)
    assert explanations([disturbed])[-1] == snapshot
    (_, _, row), _ = tables([disturbed])
    assert row[:3] == ["10%", "2", "-"]


def test_a_host_with_other_work_is_called_so(snapshot: SnapshotAssertion) -> None:
    (calm,) = sentences([calibration()])
    assert calm == snapshot
    (levels,) = sentences([calibration(tests=["scan"], clients=(1, 2))])
    assert levels == snapshot
    _, disturbed = sentences([calibration(taken=0.3)])
    assert disturbed == snapshot


def test_every_format_has_the_calibration() -> None:
    manifest, slices = synthetic_calibration()
    report = analyse(manifest, slices)
    shown = lines(section([calibration()]).blocks)
    in_terminal = printed(report)
    assert all(line in in_terminal for line in shown if not line.startswith("|"))
    assert "\n".join(shown) in render_markdown(report, slices)
    page = html.render(report, slices)
    assert '<section id="calibration">' in page
    assert "intervals that cover it" in page
    found = json.loads(render_json(report))["calibration"]["tests"]
    assert [test["false"] for test in found] == [0, 0, 0, 0]


def test_other_experiments_have_no_section_of_it() -> None:
    manifest, slices = synthetic_experiment([BASE, AGAIN], ["scan"])
    report = analyse(manifest, slices)
    assert "Calibration" not in render_markdown(report, slices)
    assert 'id="calibration"' not in html.render(report, slices)
