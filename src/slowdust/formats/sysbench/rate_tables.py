"""The tables of rates, tests by run directories: qps.abs.* and qps.rel.*, as .tsv and .csv.

A relative rate is made of the rates as printed, that is rounded to integers.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from slowdust.formats.sysbench.names import FileName, common_of_test, parse_file
from slowdust.formats.text import collation, is_number

_COLUMN = re.compile(r"col-(\d{1,9}) : (?P<run>.+)")
_TITLES = re.compile(r"col-1(?:\tcol-\d+)*")
_RELATIVE = "Relative to: "
_WRITES = re.compile("delete|insert|update|write")
_POINT, _WARM, _PRE = "point", "warm", "pre"


@dataclass(frozen=True)
class RateTable:
    """Rates of tests (label -> one for each run), in the order of the file."""

    runs: tuple[str, ...]
    rows: dict[str, tuple[str, ...]]
    """Rates as printed; an empty text where there is none."""
    base: str | None = None
    """The run that the rates are relative to; None where they are absolute."""
    repeated: tuple[str, ...] = ()
    """Labels of lines that come again behind their row."""


def usual_clients(counts: Mapping[int, int]) -> int:
    """Return the number of clients that most results have; of as many, the larger one."""
    return max(counts, key=lambda clients: (counts[clients], clients))


def order(tests: Iterable[FileName]) -> list[FileName]:
    """Return the tests of the tables in their order: point, the rest, writes; none of `pre`."""
    kept = [test for test in tests if not (test.phase or "").endswith(_PRE)]
    groups: list[list[FileName]] = [[], [], []]
    for test in sorted(kept, key=lambda test: collation(test.common)):
        if _WRITES.search(test.test):
            groups[2].append(test)
        elif _POINT not in test.test:
            groups[1].append(test)
        elif _WARM not in (test.phase or ""):
            groups[0].append(test)
    return [test for group in groups for test in group]


def order_of_suffixes(suffixes: Iterable[str]) -> list[str]:
    """Return all tests, `FileName.suffix`, as `order` has them; those of no table at the end."""
    all_tests = set(suffixes)
    files = [
        file for suffix in all_tests if (file := parse_file(f"sb.met.{common_of_test(suffix)}"))
    ]
    in_tables = [file.suffix for file in order(files)]
    return [*in_tables, *sorted(all_tests - set(in_tables))]


def relative(table: RateTable) -> RateTable:
    """Return each rate / the first run's."""
    rows = {
        label: tuple(relative_rate(rate, rates[0]) for rate in rates[1:])
        for label, rates in table.rows.items()
    }
    return RateTable(table.runs[1:], rows, base=table.runs[0])


def write_tsv(table: RateTable) -> str:
    """Write the file .tsv."""
    lines = [] if table.base is None else [f"{_RELATIVE}{table.base}"]
    lines += [f"col-{number} : {run}" for number, run in enumerate(table.runs, start=1)]
    lines += ["", "\t".join(f"col-{number}" for number in range(1, len(table.runs) + 1))]
    lines += ["\t".join([*rates, label]) for label, rates in table.rows.items()]
    return "".join(f"{line}\n" for line in lines)


def write_csv(table: RateTable) -> str:
    """Write the file .csv."""
    return "".join(",".join([label, *rates]) + "\n" for label, rates in table.rows.items())


def read_tsv(lines: Sequence[str]) -> tuple[RateTable, list[str]]:
    """Read the table, and the lines that are no part of one (a hand has edited them)."""
    runs: dict[int, str] = {}
    base: str | None = None
    rows: dict[str, tuple[str, ...]] = {}
    strange: list[str] = []
    repeated: list[str] = []
    for line in lines:
        if line.startswith(_RELATIVE):
            base = line.removeprefix(_RELATIVE).strip()
        elif (match := _COLUMN.fullmatch(line.strip())) and match["run"].isprintable():
            runs[int(match[1])] = match["run"]
        elif line.strip() and not _TITLES.fullmatch(line.rstrip()):
            *cells, label = (cell.strip() for cell in line.split("\t"))
            if label in rows:
                repeated.append(label)
            elif len(cells) == len(runs) and all(map(_is_rate, cells)):
                rows[label] = tuple(cells)
            else:
                strange.append(line)
    columns = tuple(runs[number] for number in sorted(runs))
    return RateTable(columns, rows, base, tuple(repeated)), strange


def read_csv(lines: Sequence[str]) -> tuple[RateTable, list[str]]:
    """Read the table, whose columns are called by numbers, and the lines that are no part of it.

    Most lines have as many cells as the table has columns.
    """
    split = [(line, line.strip().split(",")) for line in lines if line.strip()]
    widths = Counter(len(cells) - 1 for _, cells in split)
    width = widths.most_common(1)[0][0] if widths else 0
    rows: dict[str, tuple[str, ...]] = {}
    strange: list[str] = []
    repeated: list[str] = []
    for line, (label, *cells) in split:
        if label in rows:
            repeated.append(label)
        elif len(cells) == width and all(map(_is_rate, cells)):
            rows[label] = tuple(cells)
        else:
            strange.append(line)
    runs = tuple(f"col-{number}" for number in range(1, width + 1))
    return RateTable(runs, rows, repeated=tuple(repeated)), strange


def relative_rate(rate: str, base: str) -> str:
    """Return the ratio of two rates as printed; an empty text where one is missing."""
    return f"{float(rate) / float(base):.2f}" if rate and base and float(base) else ""


def _is_rate(cell: str) -> bool:
    return cell == "" or (is_number(cell) and float(cell) >= 0)
