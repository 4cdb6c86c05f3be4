"""Other pages and sections in Chromium: nothing overflows, and sections have space between them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from selenium.webdriver import Chrome

from slowdust.analysis.blame import blame_of
from slowdust.analysis.stored import Stored, analyse, read_stored
from slowdust.report import blame, html
from slowdust.report.html import blocks
from slowdust.studies.bisect import document as bisection
from slowdust.studies.capacity import document as capacity
from slowdust.studies.watch import document as watching
from tests.browser.windows import ChromiumWindow
from tests.unit.analysis.test_background_load import mixed
from tests.unit.searches import measured as searched
from tests.unit.studies.watch.synthetic_watch import judged, nights_of
from tests.unit.synthetic_capacity import Machine, SimulatedServers, outcome_of_test
from tests.unit.synthetic_history import choice, measured
from tests.unit.synthetic_hosts import NEW, TESTS, joined_of
from tests.unit.synthetic_search import outcome_of_test as search_of_test

_SETTLED = """const done = arguments[0];
    requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done)))"""
_SECTIONS_APART = """
return [...document.querySelectorAll("section[id^='change-']")].slice(1).map(section =>
  section.getBoundingClientRect().top
    - section.previousElementSibling.getBoundingClientRect().bottom);
"""
_LIMIT = """
const plot = document.querySelector(".plot.capacity").getBoundingClientRect();
const limit = document.querySelector(".capacity .limit");
const at = limit.getBoundingClientRect().top;
return at > plot.top && at < plot.bottom && getComputedStyle(limit).stroke !== "none";
"""
_TABLES_APART = """
return [...document.querySelectorAll("#searches .scroll")].map(table =>
  table.getBoundingClientRect().top - table.previousElementSibling.getBoundingClientRect().bottom);
"""
_CHART = "return document.querySelector('figure.scroll .plot').getBoundingClientRect().width"


class Shown:
    """A page in a window that gets narrower."""

    def __init__(self, chrome: Chrome, folder: Path) -> None:
        self.chrome = chrome
        self.window = ChromiumWindow(chrome, folder)
        self._file = folder / "page.html"

    def at(self, page: str, *widths: int) -> Iterator[int]:
        """Open a page; it fits each of the widths."""
        self._file.write_text(page, encoding="utf-8")
        self.chrome.get(self._file.as_uri())
        for width in widths:
            self.window.set_width(width)
            self.chrome.execute_async_script(_SETTLED)
            assert self.run("document.documentElement.scrollWidth <= innerWidth"), width
            yield width

    def run(self, expression: str) -> Any:  # noqa: ANN401 - a script returns any value
        """Return the value of an expression of JavaScript."""
        return self.chrome.execute_script(f"return {expression}")


@pytest.fixture
def shown(chrome: Chrome, tmp_path: Path) -> Shown:
    return Shown(chrome, tmp_path)


def test_changes_that_a_search_found_are_separate(shown: Shown) -> None:
    for _ in shown.at(blocks.render(bisection.document(search_of_test())), 1600, 1280, 420):
        (gap,) = shown.chrome.execute_script(_SECTIONS_APART)
        assert gap >= 24
        assert shown.run("document.querySelectorAll('svg .value').length") == 4


def test_each_group_has_a_bar_for_each_step_of_releases(shown: Shown) -> None:
    levels = {"10.23": 1.0, "12.22": 0.97, "14.23": 0.8, "16.14": 0.9, "18.4": 0.7}
    manifest, slices = measured("all", levels, dbms="postgres")
    for _ in shown.at(
        blocks.render(blame.document(blame_of([Stored(manifest, slices)], choice()))), 1600, 420
    ):
        bars = shown.run(
            "[...document.querySelectorAll('.waterfall')]"
            ".map(chart => chart.querySelectorAll('rect.part').length)"
        )
        assert bars == [len(levels)] * 3
        labels = shown.run(
            "[...document.querySelector('#line-0 tbody').querySelectorAll('th')]"
            ".map(label => label.clientHeight)"
        )
        assert max(labels) < 2 * min(labels), "a step is on one line"


def test_the_chart_of_capacities_has_the_limit_in_light_and_dark(shown: Shown) -> None:
    servers = SimulatedServers({"A": 100e-6, "B": 150e-6}, Machine())
    schemes = {1280: "light", 420: "dark"}
    for width in shown.at(blocks.render(capacity.document(outcome_of_test(servers))), *schemes):
        shown.window.prefer(schemes[width])
        assert shown.chrome.execute_script(_LIMIT)
        assert shown.run("document.querySelectorAll('.capacity .interval').length") == 2
    assert shown.window.complaints() == []


def test_the_section_by_host_has_a_column_for_each(shown: Shown, tmp_path: Path) -> None:
    slow = {NEW: dict.fromkeys(TESTS, 0.88)}
    joined = joined_of(tmp_path, {"alpha": {}, "beta": {}, "gamma": slow}, cpus={"beta": "Epyc"})
    stored = read_stored(joined.folder)
    for _ in shown.at(html.render(stored.report(), stored.slices), 1280, 420):
        heads = shown.run(
            "[...document.querySelectorAll('#hosts table')].map(table => "
            "[...table.querySelectorAll('thead th')].map(head => head.textContent))"
        )
        assert heads[1][4:] == ["synthetic", "Epyc", "alpha", "beta", "gamma"]


def test_the_table_of_the_mixed_load_fits_into_a_window_of_a_laptop(shown: Shown) -> None:
    report, slices = mixed(alone=2.0)
    for result in report.results:
        assert result.beside is not None
        result.beside.test = "transactions"
        result.beside.late_operations = 1_234
        result.beside.p50_us, result.beside.p95_us = 140_239.0, 847_325.0
        result.beside.freshness_p50_us, result.beside.freshness_max_us = 334_496.0, 573_894.0
    for _ in shown.at(html.render(report, slices), 1280):
        room = "document.querySelector('#beside .scroll')"
        assert shown.run(f"{room}.scrollWidth <= {room}.clientWidth")


def test_tables_of_searches_have_room_for_the_names_of_builds(shown: Shown) -> None:
    names = ("postgres@16.2-pgvector0.6.2", "postgres@18.4-pgvector0.8.5", "mariadb@11.8.9")
    manifest, slices = searched(dict.fromkeys(names, 1.0), noise=0.01)
    for _ in shown.at(html.render(analyse(manifest, slices), slices), 1600, 1280, 420):
        assert min(shown.chrome.execute_script(_TABLES_APART)) >= 12


def test_the_labels_of_nights_have_room(shown: Shown) -> None:
    nights = nights_of([0, 0, 0, 0, 0, *[0.03] * 5, 0, 0, 0])
    for _ in shown.at(
        blocks.render(watching.document("postgres", judged(nights), nights)), 1600, 420
    ):
        assert shown.run("document.querySelectorAll('.shift').length") == 2
        assert shown.chrome.execute_script(_CHART) > 60 * len(nights)
