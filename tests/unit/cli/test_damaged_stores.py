"""Damaged bundles and stored experiments on the command line: one line that names the file."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from tests.unit.cli.command import Slowdust

CASES = Path(__file__).parents[2] / "cases" / "bundles"

DEEP = b"[" * 100_000


def test_bundles_of_an_attack_end_with_one_line(slowdust: Slowdust) -> None:
    paths = sorted(CASES.glob("*.slowdust"))
    assert len(paths) == 5
    for path in paths:
        outcome = slowdust("import", "bundle", path)
        assert (outcome.code, outcome.err) == (1, f"{outcome.complaint}\n")


@pytest.mark.parametrize(
    ("file", "content"),
    [
        pytest.param("manifest.json", b'{"schema": 2, "zzz": ' + DEEP, id="deep manifest"),
        pytest.param("manifest.json", b'{"schema": 2, "base": "\xb8"}', id="bytes in manifest"),
        pytest.param("slices.ndjson", b'{"zzz":' + DEEP + b"\n", id="deep slices"),
        pytest.param("slices.ndjson", b'{"place":{"test":"\xb8"}}\n', id="bytes in slices"),
        pytest.param("counts.ndjson", b'{"zzz":' + DEEP + b"\n", id="deep counts"),
        pytest.param("waits.ndjson", b'{"place":{"test":"\xb8"}}\n', id="bytes in waits"),
        pytest.param("annotation.json", b'{"zzz":' + DEEP, id="deep annotation"),
        pytest.param(
            "perf/a.json.gz", gzip.compress(b'{"unit": "\xb8"}', mtime=0), id="bytes in profile"
        ),
    ],
)
def test_stored_experiments_that_were_damaged_are_named(
    results: Path,
    slowdust: Slowdust,
    file: str,
    content: bytes,
    snapshot: SnapshotAssertion,
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
    assert complaints
    assert all(file in complaint for complaint in complaints)
    assert complaints == snapshot
