"""Charts saved as files have the same content as on the screen."""

from __future__ import annotations

import struct
from pathlib import Path
from xml.etree import ElementTree

import pytest
from selenium.webdriver import Chrome
from selenium.webdriver.common.by import By
from selenium.webdriver.support.wait import WebDriverWait

from tests.browser.colours import prefer

SVG = "{http://www.w3.org/2000/svg}"

_OPEN = "document.querySelectorAll('details').forEach((el) => el.open = true)"


def _saved(chrome: Chrome, folder: Path, figure: str, kind: str) -> bytes:
    """Press the button of the first figure that the selector means; return the file."""
    behaviour = {"behavior": "allow", "downloadPath": str(folder)}
    chrome.execute_cdp_cmd("Browser.setDownloadBehavior", behaviour)
    buttons = chrome.find_elements(By.CSS_SELECTOR, f"{figure} .save button")
    [button] = [button for button in buttons[:2] if button.text == kind.upper()]
    chrome.execute_script("arguments[0].click()", button)
    WebDriverWait(chrome, 10).until(lambda _: list(folder.glob(f"*.{kind}")))
    [file] = folder.glob(f"*.{kind}")
    return file.read_bytes()


def _texts(picture: ElementTree.Element) -> list[str]:
    return ["".join(text.itertext()) for text in picture.iter(f"{SVG}text")]


@pytest.mark.parametrize(
    "case",
    [
        ("plain_url", "#intervals figure", ["Intervals", "point-query"]),
        ("plain_url", "#test-scan-c1 figure", ["scan", "postgres@17.6", "start 1"]),
        ("long_url", "#test-qr100-c1 .graphs figure", ["qr100", "postgres@17.6", "0:20"]),
        ("history_url", "#line-0 figure", ["Groups of tests", "8.0.19"]),
    ],
)
def test_a_file_has_title_names_and_axes_and_its_own_styles(
    chrome: Chrome,
    case: tuple[str, str, list[str]],
    request: pytest.FixtureRequest,
    tmp_path: Path,
) -> None:
    page, figure, words = case
    chrome.get(request.getfixturevalue(page))
    chrome.execute_script(_OPEN)

    picture = ElementTree.fromstring(_saved(chrome, tmp_path, figure, "svg"))

    texts = _texts(picture)
    for word in words:
        assert any(word in text for text in texts), word
    width, height = float(picture.get("width", "")), float(picture.get("height", ""))
    assert width > 500
    assert height > 100
    marks = [path for path in picture.iter(f"{SVG}path") if path.get("stroke") != "none"]
    assert marks
    assert all((mark.get("stroke") or "").startswith("rgb(") for mark in marks)
    assert not any(element.get("class") for element in picture.iter())


def test_lines_that_are_hidden_are_not_in_the_file(
    chrome: Chrome, long_url: str, tmp_path: Path
) -> None:
    chrome.get(long_url)
    chrome.execute_script(_OPEN)
    figure = "#test-qr100-c1 .graphs figure"
    both = ElementTree.fromstring(_saved(chrome, tmp_path, figure, "svg"))
    for file in tmp_path.iterdir():
        file.unlink()

    chrome.find_element(By.CSS_SELECTOR, "#test-qr100-c1 .graphs .legend button").click()
    rest = ElementTree.fromstring(_saved(chrome, tmp_path, figure, "svg"))

    assert "postgres@15.8 base" in _texts(both)
    assert "postgres@15.8 base" not in _texts(rest)
    assert len(list(rest.iter(f"{SVG}path"))) == len(list(both.iter(f"{SVG}path"))) / 2


def test_a_dark_page_is_saved_as_a_dark_picture_of_twice_the_size(
    chrome: Chrome, plain_url: str, tmp_path: Path
) -> None:
    prefer(chrome, "dark")
    chrome.get(plain_url)
    vector = ElementTree.fromstring(_saved(chrome, tmp_path, "#intervals figure", "svg"))

    picture = _saved(chrome, tmp_path, "#intervals figure", "png")

    assert vector[0].get("fill") == "rgb(20, 23, 27)"
    assert picture[:8] == b"\x89PNG\r\n\x1a\n"
    size = struct.unpack(">II", picture[16:24])
    assert size == (2 * int(vector.get("width", "")), 2 * int(vector.get("height", "")))
