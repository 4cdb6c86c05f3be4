"""Damaged bundles and stored experiments on the command line: one line that names the file."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from tests.unit.cli.command import Slowdust

CASES = Path(__file__).parents[2] / "cases" / "bundles"


def test_bundles_of_an_attack_end_with_one_line(slowdust: Slowdust) -> None:
    paths = sorted(CASES.glob("*.slowdust"))
    assert len(paths) == 5
    for path in paths:
        outcome = slowdust("import", "bundle", path)
        assert (outcome.code, outcome.err) == (1, f"{outcome.complaint}\n")


@pytest.mark.parametrize(
    ("file", "content", "why"),
    [
        ("manifest.json", b'{"schema": 2, "zzz": ' + b"[" * 100_000, "it is nested too deeply"),
        ("manifest.json", b'{"schema": 2, "base": "\xb8"}', "it is not UTF-8"),
        ("slices.ndjson", b'{"zzz":' + b"[" * 100_000 + b"\n", "line 1: it is nested too deeply"),
        ("slices.ndjson", b'{"place":{"test":"\xb8"}}\n', "line 1: it is not UTF-8"),
        ("counts.ndjson", b'{"zzz":' + b"[" * 100_000 + b"\n", "it is nested too deeply"),
        ("waits.ndjson", b'{"place":{"test":"\xb8"}}\n', "it is not UTF-8"),
        ("annotation.json", b'{"zzz":' + b"[" * 100_000, "it is nested too deeply"),
        ("perf/a.json.gz", gzip.compress(b'{"unit": "\xb8"}', mtime=0), "it is not UTF-8"),
    ],
)
def test_stored_experiments_that_were_damaged_are_named(
    results: Path, slowdust: Slowdust, file: str, content: bytes, why: str
) -> None:
    (results / "insert/perf").mkdir(exist_ok=True)
    (results / "insert" / file).write_bytes(content)
    complaints = []
    for command in ("report insert --md", "show insert", "note insert", "list"):
        outcome = slowdust(*command.split())
        assert outcome.code in {0, 1}, outcome
        if outcome.code:
            assert outcome.err == f"{outcome.complaint}\n"
            complaints.append(outcome.complaint)
    assert any(f"/{file} is damaged: {why}" in complaint for complaint in complaints), complaints
