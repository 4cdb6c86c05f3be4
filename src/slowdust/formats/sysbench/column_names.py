"""What columns without names are: a table as .csv has none."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from slowdust.archive.sysbench.found_tables import Rates, Tables
from slowdust.formats.sysbench.names import order_of_runs

Around = tuple[Tables, Collection[str]]
"""The tables of a directory, and the names of its run directories."""


def name_columns(tables: Tables, around: Sequence[Around]) -> list[str]:
    """Name the columns of `tables` that have no names; sentences that say what was assumed.

    `around` are the directories to look at for as many runs, the nearest first, and in each of
    them tables before run directories. Where there are none, a column is its number.
    """
    told = []
    for table in (*tables.rates, *tables.relative):
        if not table.named:
            runs, why = _as_many(table, around)
            table.name(runs)
            table.named = bool(why)
            told.append(f"{table.path.name}: columns without names, {why or 'numbered here'}")
    return told


def _as_many(table: Rates, around: Sequence[Around]) -> tuple[Sequence[str], str]:
    width = len(table.runs)
    for tables, directories in around:
        for other in tables.of_runs:
            if other.named and len(other.runs) == width:
                return other.runs, f"taken to be those of {other.path.name}"
        if len(directories) == width:
            runs = sorted(directories, key=order_of_runs)
            return runs, "taken to be the run directories, the oldest version first"
    base = [] if table.table.base is None else [table.table.base]
    return [*base, *(f"col-{number}" for number in range(1, width + 1 - len(base)))], ""
