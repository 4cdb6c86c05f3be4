"""The page of a search for capacities fits a telephone and a wide screen, in light and dark."""

from __future__ import annotations

from pathlib import Path

import pytest
from selenium.webdriver import Chrome

from slowdust.report.capacity import html
from tests.browser.windows import ChromiumWindow
from tests.unit.synthetic_capacity import Machine, SimulatedServers, outcome_of_test

_LIMIT = """
const plot = document.querySelector(".plot.capacity").getBoundingClientRect();
const limit = document.querySelector(".capacity .limit");
const at = limit.getBoundingClientRect().top;
return at > plot.top && at < plot.bottom && getComputedStyle(limit).stroke !== "none";
"""


@pytest.fixture(scope="module")
def page_url(tmp_path_factory: pytest.TempPathFactory) -> str:
    servers = SimulatedServers({"A": 100e-6, "B": 150e-6}, Machine())
    path = tmp_path_factory.mktemp("capacity") / "report.html"
    path.write_text(html.render(outcome_of_test(servers)), encoding="utf-8")
    return path.as_uri()


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (420, "dark")])
def test_the_chart_has_the_limit_and_nothing_sticks_out(
    chrome: Chrome, page_url: str, width: int, scheme: str, tmp_path: Path
) -> None:
    window = ChromiumWindow(chrome, tmp_path)
    window.set_width(width)
    window.prefer(scheme)
    chrome.get(page_url)
    assert chrome.execute_script(_LIMIT)
    assert (
        chrome.execute_script("return document.querySelectorAll('.capacity .interval').length") == 2
    )
    assert chrome.execute_script("return document.documentElement.scrollWidth <= innerWidth")
    assert window.complaints() == []
