"""The results table of a page: other metrics, hidden contenders, details drawn when unfolded."""

from __future__ import annotations

import pytest
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By
from selenium.webdriver.common.keys import Keys
from selenium.webdriver.support.select import Select
from selenium.webdriver.support.wait import WebDriverWait

from slowdust.analysis.stored import analyse
from slowdust.benchmarks.micro import MICRO
from slowdust.report import html
from tests.unit.synthetic import synthetic_experiment

BODY = "details.test .body"


@pytest.fixture(scope="module")
def large_url(tmp_path_factory: pytest.TempPathFactory) -> str:
    names = [f"postgres@17.{patch}" for patch in range(7)]
    manifest, slices = synthetic_experiment(names, MICRO.suites["default"], blocks=2)
    path = tmp_path_factory.mktemp("large") / "report.html"
    path.write_text(html.render(analyse(manifest, slices), slices), encoding="utf-8")
    return path.as_uri()


def _heads(chrome: Chrome) -> list[str]:
    heads = chrome.find_elements(By.CSS_SELECTOR, "#results-table thead th")
    return [head.text for head in heads if head.is_displayed()]


def _first_cells(chrome: Chrome) -> list[str]:
    cells = chrome.find_elements(
        By.CSS_SELECTOR, "#results-table tbody:first-of-type tr.row:nth-child(2) td"
    )
    return [cell.text for cell in cells if cell.is_displayed()]


def test_details_are_drawn_when_a_test_is_unfolded(chrome: Chrome, large_url: str) -> None:
    chrome.get(large_url)
    body = chrome.find_element(By.CSS_SELECTOR, BODY)
    assert body.find_elements(By.CSS_SELECTOR, "table") == []

    chrome.find_element(By.CSS_SELECTOR, "details.test > summary").send_keys(Keys.ENTER)

    WebDriverWait(chrome, 5).until(lambda _: body.find_elements(By.CSS_SELECTOR, "table"))
    assert body.find_elements(By.CSS_SELECTOR, "svg")
    assert [entry for entry in chrome.get_log("browser") if entry["level"] == "SEVERE"] == []


def test_all_tests_stand_in_a_table_without_scripts(chrome: Chrome, large_url: str) -> None:
    chrome.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    chrome.get(large_url)

    tests = len(MICRO.suites["default"])
    assert len(chrome.find_elements(By.CSS_SELECTOR, "#tests noscript tbody tr")) == 7 * tests


def test_another_metric_and_hidden_contenders_are_kept_in_the_link(
    chrome: Chrome, large_url: str
) -> None:
    chrome.get(large_url)
    rates = _first_cells(chrome)
    Select(chrome.find_element(By.NAME, "metric")).select_by_visible_text("p99")
    percentiles = _first_cells(chrome)
    assert len(percentiles) == len(rates) and percentiles[1:] != rates[1:]
    assert "p99" in _heads(chrome)[2]

    chrome.find_element(By.CSS_SELECTOR, ".choice summary").click()
    chrome.find_element(By.CSS_SELECTOR, "[name=shown][value='1']").send_keys(Keys.SPACE)
    assert len(_heads(chrome)) == 1 + 7 - 1
    assert not any("17.2" in head for head in _heads(chrome))

    chrome.get(chrome.current_url)
    assert not any("17.2" in head for head in _heads(chrome))
    assert _first_cells(chrome) == [percentiles[0], percentiles[1], *percentiles[3:]]

    chrome.find_element(By.CSS_SELECTOR, "#filters [type=reset]").click()
    assert _first_cells(chrome) == rates
