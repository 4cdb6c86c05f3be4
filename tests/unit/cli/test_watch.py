"""`slowdust watch` and `slowdust ack` on the command line: wrong files, alarms, and their end."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from slowdust.store.folder import Folder
from slowdust.studies.watch.alarms import State, write_state
from slowdust.studies.watch.series import append_night
from tests.unit.cli.command import Slowdust, spoken
from tests.unit.studies.watch.synthetic_watch import RELEASES, judged, nights_of

WATCH = '[watch]\nname = "w"\n'
OF_RELEASES = WATCH + 'releases = "postgres@15.0..15.9"\n'


@pytest.mark.parametrize(
    ("text", "named"),
    [
        ("rows = 1000\n", "w.toml: watch"),
        (WATCH, "w.toml:1: watch"),
        (OF_RELEASES + "color = 1\n", "w.toml:4: watch.color"),
        (WATCH + 'releases = "postgres"\n', "w.toml:3: watch.releases"),
        (WATCH + 'releases = "postgres@18..17"\n', "postgres"),
        (OF_RELEASES + 'ref = "master"\n', "w.toml:4: watch.ref"),
        (WATCH + 'repo = "."\ndbms = "postgres"\nref = "a"\n', "base"),
        (OF_RELEASES + 'base = "postgres@99"\n', "w.toml:4: watch.base: "),
        (
            OF_RELEASES + 'base = "postgres://a@b/c"\n',
            "watch.base",
        ),
        (OF_RELEASES + 'webhook = "$NO_SUCH_URL"\n', "NO_SUCH_URL"),
        (OF_RELEASES + 'webhook = "example"\n', "w.toml:4: watch.webhook"),
        (OF_RELEASES + "on_regression = 'say \"'\n", "w.toml:4: watch.on_regression: "),
        ('contenders = ["postgres@17"]\n' + OF_RELEASES, "w.toml:1: contenders"),
        ('tests = ["nothing"]\n' + OF_RELEASES, "w.toml:1: tests"),
        ('rows = "many"\n' + OF_RELEASES, "w.toml:1: rows: "),
        ("rows = \n", "w.toml:1:"),
    ],
    ids=spoken,
)
def test_a_wrong_file_is_reported_in_one_line(
    slowdust: Slowdust, tmp_path: Path, text: str, named: str, snapshot: SnapshotAssertion
) -> None:
    (tmp_path / "w.toml").write_text(text)
    outcome = slowdust("watch", "w.toml", "--results", tmp_path / "results")
    assert outcome.code == 2
    assert named in outcome.complaint
    assert outcome.complaint == snapshot
    assert not (tmp_path / "results").exists(), "nothing was begun"


@pytest.fixture
def watched(tmp_path: Path) -> Path:
    """The results folder of a watch whose sixth night has raised an alarm."""
    folder = tmp_path / "results" / "watch" / "w"
    folder.mkdir(parents=True)
    nights = nights_of([0, 0, 0, 0, 0, 0.03])
    for night in nights:
        append_night(folder, night)
    state: State = judged(nights)
    write_state(folder, state)
    (tmp_path / "w.toml").write_text(RELEASES)
    return tmp_path / "results"


def undated(text: str) -> str:
    """The text without the day on which the test runs."""
    return re.sub(r"\bon \d{4}-\d\d-\d\d", "on DAY", text)


def test_the_status_shows_alarms_and_nights(
    slowdust: Slowdust, watched: Path, snapshot: SnapshotAssertion
) -> None:
    outcome = slowdust("watch", "w.toml", "--status", "--results", watched)
    assert outcome.code == 0
    assert outcome.out == snapshot
    page = (watched / "watch/w/report.html").read_text()
    assert "1.030" in page


def test_alarms_are_acknowledged_by_test(
    slowdust: Slowdust, watched: Path, snapshot: SnapshotAssertion
) -> None:
    outcome = slowdust("ack", "w", "point-query", "--results", watched)
    assert outcome.code == 2
    assert outcome.complaint == snapshot
    outcome = slowdust("ack", "w", "scan", "--note", "known", "--results", watched)
    assert outcome.code == 0
    assert undated(outcome.out) == snapshot
    status = slowdust("watch", "w.toml", "--status", "--results", watched).out
    assert undated(status) == snapshot
    outcome = slowdust("ack", "w", "--as-new-level", "--results", watched)
    assert undated(outcome.out) == snapshot
    assert slowdust("ack", "w", "--results", watched).code == 2
    status = slowdust("watch", "w.toml", "--status", "--results", watched).out
    assert undated(status) == snapshot


def test_a_watch_that_was_not_begun_is_refused(
    slowdust: Slowdust, watched: Path, snapshot: SnapshotAssertion
) -> None:
    outcome = slowdust("ack", "ww", "--results", watched)
    assert outcome.code == 2
    assert outcome.complaint == snapshot


def test_two_of_one_name_do_not_run_at_once(
    slowdust: Slowdust, watched: Path, snapshot: SnapshotAssertion
) -> None:
    with Folder(watched / "watch/w").locked():
        outcome = slowdust("watch", "w.toml", "--results", watched)
    assert outcome.code == 2
    assert outcome.complaint == snapshot
