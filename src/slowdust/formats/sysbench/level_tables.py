"""The tables of 2020, o.sum.*.abs and o.qps.abs: rates of a test at each number of clients.

They do not say which numbers of clients these are. Their first block may be of the load; rates of
scan, in millions of rows/s of three decimals, are left out.
"""

from __future__ import annotations

from collections.abc import Sequence

from slowdust.formats.sysbench.names import FileName, parse_file
from slowdust.formats.sysbench.rates import SCAN
from slowdust.formats.text import is_number

_KIND = "r.qps"

LevelTable = dict[tuple[str, str], tuple[str, ...]]
"""`FileName.common` and run -> rates as printed, by number of clients, the smallest first."""


def read(lines: Sequence[str]) -> tuple[LevelTable, list[str]]:
    """Read the rates, and the lines that are no part of the table."""
    table: LevelTable = {}
    strange: list[str] = []
    block: FileName | None = None
    for line in lines:
        cells = [cell.strip() for cell in line.split("\t")]
        rates, run = _rates(cells[:-1]), cells[-1]
        if (file := parse_file(line.strip())) is not None:
            block = file
        elif rates and block is not None and (block.common, run) not in table:
            if block.kind == _KIND and block.test != SCAN:
                table[block.common, run] = rates
        elif line.strip():
            strange.append(line)
    return table, strange


def _rates(cells: Sequence[str]) -> tuple[str, ...]:
    """Return the cells; a test that ran once may have its name behind its rate."""
    named = len(cells) > 1 and not is_number(cells[-1])
    numbers = cells[:-1] if named else cells
    return tuple(numbers) if numbers and all(map(is_number, numbers)) else ()
