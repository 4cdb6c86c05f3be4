"""The graphs of a long step in a real browser: zoomed by mouse, by keyboard and by a stall."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from selenium.webdriver import ActionChains, Chrome, Keys
from selenium.webdriver.common.by import By
from selenium.webdriver.remote.webelement import WebElement

from tests.browser.colours import COLOURS, channels, contrast, prefer

STEP = "test-qr100-c1"
OTHER_STEP = "test-qp100-c1"
SECONDS = 20

_UNFOLD = """[...arguments].map((step) => document.getElementById(step)).forEach((step) =>
    [step, ...step.querySelectorAll("details")].forEach((el) => el.open = true))"""

_VIEWS = """return [...document.querySelectorAll(`#${arguments[0]} .graphs .plot`)]
    .map(({chart}) => [chart.scales.x.min, chart.scales.x.max])"""

_LABELS = """return [...document.querySelectorAll(`#${arguments[0]} .graphs .plot`)]
    .map(({chart}) => chart.axes[0]._values)"""

_TWO_FRAMES = """const done = arguments[0];
    requestAnimationFrame(() => requestAnimationFrame(done))"""
"""Until a change of size has been seen and drawn."""


def _open(chrome: Chrome, url: str) -> None:
    """Unfold two steps: the graphs of the others would be drawn too."""
    chrome.get(url)
    chrome.execute_script(_UNFOLD, STEP, OTHER_STEP)
    chrome.execute_async_script(_TWO_FRAMES)


def _stretch(chrome: Chrome, step: str) -> tuple[float, float]:
    """The range in seconds that all graphs of `step` show."""
    [view] = {tuple(view) for view in chrome.execute_script(_VIEWS, step)}
    start, end = view
    return start, end


def _graph(chrome: Chrome, step: str, number: int) -> WebElement:
    return chrome.find_elements(By.CSS_SELECTOR, f"#{step} .graphs .u-over")[number]


def _button(chrome: Chrome, step: str, act: str) -> WebElement:
    return chrome.find_element(By.CSS_SELECTOR, f'#{step} .zoom [data-act="{act}"]')


def _drag(chrome: Chrome, graph: WebElement, start: float, end: float) -> None:
    """Drag from one share of the graph's width to another."""
    chrome.execute_script("arguments[0].scrollIntoView({block: 'center'})", graph)
    width = graph.rect["width"]
    ActionChains(chrome).move_to_element_with_offset(
        graph, round((start - 0.5) * width), 0
    ).click_and_hold().move_by_offset(round((end - start) * width), 3).release().perform()


def test_all_graphs_of_a_step_share_one_time_axis(chrome: Chrome, long_url: str) -> None:
    _open(chrome, long_url)

    assert len(chrome.execute_script(_VIEWS, STEP)) == 8
    assert _stretch(chrome, STEP) == (0, SECONDS)
    labels = chrome.execute_script(_LABELS, STEP)
    assert labels[0][0] == "0:00"
    assert labels[0][-1] == "0:20"
    assert all(label == labels[0] for label in labels)


def test_a_narrower_window_has_fewer_times(chrome: Chrome, long_url: str) -> None:
    _open(chrome, long_url)
    wide = chrome.execute_script(_LABELS, STEP)[0]

    chrome.execute_script("document.querySelector('main').style.width = '420px'")
    chrome.execute_async_script(_TWO_FRAMES)

    narrow = chrome.execute_script(_LABELS, STEP)[0]
    assert wide == ["0:00", "0:02", "0:04", "0:06", "0:08", *wide[5:]]
    assert narrow == ["0:00", "0:05", "0:10", "0:15", "0:20"]


def test_a_drag_over_one_graph_zooms_all_of_its_step_and_no_other(
    chrome: Chrome, long_url: str
) -> None:
    _open(chrome, long_url)

    _drag(chrome, _graph(chrome, STEP, 2), 0.25, 0.75)

    start, end = _stretch(chrome, STEP)
    assert abs(start - 5) < 0.2
    assert abs(end - 15) < 0.2
    assert _stretch(chrome, OTHER_STEP) == (0, SECONDS)
    labels = chrome.execute_script(_LABELS, STEP)
    assert "0:10" in labels[0]
    assert "0:00" not in labels[0]
    assert all(label == labels[0] for label in labels)
    assert chrome.find_elements(By.CSS_SELECTOR, ".chosen") == []


def test_a_drag_inside_a_zoom_zooms_further_and_from_right_to_left_too(
    chrome: Chrome, long_url: str
) -> None:
    _open(chrome, long_url)

    _drag(chrome, _graph(chrome, STEP, 0), 0.002, 0.5)
    _drag(chrome, _graph(chrome, STEP, 1), 0.998, 0.4)

    start, end = _stretch(chrome, STEP)
    assert abs(start - 4) < 0.2
    assert abs(end - 10) < 0.2


def test_double_click_and_button_and_escape_show_the_whole_step_again(
    chrome: Chrome, long_url: str
) -> None:
    _open(chrome, long_url)
    graph = _graph(chrome, STEP, 0)
    ways: tuple[Callable[[], None], ...] = (
        lambda: ActionChains(chrome).double_click(graph).perform(),
        lambda: _button(chrome, STEP, "reset").click(),
        lambda: _button(chrome, STEP, "in").send_keys(Keys.ESCAPE),
    )

    for reset in ways:
        _drag(chrome, graph, 0.25, 0.75)
        assert _stretch(chrome, STEP) != (0, SECONDS)
        reset()
        assert _stretch(chrome, STEP) == (0, SECONDS)


def test_a_click_without_a_drag_changes_nothing(chrome: Chrome, long_url: str) -> None:
    _open(chrome, long_url)

    ActionChains(chrome).click(_graph(chrome, STEP, 0)).perform()

    assert _stretch(chrome, STEP) == (0, SECONDS)


def test_the_keyboard_zooms_and_moves(chrome: Chrome, long_url: str) -> None:
    _open(chrome, long_url)

    _button(chrome, STEP, "in").send_keys(Keys.ENTER)
    assert _stretch(chrome, STEP) == (5, 15)
    _button(chrome, STEP, "later").send_keys(Keys.ENTER)
    assert _stretch(chrome, STEP) == (10, SECONDS)
    _button(chrome, STEP, "earlier").send_keys(Keys.SPACE)
    assert _stretch(chrome, STEP) == (5, 15)
    output = chrome.find_element(By.CSS_SELECTOR, f"#{STEP} .zoom output")
    assert output.text == "0:05 to 0:15"
    _button(chrome, STEP, "out").send_keys(Keys.ENTER)
    assert _stretch(chrome, STEP) == (0, SECONDS)
    assert not _button(chrome, STEP, "out").is_enabled()


def test_nothing_is_zoomed_closer_than_five_seconds(chrome: Chrome, long_url: str) -> None:
    _open(chrome, long_url)
    for _ in range(4):
        _button(chrome, STEP, "in").click()

    start, end = _stretch(chrome, STEP)
    assert end - start == 5, "no closer than this: there is nothing between two seconds"


def test_the_pointer_shows_the_values_of_its_second(chrome: Chrome, long_url: str) -> None:
    _open(chrome, long_url)
    graph = _graph(chrome, STEP, 0)
    chrome.execute_script("arguments[0].scrollIntoView({block: 'center'})", graph)

    # Second 12 is drawn in its middle, 12.5 of 20.
    offset = round((12.5 / SECONDS - 0.5) * graph.rect["width"])
    ActionChains(chrome).move_to_element_with_offset(graph, offset, 0).perform()

    readout = graph.find_element(By.CSS_SELECTOR, ".readout")
    time, *values = readout.text.split("\n")
    assert time == "0:12"
    expected = chrome.execute_script(
        """const {chart} = document.querySelector(`#${arguments[0]} .graphs .plot`);
        const at = chart.data[0].indexOf(12.5);
        return chart.series.slice(1)
            .map((series, index) => [series.label, chart.data[index + 1][at]])""",
        STEP,
    )
    assert {value.split(": ")[0] for value in values} == {label for label, _ in expected}
    assert float(values[0].split(": ")[1].replace(",", "")) in [value for _, value in expected]


def test_a_stall_leads_to_its_time_in_the_graphs(chrome: Chrome, long_url: str) -> None:
    _open(chrome, long_url)
    stall = chrome.find_element(By.CSS_SELECTOR, f"#{STEP} a[data-zoom]")
    assert stall.text == "12"

    stall.click()

    assert _stretch(chrome, STEP) == (2, SECONDS)
    assert chrome.current_url.endswith(f"#{STEP}-seconds")


def test_a_name_hides_the_lines_of_its_contender_in_all_graphs(
    chrome: Chrome, long_url: str
) -> None:
    _open(chrome, long_url)
    name = chrome.find_elements(By.CSS_SELECTOR, f"#{STEP} .graphs .legend button")[1]
    shown = """return ["k0", "k1"].map((colour) =>
        [...document.querySelectorAll(`#${arguments[0]} .graphs .plot`)].flatMap((plot) =>
            JSON.parse(plot.querySelector(".values").textContent).curves.filter(({mark}, at) =>
                mark.startsWith(colour) && plot.chart.series[at + 1].show)).length)"""
    assert chrome.execute_script(shown, STEP) == [16, 16]

    name.click()
    assert chrome.execute_script(shown, STEP) == [16, 0]
    assert name.get_attribute("aria-pressed") == "false"
    name.click()
    assert chrome.execute_script(shown, STEP) == [16, 16]


def test_graphs_are_static_without_javascript(chrome: Chrome, long_url: str) -> None:
    chrome.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": True})

    chrome.get(long_url)

    graphs = chrome.find_element(By.CSS_SELECTOR, "#test-qp1000-c1 .graphs")
    assert graphs.is_displayed(), "a step whose SLA failed is unfolded"
    assert graphs.find_element(By.CSS_SELECTOR, ".course").is_displayed()
    assert graphs.find_element(By.CSS_SELECTOR, ".times text").text == "0:00"
    assert graphs.find_elements(By.CSS_SELECTOR, ".zoom") == []


def test_paper_has_the_static_graphs(chrome: Chrome, long_url: str) -> None:
    _open(chrome, long_url)
    plot = chrome.find_element(By.CSS_SELECTOR, f"#{STEP} .graphs .plot")
    assert plot.find_element(By.TAG_NAME, "canvas").is_displayed()
    assert not plot.find_element(By.CSS_SELECTOR, ".course").is_displayed()

    chrome.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "print"})

    assert not plot.find_element(By.TAG_NAME, "canvas").is_displayed()
    assert plot.find_element(By.CSS_SELECTOR, ".course").is_displayed()


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_shades_are_legible(chrome: Chrome, long_url: str, scheme: str) -> None:
    prefer(chrome, scheme)
    chrome.get(long_url)

    for shade in ("missed-sla", "slower:not(.not-sure)", "faster:not(.not-sure)"):
        ink, fill = chrome.execute_script(COLOURS, f"td.{shade}")
        assert len(channels(fill)) == 3, f"{shade} is opaque"
        assert contrast(ink, fill) >= 4.5, shade
