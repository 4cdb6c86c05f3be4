"""Documents in each medium."""

from __future__ import annotations

import io
from collections.abc import Callable, Mapping
from typing import TypeVarTuple

from rich.console import Console

from slowdust.analysis.model import Report
from slowdust.report import console, terminal
from slowdust.report.document import Block, Document
from slowdust.report.html import blocks
from slowdust.report.markdown import document as markdown
from slowdust.report.markdown.table import escaped

_Content = TypeVarTuple("_Content")


def in_terminal(document: Document, width: int = 100) -> str:
    """Return the text in a terminal of `width` columns."""
    output = io.StringIO()
    shown = Console(file=output, width=width, highlight=False, markup=False, emoji=False)
    console.print_on(shown, document.blocks)
    return output.getvalue()


def printed(report: Report, width: int = 1000) -> str:
    """Return the text of a report in a terminal of `width` columns."""
    output = io.StringIO()
    shown = Console(file=output, width=width, highlight=False, markup=False, emoji=False)
    terminal.print_on(shown, report)
    return output.getvalue()


def in_markdown(describe: Callable[[*_Content], Document], *content: *_Content) -> str:
    """Return the Markdown of content, whose texts are escaped in it."""
    return markdown.render(describe(*escaped(content)))


def in_all(document: Document) -> Mapping[str, str]:
    """Return what each medium shows."""
    return {
        "terminal": in_terminal(document),
        "Markdown": markdown.render(document),
        "HTML": blocks.render(document),
    }


def tables_in(*blocks: Block | None) -> list[list[list[str]]]:
    """Return the tables of blocks as Markdown has them: the head and the rows of each."""
    found: list[list[list[str]]] = [[]]
    for line in markdown.lines([block for block in blocks if block is not None]):
        if not line.startswith("|"):
            found.append([])
        elif not line.startswith(("| ---", "| --")):
            found[-1].append([cell.strip() for cell in line.strip("|").split(" | ")])
    return [table for table in found if table]
