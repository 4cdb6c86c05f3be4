"""Columns that tell the rows of a table apart: proven from their generators, whatever the rows."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import lcm

from slowdust.experiment.spec.errors import AtKeysError, Keys
from slowdust.experiment.workload.draws import ColumnTable
from slowdust.experiment.workload.file import TableTable
from slowdust.wording import listing

_BY_CHANCE = ("uniform", "zipf", "text", "choice")
_WHOLE_REALS = 2**24
"""The whole numbers up to here differ from one another as numbers of single precision too."""


@dataclass(frozen=True)
class _Cycle:
    """A column whose value in row `r`, from 0, is number `r // each % count`."""

    each: int
    count: int

    @property
    def length(self) -> int:
        """The rows after which it begins anew."""
        return self.each * self.count


def check_key(name: str, table: TableTable, keys: Keys, columns: Sequence[str]) -> None:
    """Refuse columns in which two rows have the same, or may have for all that can be proven.

    Raises:
        AtKeysError: says which column, or which rows.
    """
    draws = {column: table.columns[column] for column in columns}
    if any(draw.by == "serial" and _exact(draw, table.rows) for draw in draws.values()):
        return
    for column, draw in draws.items():
        if draw.by in _BY_CHANCE:
            raise AtKeysError(
                f"{name}.{column} is drawn by chance, so that two rows may have the same: "
                'a column by = "serial" keeps them apart',
                keys,
            )
        if not _exact(draw, table.rows):
            raise AtKeysError(
                f"{name}.{column} is real, which rounds numbers beyond {_WHOLE_REALS:,}, so that "
                "two rows may have the same: write int or bigint",
                keys,
            )
    _check_cycles(table.rows, draws, keys)


def _exact(draw: ColumnTable, rows: int) -> bool:
    """Return whether the type keeps apart all numbers that the rows have."""
    start = 1 if draw.start is None else draw.start
    steps = rows - 1 if draw.by == "serial" else (draw.count or 1) - 1
    furthest = start + (draw.step or 1) * steps
    return draw.type.kind != "real" or max(abs(start), abs(furthest)) <= _WHOLE_REALS


def _check_cycles(rows: int, draws: Mapping[str, ColumnTable], keys: Keys) -> None:
    """Refuse cycles that do not give every row another combination."""
    cycles = [_Cycle(draw.each or 1, draw.count or 1) for draw in draws.values()]
    apart, left = _combined(cycles)
    if rows <= apart or any(rows <= each.length and each.each <= apart for each in cycles):
        return
    names = listing(list(draws))
    if left:
        raise AtKeysError(
            f"it cannot be proven that no two of the {rows:,} rows have the same {names}: let "
            "each of a column be the each of another one times its count",
            keys,
        )
    raise AtKeysError(
        f"row {apart + 1:,} of {rows:,} has the same {names} as row 1: count and each have to "
        "give every row another",
        keys,
    )


def _combined(cycles: Sequence[_Cycle]) -> tuple[int, list[_Cycle]]:
    """Return the rows after which all cycles begin anew together, and those left out of that.

    Rows that are alike so far are a multiple of `apart` rows apart. Where `each` divides `apart`,
    they have the same in one more cycle if and only if they are a multiple of its length apart.
    """
    apart, left = 1, sorted(cycles, key=lambda cycle: cycle.each)
    while fitting := next((cycle for cycle in left if apart % cycle.each == 0), None):
        left.remove(fitting)
        apart = lcm(apart, fitting.length)
    return apart, left
