"""A window of Chromium or Firefox: its size, its colours and its errors."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Protocol

from selenium.webdriver import Chrome, Firefox, FirefoxOptions
from selenium.webdriver.firefox.service import Service
from selenium.webdriver.remote.webdriver import WebDriver

HEIGHT = 900

FIREFOX, GECKODRIVER = shutil.which("firefox-esr"), shutil.which("geckodriver")

_SCHEMES = {"dark": 0, "light": 1}
_SCHEME = "layout.css.prefers-color-scheme.content-override"


class Window(Protocol):
    """Operations of tests on a window of any browser."""

    @property
    def driver(self) -> WebDriver:
        """The browser that shows it."""

    def set_width(self, width: int) -> None:
        """Give the page that many pixels."""

    def prefer(self, scheme: str) -> None:
        """Prefer 'light' or 'dark'."""

    def complaints(self) -> list[str]:
        """Return errors and warnings since the last call."""


class _Entry(Protocol):
    """The messages in Firefox' console."""

    text: str


class ChromiumWindow:
    """A window of Chromium."""

    def __init__(self, driver: Chrome, downloads: Path) -> None:
        self.driver = driver
        behaviour = {"behavior": "allow", "downloadPath": str(downloads)}
        driver.execute_cdp_cmd("Browser.setDownloadBehavior", behaviour)

    def set_width(self, width: int) -> None:
        size = {"width": width, "height": HEIGHT, "deviceScaleFactor": 1, "mobile": width < 500}
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)

    def prefer(self, scheme: str) -> None:
        feature = {"name": "prefers-color-scheme", "value": scheme}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [feature]})

    def complaints(self) -> list[str]:
        return [entry["message"] for entry in self.driver.get_log("browser")]


class FirefoxWindow:
    """A window of Firefox."""

    def __init__(self, driver: Firefox) -> None:
        self.driver = driver
        self._heard: list[str] = []
        driver.script.add_javascript_error_handler(self._hear)
        driver.script.add_console_message_handler(self._hear)

    def set_width(self, width: int) -> None:
        size = {"width": width, "height": HEIGHT}
        window = self.driver.current_window_handle
        self.driver.browsing_context.set_viewport(context=window, viewport=size)

    def prefer(self, scheme: str) -> None:
        with self.driver.context(Firefox.CONTEXT_CHROME):
            self.driver.execute_script(
                "Services.prefs.setIntPref(...arguments)", _SCHEME, _SCHEMES[scheme]
            )

    def complaints(self) -> list[str]:
        heard, self._heard = self._heard, []
        return heard

    def _hear(self, entry: _Entry) -> None:
        self._heard.append(entry.text)


@contextmanager
def firefox_window(downloads: Path) -> Iterator[FirefoxWindow]:
    """Start a headless Firefox that saves files in `downloads`."""
    assert FIREFOX is not None
    assert GECKODRIVER is not None
    options = FirefoxOptions()
    options.binary_location = FIREFOX
    options.add_argument("-headless")
    options.enable_bidi = True
    options.set_preference("browser.download.folderList", 2)
    options.set_preference("browser.download.dir", str(downloads))
    # Preferences change while it runs only where tests may act as the browser itself.
    service = Service(GECKODRIVER, service_args=["--allow-system-access"])
    with Firefox(options, service) as driver:
        yield FirefoxWindow(driver)
