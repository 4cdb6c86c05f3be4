"""The tables that Slowdust ships: tab-separated fields; lines that begin with # are comments."""

from __future__ import annotations

import csv
from importlib.resources import files


def read_table(path: str) -> list[list[str]]:
    """Return the rows of a file in this package: 'cli/options.tsv'."""
    lines = files("slowdust").joinpath(path).read_text(encoding="utf-8").splitlines()
    rows = (line for line in lines if not line.startswith("#"))
    return list(csv.reader(rows, "excel-tab", quoting=csv.QUOTE_NONE))
