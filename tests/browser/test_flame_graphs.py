"""Flame graphs in a real browser: drawn when they are unfolded, and searched."""

from __future__ import annotations

import re

from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By
from selenium.webdriver.support.wait import WebDriverWait

from tests.browser.colours import prefer
from tests.unit.report.sample import BASE, NEWER


def _unfold(chrome: Chrome, number: int) -> None:
    """Unfold a flame graph and go into it."""
    chrome.execute_script("document.querySelectorAll('details').forEach((d) => { d.open = false })")
    graph = chrome.find_elements(By.CSS_SELECTOR, "details.flames")[number]
    chrome.execute_script(
        "arguments[0].closest('details.test').open = arguments[0].open = true", graph
    )
    frame = WebDriverWait(chrome, 10).until(lambda _: graph.find_element(By.TAG_NAME, "iframe"))
    chrome.switch_to.frame(frame)
    WebDriverWait(chrome, 10).until(lambda _: chrome.find_elements(By.TAG_NAME, "svg"))


def _details(chrome: Chrome) -> list[str]:
    """Return what each frame of the graph says of itself."""
    return [
        title.get_attribute("textContent") or ""
        for title in chrome.find_elements(By.CSS_SELECTOR, "#frames title")
    ]


def test_there_is_one_of_each_contender_and_one_in_both_directions(
    chrome: Chrome, profiled_url: str
) -> None:
    chrome.get(profiled_url)
    summaries = chrome.find_elements(By.CSS_SELECTOR, "details.flames summary")
    titles = [summary.get_attribute("textContent") or "" for summary in summaries]
    named = [re.findall(f"{re.escape(BASE)}|{re.escape(NEWER)}", title) for title in titles]
    assert named == [[BASE], [NEWER], [NEWER, BASE], [BASE, NEWER]]


def test_widths_are_costs_per_operation(chrome: Chrome, profiled_url: str) -> None:
    chrome.get(profiled_url)
    _unfold(chrome, 0)
    assert "parse<1> (3,000 instructions per operation, 69.77%)" in _details(chrome)
    chrome.switch_to.default_content()
    _unfold(chrome, 1)
    assert "parse<1> (5,000 instructions per operation, 79.37%)" in _details(chrome)


def test_both_directions_agree_on_what_grew(chrome: Chrome, profiled_url: str) -> None:
    chrome.get(profiled_url)
    for number in (2, 3):
        _unfold(chrome, number)
        (grown,) = (words for words in _details(chrome) if words.startswith("parse"))
        (rect,) = (
            frame.find_element(By.TAG_NAME, "rect")
            for frame in chrome.find_elements(By.CSS_SELECTOR, "#frames g")
            if "parse" in (frame.get_attribute("textContent") or "")
        )
        red, green, blue = (
            int(part) for part in (rect.get_attribute("fill") or "")[4:-1].split(",")
        )
        assert red > green == blue, grown
        chrome.switch_to.default_content()


def test_a_graph_is_searched_and_is_light_on_a_dark_page(chrome: Chrome, profiled_url: str) -> None:
    prefer(chrome, "dark")
    chrome.get(profiled_url)
    _unfold(chrome, 1)
    chrome.execute_script("search('libz')")
    assert chrome.find_element(By.ID, "matched").get_attribute("textContent") == "Matched: 4.8%"
    paper = chrome.find_element(By.CSS_SELECTOR, "#background stop, rect").get_attribute(
        "outerHTML"
    )
    assert "255" in (paper or "") or "#ffffff" in (paper or "")
