"""What commands share that run several experiments for one question."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path

import click

_ROWS = 10_000
"""Rows of each table: enough to tell what an operation costs, and loaded quickly."""
_PATHS = ("repo", "workload")


def name_of_series(command: str, range_: str) -> str:
    """Return the name of a series of experiments, from its range and the time."""
    short = re.sub(r"[^A-Za-z0-9._]+", "-", range_).strip("-._")[:60]
    return f"{command}-{short}-{datetime.now():%Y%m%d-%H%M%S}"


def given_options(options: Mapping[str, object]) -> dict[str, object]:
    """Return the options that were given, with paths as they are from any directory.

    There are few rows, unless the user says how many or the benchmark is another one than usual.
    """
    from slowdust.benchmarks import DEFAULT
    from slowdust.places import named_path

    given = {
        key: list(value) if isinstance(value, tuple) else value
        for key, value in options.items()
        if value not in (None, ())
    }
    for key in _PATHS:
        if key in given and (path := named_path(str(given[key]))).exists():
            given[key] = str(path.absolute())
    usual = "workload" not in given and given.get("benchmark", DEFAULT.name) == DEFAULT.name
    return {"rows": _ROWS, **given} if usual else given


def checksum_of(path: object) -> str | None:
    """Return the SHA-256 of a workload's file; None without one that can be read."""
    from slowdust.builds.fingerprint import sha256_of

    return sha256_of(Path(path)) if isinstance(path, str) and Path(path).is_file() else None


def write_reports(folder: Path, page: str, note: str) -> None:
    """Write the page and the note of a series, and say on standard error where they are."""
    from slowdust.store.storage import replace_file

    report, markdown = folder / "report.html", folder / "note.md"
    replace_file(report, page.encode())
    replace_file(markdown, note.encode())
    click.echo(f"report: {report}, note: {markdown}", err=True)
