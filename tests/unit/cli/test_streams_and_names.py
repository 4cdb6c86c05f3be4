"""Closed standard streams, and two experiments that start in the same second."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from slowdust.store.experiments import free_name

_MAIN = "from slowdust.cli.main import main; main()"


@pytest.mark.parametrize(
    ("command", "closed"),
    [
        *(("list", closed) for closed in (">&-", ">&- 2>&-", "<&- >&- 2>&-")),
        *((command, "<&- >&- 2>&-") for command in ("--help", "report slap", "report slap --json")),
    ],
)
def test_closed_streams_are_no_error(results: Path, closed: str, command: str) -> None:
    line = f'"$0" -c "$1" {command} {closed}'
    done = subprocess.run(
        ["/bin/sh", "-c", line, sys.executable, _MAIN],
        cwd=results.parent,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert (done.returncode, done.stdout, "Traceback" in done.stderr) == (0, "", False)


def test_a_full_standard_output_is_one_line(results: Path) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "-c", _MAIN, "list"],
            cwd=results.parent,
            stdout=full,
            stderr=subprocess.PIPE,
            text=True,
            check=False,
            timeout=120,
        )
    assert done.returncode == 1
    assert done.stderr.startswith("slowdust: No space left on device (")
    assert done.stderr.count("\n") == 1


def test_two_experiments_of_one_name_get_two(tmp_path: Path) -> None:
    results = tmp_path / "results"
    with free_name(results, "x") as first, free_name(results, "x") as second:
        assert (first, second) == ("x", "x-2")
        (results / second / "manifest.json").touch()
    assert [path.name for path in results.iterdir()] == ["x-2"]
    with free_name(results, "x-2") as third:
        assert third == "x-2-2"
    with free_name(tmp_path / "none", "x"):
        pass
    assert not (tmp_path / "none").exists()
