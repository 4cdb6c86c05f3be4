"""The tables of a server as those of a workload, with generators that are guesses."""

from __future__ import annotations

from collections.abc import Mapping

from slowdust.experiment.workload.file import MOST_ROWS
from slowdust.experiment.workload.replay.catalog import (
    BYTES,
    FRACTIONS,
    TEXTS,
    WHOLE,
    CatalogIndex,
    CatalogTable,
    Statistics,
    has_next,
    is_known,
    values_of,
    word_of,
)
from slowdust.experiment.workload.replay.toml import inline, key

_FEW_VALUES = 50
"""Different values up to which the most common ones are all that there are."""
_USUAL_WIDTH = 16
_HIGHEST = 100


def unsuitable(table: CatalogTable) -> str | None:
    """Return why the rows of a table cannot be made; None if they can."""
    for name, kind in table.columns.items():
        if not is_known(table.kind(name)):
            return f"its column {name} is of the type {kind}, of which no values are known"
    if not table.has_whole_key:
        return "its primary key is of the beginnings of columns"
    if table.primary_key and table.serial is None:
        kinds = " and ".join(table.columns[name] for name in table.primary_key)
        return f"its primary key is of the type {kinds}, which has no values one after the other"
    return None


def table_lines(table: CatalogTable) -> list[str]:
    """Return the lines of a workload's file for a table."""
    rows, start = table.rows, 1
    whole = table.ends is not None and table.ends[1] - table.ends[0] < MOST_ROWS
    if table.ends is not None:
        start = table.ends[0]
        rows = max(1, table.ends[1] - start + 1) if whole else rows
    lines = [f"[tables.{key(table.name)}]"]
    lines += [f"# without the column {inline(name)}, a name in quotes" for name in table.left_out]
    why = "from the lowest to the highest key" if whole else "as the server estimates"
    lines.append(f"rows = {rows}  # {why}")
    if table.primary_key:
        lines.append(f"primary_key = {inline(table.primary_key)}")
    serials = _serials(table, start)
    for name in table.columns:
        written = table.kind(name)
        if name in serials:
            draw: Mapping[str, object] = {"by": "serial", "start": serials[name]}
        else:
            draw = _guess(written, table.statistics.get(name, Statistics()), rows)
        if name in table.nullable:
            draw = {**draw, "nullable": True}
        lines.append(f"columns.{name} = {inline({'type': written, **draw})}  # a guess")
    lines += [f"# without the index {name}: {why}" for name, why in table.lost.items()]
    lines += [
        f"# the index {index.name} is not unique here, since its values may be the same"
        for index in table.indexes
        if index.unique and not _is_unique(index, serials)
    ]
    if table.indexes:
        lines.append(f"indexes = {inline([_written(index, serials) for index in table.indexes])}")
    return lines


def _serials(table: CatalogTable, start: int) -> dict[str, int]:
    """Return the columns whose values are one after the other, and the first value of each.

    They are those that tell rows apart: of the primary key, and of unique indexes of one column.
    """
    serials = {} if table.serial is None else {table.serial: start}
    for index in table.indexes:
        alone = index.columns[0] if len(index.columns) == 1 else None
        if index.unique and alone is not None and has_next(table.kind(alone)):
            known = table.statistics.get(alone, Statistics())
            lowest = known.bounds[0] if known.bounds and table.kind(alone) in WHOLE else 1
            serials.setdefault(alone, int(lowest))
    return serials


def _is_unique(index: CatalogIndex, serials: Mapping[str, int]) -> bool:
    """Return whether it is unique on the server, and the values of the workload prove it."""
    return index.unique and any(column in serials for column in index.columns)


def _written(index: CatalogIndex, serials: Mapping[str, int]) -> dict[str, object]:
    unique = _is_unique(index, serials)
    if index.statement is None:
        return {"columns": index.columns} | ({"unique": True} if unique else {})
    statement = index.statement
    return {"sql": statement.replace("INDEX", "UNIQUE INDEX", 1) if unique else statement}


def _guess(kind: str, known: Statistics, rows: int) -> dict[str, object]:
    """Guess how the values of a column are drawn."""
    values = list(known.common)
    if values and not known.bounds and len(values) <= _FEW_VALUES:
        if kind in WHOLE:
            return {"by": "choice", "values": [int(value) for value in values]} | _weights(known)
        if kind not in ("real", "timestamp"):
            return {"by": "choice", "values": values} | _weights(known)
    ends = (known.bounds[0], known.bounds[-1]) if known.bounds else None
    if kind in WHOLE:
        low, high = (int(ends[0]), int(ends[1])) if ends else (1, int(known.distinct) or rows)
        return {"by": "uniform", "low": low, "high": max(low, high)}
    if kind == "timestamp":
        return {"by": "uniform", "low": "2025-01-01", "high": "2025-12-31"}
    if word_of(kind) in FRACTIONS:
        return _fraction(kind)
    if word_of(kind) in (*TEXTS, *BYTES):
        return _text(kind, known)
    if known.bounds:
        return {"by": "choice", "values": list(known.bounds)}
    return {"by": "choice", "values": values_of(kind) or [""]}


def _fraction(kind: str) -> dict[str, object]:
    """Return numbers that have room in `numeric(5,2)`, say."""
    precision, comma, scale = kind.partition("(")[2].rstrip(")").partition(",")
    digits = int(scale) if comma else 0
    high = min(_HIGHEST, 10 ** (int(precision) - digits) - 1) if precision else _HIGHEST
    return {"by": "uniform", "low": 0, "high": max(0, high), "scale": max(0, min(digits, 9))}


def _weights(known: Statistics) -> dict[str, object]:
    weights = [max(frequency, 1e-6) for frequency in known.frequencies]
    return {"weights": weights} if len(weights) == len(known.common) else {}


def _text(kind: str, known: Statistics) -> dict[str, object]:
    most = int(kind.rpartition("(")[2].rstrip(")")) if "(" in kind else 4 * _USUAL_WIDTH
    width = max(1, min(most, known.width or _USUAL_WIDTH))
    shortest, longest = max(1, width // 2), max(1, min(most, width * 3 // 2))
    if kind.startswith("char"):
        shortest = longest = most
    return {"by": "text", "length": [shortest, longest]}
