"""Markdown tables that also read well in a terminal, and texts of others made safe for them."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar, cast

import msgspec

from slowdust.report.document import ABSENT

PALE = "In parentheses: unsure."
"""The explanation of `pale`, for tables that have such cells."""


def table(header: Sequence[str], rows: Sequence[Sequence[str]], left: int) -> list[str]:
    """Return a padded Markdown table; the first `left` columns are aligned left, others right."""
    cells = [[_in_a_row(cell) for cell in row] for row in (header, *rows)]
    widths = [max(3, *(len(row[column]) for row in cells)) for column in range(len(header))]
    rule = [
        "-" * width if column < left else "-" * (width - 1) + ":"
        for column, width in enumerate(widths)
    ]
    padded = [
        [
            cell.ljust(width) if column < left else cell.rjust(width)
            for column, (cell, width) in enumerate(zip(row, widths, strict=True))
        ]
        for row in (cells[0], rule, *cells[1:])
    ]
    return [f"| {' | '.join(row)} |" for row in padded]


def or_absent(value: float | None, form: Callable[[float], str]) -> str:
    """Return a value as `form` prints it, or the sign that there is none."""
    return ABSENT if value is None else form(value)


def rate(value: float) -> str:
    """Return a rate, whole from 100 up: '81,234', '57.3', '5.3e-08'."""
    return f"{value:,.0f}" if value >= 100 else f"{value:.3g}"


def pale(cell: str) -> str:
    """Return the cell of an unsure result: in parentheses."""
    return f"({cell})"


def _in_a_row(cell: str) -> str:
    return cell.replace("|", "\\|").replace("\n", " ")


_MARKUP = re.compile(r"<(?=[A-Za-z/!?])|(?<=\])\((?=[^\s)])|(?<=!)\[|(?<=\])\[|(?<=\]):")
"""What begins an element of HTML, and what makes a link or picture of a text in brackets."""

_ESCAPED = re.compile(r"\\([<(\[:])")

_Content = TypeVar("_Content")


def escape(text: str) -> str:
    """Return a text as Markdown that shows it."""
    return _MARKUP.sub(lambda found: f"\\{found[0]}", text)


def unescaped(text: str) -> str:
    """Return a text of escaped content as it was, for code."""
    return _ESCAPED.sub(r"\1", text)


def escaped(content: _Content) -> _Content:
    """Return content, a tree of structures, lists and texts, with all texts escaped."""
    return cast("_Content", _escaped(content))


def _escaped(value: object) -> object:
    if type(value) is str:
        return escape(value)
    if isinstance(value, msgspec.Struct):
        changed = _changed({name: getattr(value, name) for name in value.__struct_fields__})
        return msgspec.structs.replace(value, **changed) if changed else value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = (field.name for field in dataclasses.fields(value) if field.init)
        changed = _changed({name: getattr(value, name) for name in fields})
        return dataclasses.replace(value, **changed) if changed else value
    if isinstance(value, Mapping):
        return {_escaped(key): _escaped(item) for key, item in value.items()}
    if type(value) is list:
        return [_escaped(item) for item in value]
    if type(value) is tuple:
        return tuple(_escaped(item) for item in value)
    return value


def _changed(fields: Mapping[str, object]) -> dict[str, object]:
    """Return the fields that are others when they are escaped."""
    after = {name: _escaped(value) for name, value in fields.items()}
    return {name: value for name, value in after.items() if value != fields[name]}
