"""The classic summary tables of the Insert Benchmark as HTML: cells and colours as published.

A table has the rates of all steps; where there were two loops at each rate, of the second. From
2023 on a second one has them relative to the first row. The last has the insert rates beside the
queries, and what was asked of them.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from html import escape

from slowdust.analysis.results.summary import Shade, shades_of
from slowdust.analysis.sla import SHARE
from slowdust.formats.insert.names import in_order, rate_of
from slowdust.formats.insert.tables import Row

_HEAD = """\
<style type="text/css">
  table td#cmin { background-color:#FF9A9A }
  table td#cmax { background-color:#81FFA6 }
  table td#csla { background-color:#FFC172 }
  table td#cgray { background-color:#D7D7D7 }
  td {
    text-align:right
  }
</style>
<table border="1" cellpadding="8" >
"""
_HEAD_RELATIVE = """\
<style type="text/css">
  table td#clo { background-color:#FFFF99 }
  table td#chi { background-color:#99CCFF }
  td {
    text-align:right
  }
</style>
<table border="1" cellpadding="8" >
"""
_GREY = """\
<style type="text/css">
  td.unsure { background-color:#eeeeee !important; color:#707070 }
</style>
"""
_COLOURS = {Shade.WORST: "cmin", Shade.BEST: "cmax", Shade.SLA_MISSED: "cgray", Shade.PLAIN: None}
_LOW, _HIGH = 95, 105
"""Percent of the base below and above which a relative rate is coloured."""
_FIRST_LOOP, _SECOND_LOOP = ".1", ".2"


Cell = tuple[str, str]
"""A step and a tag."""


@dataclass(frozen=True)
class Column:
    """A step: its runs' merged rows, by tag."""

    step: str
    rows: Mapping[str, Row]
    target: int | None
    """Inserts per second of all clients; None for a step without queries."""

    def rate(self, tag: str) -> int:
        """Return the rate of the step: queries per second, or else inserts."""
        return int(self.rows[tag]["ips" if self.target is None else "qps"])

    def inserts(self, tag: str) -> int:
        """Return the inserts per second."""
        return int(self.rows[tag]["ips"])

    def meets_sla(self, tag: str) -> bool:
        """Return whether the inserters kept 95% of their rate, rounded to a whole one."""
        return self.target is None or self.inserts(tag) >= round(SHARE * self.target)


def columns_of(steps: Mapping[str, Mapping[str, Row]], clients: int) -> list[Column]:
    """Return the steps that a summary shows, in their order."""
    shown = [
        step
        for step in in_order(steps)
        if step.removesuffix(_FIRST_LOOP) + _SECOND_LOOP not in steps or step.endswith(_SECOND_LOOP)
    ]
    return [
        Column(step, steps[step], None if (rate := rate_of(step)) is None else rate * clients)
        for step in shown
    ]


def render(
    columns: Sequence[Column], tags: Sequence[str], unsure: Collection[Cell] = frozenset()
) -> str:
    """Write the tables, `tags` being the rows; each column has all of them.

    Rates of the cells in `unsure` are grey, the relative ones too; archived runs have none.
    """
    beside_queries = [column for column in columns if column.target is not None]
    tables = [_rates(columns, tags, unsure)]
    if not any(column.step.endswith(_SECOND_LOOP) for column in columns):
        tables.append(_relative(columns, tags, unsure))
    if beside_queries:
        tables.append(_insert_rates(beside_queries, tags))
    return "".join(tables)


def _rates(columns: Sequence[Column], tags: Sequence[str], unsure: Collection[Cell]) -> str:
    shades = {
        column.step: shades_of(
            {tag: column.rate(tag) for tag in tags},
            {tag for tag in tags if not column.meets_sla(tag)},
        )
        for column in columns
    }

    def cell(column: Column, tag: str) -> str:
        text = _cell(str(column.rate(tag)), _COLOURS[shades[column.step][tag]])
        return _grey(text) if (column.step, tag) in unsure else text

    return _table(f"{_GREY}{_HEAD}" if unsure else _HEAD, columns, _rows(columns, tags, cell, " "))


def _relative(columns: Sequence[Column], tags: Sequence[str], unsure: Collection[Cell]) -> str:
    base = tags[0]

    def cell(column: Column, tag: str) -> str:
        if not column.rate(base):
            return _cell("NA", None)
        ratio = column.rate(tag) / column.rate(base)
        percent = round(100 * ratio)
        colour = "chi" if percent > _HIGH else "clo" if percent < _LOW else None
        text = _cell(f"{ratio:.2f}", colour)
        return _grey(text) if (column.step, tag) in unsure else text

    return _table(_HEAD_RELATIVE, columns, _rows(columns, tags, cell, " "))


def _insert_rates(columns: Sequence[Column], tags: Sequence[str]) -> str:
    def cell(column: Column, tag: str) -> str:
        return _cell(str(column.inserts(tag)), None if column.meets_sla(tag) else "cmin")

    targets = "".join(f"<td id=cgray>{column.target}</td>" for column in columns)
    rows = [*_rows(columns, tags, cell, ""), f"<tr><td>target</td>{targets}"]
    return _table(_HEAD, columns, rows)


def _rows(
    columns: Sequence[Column],
    tags: Sequence[str],
    cell: Callable[[Column, str], str],
    separator: str,
) -> list[str]:
    return [
        f"<tr><td>{escape(tag)}</td>{separator}{''.join(cell(column, tag) for column in columns)}"
        for tag in tags
    ]


def _table(head: str, columns: Sequence[Column], rows: Sequence[str]) -> str:
    names = "".join(f"<th>{column.step}</th>" for column in columns)
    body = "".join(f"{row}</tr>\n" for row in rows)
    return f"{head}<tr><th>dbms</th>{names}</tr>\n{body}</table>\n"


def _grey(cell: str) -> str:
    return cell.replace("<td", '<td class="unsure"')


def _cell(text: str, colour: str | None) -> str:
    return f"<td>{text}</td>" if colour is None else f'<td id="{colour}">{text}</td>'
