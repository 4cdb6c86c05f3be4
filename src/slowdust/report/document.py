"""Documents: texts, lists, tables and charts for a terminal, for Markdown and for HTML.

A report, an outcome, a difference and a history each have one function that returns a `Document`;
each medium has one renderer. A block that is added to a document appears in all three.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Flag, auto
from textwrap import wrap
from typing import TYPE_CHECKING

from slowdust.ratios import Ratio, interval, ratio

if TYPE_CHECKING:
    from markupsafe import Markup

LINE = 100
"""Characters of a line in texts."""
ABSENT = "-"
"""A cell without a value: not measured, or not comparable."""


class Medium(Flag):
    """Where a document is shown."""

    TERMINAL = auto()
    MARKDOWN = auto()
    HTML = auto()
    TEXT = TERMINAL | MARKDOWN
    FILE = MARKDOWN | HTML
    ALL = TERMINAL | MARKDOWN | HTML


class Strong(str):
    """A part of a line that is emphasised."""

    __slots__ = ()


class Literal(str):
    """A part of a line that is code: a command, the name of a function or of a setting."""

    __slots__ = ()


@dataclass(frozen=True)
class Link:
    """A part of a line that leads to another page."""

    text: str
    target: str


Line = str | Sequence[str | Link]
"""A text, or its parts: texts, `Strong`, `Literal` or a `Link`."""


@dataclass(frozen=True, kw_only=True)
class Block:
    """A part of a document."""

    media: Medium = Medium.ALL
    """The media that show it."""
    is_close: bool = False
    """Whether a terminal has no empty line before it."""


@dataclass(frozen=True)
class Text(Block):
    """Sentences: each begins a line in texts, and is a paragraph of a page.

    A line break within a sentence is ignored by a page.
    """

    lines: Sequence[Line]
    role: str = ""
    """'lead' for an introduction, 'lines' for facts, 'note' and 'remark' for remarks, 'quoted' for
    remarks that precede all results, 'strong' for a warning that precedes everything."""


def text(*lines: Line, role: str = "", media: Medium = Medium.ALL, is_close: bool = False) -> Text:
    """Return sentences as a block."""
    return Text(lines, role, media=media, is_close=is_close)


@dataclass(frozen=True)
class Titled:
    """An item with a list of its own."""

    title: str
    items: Sequence[str]
    pale: Collection[str] = ()
    """The items that are unsure."""


@dataclass(frozen=True)
class Items(Block):
    """A list; a page has neighbouring items with lists of their own side by side."""

    items: Sequence[Line | Titled]
    commands: Sequence[str] = ()
    """The command that follows each item, empty where none does."""


@dataclass(frozen=True)
class Facts(Block):
    """Labels, each with a text or several lines."""

    facts: Sequence[tuple[str, str | Sequence[str]]]
    role: str = ""
    """'answer' for the first screen of a report, 'glossary' for terms; else facts of a host."""


@dataclass(frozen=True)
class Code(Block):
    """Lines as they are: a command, a plan, a log; some of them are marked."""

    lines: Sequence[str]
    marked: frozenset[int] | None = None
    """Indexes of marked lines; None where none can be."""


@dataclass(frozen=True)
class SideBySide(Block):
    """Code by the contender that has it, which a page shows side by side."""

    parts: Mapping[str, Code]


MARK_OF_PLAN = "> "
"""Precedes a marked line where nothing else can mark it; blanks precede the others."""


def plain_lines(code: Code) -> list[str]:
    """Return lines of code for media of plain text."""
    if code.marked is None:
        return [*code.lines]
    blank = " " * len(MARK_OF_PLAN)
    return [
        (MARK_OF_PLAN if place in code.marked else blank) + line
        for place, line in enumerate(code.lines)
    ]


@dataclass(frozen=True)
class Chart(Block):
    """A chart of a page; texts have a table of the same numbers."""

    draw: Callable[[], Markup]
    """A function of `html.charts` with its data."""
    caption: str = ""
    legend: Sequence[tuple[str, str]] = ()
    """The class of a mark and what it stands for."""
    is_wide: bool = False
    """Whether it may be wider than a narrow window."""
    in_text: Callable[[int, bool], Sequence[str]] | None = None
    """Function of the number of columns of a terminal, and whether it has Unicode."""


@dataclass(frozen=True)
class Cell:
    """A cell of a table."""

    text: str = ABSENT
    interval: str = ""
    """The 95% interval as texts have it: '[0.95, 1.02]'."""
    verdict: str = ""
    """A verdict or sign that follows."""
    multiple: str = ""
    """The ratio to the base, which follows the text; the interval and the verdict belong to it."""
    note: str = ""
    """A text in small letters that follows."""
    shade: str = ""
    """The colour: a verdict, or 'between' for neither faster nor slower."""
    is_pale: bool = False
    """Whether the number is unsure: in parentheses in texts."""
    sign: str = ""
    """A sign that precedes the text."""
    end: str = ""
    """A sign that follows the text directly."""
    contender: str = ""
    """The contender whose mark stands before the text."""
    mark: str = ""
    """The class of another mark that stands there on a page."""
    link: str = ""
    hint: str = ""
    """The tooltip of a page."""
    step: tuple[str, int] | None = None
    """The test and its number of clients, to whose part of the page it leads."""
    zoom: str = ""
    """The seconds of the graphs of its test that a page shows when it is clicked: '105,135'."""
    bar: tuple[float, str] | None = None
    """A bar that a page draws: its width in percent of the cell, and its contender."""
    is_code: bool = False
    is_bad: bool = False
    """Whether something went wrong."""
    is_whole: bool = False
    """Whether a page keeps it on one line."""


@dataclass(frozen=True)
class Column:
    """The head of a column."""

    title: str
    unit: str = ""
    is_left: bool = False
    """Whether it is words, which are aligned left; numbers are aligned right."""
    contender: str = ""
    """The contender that it is about."""
    step: tuple[str, int] | None = None
    """The test and its number of clients, to whose part of the page it leads."""
    page: str = ""
    """The page that it leads to."""
    is_name: bool = False
    """Whether a page aligns its cells left, since they are names."""
    hint: str = ""
    short: str = ""
    """The title where a terminal has little room."""
    least: int | None = None
    """The columns of a terminal that are enough, since its words may be broken into lines."""
    media: Medium = Medium.ALL
    is_brief: bool = False
    """Whether a terminal has it without intervals."""
    part: str = ""
    """The part of the table with this column, if a terminal has no room for all columns."""


Heads = Sequence[str | Column]
"""The heads of a table; a text is the title of a plain column."""
Cells = list[str | Cell]
"""The cells of a row; a text is the content of a plain cell."""


def columns(*titles: str | Column, left: int) -> list[Column]:
    """Return the heads of columns; the first `left` columns are words."""
    return [
        replace(title if isinstance(title, Column) else Column(title), is_left=place < left)
        for place, title in enumerate(titles)
    ]


STEP = (Column("test"), Column("clients"), Column("contender", is_name=True))
"""The first columns of a table of tests on contenders."""
STEP_OF_TEST = tuple(each if each.is_name else replace(each, media=Medium.TEXT) for each in STEP)
"""The same, of a table that a page has below each test."""


@dataclass(frozen=True)
class Row:
    """A row of texts and cells."""

    cells: Sequence[str | Cell]
    group: str = ""
    """The heading, or the panel, that it is below on a page."""
    media: Medium = Medium.ALL
    is_total: bool = False
    """Whether it is about all other rows."""


@dataclass(frozen=True)
class Table(Block):
    """A table; the first column names the subjects of its rows."""

    columns: Sequence[Column]
    rows: Sequence[Row]
    name: str = ""
    """Name for screen readers."""

    is_grouped: bool = False
    """Whether a page has a heading before each group of rows."""
    fits: bool = False
    """Whether a terminal omits the last columns if it has no room for them."""

    def shown(self, medium: Medium) -> Table:
        """Return the table with only the columns and rows for a medium."""
        places = [place for place, each in enumerate(self.columns) if medium in each.media]
        rows = [row for row in self.rows if medium in row.media]
        if len(places) == len(self.columns):
            return replace(self, rows=rows)
        return replace(
            self,
            columns=[self.columns[place] for place in places],
            rows=[replace(row, cells=[row.cells[place] for place in places]) for row in rows],
        )


def table(
    heads: Heads,
    rows: Sequence[Sequence[str | Cell]],
    left: int,
    name: str = "",
    *,
    media: Medium = Medium.ALL,
) -> Table:
    """Return a table whose first `left` columns are words."""
    return Table(columns(*heads, left=left), [Row(row) for row in rows], name, media=media)


@dataclass(frozen=True)
class Panel:
    """A part of a page that can be folded, with the rows of a group from the table around it."""

    title: str
    anchor: str
    group: str
    before: Sequence[Block] = ()
    is_open: bool = True
    marks: Mapping[str, str] = field(default_factory=dict)
    """Label of a line -> the class of its mark, which its row has, too."""


@dataclass(frozen=True)
class Panels(Block):
    """A table, which a page shows in panels; texts have it in one."""

    table: Table
    panels: Sequence[Panel]


@dataclass(frozen=True)
class Folded(Block):
    """Blocks that a reader of a page unfolds."""

    title: str
    blocks: Sequence[Block]
    is_open: bool = False


@dataclass(frozen=True)
class Group(Block):
    """Blocks that a page frames: the summary ('tldr') or remarks ('note')."""

    kind: str
    label: str
    blocks: Sequence[Block]


@dataclass(frozen=True)
class Section(Block):
    """A section; without a title its blocks follow those before it."""

    title: str
    blocks: Sequence[Block]
    anchor: str = ""
    link: str = ""
    """The words of its link in the navigation of a page; empty where it has none."""
    is_plain: bool = False
    """Whether its title is a line of its own in texts, and no heading."""


@dataclass(frozen=True)
class Document:
    """A page, which a file of Markdown or a terminal shows, too."""

    title: str
    blocks: Sequence[Block]
    brand: str = "Slowdust"
    """The kind of page, shown above its heading."""
    heading: str = ""
    """The heading of the page; the title without one."""
    subject: Line = ""
    """The subject of the page, shown below its heading."""
    has_title: bool = True
    """Whether Markdown begins with the title, and sections are below it."""
    first: tuple[str, str] = ("", "")
    """The anchor that a keyboard skips to, and its name."""
    marks: Mapping[str, str] = field(default_factory=dict)
    """Contender -> the class of its mark on a page."""
    styles: Sequence[str] = ()
    """Additional style sheets."""


def glossary(words: Mapping[str, str]) -> Section:
    """Return the last section of a page: its terms and their meanings."""
    title = "How to read this page"
    return Section(
        title, [Facts([*words.items()], role="glossary")], "reading", title, media=Medium.HTML
    )


def named(contender: str) -> Cell:
    """Return a contender as a cell."""
    return Cell(contender, contender=contender)


def paragraph(words: str) -> Text:
    """Return a long sentence, which texts break into lines."""
    return text("\n".join(wrap(words, LINE)), role="lead")


def judged(of: Ratio | None, decimals: int = 2) -> Cell:
    """Return a ratio with its interval and its verdict, pale where that is unsure."""
    if of is None:
        return Cell()
    return Cell(
        ratio(of.value, decimals),
        interval(of, decimals).strip(),
        of.verdict or "",
        is_pale=of.verdict == "unsure",
    )


def shaded(of: Ratio | None, decimals: int = 2) -> Cell:
    """Return a ratio with its interval, in the colour of a verdict that has a column of its own."""
    cell = judged(of, decimals)
    return replace(cell, verdict="", shade=cell.verdict)
