"""Parts of published files that an import keeps in order to write the files again."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import msgspec

from slowdust.store.manifest import Manifest
from slowdust.store.slice import Slice
from slowdust.text import number_of


@dataclass(frozen=True)
class Row:
    """Numbers of one run in one test or step, as printed."""

    run: str
    columns: Sequence[str]
    cells: tuple[str, ...]

    def __getitem__(self, column: str) -> str:
        return self.cells[self.columns.index(column)]

    def number(self, column: str) -> float | None:
        return number_of(self[column])


def relative_cells(row: Row, base: Row, absent: str) -> dict[str, str]:
    """Return each column's number / the base's, as printed by the classic scripts.

    The ratio is `absent` if either is empty or `absent`.
    """

    def ratio(cell: str, other: str) -> str:
        if {cell, other} & {"", absent}:
            return absent
        if float(other):
            return f"{float(cell) / float(other):.2f}"
        return "inf" if float(cell) else "1"

    ratios = map(ratio, row.cells, base.cells)
    return dict(zip(row.columns, ratios, strict=True))


class Classic(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Texts and sums that reproduce the files of a slice, to the last digit."""

    run: str
    """The run directory, or the name of the table's column."""
    file: str | None = None
    """The test as in file names: `hot-points.range100.pk1`."""
    rate: str | None = None
    """Divisor of the published numbers per operation, as printed."""
    whole_rate: str | None = None
    """The rate in the published tables: an integer, followed by a tab and a text."""
    storage: list[float] | None = None
    """Number of samples, and sums over them: reads/s, KB read/s, writes/s, KB written/s."""
    cpu: list[float] | None = None
    """Number of samples by the published rule, and sums: context switches/s, percent of CPU."""
    met: list[str] | None = None
    """The fourteen numbers of a file sb.met as printed, if its sources are missing."""
    table_row: list[str] | None = None
    """The numbers of a table's row as printed, if the run directory is missing."""
    counters: dict[str, dict[str, str]] = {}
    """Iteration -> counter -> value as printed."""

    @property
    def texts(self) -> dict[str, Any]:
        texts: dict[str, Any] = msgspec.to_builtins(self)
        return texts


class ClassicTable(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A summary table of an archive: its name, runs and tests."""

    kind: str
    """rates (qps.abs, qps.rel), relative rates (only qps.rel), hardware (o.met), counters (join);
    o.sum, mrg."""
    tag: str
    """Distinguishing part of its name: `wm1` in `qps.abs.wm1.tsv`."""
    runs: list[str]
    """The columns: the runs, the base first."""
    rows: list[str] = []
    """The rows in order: labels or file names."""
    others: dict[str, str] = {}
    """File name of a row -> file name for all runs but the first, in a table that compares a test
    with itself at more clients."""
    folder: str = ""
    """The table's directory, relative to the experiment's."""


def classic_of(record: Slice) -> Classic | None:
    """Return the texts that an import kept; None for a slice that was not imported."""
    return msgspec.convert(record.printed.texts, Classic) if record.printed else None


def run_of(record: Slice) -> str:
    assert record.printed is not None
    run: str = record.printed.texts["run"]
    return run


def file_of(record: Slice) -> str | None:
    """Return the test of an imported slice as in file names."""
    return record.printed.texts.get("file") if record.printed else None


def tables_of(manifest: Manifest) -> list[ClassicTable]:
    """Return the summary tables of the archive; empty if the experiment was not imported."""
    tables = manifest.imported.tables if manifest.imported else []
    return msgspec.convert(tables, list[ClassicTable])
