"""The tables of the benchmarks."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from dataclasses import dataclass

from rich.console import Console
from rich.table import Table


@dataclass(frozen=True)
class Row:
    """One quantity: its measured value and its goal."""

    quantity: str
    measured: str
    goal: str
    met: bool


def show(title: str, rows: Iterable[Row]) -> bool:
    """Print a table, and each row to standard error as soon as it is measured.

    Returns whether all goals are met.
    """
    table = Table("what", "measured", "goal", "met", title=title)
    all_met = True
    for row in rows:
        print(f"{row.quantity}: {row.measured}", file=sys.stderr)
        met = ("yes" if row.met else "no") * bool(row.goal)
        table.add_row(row.quantity, row.measured, row.goal, met)
        all_met &= row.met
    Console(width=130).print(table)
    return all_met
