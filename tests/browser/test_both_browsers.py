"""Every kind of page in Chromium and in Firefox: widths, colours, paper, keyboard, charts."""

from __future__ import annotations

import base64
import re
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest
from selenium.webdriver import ActionChains, Keys
from selenium.webdriver.common.by import By
from selenium.webdriver.support.wait import WebDriverWait

from slowdust.report.site.site import publish
from tests.browser.windows import ChromiumWindow, Window, firefox_window
from tests.tiers.selection import full, require
from tests.unit.synthetic_history import keep, measured

PAGES = ["plain_url", "troubled_url", "matrix_url", "long_url", "history_url", "site_index_url"]
OTHER_PAGES = [
    "counted_url",
    "profiled_url",
    "sweep_url",
    "slap_url",
    "site_dates_url",
    "site_diff_url",
]
"""Pages without elements of their own: others have them, or test_report_page tests them."""
WIDTHS = (390, 1280, 1920)

_OPEN = "document.querySelectorAll('details').forEach((el) => el.open = true)"
_SETTLED = """const done = arguments[0];
    requestAnimationFrame(() => requestAnimationFrame(() => setTimeout(done)))"""
_FAINT = Path(__file__).with_name("contrast.js").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def downloads(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("downloads")


@pytest.fixture(scope="module")
def site_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    results = tmp_path_factory.mktemp("results")
    for day in (1, 2):
        manifest, slices = measured(f"night-{day}", {"8.0.28": 1.0, "8.0.40": 0.9}, seed=day)
        manifest.started = f"2026-11-0{day}T02:00:00Z"
        keep(results, manifest, slices)
    directory = tmp_path_factory.mktemp("site")
    publish(results, directory)
    return directory


@pytest.fixture(scope="module")
def site_index_url(site_folder: Path) -> str:
    return (site_folder / "index.html").as_uri()


@pytest.fixture(scope="module")
def site_dates_url(site_folder: Path) -> str:
    return (site_folder / "dates.html").as_uri()


@pytest.fixture(scope="module")
def site_diff_url(site_folder: Path) -> str:
    return (site_folder / "diff/night-1/night-2.html").as_uri()


@pytest.fixture(scope="module")
def firefox(downloads: Path) -> Iterator[Window]:
    require("firefox-esr", "geckodriver")
    with firefox_window(downloads) as window:
        yield window


in_both = pytest.mark.parametrize(
    "window", ["chromium", pytest.param("firefox", marks=full)], indirect=True
)


@pytest.fixture
def window(request: pytest.FixtureRequest, downloads: Path) -> Window:
    window: Window
    if request.param == "firefox":
        window = request.getfixturevalue("firefox")
    else:
        window = ChromiumWindow(request.getfixturevalue("chrome"), downloads)
    window.set_width(1280)
    window.prefer("light")
    window.complaints()
    return window


def _open(window: Window, url: str) -> None:
    window.driver.get(url)
    window.driver.execute_script(_OPEN)
    window.driver.execute_async_script(_SETTLED)


@pytest.mark.parametrize(
    ("window", "page"),
    [
        *(("chromium", page) for page in PAGES),
        *(pytest.param("chromium", page, marks=full) for page in OTHER_PAGES),
        *(pytest.param("firefox", page, marks=full) for page in (*PAGES, *OTHER_PAGES)),
    ],
    indirect=["window"],
)
def test_a_page_fits_every_width_and_is_legible_in_light_and_dark(
    window: Window, page: str, request: pytest.FixtureRequest
) -> None:
    _open(window, request.getfixturevalue(page))

    for width in WIDTHS:
        window.set_width(width)
        window.driver.execute_async_script(_SETTLED)
        shown, needed = window.driver.execute_script(
            "return [innerWidth, document.documentElement.scrollWidth]"
        )
        assert shown == width
        assert needed <= width
    for scheme in ("light", "dark"):
        window.prefer(scheme)
        window.driver.execute_async_script(_SETTLED)
        assert window.driver.execute_script(_FAINT) == [], scheme
    assert window.complaints() == []


@in_both
@pytest.mark.parametrize("page", ["plain_url", "long_url", "history_url"])
def test_a_page_is_printed(window: Window, page: str, request: pytest.FixtureRequest) -> None:
    window.driver.get(request.getfixturevalue(page))
    folded = window.driver.execute_script("return document.querySelectorAll('figure').length")

    printed = base64.b64decode(window.driver.print_page())

    assert 2 <= _pages(printed) <= folded + 10


def _pages(pdf: bytes) -> int:
    """Return the number of pages; they may stand in compressed streams."""
    texts = [pdf]
    for stream in re.findall(rb"stream\r?\n(.*?)endstream", pdf, re.DOTALL):
        try:
            texts.append(zlib.decompressobj().decompress(stream))
        except zlib.error:
            continue
    return sum(len(re.findall(rb"/Type\s*/Page\b", text)) for text in texts)


@in_both
def test_the_keyboard_skips_filters_unfolds_and_hides(window: Window, long_url: str) -> None:
    driver = window.driver
    driver.get(long_url)

    ActionChains(driver).send_keys(Keys.TAB).perform()
    assert (driver.switch_to.active_element.get_attribute("href") or "").endswith("#results")
    ActionChains(driver).send_keys(Keys.ENTER).perform()
    assert driver.current_url.endswith("#results")

    summary = driver.find_element(By.CSS_SELECTOR, "#test-qr100-c1 > summary")
    summary.send_keys(Keys.ENTER)
    driver.execute_async_script(_SETTLED)
    name = driver.find_element(By.CSS_SELECTOR, "#test-qr100-c1 .graphs .legend button")
    name.send_keys(Keys.SPACE)
    assert name.get_attribute("aria-pressed") == "false"
    outline = "return getComputedStyle(document.activeElement).outlineStyle"
    assert driver.execute_script(outline) == "solid"


@in_both
def test_a_drag_zooms_and_the_pointer_shows_values(window: Window, long_url: str) -> None:
    driver = window.driver
    _open(window, long_url)
    graph = driver.find_element(By.CSS_SELECTOR, "#test-qr100-c1 .u-over")
    driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", graph)
    width = graph.rect["width"]

    drag = ActionChains(driver).move_to_element_with_offset(graph, round(-width / 4), 0)
    drag.click_and_hold().move_by_offset(round(width / 2), 3).release().perform()

    output = driver.find_element(By.CSS_SELECTOR, "#test-qr100-c1 .zoom output")
    assert output.text == "0:05 to 0:15"
    assert "postgres@17.6: " in graph.find_element(By.CSS_SELECTOR, ".readout").text


@in_both
def test_slices_are_zoomed_together_and_the_pointer_names_their_round(
    window: Window, plain_url: str
) -> None:
    driver = window.driver
    driver.get(f"{plain_url}#test-scan-c1")
    driver.execute_async_script(_SETTLED)
    rates, ratios = driver.find_elements(By.CSS_SELECTOR, "#test-scan-c1 .u-over")
    driver.execute_script("arguments[0].scrollIntoView({block: 'center'})", rates)
    width = rates.rect["width"]

    drag = ActionChains(driver).move_to_element_with_offset(rates, round(-0.45 * width), 0)
    drag.click_and_hold().move_by_offset(round(width / 4), 3).release().perform()
    driver.execute_async_script(_SETTLED)

    stretches = driver.execute_script(
        """return [...document.querySelectorAll("#test-scan-c1 .drawn")]
            .map(({chart}) => [chart.scales.x.min, chart.scales.x.max])"""
    )
    assert stretches[0] == stretches[1]
    assert 5 <= stretches[0][1] - stretches[0][0] < 15
    ActionChains(driver).move_to_element(ratios).perform()
    place, *values = ratios.find_element(By.CSS_SELECTOR, ".readout").text.split("\n")
    assert place.startswith("Start 1, round ")
    assert [value.split(": ")[0] for value in values] == ["postgres@17.6"]


@in_both
@pytest.mark.parametrize("kind", ["svg", "png"])
def test_a_chart_is_saved(window: Window, plain_url: str, downloads: Path, kind: str) -> None:
    for file in downloads.iterdir():
        file.unlink()
    window.driver.get(plain_url)

    place = 1 if kind == "svg" else 2
    window.driver.find_element(
        By.CSS_SELECTOR, f"#intervals .save button:nth-child({place})"
    ).click()

    file = downloads / f"synthetic-intervals-1.{kind}"
    WebDriverWait(window.driver, 10).until(lambda _: file.exists() and file.stat().st_size)
    begin = {"svg": b"<svg", "png": b"\x89PNG"}[kind]
    assert file.read_bytes().startswith(begin)
