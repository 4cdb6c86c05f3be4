"""What an import keeps of the published files, so that they can be written again."""

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
    """Return each column's number / the base's, as the classic scripts print it.

    Where either is empty or `absent`, so is the ratio.
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
    """Texts and sums from which the files of a slice are written again, to the last digit."""

    run: str
    """The run directory, or the name of the table's column."""
    file: str | None = None
    """The test in names of files: `hot-points.range100.pk1`."""
    rate: str | None = None
    """Rate by which the published numbers per operation were divided, in its printed form."""
    whole_rate: str | None = None
    """The rate of the published tables: an integer, with the text behind it after a tab."""
    storage: list[float] | None = None
    """Samples, and sums over them: reads/s, KB read/s, writes/s, KB written/s."""
    cpu: list[float] | None = None
    """Samples by the published rule, and sums over them: context switches/s, percent of CPU."""
    met: list[str] | None = None
    """The fourteen numbers of a file sb.met as printed, if nothing else is left of it."""
    table_row: list[str] | None = None
    """The numbers of a row of a table as printed, if the run directory is missing."""
    counters: dict[str, dict[str, str]] = {}
    """Iteration -> counter -> value as printed."""

    @property
    def texts(self) -> dict[str, Any]:
        texts: dict[str, Any] = msgspec.to_builtins(self)
        return texts


class ClassicTable(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A summary table of an archive: its name, and the runs and tests it is about."""

    kind: str
    """rates (qps.abs, qps.rel), relative rates (qps.rel alone), hardware (o.met), counters (join);
    o.sum, mrg."""
    tag: str
    """Part of its name that tells it from others: `wm1` of `qps.abs.wm1.tsv`."""
    runs: list[str]
    """The columns: the runs, the base first."""
    rows: list[str] = []
    """The rows: labels or file names, in its order."""
    others: dict[str, str] = {}
    """File name of a row -> that of the rows of all runs but the first, where a table compares a
    test with itself at more clients."""
    folder: str = ""
    """The table's directory, relative to the experiment's."""


def classic_of(record: Slice) -> Classic | None:
    """Return the texts that an import kept; None for a slice that was measured here."""
    return msgspec.convert(record.printed.texts, Classic) if record.printed else None


def run_of(record: Slice) -> str:
    assert record.printed is not None
    run: str = record.printed.texts["run"]
    return run


def file_of(record: Slice) -> str | None:
    """Return the test of an imported slice as names of files have it."""
    return record.printed.texts.get("file") if record.printed else None


def tables_of(manifest: Manifest) -> list[ClassicTable]:
    """Return the summary tables of the archive; none if the experiment was measured here."""
    tables = manifest.imported.tables if manifest.imported else []
    return msgspec.convert(tables, list[ClassicTable])
