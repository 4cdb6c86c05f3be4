"""Documents as Markdown that also reads well in a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import zip_longest

from slowdust.report.document import (
    Block,
    Cell,
    Code,
    Document,
    Facts,
    Folded,
    Group,
    Items,
    Line,
    Link,
    Literal,
    Medium,
    Panels,
    Section,
    SideBySide,
    Strong,
    Table,
    Text,
    Titled,
    plain_lines,
)
from slowdust.report.markdown.table import pale, table, unescaped


def render(document: Document) -> str:
    """Return a document whose foreign texts are `escaped`."""
    title = [f"# {document.title}"] if document.has_title else []
    parts = [*title, *_Markdown().blocks(document.blocks, 1 + document.has_title)]
    return "\n\n".join(parts) + "\n"


def plain(document: Document, width: int | None = None) -> str:
    """Return a document as Markdown for a terminal of `width` columns, without escapes."""
    title = [f"# {document.title}"] if document.has_title else []
    shown = _Markdown(Medium.TERMINAL, width)
    return "\n\n".join([*title, *shown.blocks(document.blocks, 1 + document.has_title)]) + "\n"


def lines(blocks: Iterable[Block], level: int = 2) -> list[str]:
    """Return blocks as lines; headings of their sections are of a level."""
    return "\n\n".join(_Markdown().blocks(blocks, level)).splitlines()


@dataclass(frozen=True)
class _Markdown:
    """The rendering of blocks for one medium."""

    medium: Medium = Medium.MARKDOWN
    width: int | None = None
    """Columns of a terminal."""

    def blocks(self, blocks: Iterable[Block], level: int) -> list[str]:
        """Return paragraphs without empty ones."""
        shown = (block for block in blocks if self.medium in block.media)
        return [part for block in shown for part in self._block(block, level) if part]

    def _block(self, block: Block, level: int) -> list[str]:
        match block:
            case Text():
                return [_text(block)]
            case Items():
                return ["\n".join(_items(block))]
            case Facts() if block.role == "answer":
                return ["\n".join(_answer(block))]
            case Facts():
                rows = [
                    [label, value if isinstance(value, str) else " ".join(value)]
                    for label, value in block.facts
                ]
                return ["\n".join(table(["", ""], rows, left=2))]
            case Code():
                return [_code(block)]
            case SideBySide():
                return [part for name, code in block.parts.items() for part in (name, _code(code))]
            case Table():
                return [self._table(block)]
            case Panels():
                return [self._table(block.table)]
            case Group() | Folded():
                return self.blocks(block.blocks, level)
            case Section():
                body = self.blocks(block.blocks, level + 1 if block.title else level)
                heading = block.title if block.is_plain else f"{'#' * level} {block.title}"
                return [heading, *body] if body and block.title else body
        return []

    def _table(self, block: Table) -> str:
        block = block.shown(self.medium)
        rows = [[_cell(cell) for cell in row.cells] for row in block.rows]
        heads = [" ".join(filter(None, (each.title, each.unit))) for each in block.columns]
        left = sum(column.is_left for column in block.columns)
        lines = table(heads, rows, left)
        if block.fits and self.width is not None:
            while len(heads) > 1 and max(map(len, lines)) > self.width:
                heads.pop()
                lines = table(heads, [row[: len(heads)] for row in rows], left)
        return "\n".join(lines)


def _answer(block: Facts) -> Iterator[str]:
    for label, words in block.facts:
        if isinstance(words, str):
            yield f"- **{label}**: {words}"
        else:
            yield f"- **{label}**"
            yield from (f"  - {line}" for line in words)


def _items(block: Items) -> Iterator[str]:
    for item, command in zip_longest(block.items, block.commands, fillvalue=""):
        if isinstance(item, Titled):
            yield f"- {item.title}"
            yield from (f"  - {each}" for each in item.items)
            continue
        yield f"- {_line(item)}"
        if command:
            yield f"\n      {unescaped(str(command))}\n"


_ENDS = {"note": "  ", "lines": "  "}


def _text(block: Text) -> str:
    if block.role == "quoted":
        return "\n".join(f"> {_line(line)}  " for line in block.lines)
    if block.role == "remark":
        return "\n".join(f"> {_line(line)}" for line in block.lines)
    if block.role == "strong":
        return "\n".join(f"**{_line(line)}**" for line in block.lines)
    return "\n".join(_line(line) + _ENDS.get(block.role, "") for line in block.lines)


def _code(block: Code) -> str:
    return "\n".join(f"    {unescaped(line)}" for line in plain_lines(block))


def _line(line: Line) -> str:
    return "".join(map(_part, (line,) if isinstance(line, str) else line))


def _part(part: str | Link) -> str:
    if isinstance(part, Link):
        return f"[{part.text}]({part.target})"
    if isinstance(part, Literal):
        return f"`{unescaped(part)}`"
    return f"**{part}**" if isinstance(part, Strong) else part


def _cell(cell: str | Cell) -> str:
    if isinstance(cell, str):
        return cell
    text = f"`{unescaped(cell.text)}`" if cell.is_code else cell.text
    ratio = " ".join(filter(None, (cell.multiple or text, cell.interval)))
    ratio = (pale(ratio) if cell.is_pale else ratio) + cell.end
    value = text if cell.multiple else ""
    return " ".join(filter(None, (cell.sign, value, ratio, cell.verdict)))
