"""The section of the mixed load in Chromium."""

from __future__ import annotations

from pathlib import Path

from selenium.webdriver import Chrome

from slowdust.report import html
from tests.unit.analysis.test_beside import mixed


def test_the_table_fits_into_a_window_of_a_laptop(chrome: Chrome, tmp_path: Path) -> None:
    report, slices = mixed(alone=2.0)
    for result in report.results:
        assert result.beside is not None
        result.beside.test = "transactions"
        result.beside.late_operations = 1_234
        result.beside.p50_us, result.beside.p95_us = 140_239.0, 847_325.0
        result.beside.freshness_p50_us, result.beside.freshness_max_us = 334_496.0, 573_894.0
    page = tmp_path / "mixed.html"
    page.write_text(html.render(report, slices))
    chrome.execute_cdp_cmd(
        "Emulation.setDeviceMetricsOverride",
        {"width": 1280, "height": 900, "deviceScaleFactor": 1, "mobile": False},
    )
    chrome.get(page.as_uri())
    room, needed = chrome.execute_script(
        "const region = document.querySelector('#beside .scroll');"
        "return [region.clientWidth, region.scrollWidth];"
    )
    assert needed <= room
