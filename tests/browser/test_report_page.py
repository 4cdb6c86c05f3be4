"""The report in a real browser: offline, with and without JavaScript, narrow, dark, printed."""

from __future__ import annotations

import json
from typing import Any

import pytest
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By
from selenium.webdriver.support.select import Select

from tests.browser.colours import COLOURS, channels, contrast, luminance, prefer

every_page = pytest.mark.parametrize(
    "page",
    [
        "plain_url",
        "counted_url",
        "troubled_url",
        "profiled_url",
        "sweep_url",
        "matrix_url",
        "slap_url",
        "disk_url",
        "long_url",
        "history_url",
    ],
)

_SHOWN_ROWS = """return [...document.querySelectorAll("#results-table tr.row")]
    .filter((row) => row.offsetParent !== null).map((row) => row.dataset.name)"""


def _shown_rows(chrome: Chrome) -> list[str]:
    rows: list[str] = chrome.execute_script(_SHOWN_ROWS)
    return rows


def _requests(chrome: Chrome) -> list[str]:
    events: list[dict[str, Any]] = [
        json.loads(entry["message"])["message"] for entry in chrome.get_log("performance")
    ]
    return [
        event["params"]["request"]["url"]
        for event in events
        if event["method"] == "Network.requestWillBeSent"
    ]


@every_page
def test_opens_from_a_file_without_network_and_without_complaints(
    chrome: Chrome, page: str, request: pytest.FixtureRequest
) -> None:
    url = request.getfixturevalue(page)
    chrome.get_log("performance")
    chrome.get_log("browser")

    chrome.get(url)

    asked = _requests(chrome)
    assert url in asked
    assert [other for other in asked if other != url and not other.startswith("data:")] == []
    assert chrome.get_log("browser") == []


def test_everything_is_there_without_javascript(chrome: Chrome, plain_url: str) -> None:
    chrome.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})

    chrome.get(plain_url)

    rows = chrome.find_elements(By.CSS_SELECTOR, "#results-table tr.row")
    assert len(rows) == 6
    assert all(row.is_displayed() for row in rows)
    assert not chrome.find_element(By.ID, "filters").is_displayed()
    assert chrome.find_elements(By.CSS_SELECTOR, "th button") == []
    assert chrome.find_element(By.CSS_SELECTOR, "#intervals svg").is_displayed()


def test_text_filter_narrows_rows_and_tests_and_is_kept_in_the_url(
    chrome: Chrome, plain_url: str
) -> None:
    chrome.get(plain_url)

    chrome.find_element(By.NAME, "q").send_keys("POINT")

    assert _shown_rows(chrome) == ["point-query", "random-points.10"]
    assert chrome.find_element(By.CSS_SELECTOR, "#filters output").text == "2 of 6"
    assert not chrome.find_element(By.ID, "test-scan-c1").is_displayed()
    assert chrome.find_element(By.ID, "test-point-query-c1").is_displayed()
    assert "q=POINT" in chrome.current_url


def test_filters_by_verdict_and_group(chrome: Chrome, plain_url: str) -> None:
    chrome.get(plain_url)

    Select(chrome.find_element(By.NAME, "verdict")).select_by_visible_text("slower")
    assert set(_shown_rows(chrome)) == {"point-query", "read-only.100"}

    Select(chrome.find_element(By.NAME, "group")).select_by_visible_text("Point")
    assert _shown_rows(chrome) == ["point-query"]

    chrome.find_element(By.CSS_SELECTOR, "#filters button").click()
    assert len(_shown_rows(chrome)) == 6
    assert "?" not in chrome.current_url


def test_sorts_by_relative_rate_both_ways_and_back(chrome: Chrome, plain_url: str) -> None:
    chrome.get(plain_url)
    in_order = _shown_rows(chrome)
    relative = chrome.find_element(By.CSS_SELECTOR, 'th[data-sort="0"] button')

    relative.click()
    assert _shown_rows(chrome)[:2] == ["point-query", "read-only.100"]
    assert _shown_rows(chrome)[-1] == "update-index"
    head = chrome.find_element(By.CSS_SELECTOR, 'th[data-sort="0"]')
    assert head.get_attribute("aria-sort") == "ascending"

    relative.click()
    assert _shown_rows(chrome)[0] == "update-index"
    assert "sort=0" in chrome.current_url

    relative.click()
    assert _shown_rows(chrome) == in_order
    assert "sort" not in chrome.current_url


def test_sorts_by_relative_work(chrome: Chrome, counted_url: str) -> None:
    chrome.get(f"{counted_url}?sort=work-0&down=1")

    assert _shown_rows(chrome) == ["scan", "insert", "update-index", "point-query"]


def test_the_url_restores_filter_and_sort(chrome: Chrome, plain_url: str) -> None:
    chrome.get(f"{plain_url}?q=o&sort=name&down=1")

    shown = _shown_rows(chrome)
    assert shown == sorted(shown, reverse=True)
    assert "scan" not in shown
    assert chrome.find_element(By.NAME, "q").get_attribute("value") == "o"


def test_a_link_opens_its_test_even_where_a_filter_hides_it(chrome: Chrome, plain_url: str) -> None:
    chrome.get(f"{plain_url}#test-scan-c1")
    assert chrome.find_element(By.ID, "test-scan-c1").get_attribute("open") is not None

    chrome.get(f"{plain_url}?q=point#test-scan-c1")
    assert chrome.find_element(By.CSS_SELECTOR, "#test-scan-c1 .body").is_displayed()


def test_a_row_of_the_table_leads_to_its_unfolded_test(chrome: Chrome, plain_url: str) -> None:
    chrome.get(plain_url)
    assert chrome.find_element(By.ID, "test-scan-c1").get_attribute("open") is None

    chrome.find_element(By.CSS_SELECTOR, 'tr[data-name="scan"] a').click()

    assert chrome.current_url.endswith("#test-scan-c1")
    assert chrome.find_element(By.ID, "test-scan-c1").get_attribute("open") is not None


@every_page
def test_a_page_fits_a_telephone_with_the_marks_of_contenders_next_to_their_names(
    phone: Chrome, page: str, request: pytest.FixtureRequest
) -> None:
    phone.get(request.getfixturevalue(page))
    phone.execute_script("document.querySelectorAll('details').forEach((el) => el.open = true)")

    assert phone.execute_script("return innerWidth") == 380
    assert phone.execute_script("return document.documentElement.scrollWidth") <= 380
    apart = phone.execute_script(
        """const marked = [...document.querySelectorAll(".marked")]
            .filter((mark) => mark.getClientRects().length);
        const middle = (box) => (box.top + box.bottom) / 2;
        const apart = ([swatch, name]) => {
            const first = [...name.getClientRects()].find((box) => box.width);
            return Math.abs(middle(swatch.getBoundingClientRect()) - middle(first)) > 6;
        };
        return [marked.length, marked.filter((mark) => apart(mark.children))
            .map((mark) => mark.textContent)];"""
    )
    assert apart[0] > 0
    assert apart[1] == []


def test_a_laptop_shows_whole_tables_of_the_storage(laptop: Chrome, disk_url: str) -> None:
    laptop.get(disk_url)
    hidden = """return [...document.querySelectorAll("#storage .scroll")].map(
        (table) => table.scrollWidth - table.clientWidth)"""
    assert laptop.execute_script(hidden) == [0, 0]


def test_the_axis_of_a_long_history_stays_in_sight(phone: Chrome, history_url: str) -> None:
    phone.get(history_url)

    before, after, left = phone.execute_script(
        """const figure = document.querySelector("figure.scroll");
        const tick = figure.querySelector(".axis text");
        const before = tick.getBoundingClientRect().left;
        figure.scrollIntoView();
        figure.scrollLeft = 500;
        const box = tick.getBoundingClientRect();
        const top = document.elementFromPoint(box.left - 2, (box.top + box.bottom) / 2);
        return [before, top?.closest(".axis") ? box.left : null, figure.scrollLeft];"""
    )
    assert left == 500
    assert after == before > 0


def test_dark_mode_turns_the_page_and_the_charts(chrome: Chrome, plain_url: str) -> None:
    chrome.get(plain_url)
    mark = "return getComputedStyle(document.querySelector('#intervals .k1 .dot')).stroke"
    light, light_mark = chrome.execute_script(COLOURS, "body"), chrome.execute_script(mark)

    prefer(chrome, "dark")

    dark, dark_mark = chrome.execute_script(COLOURS, "body"), chrome.execute_script(mark)
    assert luminance(light[1]) > 0.9
    assert luminance(dark[1]) < 0.05
    assert light_mark != dark_mark
    assert contrast(dark_mark, dark[1]) > 3


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_bands_are_legible_and_every_contender_stands_out_from_the_page(
    chrome: Chrome, plain_url: str, scheme: str
) -> None:
    prefer(chrome, scheme)
    chrome.get(plain_url)

    for band in ("td.rel.slower", "td.rel.faster", ".chip.slower", ".chip.faster"):
        ink, fill = chrome.execute_script(COLOURS, band)
        assert len(channels(fill)) == 3, f"{band} is opaque"
        assert contrast(ink, fill) >= 4.5, band
    _, paper = chrome.execute_script(COLOURS, "body")

    for number in range(8):
        colour = chrome.execute_script(
            "const probe = document.body.appendChild(document.createElement('i'));"
            "probe.className = `swatch k${arguments[0]}`;"
            "return getComputedStyle(probe).backgroundColor",
            number,
        )
        assert contrast(colour, paper) >= 3, f"k{number}"


def test_paper_shows_folded_tests_too(chrome: Chrome, plain_url: str) -> None:
    chrome.get(plain_url)
    folded = chrome.find_element(By.CSS_SELECTOR, "#test-scan-c1 .body")
    assert not folded.is_displayed()

    chrome.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})

    assert folded.size["height"] > 300
    assert not chrome.find_element(By.TAG_NAME, "nav").is_displayed()


@pytest.mark.parametrize("page", ["troubled_url", "sweep_url", "matrix_url", "long_url"])
def test_text_next_to_charts_does_not_collide(
    chrome: Chrome, page: str, request: pytest.FixtureRequest
) -> None:
    chrome.get(request.getfixturevalue(page))
    chrome.execute_script("document.querySelectorAll('details').forEach((el) => el.open = true)")

    collisions = chrome.execute_script("""
        const touching = [];
        for (const frame of document.querySelectorAll("svg.frame")) {
            const boxes = [...frame.querySelectorAll("text")]
                .map((text) => [text.textContent, text.getBoundingClientRect()]);
            boxes.forEach(([name, a], index) => boxes.slice(index + 1).forEach(([other, b]) => {
                const apart = a.right <= b.left || b.right <= a.left
                    || a.bottom - 4 <= b.top || b.bottom - 4 <= a.top;
                if (!apart) touching.push(`${name} / ${other}`);
            }));
        }
        return touching""")

    assert collisions == []


def test_lines_by_clients_stretch_with_the_page_and_turn_dark(
    chrome: Chrome, sweep_url: str
) -> None:
    chrome.get(sweep_url)
    line = chrome.find_element(By.CSS_SELECTOR, "#concurrency .k1 .course")
    assert line.is_displayed()
    assert line.rect["width"] > 300
    stroke = "return getComputedStyle(document.querySelector('#concurrency .k1 .course')).stroke"
    light = chrome.execute_script(stroke)

    prefer(chrome, "dark")

    _, paper = chrome.execute_script(COLOURS, "body")
    assert chrome.execute_script(stroke) != light
    assert contrast(chrome.execute_script(stroke), paper) > 3


def test_a_level_of_clients_leads_to_its_step(chrome: Chrome, sweep_url: str) -> None:
    chrome.get(sweep_url)

    chrome.find_element(By.CSS_SELECTOR, "#clients-scan a[href='#test-scan-c8']").click()

    assert chrome.find_element(By.ID, "test-scan-c8").get_attribute("open") is not None


def test_twelve_contenders_fit_next_to_three_tests(chrome: Chrome, matrix_url: str) -> None:
    chrome.get(matrix_url)

    overview = chrome.find_element(By.CSS_SELECTOR, ".overview")
    table = overview.find_element(By.TAG_NAME, "table")
    assert len(table.find_elements(By.CSS_SELECTOR, "tbody tr")) == 12
    assert table.rect["width"] <= overview.rect["width"]


def test_axes_of_a_matrix_are_rows_of_heads_and_hidden_with_their_contender(
    chrome: Chrome, matrix_url: str
) -> None:
    shown = """return [...document.querySelectorAll("#results-table thead tr")].map((row) =>
        [...row.cells].filter((cell) => cell.checkVisibility()).map((cell) => cell.innerText))"""
    chrome.get(matrix_url)
    binlog, fsync, doublewrite, heads = chrome.execute_script(shown)
    assert binlog == ["binlog", *["off"] * 6, *["on"] * 6]
    assert fsync[:5] == ["fsync", "off", "off", "off", "on"]
    assert doublewrite[:4] == ["doublewrite", "off", "on", "detect_only"]
    assert len(heads) == len(binlog)

    chrome.get(f"{matrix_url}?hide=1&sort=0")

    _, _, fewer, heads = chrome.execute_script(shown)
    assert fewer == [*doublewrite[:3], *doublewrite[4:]]
    assert len(heads) == len(fewer)
    rates = chrome.find_elements(By.CSS_SELECTOR, "#results-table tr.row td:nth-of-type(2)")
    values = [float(cell.get_attribute("data-value") or "") for cell in rates]
    assert values == sorted(values)
