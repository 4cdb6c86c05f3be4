"""A headless Chromium and its pages."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest
from selenium.webdriver import Chrome, ChromeOptions
from selenium.webdriver.chrome.service import Service

from slowdust.analysis.history.history import history_of
from slowdust.report import html
from slowdust.report.history import document
from slowdust.report.html import blocks
from tests.tiers.selection import require
from tests.unit.report.sample import (
    counted_experiment,
    disk_experiment,
    long_experiment,
    matrix_experiment,
    plain_experiment,
    profiled_experiment,
    slap_experiment,
    sweep_experiment,
    troubled_experiment,
)
from tests.unit.synthetic import Noise
from tests.unit.synthetic_history import choice, experiments, measured

_CHROMIUM, _DRIVER = shutil.which("chromium"), shutil.which("chromedriver")

_SWITCHES = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


def headless_chromium(profile: Path) -> Chrome:
    """Start a Chromium that keeps its files in `profile`; to be used in a `with`."""
    assert _CHROMIUM is not None, "needs chromium: apt-get install chromium"
    assert _DRIVER is not None, "needs chromedriver: apt-get install chromium-driver"
    options = ChromeOptions()
    options.binary_location = _CHROMIUM
    for switch in _SWITCHES:
        options.add_argument(switch)
    options.add_argument(f"--user-data-dir={profile}")
    options.set_capability("goog:loggingPrefs", {"performance": "ALL", "browser": "ALL"})
    return Chrome(options, Service(_DRIVER))


@pytest.fixture(scope="session")
def browser(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Chrome]:
    require("chromium", "chromedriver")
    with headless_chromium(tmp_path_factory.mktemp("profile")) as driver:
        yield driver


@pytest.fixture
def chrome(browser: Chrome) -> Iterator[Chrome]:
    """The browser as a wide, light window with scripts; put back after the test."""
    _set_width(browser, 1400)
    yield browser
    browser.execute_cdp_cmd("Emulation.setScriptExecutionDisabled", {"value": False})
    browser.execute_cdp_cmd("Emulation.setEmulatedMedia", {"media": "", "features": []})
    browser.get("about:blank")


@pytest.fixture
def laptop(chrome: Chrome) -> Chrome:
    """The browser as wide as a small laptop."""
    _set_width(chrome, 1280)
    return chrome


@pytest.fixture
def phone(chrome: Chrome) -> Chrome:
    """The browser as wide as a telephone."""
    _set_width(chrome, 380)
    return chrome


@pytest.fixture(scope="session")
def plain_url(tmp_path_factory: pytest.TempPathFactory) -> str:
    return _written(tmp_path_factory.mktemp("plain"), html.render(*plain_experiment()))


@pytest.fixture(scope="session")
def counted_url(tmp_path_factory: pytest.TempPathFactory) -> str:
    return _written(tmp_path_factory.mktemp("counted"), html.render(*counted_experiment()))


@pytest.fixture(scope="session")
def troubled_url(tmp_path_factory: pytest.TempPathFactory) -> str:
    return _written(tmp_path_factory.mktemp("troubled"), html.render(*troubled_experiment()))


@pytest.fixture(scope="session")
def profiled_url(tmp_path_factory: pytest.TempPathFactory) -> str:
    return _written(tmp_path_factory.mktemp("profiled"), html.render(*profiled_experiment()))


@pytest.fixture(scope="session")
def sweep_url(tmp_path_factory: pytest.TempPathFactory) -> str:
    return _written(tmp_path_factory.mktemp("sweep"), html.render(*sweep_experiment()))


@pytest.fixture(scope="session")
def matrix_url(tmp_path_factory: pytest.TempPathFactory) -> str:
    return _written(tmp_path_factory.mktemp("matrix"), html.render(*matrix_experiment()))


@pytest.fixture(scope="session")
def slap_url(tmp_path_factory: pytest.TempPathFactory) -> str:
    return _written(tmp_path_factory.mktemp("slap"), html.render(*slap_experiment()))


@pytest.fixture(scope="session")
def disk_url(tmp_path_factory: pytest.TempPathFactory) -> str:
    return _written(tmp_path_factory.mktemp("disk"), html.render(*disk_experiment()))


@pytest.fixture(scope="session")
def long_url(tmp_path_factory: pytest.TempPathFactory) -> str:
    return _written(tmp_path_factory.mktemp("long"), html.render(*long_experiment()))


@pytest.fixture(scope="session")
def history_url(tmp_path_factory: pytest.TempPathFactory) -> str:
    levels = {f"8.0.{patch}": 1 - patch / 100 for patch in range(20)}
    versions = history_of(experiments(measured("all", levels, noise=Noise())), choice())
    return _written(tmp_path_factory.mktemp("history"), blocks.render(document(versions)))


def _written(folder: Path, page: str) -> str:
    path = folder / "report.html"
    path.write_text(page, encoding="utf-8")
    return path.as_uri()


def _set_width(browser: Chrome, width: int) -> None:
    browser.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 500},
    )
