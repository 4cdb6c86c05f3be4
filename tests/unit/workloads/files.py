"""Workloads for tests."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from slowdust.dbms.server_url import ServerUrl
from slowdust.workloads.replay.catalog import Answer
from slowdust.workloads.workload import Workload, read_workload

TABLES = """\
[tables.books]
rows = 100
primary_key = "id"
columns.id = { type = "int", by = "serial" }
columns.title = { type = "varchar(20)", by = "text", length = [3, 20] }
columns.shelf = { type = "bigint", by = "zipf", low = 1, high = 9 }
columns.price = { type = "real", by = "uniform", low = 0.5, high = 9.75, scale = 2 }
columns.bought = { type = "timestamp", by = "uniform", low = 2025-01-01, high = 2025-01-31 }
"""
FIND = """\
[statements.find]
sql = "SELECT title FROM books WHERE id = :id"
parameters.id = { of = "books.id" }
result = { rows = 1 }
"""
TEST = """\
[tests.find]
group = "point"
statements = ["find"]
"""
SMALL = TABLES + FIND + TEST
"""A workload of one table, one statement and one test."""


def workload(folder: Path, text: str) -> Workload:
    """Return the workload of a text."""
    path = folder / "library.toml"
    path.write_text(text)
    return read_workload(path)


def no_server(url: ServerUrl, statements: Sequence[str]) -> list[Answer]:
    """Refuse to ask a server."""
    raise AssertionError(f"{url.text} was asked {statements}")
