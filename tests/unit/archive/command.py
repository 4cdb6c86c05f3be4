"""`slowdust` as the tests of imports call it."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from slowdust.cli.main import main

Slowdust = Callable[..., str]
"""Arguments -> what it printed."""


@pytest.fixture
def slowdust(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Slowdust:
    """The command line in a directory of its own, where it has to end with `code`.

    What it returns is all that it printed: of a failure, the complaint, too.
    """
    monkeypatch.chdir(tmp_path)

    def call(*arguments: str | Path, code: int = 0) -> str:
        monkeypatch.setattr(sys, "argv", ["slowdust", *map(str, arguments)])
        capsys.readouterr()
        with pytest.raises(SystemExit) as exit_info:
            main()
        printed = capsys.readouterr()
        assert exit_info.value.code == code, printed.err
        return printed.out + (printed.err if code else "")

    return call


def report(slowdust: Slowdust, name: str) -> dict[str, Any]:
    """The report as its JSON has it."""
    found: dict[str, Any] = json.loads(slowdust("report", name, "--json"))
    return found


def results(slowdust: Slowdust, name: str) -> dict[tuple[str, str], dict[str, Any]]:
    """(Test, version of the contender) -> its result."""
    found = report(slowdust, name)
    versions = {info["name"]: info["version"] for info in found["contender_info"]}
    return {(one["test"], versions[one["contender"]]): one for one in found["results"]}
