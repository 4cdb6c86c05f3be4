"""Documents in a terminal, as wide as that is, with verdicts in colours."""

from __future__ import annotations

import re
import shutil
import sys
import textwrap
from collections.abc import Iterable, Sequence
from itertools import zip_longest
from typing import TYPE_CHECKING

from slowdust.report.document import (
    Block,
    Cell,
    Chart,
    Code,
    Document,
    Facts,
    Folded,
    Group,
    Items,
    Line,
    Link,
    Medium,
    Panels,
    Section,
    SideBySide,
    Table,
    Text,
    Titled,
    plain_lines,
)
from slowdust.units import known

if TYPE_CHECKING:
    from rich.console import Console
    from rich.measure import Measurement
    from rich.table import Table as RichTable
    from rich.text import Text as RichText

NARROWEST = 60
WIDEST = 110
"""Columns of the terminal that a document is laid out for, at least and at most."""
WITHOUT_TERMINAL = 100
LABELS = 10
"""Width of labels before facts."""
_GOES_ON = " \\"
_SHELL_WORD = re.compile(r"(?:'[^']*'|[^\s'])+")
_STYLES = {"faster": "green", "slower": "red", "unsure": "dim"}


def standard_output() -> Console:
    """Return the console of standard output."""
    from rich.console import Console

    width = WITHOUT_TERMINAL
    if sys.stdout.isatty():
        width = min(max(shutil.get_terminal_size().columns, NARROWEST), WIDEST)
    return Console(width=width, highlight=False, markup=False, emoji=False)


def show(document: Document) -> None:
    """Print a document on standard output."""
    print_on(standard_output(), document.blocks)


def print_on(console: Console, blocks: Iterable[Block]) -> None:
    """Print blocks on a console, with an empty line between two, but none after a title."""
    before: Block | str = ""
    for part in _parts(blocks):
        if not isinstance(before, str) and not (isinstance(part, Block) and part.is_close):
            console.print()
        _print(console, part)
        before = part


def _parts(blocks: Iterable[Block]) -> Iterable[Block | str]:
    """Yield what is printed of blocks; a text is a title of a section."""
    for block in blocks:
        if Medium.TERMINAL not in block.media:
            continue
        match block:
            case Group() | Folded():
                yield from _parts(block.blocks)
            case Panels():
                yield block.table
            case Section():
                inner = [*_parts(block.blocks)]
                yield from [block.title, *inner] if inner and block.title else inner
            case Table() if not block.shown(Medium.TERMINAL).rows:
                continue
            case Text() | Items() | Facts() | Code() | SideBySide() | Table():
                yield block
            case Chart() if block.in_text is not None:
                yield block
            case _:
                continue


def _print(console: Console, part: Block | str) -> None:
    match part:
        case str():
            print_head(console, part)
        case Text():
            print_lines(console, [_line(line) for line in part.lines])
        case Items():
            _print_items(console, part)
        case Facts():
            print_facts(console, part.facts)
        case Code():
            _print_code(console, part)
        case SideBySide():
            for name, code in part.parts.items():
                console.print(f"  {name}", soft_wrap=True)
                _print_code(console, code)
        case Chart() if part.in_text is not None:
            for line in part.in_text(console.width, console.encoding.lower().startswith("utf")):
                console.print(line, soft_wrap=True)
        case Table():
            for drawn in _fitted(part, console):
                console.print(drawn)


def _print_items(console: Console, block: Items) -> None:
    for item, command in zip_longest(block.items, block.commands, fillvalue=""):
        print_lines(console, _item(item))
        if command:
            _print_command(console, str(command))


def _print_code(console: Console, code: Code) -> None:
    for line in plain_lines(code):
        console.print(f"    {line}", soft_wrap=True)


def _print_command(console: Console, command: str) -> None:
    """Print a command, where it is too wide in lines that a shell reads as one."""
    from rich.text import Text

    lines: list[str] = []
    for word in _SHELL_WORD.findall(command):
        if lines and len(f"{lines[-1]} {word}{_GOES_ON}") <= console.width:
            lines[-1] += f" {word}"
        else:
            lines.append(f"{'      ' if lines else '    '}{word}")
    console.print(Text(f"{_GOES_ON}\n".join(lines)), soft_wrap=True)


def _item(item: Line | Titled) -> list[str]:
    if isinstance(item, Titled):
        return [f"- {item.title}", *(f"  - {each}" for each in item.items)]
    return [f"- {_line(item)}"]


def _line(line: Line) -> str:
    parts = (line,) if isinstance(line, str) else line
    return "".join(part.text if isinstance(part, Link) else part for part in parts)


def print_head(console: Console, text: str) -> None:
    """Print a heading."""
    from rich.text import Text

    for line in wrapped([text], console.width):
        console.print(Text(line, style="bold"), soft_wrap=True)


def print_lines(console: Console, texts: Sequence[str]) -> None:
    """Print lines, each broken between words."""
    from rich.text import Text

    for line in wrapped(texts, console.width):
        console.print(Text(line), soft_wrap=True)


def print_facts(console: Console, facts: Iterable[tuple[str, str | Sequence[str]]]) -> None:
    """Print facts, each after its label in bold letters."""
    from rich.text import Text

    for label, words in facts:
        first, *others = [words] if isinstance(words, str) else words
        indent = LABELS if isinstance(words, str) else LABELS + 2
        lines = wrapped([f"{label:<{LABELS}}{first}"], console.width, indent=indent)
        lines += wrapped([f"{'':<{LABELS}}{each}" for each in others], console.width, indent=indent)
        for place, line in enumerate(lines):
            text = Text(line)
            if place == 0:
                text.stylize("bold", 0, LABELS)
            console.print(text, soft_wrap=True)


def wrapped(texts: Sequence[str], columns: int, indent: int | None = None) -> list[str]:
    """Break lines between words; what follows the first line is indented, of a list as its text.

    A word longer than a line is not broken.
    """
    return [line for text in texts for line in _wrapped(text, columns, indent)]


def _wrapped(text: str, columns: int, indent: int | None) -> list[str]:
    if not text:
        return [""]
    if indent is None:
        indent = len(text) - len(text.lstrip()) + 2
    return textwrap.wrap(
        text,
        columns,
        subsequent_indent=" " * indent,
        break_long_words=False,
        break_on_hyphens=False,
        drop_whitespace=True,
        replace_whitespace=False,
    )


def width_of(table: RichTable, console: Console) -> Measurement:
    """Return the width of a table whose words are not broken, and of one without a break."""
    from rich.measure import Measurement

    return Measurement.get(console, console.options.update(max_width=1000), table)


def plain_table(*heads: str, left: int) -> RichTable:
    """Return an empty table; the first `left` columns are aligned left, others right."""
    from rich import box
    from rich.table import Table

    table = Table(
        box=box.SIMPLE_HEAD,
        pad_edge=False,
        show_edge=False,
        padding=(0, 1, 0, 0),
    )
    for place, head in enumerate(heads):
        table.add_column(
            head, justify="left" if place < left else "right", no_wrap=place > 0, overflow="fold"
        )
    return table


def has_room(block: Table, console: Console) -> bool:
    """Return whether a table fits, perhaps without intervals or in parts."""
    widths = (width_of(table, console).maximum for table in _fitted(block, console))
    return max(widths) - _breakable(block) <= console.width


def _fitted(block: Table, console: Console) -> list[RichTable]:
    """Return a table that the console has room for, or its parts.

    If it has none, intervals are omitted, first in the first columns.
    """
    block = block.shown(Medium.TERMINAL)
    with_intervals = [
        place
        for place in range(len(block.columns))
        if any(isinstance(cell := row.cells[place], Cell) and cell.interval for row in block.rows)
    ]
    with_intervals.sort(key=lambda place: not block.columns[place].is_brief)
    least = sum(column.is_brief for column in block.columns)
    places = [*range(len(block.columns))]
    for short in range(min(least, len(with_intervals)), len(with_intervals) + 1):
        table = _table(block, places, with_intervals[:short])
        if width_of(table, console).maximum - _breakable(block) <= console.width:
            return [table]
    while block.fits and len(places) > 1 and width_of(table, console).maximum > console.width:
        places.pop()
        table = _table(block, places, with_intervals)
    parts = dict.fromkeys(known(column.part or None for column in block.columns))
    split = ([p for p in places if block.columns[p].part in ("", part)] for part in parts)
    return [_table(block, own, with_intervals) for own in split] or [table]


def _breakable(block: Table) -> int:
    """Return how many columns are not needed where words are broken into lines."""
    spare = 0
    for place, column in enumerate(block.columns):
        if column.least is not None:
            cells = (row.cells[place] for row in block.rows)
            widest = max((len(_cell(cell, with_interval=True)) for cell in cells), default=0)
            spare += max(0, widest - column.least)
    return spare


def _table(block: Table, places: Sequence[int], short: Sequence[int]) -> RichTable:
    """Return the columns at some places; those that are `short` are without intervals."""
    columns = [block.columns[place] for place in places]
    titles = ((each.short if short and each.short else each.title, each.unit) for each in columns)
    heads = ("\n".join(filter(None, title)) for title in titles)
    table = plain_table(*heads, left=sum(column.is_left for column in columns))
    for column, drawn in zip(columns, table.columns, strict=True):
        if column.is_name:
            drawn.justify = "left"
    for place, row in enumerate(block.rows):
        cells = (_cell(row.cells[each], with_interval=each not in short) for each in places)
        before_total = any(each.is_total for each in block.rows[place + 1 : place + 2])
        table.add_row(*cells, end_section=before_total)
    return table


def _cell(cell: str | Cell, *, with_interval: bool) -> RichText:
    from rich.text import Text

    if isinstance(cell, str):
        return Text(cell)
    interval = cell.interval if with_interval else ""
    parts = (cell.sign, cell.text + cell.end, cell.multiple, interval, cell.verdict)
    style = "unsure" if cell.is_pale else cell.shade or cell.verdict
    return Text(" ".join(filter(None, parts)), style=_STYLES.get(style, ""))
