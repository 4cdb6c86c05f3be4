"""What a page consists of, read back from its HTML."""

from __future__ import annotations

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
