"""The pages of a site in a browser: search, tags, a link to a pair, narrow and dark."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By

from slowdust.report.site.index import Pairs
from slowdust.report.site.server import Server
from slowdust.report.site.site import Site, publish
from slowdust.store.experiments import Annotation, write_annotation
from slowdust.store.folder import Folder
from tests.browser.colours import COLOURS, contrast, prefer
from tests.unit.synthetic_history import keep, measured

PAGES = ("index.html", "dates.html", "diff/night-1/night-2.html", "experiments/night-2.html")


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    results = tmp_path_factory.mktemp("site") / "results"
    for day in (1, 2, 3):
        manifest, slices = measured(f"night-{day}", {"8.0.28": 1.0, "8.0.40": 0.9}, seed=day)
        manifest.started = f"2026-11-0{day}T02:00:00Z"
        keep(results, manifest, slices)
    annotation = Annotation(note="the Kernel is new", tags=["kernel"])
    write_annotation(Folder(results / "night-2"), annotation)
    directory = results.with_name("pages")
    publish(results, directory)
    return directory


def shown(chrome: Chrome) -> list[str]:
    rows = chrome.find_elements(By.CSS_SELECTOR, "tr[data-name]:not([hidden])")
    return [row.get_attribute("data-name") or "" for row in rows]


def test_search_and_tags_choose_experiments_and_stay_in_the_link(
    chrome: Chrome, site: Path
) -> None:
    chrome.get((site / "index.html").as_uri())
    assert shown(chrome) == ["night-3", "night-2", "night-1"]
    search = chrome.find_element(By.ID, "search")
    search.send_keys("new kernel")
    assert shown(chrome) == ["night-2"]
    assert chrome.find_element(By.ID, "shown").text == "1 of 3"
    link = chrome.current_url
    search.clear()
    search.send_keys("nothing like it")
    assert shown(chrome) == []
    chrome.get("about:blank")
    chrome.get(link)
    assert shown(chrome) == ["night-2"]
    chrome.find_element(By.ID, "search").clear()
    chrome.get((site / "index.html").as_uri())
    chrome.find_element(By.CSS_SELECTOR, "button.tag").click()
    assert shown(chrome) == ["night-2"]


def test_two_experiments_lead_to_their_difference(chrome: Chrome, site: Path) -> None:
    chrome.get((site / "index.html").as_uri())
    boxes = chrome.find_elements(By.CSS_SELECTOR, ".choose input")
    boxes[0].click()
    boxes[1].click()
    chrome.find_element(By.CSS_SELECTOR, "#pair a").click()
    assert chrome.current_url == (site / "diff/night-2/night-3.html").as_uri()
    chrome.back()
    boxes = chrome.find_elements(By.CSS_SELECTOR, ".choose input")
    for box, wanted in zip(boxes, (True, False, True), strict=True):
        if box.is_selected() != wanted:
            box.click()
    assert "slowdust diff night-1 night-3" in chrome.find_element(By.ID, "pair").text


def test_a_served_site_leads_to_the_difference_of_any_two(chrome: Chrome, site: Path) -> None:
    results, served = site.with_name("results"), site.with_name("served")
    publish(results, served, Pairs.ANY)
    with Server(Site(results, Pairs.ANY), served, 0) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,))
        thread.start()
        try:
            chrome.get(server.url)
            boxes = chrome.find_elements(By.CSS_SELECTOR, ".choose input")
            boxes[0].click()
            boxes[2].click()
            chrome.find_element(By.CSS_SELECTOR, "#pair a").click()
            assert chrome.current_url == f"{server.url}diff/night-1/night-3.html"
            assert "night-1, then night-3" in chrome.find_element(By.CLASS_NAME, "compared").text
        finally:
            server.shutdown()
            thread.join()


@pytest.mark.parametrize("page", PAGES)
def test_no_page_is_wider_than_a_telephone(phone: Chrome, site: Path, page: str) -> None:
    phone.get((site / page).as_uri())
    assert phone.execute_script("return document.documentElement.scrollWidth") <= 380


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_tags_and_links_are_seen(chrome: Chrome, site: Path, scheme: str) -> None:
    prefer(chrome, scheme)
    chrome.get((site / "index.html").as_uri())
    ground = chrome.execute_script(COLOURS, "body")[1]
    for part in ("span.tag", "th a", ".chip.slower"):
        text, own = chrome.execute_script(COLOURS, part)
        transparent = own == "rgba(0, 0, 0, 0)"
        assert contrast(text, ground if transparent else own) >= 4.5, part


def test_the_index_needs_no_script(chrome: Chrome, site: Path) -> None:
    chrome.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})
    chrome.get((site / "index.html").as_uri())
    assert len(chrome.find_elements(By.CSS_SELECTOR, "tr[data-name] th a")) == 3
    assert not chrome.find_element(By.ID, "search").is_displayed()
