"""The page of a search fits a telephone and a wide screen, and its parts stand apart."""

from __future__ import annotations

from pathlib import Path

import pytest
from selenium.webdriver import Chrome

from slowdust.report.bisection import html
from tests.browser.windows import ChromiumWindow
from tests.unit.synthetic_search import outcome_of_test

_GAPS = """
return [...document.querySelectorAll("section.change")].slice(1).map(section =>
  section.getBoundingClientRect().top
    - section.previousElementSibling.getBoundingClientRect().bottom);
"""


@pytest.fixture(scope="module")
def search_url(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("search") / "report.html"
    path.write_text(html.render(outcome_of_test()), encoding="utf-8")
    return path.as_uri()


@pytest.mark.parametrize("width", [1600, 1280, 420])
def test_changes_stand_apart_and_nothing_sticks_out(
    chrome: Chrome, search_url: str, width: int, tmp_path: Path
) -> None:
    ChromiumWindow(chrome, tmp_path).set_width(width)
    chrome.get(search_url)
    (gap,) = chrome.execute_script(_GAPS)
    assert gap >= 24
    assert chrome.execute_script("return document.querySelectorAll('svg .value').length") == 4
    assert chrome.execute_script("return document.documentElement.scrollWidth <= innerWidth")
