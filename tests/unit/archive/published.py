"""The archive of published runs next to the project: without it, tests that need it skip."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

RUNS = Path(__file__).parents[4] / "shared" / "archive" / "runs"
needs_archive = pytest.mark.skipif(
    not RUNS.is_dir(), reason="needs ../shared/archive/runs, the published runs"
)


def content(path: Path) -> bytes:
    """Return the content of a file, plain or compressed."""
    if path.is_file():
        return path.read_bytes()
    return gzip.decompress(path.with_name(f"{path.name}.gz").read_bytes())


def lines(path: Path) -> list[str]:
    """Return the lines of a file, plain or compressed."""
    return content(path).decode().splitlines()


def run_directories() -> list[Path]:
    """Return every run of sysbench."""
    return sorted(path for path in RUNS.glob("**/x.*") if path.is_dir())
