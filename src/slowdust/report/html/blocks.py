"""Documents and their blocks as HTML."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest

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
    Lists,
    Literal,
    Medium,
    Panels,
    Row,
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
"""Columns from which on a table has little space between them."""


@dataclass(frozen=True)
class Look:
    """What contenders look like on a page."""

    marks: Mapping[str, str] = field(default_factory=dict)
    """Contender -> the class of its mark."""
    names: Mapping[str, Markup] = field(default_factory=dict)
    """Contender -> its name as an element, where it is not the name as it is."""
    base: str = ""

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
    """Return a document as a page of its own: one file, readable without network or scripts."""
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
            subject=_line(document.subject),
            links=links,
            content=content,
            style=shipped("page.css", "site.css", "charts.css", *document.styles),
            script=shipped("save.js"),
        )
    )


def drawn(blocks: Iterable[Block], look: Look, level: int = 2) -> Markup:
    """Return blocks as HTML, with sections whose headings are of a level."""
    parts = (_block(each, look, level) for each in blocks if Medium.HTML in each.media)
    return Markup("\n").join(part for part in parts if part)


def _block(block: Block, look: Look, level: int) -> Markup:
    match block:
        case Text():
            return _text(block)
        case Items():
            return Markup('<ul class="changes">\n{}\n</ul>').format(_items(block))
        case Lists():
            lists = (_titled(each) for each in block.lists)
            return Markup('<div class="columns story">\n{}\n</div>').format(
                Markup("\n").join(lists)
            )
        case Facts():
            return _facts(block)
        case Code():
            return _code(block)
        case SideBySide():
            figures = (
                Markup("<figure><figcaption>{}</figcaption>{}</figure>").format(
                    look.contender(name), _code(code)
                )
                for name, code in block.parts.items()
            )
            return Markup('<div class="plans">\n{}\n</div>').format(Markup("\n").join(figures))
        case Chart():
            return _chart(block)
        case Table():
            return _table(block, look)
        case Panels():
            return _panels(block, look, level)
        case Folded():
            return Markup('<details class="panel"{}><summary>{}</summary>\n{}\n</details>').format(
                Markup(" open" if block.is_open else ""),
                block.title,
                drawn(block.blocks, look, level),
            )
        case Group():
            return _group(block, look, level)
        case Section():
            return _section(block, look, level)
    raise TypeError(block)


def _items(block: Items) -> Markup:
    items = []
    for item, command in zip_longest(block.items, block.commands, fillvalue=""):
        code = Markup("<br><code>{}</code>").format(command) if command else ""
        items.append(Markup("<li>{}{}</li>").format(_line(item), code))
    return Markup("\n").join(items)


def _line(line: Line) -> Markup:
    parts = (line,) if isinstance(line, str) else line
    return Markup().join(map(_part, parts))


def _part(part: str | Link) -> Markup:
    if isinstance(part, Link):
        return Markup('<a href="{}">{}</a>').format(part.target, part.text)
    if isinstance(part, Strong):
        return Markup("<b>{}</b>").format(str(part))
    if isinstance(part, Literal):
        return Markup("<code>{}</code>").format(str(part))
    return with_code(part)


def _text(block: Text) -> Markup:
    css = {"lead": ' class="lead"', "lines": ' class="lead"', "strong": ' class="unfinished"'}.get(
        block.role, ""
    )
    if block.role in ("note", "quoted"):
        lines = (Markup("<li>{}</li>").format(_line(line)) for line in block.lines)
        return Markup('<section class="note" aria-label="Notes"><ul>\n{}\n</ul></section>').format(
            Markup("\n").join(lines)
        )
    return Markup("\n").join(
        Markup("<p{}>{}</p>").format(Markup(css), _line(line)) for line in block.lines
    )


def _titled(block: Titled) -> Markup:
    items = (
        Markup("<li{}>{}</li>").format(
            Markup(' class="not-sure"' if item in block.pale else ""), item
        )
        for item in block.items
    )
    return Markup("<div>\n<h4>{}</h4>\n<ul>\n{}\n</ul>\n</div>").format(
        block.title, Markup("\n").join(items)
    )


def _facts(block: Facts) -> Markup:
    facts = (
        Markup("<div><dt>{}</dt><dd>{}</dd></div>").format(*fact) for fact in block.facts.items()
    )
    css = Markup(' class="glossary"' if block.is_glossary else "")
    return Markup("<dl{}>\n{}\n</dl>").format(css, Markup("\n").join(facts))


def _code(block: Code) -> Markup:
    if block.marked is None:
        return Markup("<pre>{}</pre>").format("\n".join(block.lines))
    lines = []
    for place, line in enumerate(block.lines):
        text = line.lstrip()
        blank = line[: len(line) - len(text)]
        form = "{}<mark>{}</mark>" if place in block.marked else "{}{}"
        lines.append(Markup(form).format(blank, text))
    return Markup('<pre tabindex="0">{}</pre>').format(Markup("\n").join(lines))


def _chart(block: Chart) -> Markup:
    chart = block.draw()
    if not chart:
        return Markup()
    marks = (Markup("<span>{}</span>").format(marked(css, label)) for css, label in block.legend)
    legend = Markup('<p class="legend">{}</p>\n').format(Markup().join(marks))
    caption = Markup("<figcaption>{}</figcaption>\n").format(block.caption)
    return Markup("{}<figure{}>{}{}</figure>").format(
        legend if block.legend else "",
        Markup(' class="scroll" tabindex="0"' if block.is_wide else ""),
        caption if block.caption else "",
        chart,
    )


def _panels(block: Panels, look: Look, level: int) -> Markup:
    parts = []
    for panel in block.panels:
        rows = [row for row in block.table.rows if row.group == panel.group]
        shown = Table(block.table.columns, rows, f"{panel.title}, {block.table.name}")
        parts.append(
            Markup(
                '<details class="test" id="{anchor}"{open}>\n'
                "<summary><h{level}>{title}</h{level}></summary>\n"
                '<div class="body">\n{body}\n</div>\n</details>'
            ).format(
                anchor=panel.anchor,
                open=Markup(" open" if panel.is_open else ""),
                level=level,
                title=panel.title,
                body=drawn([*panel.before, shown, *panel.after], look, level + 1),
            )
        )
    return Markup("\n").join(parts)


def _group(block: Group, look: Look, level: int) -> Markup:
    if block.kind == "note":
        return Markup('<section class="note" aria-label="{}">\n{}\n</section>').format(
            block.label, drawn(block.blocks, look, level)
        )
    lines = []
    for part in block.blocks:
        if isinstance(part, Items):
            lines += [Markup("<p>{}</p>").format(_line(item)) for item in part.items]
        else:
            lines.append(drawn([part], look, level))
    return Markup('<section class="{}" aria-label="{}">\n{}\n</section>').format(
        block.kind, block.label, Markup("\n").join(lines)
    )


def _section(block: Section, look: Look, level: int) -> Markup:
    body = drawn(block.blocks, look, level + 1)
    if not body:
        return Markup()
    heading = Markup("<h{level}>{title}</h{level}>\n").format(level=level, title=block.title)
    anchor = Markup(' id="{}"').format(block.anchor) if block.anchor else ""
    if level > 2 and not block.anchor:
        return Markup("{}{}").format(heading if block.title else "", body)
    return Markup("<section{}{}>\n{}{}\n</section>").format(
        anchor,
        Markup(' class="change"' if level > 2 else ""),
        heading if block.title else "",
        body,
    )


def _table(block: Table, look: Look) -> Markup:
    block = block.shown(Medium.HTML)
    dense = Markup(' class="dense"' if len(block.columns) >= _MANY_COLUMNS else "")
    head = Markup().join(_head(column, look) for column in block.columns)
    rows = Markup("\n").join(_rows(block, look))
    return Markup(
        '<div class="scroll" tabindex="0" role="region" aria-label="{}">\n<table{}>\n'
        "<thead><tr>{}</tr></thead>\n<tbody>\n{}\n</tbody>\n</table>\n</div>"
    ).format(block.name, dense, head, rows)


def _head(column: Column, look: Look) -> Markup:
    title = look.contender(column.contender) if column.contender else escape(column.title)
    if column.hint:
        title = Markup('<abbr title="{}">{}</abbr>').format(column.hint, title)
    unit = Markup("<small>{}</small>").format(column.unit) if column.unit else ""
    return Markup('<th scope="col"{}>{}{}</th>').format(
        Markup("" if column.is_left or column.is_name else ' class="number"'), title, unit
    )


def _rows(block: Table, look: Look) -> Iterator[Markup]:
    """Yield the rows, each group of them below its heading."""
    group = ""
    for row in block.rows:
        if row.group != group and block.is_grouped:
            yield Markup('<tr class="group"><th colspan="{}" scope="rowgroup">{}</th></tr>').format(
                len(block.columns), row.group
            )
        group = row.group
        yield _row(row, block.columns, look)


def _row(row: Row, columns: Sequence[Column], look: Look) -> Markup:
    cells = (
        _cell(cell, column, look, is_head=place == 0, is_total=row.is_total)
        for place, (cell, column) in enumerate(zip(row.cells, columns, strict=True))
    )
    return Markup("<tr>{}</tr>").format(Markup().join(cells))


def _cell(cell: str | Cell, column: Column, look: Look, *, is_head: bool, is_total: bool) -> Markup:
    if isinstance(cell, str):
        cell = Cell(cell)
    content = _content(cell, look)
    if is_total and is_head:
        content = Markup("<b>{}</b>").format(content)
    css = [] if column.is_left or column.is_name else ["number"]
    if cell.shade:
        css += ["rel", *([cell.shade] if cell.shade != "unsure" else [])]
    if cell.is_pale or "unsure" in (cell.shade, cell.verdict):
        css.append("not-sure")
    if cell.is_bad:
        css.append("bad")
    if cell.is_code and is_head:
        css.append("function")
    attributes = Markup(' class="{}"').format(" ".join(css)) if css else Markup()
    if cell.hint:
        attributes += Markup(' title="{}"').format(cell.hint)
    if cell.sort is not None:
        attributes += Markup(' data-value="{}"').format(f"{cell.sort:.6g}")
    form = '<th scope="row"{}>{}</th>' if is_head else "<td{}>{}</td>"
    return Markup(form).format(attributes, content)


def _content(cell: Cell, look: Look) -> Markup:
    if cell.text == ABSENT and not cell.verdict:
        shown = DASH
    elif cell.is_code:
        shown = Markup("<code>{}</code>").format(cell.text)
    elif cell.contender:
        shown = look.contender(cell.contender, cell.text if cell.text != cell.contender else None)
    elif cell.mark:
        shown = marked(cell.mark, cell.text)
    else:
        shown = escape(cell.text)
    shown += cell.end
    if cell.is_whole:
        shown = Markup('<span class="point">{}</span>').format(shown)
    if cell.sign:
        shown = Markup('<span class="icon">{}</span>{}').format(cell.sign, shown)
    if cell.link:
        shown = Markup('<a href="{}">{}</a>').format(cell.link, shown)
    if cell.multiple:
        shown += Markup("<small>\N{MULTIPLICATION SIGN}{} {}</small>").format(
            cell.multiple.removesuffix("x"), cell.verdict
        )
    elif cell.verdict:
        shown += Markup(' <span class="word">{}</span>').format(cell.verdict)
    for small in (cell.interval, cell.note):
        if small:
            shown += Markup("<small>{}</small>").format(small)
    return shown
