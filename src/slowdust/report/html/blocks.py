"""Documents and their blocks as HTML."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import groupby, zip_longest

from markupsafe import Markup, escape

from slowdust.report.document import (
    ABSENT,
    Block,
    Cell,
    Chart,
    Code,
    Column,
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
)
from slowdust.report.html.cells import ABSENT as DASH
from slowdust.report.html.cells import with_code
from slowdust.report.html.environment import environment, shipped

_MANY_COLUMNS = 8
"""The fewest columns of a table with little space between them."""


@dataclass(frozen=True)
class Look:
    """The marks and names of contenders on a page."""

    marks: Mapping[str, str] = field(default_factory=dict)
    """Contender -> the class of its mark."""
    names: Mapping[str, Markup] = field(default_factory=dict)
    """Contender -> its name as an element, where it is not the name as it is."""
    base: str = ""
    anchor: str = ""
    """The anchor of the test that tables are of."""
    anchors: Mapping[tuple[str, int], str] = field(default_factory=dict)
    """Test and its number of clients -> the anchor of its part of the page."""

    def contender(self, name: str, text: str | None = None) -> Markup:
        """Return the mark of a contender and its name, or another text."""
        label = escape(text) if text is not None else self.names.get(name, escape(name))
        role = Markup(' <span class="role">base</span>') if name == self.base else Markup()
        return marked(self.marks.get(name, "k0"), label) + role


def marked(css: str, label: str) -> Markup:
    """Return a mark with its label."""
    return Markup(
        '<span class="marked"><span class="swatch {}" aria-hidden="true"></span>'
        "<span>{}</span></span>"
    ).format(css, label)


def render(document: Document) -> str:
    """Return a document as a page: one file, readable without network or scripts."""
    content = drawn(document.blocks, Look(document.marks))
    links = [
        block
        for block in document.blocks
        if isinstance(block, Section) and block.link and f'id="{block.anchor}"' in content
    ]
    return (
        environment()
        .get_template("document.html")
        .render(
            document=document,
            subject=Markup(_line(document.subject)),
            links=links,
            content=content,
            style=shipped("page.css", "site.css", "charts.css", *document.styles),
            script=shipped("save.js"),
        )
    )


def drawn(blocks: Iterable[Block], look: Look, level: int = 2) -> Markup:
    """Return blocks as HTML, with sections whose headings are of a level."""
    parts = (_block(each, look, level) for each in blocks if Medium.HTML in each.media)
    return Markup("\n".join(part for part in parts if part))


def _block(block: Block, look: Look, level: int) -> str:
    match block:
        case Text():
            return _text(block)
        case Items():
            return _items(block)
        case Facts():
            return _facts(block)
        case Code():
            return _code(block)
        case SideBySide():
            figures = (
                f"<figure><figcaption>{look.contender(name)}</figcaption>{_code(code)}</figure>"
                for name, code in block.parts.items()
            )
            return _joined('<div class="plans">', figures, "</div>")
        case Chart():
            return _chart(block)
        case Table():
            return _table(block, look)
        case Panels():
            return _panels(block, look, level)
        case Folded():
            state = " open" if block.is_open else ""
            summary = f"<summary>{escape(block.title)}</summary>"
            body = drawn(block.blocks, look, level)
            return f'<details class="panel"{state}>{summary}\n{body}\n</details>'
        case Group():
            return _group(block, look, level)
        case Section():
            return _section(block, look, level)
    raise TypeError(block)


def _joined(before: str, lines: Iterable[str], after: str) -> str:
    return "\n".join([before, *lines, after])


def _items(block: Items) -> str:
    parts = []
    pairs = zip_longest(block.items, block.commands, fillvalue="")
    for is_titled, group in groupby(pairs, key=lambda pair: isinstance(pair[0], Titled)):
        if is_titled:
            lists = (_titled(item) for item, _ in group if isinstance(item, Titled))
            parts.append(_joined('<div class="columns story">', lists, "</div>"))
            continue
        items = (
            f"<li>{_line(item)}{f'<br><code>{escape(command)}</code>' if command else ''}</li>"
            for item, command in group
            if not isinstance(item, Titled)
        )
        parts.append(_joined('<ul class="changes">', items, "</ul>"))
    return "\n".join(parts)


def _titled(block: Titled) -> str:
    pale = ' class="not-sure"'
    items = (f"<li{pale if item in block.pale else ''}>{escape(item)}</li>" for item in block.items)
    return _joined(f"<div>\n<h4>{escape(block.title)}</h4>\n<ul>", items, "</ul>\n</div>")


def _line(line: Line) -> str:
    return "".join(map(_part, (line,) if isinstance(line, str) else line))


def _part(part: str | Link) -> str:
    if isinstance(part, Link):
        return f'<a href="{escape(part.target)}">{escape(part.text)}</a>'
    if isinstance(part, Strong):
        return f"<b>{escape(part)}</b>"
    if isinstance(part, Literal):
        return f"<code>{escape(part)}</code>"
    return with_code(part)


_ROLES = {"lead": ' class="lead"', "lines": ' class="lead"', "strong": ' class="unfinished"'}


def _text(block: Text) -> str:
    if block.role in ("note", "quoted"):
        lines = (f"<li>{_line(line)}</li>" for line in block.lines)
        before = '<section class="note" aria-label="Notes"><ul>'
        return _joined(before, lines, "</ul></section>")
    if block.role == "remark":
        lines = (f"<p>{_line(line)}</p>" for line in block.lines)
        return _joined('<section class="note" aria-label="What is compared">', lines, "</section>")
    css = _ROLES.get(block.role, "")
    return "\n".join(f"<p{css}>{_line(line)}</p>" for line in block.lines)


def _facts(block: Facts) -> str:
    facts = (
        f"<div><dt>{escape(label)}</dt><dd>{_fact(words)}</dd></div>"
        for label, words in block.facts
    )
    if block.role:
        return _joined(f'<dl class="{block.role}">', facts, "</dl>")
    return _joined('<div class="columns"><dl>', facts, "</dl></div>")


def _fact(words: str | Sequence[str]) -> str:
    if isinstance(words, str):
        return with_code(words)
    return "".join(f"<p>{with_code(line)}</p>" for line in words)


def _code(block: Code) -> str:
    if block.marked is None:
        whole = "\n".join(block.lines)
        return f"<pre>{escape(whole)}</pre>"
    lines = []
    for place, line in enumerate(block.lines):
        words = line.lstrip()
        blank = line[: len(line) - len(words)]
        shown = f"<mark>{escape(words)}</mark>" if place in block.marked else escape(words)
        lines.append(f"{blank}{shown}")
    return _joined('<pre tabindex="0">', lines, "</pre>").replace(">\n", ">", 1)


def _chart(block: Chart) -> str:
    chart = block.draw()
    if not chart:
        return ""
    marks = "".join(f"<span>{marked(css, label)}</span>" for css, label in block.legend)
    legend = f'<p class="legend">{marks}</p>\n' if marks else ""
    caption = f"<figcaption>{escape(block.caption)}</figcaption>\n" if block.caption else ""
    css = ' class="scroll" tabindex="0"' if block.is_wide else ""
    # The buttons that save a wide chart are above it.
    drawing = f'<div style="clear: both">{chart}</div>' if block.is_wide else chart
    return f"{legend}<figure{css}>{caption}{drawing}</figure>"


def _panels(block: Panels, look: Look, level: int) -> str:
    parts = []
    for panel in block.panels:
        rows = [row for row in block.table.rows if row.group == panel.group]
        shown = Table(block.table.columns, rows, f"{panel.title}, {block.table.name}")
        body = drawn([*panel.before, shown], look, level + 1)
        heading = f"<summary><h{level}>{escape(panel.title)}</h{level}></summary>"
        state = " open" if panel.is_open else ""
        parts.append(
            f'<details class="test" id="{escape(panel.anchor)}"{state}>\n{heading}\n'
            f'<div class="body">\n{body}\n</div>\n</details>'
        )
    return "\n".join(parts)


def _group(block: Group, look: Look, level: int) -> str:
    lines: list[str] = []
    for part in block.blocks:
        if isinstance(part, Items) and block.kind == "tldr":
            lines += [
                f"<p>{_line(item)}</p>" for item in part.items if not isinstance(item, Titled)
            ]
        else:
            lines.append(drawn([part], look, level))
    label = escape(block.label)
    return _joined(f'<section class="{block.kind}" aria-label="{label}">', lines, "</section>")


def _section(block: Section, look: Look, level: int) -> str:
    body = drawn(block.blocks, look, level + 1)
    if not body:
        return ""
    heading = f"<h{level}>{escape(block.title)}</h{level}>\n" if block.title else ""
    if level > 2 and not block.anchor:
        return f"{heading}{body}"
    anchor = f' id="{escape(block.anchor)}"' if block.anchor else ""
    css = ' class="change"' if level > 2 else ""
    return f"<section{anchor}{css}>\n{heading}{body}\n</section>"


def _table(block: Table, look: Look) -> str:
    block = block.shown(Medium.HTML)
    dense = ' class="dense"' if len(block.columns) >= _MANY_COLUMNS else ""
    head = "".join(_head(column, look) for column in block.columns)
    name = escape(block.name)
    return _joined(
        f'<div class="scroll" tabindex="0" role="region" aria-label="{name}">\n<table{dense}>\n'
        f"<thead><tr>{head}</tr></thead>\n<tbody>",
        _rows(block, look),
        "</tbody>\n</table>\n</div>",
    )


def _head(column: Column, look: Look) -> str:
    title: str = look.contender(column.contender) if column.contender else escape(column.title)
    if column.hint:
        title = f'<abbr title="{escape(column.hint)}">{title}</abbr>'
    if column.page:
        title = f'<a href="{escape(column.page)}">{title}</a>'
    if column.step is not None and (anchor := look.anchors.get(column.step)):
        title = f'<a href="#{anchor}">{title}</a>'
    unit = f"<small>{escape(column.unit)}</small>" if column.unit else ""
    css = "" if column.is_left or column.is_name else ' class="number"'
    return f'<th scope="col"{css}>{title}{unit}</th>'


def _rows(block: Table, look: Look) -> Iterator[str]:
    """Yield the rows, each group of them below its heading."""
    group = ""
    for row in block.rows:
        if row.group != group and block.is_grouped:
            columns, title = len(block.columns), escape(row.group)
            yield (f'<tr class="group"><th colspan="{columns}" scope="rowgroup">{title}</th></tr>')
        group = row.group
        cells = (
            _cell(cell, column, look, is_head=place == 0, is_total=row.is_total)
            for place, (cell, column) in enumerate(zip(row.cells, block.columns, strict=True))
        )
        yield f"<tr>{''.join(cells)}</tr>"


def _cell(cell: str | Cell, column: Column, look: Look, *, is_head: bool, is_total: bool) -> str:
    if isinstance(cell, str):
        cell = Cell(cell)
    content = _content(cell, look)
    if is_total and is_head:
        content = f"<b>{content}</b>"
    css = [] if column.is_left or column.is_name else ["number"]
    if cell.shade:
        css += ["rel", *([cell.shade] if cell.shade != "unsure" else [])]
    if cell.is_pale or "unsure" in (cell.shade, cell.verdict):
        css.append("not-sure")
    if cell.is_bad:
        css.append("bad")
    if cell.bar is not None:
        css.append("barred")
    if cell.is_code and is_head:
        css.append("function")
    attributes = f' class="{" ".join(css)}"' if css else ""
    if cell.hint:
        attributes += f' title="{escape(cell.hint)}"'
    if is_head:
        return f'<th scope="row"{attributes}>{content}</th>'
    return f"<td{attributes}>{content}</td>"


def _content(cell: Cell, look: Look) -> str:
    if cell.bar is not None:
        width, contender = cell.bar
        mark = look.marks.get(contender, "k0")
        return (
            f'<span class="bar {mark}" style="width:{width:.1f}%"></span>'
            f'<span class="share">{escape(cell.text)}<small>{escape(cell.note)}</small></span>'
        )
    shown = _value(cell, look) + cell.end
    if cell.is_whole:
        shown = f'<span class="point">{shown}</span>'
    if cell.sign:
        shown = f'<span class="icon">{cell.sign}</span>{shown}'
    if cell.step is not None and (anchor := look.anchors.get(cell.step)):
        shown = f'<a href="#{anchor}">{shown}</a>'
    if cell.zoom:
        shown = f'<a href="#{look.anchor}-seconds" data-zoom="{cell.zoom}">{shown}</a>'
    if cell.link:
        shown = f'<a href="{escape(cell.link)}">{shown}</a>'
    if cell.multiple:
        multiple = cell.multiple.removesuffix("x")
        shown += f"<small>\N{MULTIPLICATION SIGN}{multiple} {cell.verdict}</small>"
    elif cell.verdict:
        shown += f' <span class="word">{escape(cell.verdict)}</span>'
    smalls = (cell.interval, cell.note if cell.text != ABSENT else "")
    return shown + "".join(f"<small>{escape(small)}</small>" for small in smalls if small)


def _value(cell: Cell, look: Look) -> str:
    if cell.text == ABSENT and not cell.verdict:
        return str(escape(cell.note) or DASH)
    if cell.is_code:
        return f"<code>{escape(cell.text)}</code>"
    if cell.contender:
        return look.contender(cell.contender, cell.text if cell.text != cell.contender else None)
    return marked(cell.mark, cell.text) if cell.mark else str(escape(cell.text))
