"""Make the pictures of the documentation, with a headless Chromium.

`python -m tests.browser.pictures RESULTS [--to docs/pictures]` writes the pages of a results folder
and takes pictures of them.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from selenium.webdriver import Chrome

from slowdust.report.site.publish import publish
from tests.browser.conftest import headless_chromium

_WIDTH, _HEIGHT = 1200, 640


def main(arguments: Sequence[str] | None = None) -> int:
    """Take the pictures; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", type=Path)
    parser.add_argument("--to", type=Path, default=Path("docs/pictures"))
    chosen = parser.parse_args(arguments)
    chosen.to.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        directory = Path(scratch)
        publish(chosen.results, directory / "site")
        [newest, *_] = sorted((directory / "site/diff").rglob("*.html"), reverse=True)
        with headless_chromium(directory / "profile") as chrome:
            _take(chrome, directory / "site/index.html", chosen.to / "site.png")
            _take(chrome, newest, chosen.to / "diff.png")
    return 0


def _take(chrome: Chrome, page: Path, picture: Path) -> None:
    size = {"width": _WIDTH, "height": _HEIGHT, "deviceScaleFactor": 1, "mobile": False}
    chrome.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    chrome.get(page.as_uri())
    # The bar that scrolls would be a part of the picture.
    chrome.execute_script("document.documentElement.style.overflow = 'hidden'")
    chrome.save_screenshot(str(picture))
    print(picture)


if __name__ == "__main__":
    sys.exit(main())
