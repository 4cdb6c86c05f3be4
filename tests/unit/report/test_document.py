"""Every addition to a document is in the terminal, in Markdown and on the page."""

from __future__ import annotations

import re
from html import unescape

import pytest

from slowdust.report import html
from slowdust.report.answer import first_screen
from slowdust.report.document import (
    Cell,
    Cells,
    Code,
    Column,
    Document,
    Facts,
    Folded,
    Group,
    Items,
    Literal,
    Medium,
    Panel,
    Panels,
    Row,
    Section,
    SideBySide,
    Strong,
    Table,
    Titled,
    columns,
    table,
    text,
)
from slowdust.report.markdown import report as markdown
from slowdust.store.manifest import StepFailure
from tests.unit.report.media import in_all, in_markdown, in_terminal, printed
from tests.unit.report.sample import counted_experiment, long_experiment


def fact(word: str) -> Section:
    """A section with its fact in each kind of block."""
    rows: list[Cells] = [["scan", Cell("0.91", "[0.90, 0.92]", "slower", shade="slower")]]
    grouped = Table(columns("panel", left=1), [Row([f"{word}-panel"], group="all")])
    return Section(
        f"{word}-title",
        [
            text(f"{word}-sentence", [Strong(f"{word}-strong"), Literal(f"{word}-literal")]),
            Items(
                [f"{word}-item", Titled(f"{word}-list", [f"{word}-clause"])], [f"{word}-command"]
            ),
            Facts([(f"{word}-label", f"{word}-known")]),
            Code([f"{word}-line", "other"], frozenset([0])),
            SideBySide({f"{word}-contender": Code([f"{word}-plan"])}),
            table([f"{word}-head", "rqps"], rows, left=1),
            Panels(grouped, [Panel(f"{word}-hidden", "a", "all")]),
            Folded("more", [text(f"{word}-folded")]),
            Group("note", "Notes", [text(f"{word}-remark")]),
        ],
        anchor="facts",
    )


WORDS = (
    *("title", "sentence", "strong", "literal", "item", "list", "clause", "command", "label"),
    *("known", "line", "contender", "plan", "head", "panel", "folded", "remark"),
)


@pytest.mark.parametrize("medium", ["terminal", "Markdown", "HTML"])
def test_a_section_of_one_function_is_in_every_medium(medium: str) -> None:
    shown = in_all(Document("Facts", [fact("new")]))[medium]
    assert [word for word in WORDS if f"new-{word}" not in shown] == []
    assert re.search(r"0\.91.*slower", shown)
    assert "[0.90, 0.92]" in shown


def test_blocks_are_excluded_from_media_that_they_are_not_for() -> None:
    blocks = [text(f"for {medium}", media=medium) for medium in Medium]
    shown = in_all(Document("Some", blocks))
    for name, own in (("terminal", "TERMINAL"), ("Markdown", "MARKDOWN"), ("HTML", "HTML")):
        assert shown[name].count("for Medium.") == 1
        assert f"for Medium.{own}" in shown[name]


def test_a_title_without_content_is_skipped() -> None:
    shown = in_all(Document("Some", [Section("Empty", [text("x", media=Medium(0))]), text("y")]))
    assert all("Empty" not in each for each in shown.values())


def test_a_terminal_without_room_skips_intervals_before_it_splits_a_table() -> None:
    cell = Cell("1.00", "[0.99, 1.01]", "same")
    heads = [Column(kind * 5, part=kind) for kind in ("a", "b")]
    document = Document("Wide", [table(["test", *heads], [["scan", cell, cell]], left=1)])
    assert in_terminal(document, 60).count("[") == 2
    assert in_terminal(document, 40).count("[") == 1
    assert in_terminal(document, 20).count("scan") == 2


def test_markup_of_others_is_shown_as_it_is() -> None:
    def describe(name: str) -> Document:
        rows: list[Cells] = [[Cell(name, is_code=True), name]]
        return Document("Markup", [text(name), table(["a", "b"], rows, left=2)])

    page = in_all(describe("<b>x</b>"))["HTML"]
    assert "<b>x" not in page
    assert page.count("&lt;b&gt;x") == 3
    assert "\\<b>x\\</b>" in in_markdown(describe, "<b>x</b>")
    assert "`<b>x</b>`" in in_markdown(describe, "<b>x</b>")


def test_the_first_screen_of_a_report_is_in_every_medium() -> None:
    report, slices = counted_experiment()
    screen = first_screen(report)
    assert screen is not None
    media = (printed(report), markdown.render(report), unescape(html.render(report, slices)))

    for label, words in screen.facts:
        for line in [words] if isinstance(words, str) else words:
            for shown in media:
                assert label in shown
                assert plain(line) in plain(shown)


@pytest.mark.parametrize(
    "section", ["How it was measured", "Steps that failed", "Response times of statements"]
)
def test_sections_of_long_steps_are_in_markdown_and_on_the_page(section: str) -> None:
    report, slices = long_experiment()
    report.failed_steps = [
        StepFailure(
            test="l.i0",
            clients=1,
            contender=report.base,
            incarnation=1,
            reason="the server exited\nFATAL",
            after_s=1.0,
        )
    ]

    assert f"## {section}" in markdown.render(report)
    assert f">{section}</h" in html.render(report, slices)


def plain(words: str) -> str:
    """The words without the marks of code."""
    return re.sub(r"`|</?code>", "", words)
