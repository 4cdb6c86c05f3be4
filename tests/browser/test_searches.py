"""The section of searches: its tables have room for the names of builds."""

from __future__ import annotations

from pathlib import Path

import pytest
from selenium.webdriver import Chrome

from slowdust.analysis.analyse import analyse
from slowdust.report import html
from tests.browser.windows import ChromiumWindow
from tests.unit.searches import measured

NAMES = ("postgres@16.2-pgvector0.6.2", "postgres@18.4-pgvector0.8.5", "mariadb@11.8.9")
_OVERLAPS = """
const overlaps = [];
for (const row of document.querySelectorAll("#searches thead tr")) {
  const names = [...row.querySelectorAll(".marked")].map(name => name.getBoundingClientRect());
  names.slice(1).forEach((name, place) => overlaps.push(names[place].right - name.left));
}
return overlaps;
"""
_GAPS = """
return [...document.querySelectorAll("#searches .scroll")].map(table =>
  table.getBoundingClientRect().top - table.previousElementSibling.getBoundingClientRect().bottom);
"""


@pytest.fixture(scope="module")
def searches_url(tmp_path_factory: pytest.TempPathFactory) -> str:
    manifest, slices = measured(dict.fromkeys(NAMES, 1.0), noise=0.01)
    path = tmp_path_factory.mktemp("searches") / "report.html"
    path.write_text(html.render(analyse(manifest, slices), slices), encoding="utf-8")
    return path.as_uri()


@pytest.mark.parametrize("width", [1600, 1280, 420])
def test_names_and_tables_do_not_touch(
    chrome: Chrome, searches_url: str, width: int, tmp_path: Path
) -> None:
    ChromiumWindow(chrome, tmp_path).set_width(width)
    chrome.get(searches_url)
    overlaps = chrome.execute_script(_OVERLAPS)
    assert len(overlaps) == 4
    assert max(overlaps) < 0
    assert min(chrome.execute_script(_GAPS)) >= 12
    assert chrome.execute_script("return document.documentElement.scrollWidth <= innerWidth")
