"""A pipe in place of a file, which may never get a writer: refused at once."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from slowdust.text import DamagedError, read_content
from tests.unit.cli.command import Slowdust

REFUSED = "pipe is not a regular file: choose a file"


@pytest.fixture
def pipe(tmp_path: Path) -> Path:
    path = tmp_path / "pipe"
    os.mkfifo(path, 0o600)
    return path


@pytest.mark.parametrize(
    "command",
    [
        ("builds", "get", "mysql@8.0.40", "--from"),
        ("run",),
        ("watch",),
        ("import", "bundle"),
        ("workloads", "check"),
        ("tests", "--workload"),
    ],
    ids=" ".join,
)
def test_commands_refuse_it(slowdust: Slowdust, pipe: Path, command: tuple[str, ...]) -> None:
    outcome = slowdust(*command, pipe)
    assert outcome.code == 2
    assert outcome.complaint.endswith(REFUSED)


def test_a_file_of_passwords_is_none(
    slowdust: Slowdust, pipe: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGPASSFILE", str(pipe))
    monkeypatch.setenv("SLOWDUST_CLAIMS", str(pipe.parent / "claims"))
    url = "postgres://ann@127.0.0.1:9/b"
    outcome = slowdust("compare", url, url, "--budget", "1s", "--yes")
    assert outcome.code == 2
    assert outcome.complaint.endswith(REFUSED)


def test_a_file_of_an_archive_is_damaged(pipe: Path, snapshot: SnapshotAssertion) -> None:
    with pytest.raises(DamagedError) as error:
        read_content(pipe)
    assert str(error.value) == snapshot
