"""The page of a watch fits a telephone and a wide screen, and its charts scroll."""

from __future__ import annotations

from pathlib import Path

import pytest
from selenium.webdriver import Chrome

from slowdust.report.watching import html
from tests.browser.windows import ChromiumWindow
from tests.unit.watching.synthetic_watch import judged, nights_of

_CHART = "return document.querySelector('figure.scroll .plot').getBoundingClientRect().width"


@pytest.mark.parametrize("width", [1600, 420])
def test_nothing_sticks_out_and_the_labels_of_nights_have_room(
    chrome: Chrome, width: int, tmp_path: Path
) -> None:
    nights = nights_of([0, 0, 0, 0, 0, *[0.03] * 5, 0, 0, 0])
    path = tmp_path / "report.html"
    path.write_text(html.render("postgres", judged(nights), nights), encoding="utf-8")
    ChromiumWindow(chrome, tmp_path).set_width(width)
    chrome.get(path.as_uri())
    assert chrome.execute_script("return document.documentElement.scrollWidth <= innerWidth")
    assert chrome.execute_script("return document.querySelectorAll('.shift').length") == 2
    assert chrome.execute_script(_CHART) > 60 * len(nights)
