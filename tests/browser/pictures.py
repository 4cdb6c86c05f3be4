"""Make the pictures of the documentation, with a headless Chromium.

`python -m tests.browser.pictures RESULTS [--experiment NAME] [--to docs/pictures]` writes the pages
of a results folder and takes pictures of them: the site, the differences of its newest pair, and an
experiment's page and terminal.
"""

from __future__ import annotations

import argparse
import io
import sys
import tempfile
from collections.abc import Sequence
from pathlib import Path

from rich.console import Console
from rich.terminal_theme import MONOKAI
from selenium.webdriver import Chrome

from slowdust.analysis.stored import Stored, read_stored
from slowdust.report import html, terminal
from slowdust.report.site.site import publish
from slowdust.store.folder import Folder, experiments
from tests.browser.conftest import headless_chromium

_WIDTH, _HEIGHT = 1200, 640
_NARROW = 390
_COLUMNS = 100
_TERMINAL = """<!doctype html><meta charset="utf-8">
<style>body {{ background: #0c0c0c; color: #d9d9d9; margin: 16px; }}
pre {{ font: 14px/1.3 "DejaVu Sans Mono", monospace; margin: 0; }} {stylesheet}</style>
<pre>$ slowdust report {name}
{code}</pre>"""


def main(arguments: Sequence[str] | None = None) -> int:
    """Take the pictures; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("results", type=Path)
    parser.add_argument("--experiment", metavar="NAME", help="of page and terminal  [the newest]")
    parser.add_argument("--to", type=Path, default=Path("docs/pictures"))
    chosen = parser.parse_args(arguments)
    chosen.to.mkdir(parents=True, exist_ok=True)
    newest = chosen.experiment or experiments(chosen.results)[0].name
    stored = read_stored(Folder(chosen.results / newest))
    with tempfile.TemporaryDirectory() as scratch:
        directory = Path(scratch)
        publish(chosen.results, directory / "site")
        page, shell = directory / "report.html", directory / "terminal.html"
        page.write_text(html.render(stored.report(), stored.slices, stored.profiles))
        shell.write_text(_terminal(stored))
        with headless_chromium(directory / "profile") as chrome:
            _take(chrome, page, chosen.to / "page.png", height=900)
            _take(chrome, page, chosen.to / "page-narrow.png", width=_NARROW, height=900)
            _take(chrome, page, chosen.to / "page-dark.png", height=900, scheme="dark")
            _take(chrome, shell, chosen.to / "terminal.png", width=900, height=860)
            _take(chrome, directory / "site/index.html", chosen.to / "site.png")
            for diff in sorted((directory / "site/diff").rglob("*.html"), reverse=True)[:1]:
                _take(chrome, diff, chosen.to / "diff.png")
    return 0


def _terminal(stored: Stored) -> str:
    """Return a page that shows the report as a dark terminal does."""
    console = Console(
        width=_COLUMNS,
        record=True,
        file=io.StringIO(),
        force_terminal=True,
        highlight=False,
        markup=False,
        emoji=False,
    )
    terminal.print_on(console, stored.report())
    shown = console.export_html(theme=MONOKAI, code_format="{stylesheet}\0{code}")
    stylesheet, _, code = shown.partition("\0")
    return _TERMINAL.format(stylesheet=stylesheet, code=code, name=stored.name)


def _take(
    chrome: Chrome,
    page: Path,
    picture: Path,
    *,
    width: int = _WIDTH,
    height: int = _HEIGHT,
    scheme: str = "light",
) -> None:
    media = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
    chrome.execute_cdp_cmd("Emulation.setEmulatedMedia", media)
    size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
    chrome.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    chrome.get(page.as_uri())
    # The bar that scrolls would be a part of the picture.
    chrome.execute_script("document.documentElement.style.overflow = 'hidden'")
    chrome.save_screenshot(str(picture))
    print(picture)


if __name__ == "__main__":
    sys.exit(main())
