"""Markdown tables that also read well in a terminal, and escapes for foreign texts."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar, cast

import msgspec

from slowdust.report.document import ABSENT

PALE = "In parentheses: unsure."
"""The explanation of `pale`, for tables with such cells."""


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
    """Return a value as `form` prints it, or `ABSENT`."""
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
"""Beginnings of HTML elements, links and pictures."""

_ESCAPED = re.compile(r"\\([<(\[:])")

_Content = TypeVar("_Content")


def escape(text: str) -> str:
    """Return a text with Markdown's markup escaped."""
    return _MARKUP.sub(lambda found: f"\\{found[0]}", text)


def unescaped(text: str) -> str:
    """Return an escaped text as it was, for code."""
    return _ESCAPED.sub(r"\1", text)


def escaped(content: _Content) -> _Content:
    """Return content, a tree of structures, lists and texts, with all texts escaped."""
    return mapped(content, escape)


def mapped(content: _Content, change: Callable[[str], str]) -> _Content:
    """Return content, a tree of structures, lists and texts, with each text changed."""
    return cast("_Content", _mapped(content, change))


def _mapped(value: object, change: Callable[[str], str]) -> object:
    if type(value) is str:
        return change(value)
    if isinstance(value, msgspec.Struct):
        own = {name: getattr(value, name) for name in value.__struct_fields__}
        changed = _changed(own, change)
        return msgspec.structs.replace(value, **changed) if changed else value
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        fields = (field.name for field in dataclasses.fields(value) if field.init)
        changed = _changed({name: getattr(value, name) for name in fields}, change)
        return dataclasses.replace(value, **changed) if changed else value
    if isinstance(value, Mapping):
        return {_mapped(key, change): _mapped(item, change) for key, item in value.items()}
    if type(value) is list:
        return [_mapped(item, change) for item in value]
    if type(value) is tuple:
        return tuple(_mapped(item, change) for item in value)
    return value


def _changed(fields: Mapping[str, object], change: Callable[[str], str]) -> dict[str, object]:
    after = {name: _mapped(value, change) for name, value in fields.items()}
    return {name: value for name, value in after.items() if value != fields[name]}
