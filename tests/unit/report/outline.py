"""The parts of a page, read back from its HTML."""

from __future__ import annotations

import html
import re
from html.parser import HTMLParser

_VOID = {"meta", "link", "input", "wbr", "br"}


class Outline(HTMLParser):
    """Checks that elements nest, and collects ids, link targets and attributes that load."""

    def __init__(self) -> None:
        super().__init__()
        self.stack: list[str] = []
        self.ids: list[str] = []
        self.targets: list[str] = []
        self.loads: list[str] = []
        self.text: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        if given.get("id"):
            self.ids.append(given["id"] or "")
        href = given.get("href") or ""
        if href.startswith("#"):
            self.targets.append(href[1:])
        elif href:
            self.loads.append(href)
        if given.get("src"):
            self.loads.append(given["src"] or "")
        if tag not in _VOID:
            self.stack.append(tag)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        pass

    def handle_endtag(self, tag: str) -> None:
        assert self.stack.pop() == tag

    def handle_data(self, data: str) -> None:
        if self.stack and self.stack[-1] not in {"script", "style"}:
            self.text.append(data)


def outline_of(page: str) -> Outline:
    """The outline of a page whose elements nest."""
    outline = Outline()
    outline.feed(page)
    assert outline.stack == []
    return outline


def words(markup: str) -> str:
    """The words that a reader sees, a line for each row, item, paragraph and heading."""
    shown = re.sub(r"<(script|style)\b.*?</\1>", "", markup, flags=re.DOTALL)
    lines = re.sub(r"</(tr|li|p|h\d|dd|figcaption|caption|summary|pre)>", "\n", shown)
    seen = html.unescape(re.sub(r"<[^>]*>", " ", lines))
    return "\n".join(" ".join(line.split()) for line in seen.splitlines() if line.strip())


def row_of(page: str, test: str) -> str:
    """The row of a test in the table of results."""
    row = re.search(rf'<tr class="row"[^>]*data-name="{re.escape(test)}".*?</tr>', page, re.DOTALL)
    assert row, test
    return row[0]


def headings(text: str) -> list[str]:
    """The headings of a report in Markdown."""
    return [line for line in text.splitlines() if line.startswith("#")]
