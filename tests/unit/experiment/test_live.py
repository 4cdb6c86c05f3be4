"""The live view tells bounds, the test that runs and the wall time that is left."""

from __future__ import annotations

import time

import pytest
from rich.text import Text

from slowdust.experiment.live import PlainView, describe, open_view
from slowdust.experiment.passes.slices import Remaining
from slowdust.experiment.view import InterimVerdict, Status
from slowdust.ratios import Ratio, Verdict


def verdict(low: float | None, high: float | None, word: Verdict = "unsure") -> InterimVerdict:
    middle = 1.0 if low is None or high is None else (low + high) / 2
    return InterimVerdict("b", Ratio(middle, low, high, word), settled=False)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        (verdict(0.002, 2010.0), "no interval yet"),
        (verdict(0.2, 1.1), "no interval yet"),
        (verdict(None, None), "no interval yet"),
        (
            InterimVerdict("b", None, settled=False),
            "no block measured together with the base yet",
        ),
        (verdict(0.96, 1.09), "at most 4% slower, at most 9% faster"),
        (verdict(0.991, 1.004, "same"), "same, at most 0.9% slower, at most 0.4% faster"),
        (verdict(1.022, 1.037, "faster"), "faster, at least 2.2%"),
        (verdict(0.86, 0.96, "slower"), "slower, at least 4%"),
        (verdict(0.95, 0.99), "perhaps 5% slower"),
        (verdict(1.01, 1.05), "perhaps 5% faster"),
        (verdict(3.4, 5.0, "faster"), "faster, at least 3.4X"),
        (verdict(0.1, 0.2, "slower"), "slower, at least 5.0X"),
        (verdict(0.2, 0.5), "perhaps 5.0X slower"),
    ],
)
def test_what_is_known_is_told_as_bounds(given: InterimVerdict, words: str) -> None:
    assert describe(given) == f"b: {words}"


STATUS = Status(
    *("scan", 8, 3, 12, "40 slices, start 2 of 4"),
    *([verdict(0.96, 1.09)], 30.0, 60.0, 1),
    left=245.4,
    following=40.0,
)


def test_a_line_has_the_place_of_the_test_and_the_wall_time(
    capsys: pytest.CaptureFixture[str],
) -> None:
    PlainView().step_done(STATUS)
    assert capsys.readouterr().err == (
        "3/12 scan x8: b: at most 4% slower, at most 9% faster "
        "(40 slices, start 2 of 4; about 4m05s left, 40s of it after the timed part)\n"
    )


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
    assert "about 4m05s left, 40s of it after the timed part" in shown


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
