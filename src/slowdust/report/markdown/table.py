"""Markdown tables that also read well in a terminal."""

from __future__ import annotations

from collections.abc import Callable, Sequence

ABSENT = "-"
"""A cell whose value was not measured, or must not be compared."""
PALE = "In parentheses: unsure."
"""The explanation of `pale`, for tables that have such cells."""


def table(header: Sequence[str], rows: Sequence[Sequence[str]], left: int) -> list[str]:
    """Return a padded Markdown table; the first `left` columns are aligned left, others right."""
    cells = [[_escaped(cell) for cell in row] for row in (header, *rows)]
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


def _escaped(cell: str) -> str:
    return cell.replace("|", "\\|").replace("\n", " ")
