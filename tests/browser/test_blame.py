"""The page of what releases cost fits a telephone and a wide screen."""

from __future__ import annotations

from pathlib import Path

import pytest
from selenium.webdriver import Chrome

from slowdust.analysis.blame.blame import blame_of
from slowdust.analysis.stored import Stored
from slowdust.report.blame import html
from tests.browser.windows import ChromiumWindow
from tests.unit.synthetic_history import choice, measured

LEVELS = {"10.23": 1.0, "12.22": 0.97, "14.23": 0.8, "16.14": 0.9, "18.4": 0.7}


@pytest.fixture(scope="module")
def blame_url(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("blame") / "blame.html"
    manifest, slices = measured("all", LEVELS, dbms="postgres")
    page = html.render(blame_of([Stored(manifest, slices)], choice()))
    path.write_text(page, encoding="utf-8")
    return path.as_uri()


@pytest.mark.parametrize("width", [1600, 420])
def test_each_group_has_a_bar_for_each_step_and_nothing_sticks_out(
    chrome: Chrome, blame_url: str, width: int, tmp_path: Path
) -> None:
    ChromiumWindow(chrome, tmp_path).set_width(width)
    chrome.get(blame_url)
    bars = chrome.execute_script(
        "return [...document.querySelectorAll('.waterfall')]"
        ".map(chart => chart.querySelectorAll('rect.part').length)"
    )
    assert bars == [len(LEVELS)] * 3
    assert chrome.execute_script("return document.documentElement.scrollWidth <= innerWidth")
    labels = chrome.execute_script(
        "return [...document.querySelector('#line-0 tbody').querySelectorAll('th')]"
        ".map(label => label.clientHeight)"
    )
    assert max(labels) < 2 * min(labels), "a step is on one line"
