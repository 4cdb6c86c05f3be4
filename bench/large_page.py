"""The size of the page of a large experiment, and the time and elements in headless Chromium.

python -m bench.large_page [--contenders 14] [--tests 53] [--runs 5]
"""

from __future__ import annotations

import argparse
import shutil
import statistics
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from selenium.webdriver import Chrome, ChromeOptions
from selenium.webdriver.chrome.service import Service

from bench.results.rows import Row, show
from slowdust.analysis.analyse import analyse
from slowdust.benchmarks.micro import MICRO
from slowdust.report import html
from tests.unit.synthetic import synthetic_experiment

SMALLEST = ("--contenders", "2", "--tests", "2", "--runs", "1")

_LOADED_MS = "return performance.getEntriesByType('navigation')[0].loadEventEnd"
_ELEMENTS = "return document.getElementsByTagName('*').length"


def rows(contenders: int, tests: int, runs: int) -> Iterator[Row]:
    """Write the page of a synthetic experiment, and open it as often as `runs` says."""
    page = _page(contenders, tests)
    megabytes = len(page.encode()) / 1e6
    what = f"{contenders} contenders x {tests} tests"
    yield Row(f"size, {what}", f"{megabytes:.2f} MB", "under 1 MB", megabytes < 1)
    chromium, driver = shutil.which("chromium"), shutil.which("chromedriver")
    if not (chromium and driver):
        return
    with tempfile.TemporaryDirectory() as directory:
        path = Path(directory) / "report.html"
        path.write_text(page, encoding="utf-8")
        seconds, elements = _opened(path.as_uri(), chromium, driver, runs)
    yield Row("elements", f"{elements:,}", "", met=True)
    yield Row("load event", f"{seconds:.2f} s, median of {runs}", "under 1 s", seconds < 1)


def _page(contenders: int, tests: int) -> str:
    names = [f"postgres@17.{patch}" for patch in range(contenders)]
    chosen = MICRO.suites["full"][:tests]
    manifest, slices = synthetic_experiment(names, chosen, incarnations=3, blocks=4)
    return html.render(analyse(manifest, slices), slices)


def _opened(address: str, chromium: str, driver: str, runs: int) -> tuple[float, int]:
    """Return the median time to the load event in s, and the number of elements."""
    options = ChromeOptions()
    options.binary_location = chromium
    for switch in ("--headless", "--no-sandbox", "--disable-gpu", "--no-first-run"):
        options.add_argument(switch)
    with Chrome(options, Service(driver)) as browser:
        times = []
        for _ in range(runs):
            browser.get(address)
            times.append(browser.execute_script(_LOADED_MS) / 1e3)
        return statistics.median(times), browser.execute_script(_ELEMENTS)


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and print the table; return 1 where a goal is not met."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--contenders", type=int, default=14)
    parser.add_argument("--tests", type=int, default=53)
    parser.add_argument("--runs", type=int, default=5, help="of the browser; the median counts")
    options = parser.parse_args(arguments)
    measured = rows(options.contenders, options.tests, options.runs)
    return 0 if show("The page of a large experiment", measured) else 1


if __name__ == "__main__":
    sys.exit(main())
