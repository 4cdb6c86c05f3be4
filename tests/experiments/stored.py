"""Unpack the stored experiments of the tests into a results folder."""

from __future__ import annotations

import gzip
from pathlib import Path

ROOT = Path(__file__).parents[2]
STORED = Path(__file__).with_name("stored")
"""A results folder, some of whose files are compressed."""
INPUTS = Path(__file__).with_name("inputs")
ARCHIVE = ROOT.parent / "shared" / "archive" / "runs"
"""Published runs next to the project, if there are any."""
_PROFILES = "perf"


def unpack_experiments(results: Path, *names: str) -> None:
    """Copy stored experiments and studies into a results folder; all if none is named."""
    for path in sorted(STORED.rglob("*")):
        below = path.relative_to(STORED)
        if path.is_dir() or (names and below.parts[0] not in names):
            continue
        content = path.read_bytes()
        if path.suffix == ".gz" and path.parent.name != _PROFILES:
            content, below = gzip.decompress(content), below.with_suffix("")
        (results / below).parent.mkdir(parents=True, exist_ok=True)
        (results / below).write_bytes(content)
