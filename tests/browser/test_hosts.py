"""The section by host: wide tables scroll by themselves, the page does not."""

from __future__ import annotations

from pathlib import Path

import pytest
from selenium.webdriver import Chrome

from slowdust.analysis.stored import read_stored
from slowdust.report import html
from tests.browser.windows import ChromiumWindow
from tests.unit.synthetic_hosts import NEW, TESTS, joined_of


@pytest.fixture(scope="module")
def hosts_url(tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("hosts")
    slow = {NEW: dict.fromkeys(TESTS, 0.88)}
    joined = joined_of(folder, {"alpha": {}, "beta": {}, "gamma": slow}, cpus={"beta": "Epyc"})
    stored = read_stored(joined.folder)
    path = folder / "report.html"
    path.write_text(html.render(stored.report(), stored.slices), encoding="utf-8")
    return path.as_uri()


@pytest.mark.parametrize("width", [1280, 420])
def test_the_section_by_host_fits_every_width(
    chrome: Chrome, hosts_url: str, width: int, tmp_path: Path
) -> None:
    ChromiumWindow(chrome, tmp_path).set_width(width)
    chrome.get(hosts_url)
    assert chrome.execute_script("return document.documentElement.scrollWidth <= innerWidth")
    heads = chrome.execute_script(
        "return [...document.querySelectorAll('#hosts table')].map(table => "
        "[...table.querySelectorAll('thead th')].map(head => head.textContent))"
    )
    assert heads[1][3:] == ["all hosts", "synthetic", "Epyc", "alpha", "beta", "gamma"]
    assert "disagrees" in chrome.find_element("css selector", "#hosts").text
