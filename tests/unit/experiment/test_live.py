"""The live view shows bounds, the running test and the wall time left."""

from __future__ import annotations

import time

import pytest
from rich.text import Text
from syrupy.assertion import SnapshotAssertion

from slowdust.experiment.live import PlainView, describe, open_view
from slowdust.experiment.passes.slices import Remaining
from slowdust.experiment.view import InterimVerdict, Status
from slowdust.ratios import Ratio, Verdict


def verdict(low: float | None, high: float | None, word: Verdict = "unsure") -> InterimVerdict:
    middle = 1.0 if low is None or high is None else (low + high) / 2
    return InterimVerdict("b", Ratio(middle, low, high, word), settled=False)


@pytest.mark.parametrize(
    "given",
    [
        verdict(0.002, 2010.0),
        verdict(0.2, 1.1),
        verdict(None, None),
        InterimVerdict("b", None, settled=False),
        verdict(0.96, 1.09),
        verdict(0.991, 1.004, "same"),
        verdict(1.022, 1.037, "faster"),
        verdict(0.86, 0.96, "slower"),
        verdict(0.95, 0.99),
        verdict(1.01, 1.05),
        verdict(3.4, 5.0, "faster"),
        verdict(0.1, 0.2, "slower"),
        verdict(0.2, 0.5),
    ],
)
def test_interim_results_are_bounds(given: InterimVerdict, snapshot: SnapshotAssertion) -> None:
    assert describe(given) == snapshot


STATUS = Status(
    *("scan", 8, 3, 12, "40 slices, start 2 of 4"),
    *([verdict(0.96, 1.09)], 30.0, 60.0, 1),
    left=245.4,
    following=40.0,
)


def test_a_line_has_the_place_of_the_test_and_the_wall_time(
    capsys: pytest.CaptureFixture[str], snapshot: SnapshotAssertion
) -> None:
    PlainView().step_done(STATUS)
    assert capsys.readouterr().err == snapshot


def test_the_terminal_has_the_same(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, value in {"FORCE_COLOR": "1", "TERM": "xterm", "COLUMNS": "200"}.items():
        monkeypatch.setenv(name, value)
    with open_view() as view:
        view.block(STATUS)
    shown = Text.from_ansi(capsys.readouterr().err).plain
    assert "test 3 of 12" in shown
    assert "1 decided" in shown
    assert "4m05s left, 40s" in shown


def test_wall_time_has_what_the_budget_does_not_count(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 100.0
    monkeypatch.setattr(time, "monotonic", lambda: now)
    left = Remaining()
    left.begin_start()
    now += 20  # loading
    assert left.left(60.0, 3, 0.0) == 60 + 3 * 20
    now += 10
    assert left.left(50.0, 3, 10.0) == 50 + 3 * 20, "measuring is not beside the budget"
    left.measured(10.0)
    left.begin_start()
    now += 10  # the second start was quicker
    assert left.left(50.0, 2, 0.0) == 50 + 2 * 15
