"""The command line for the tests of imports."""

from __future__ import annotations

import json
import re
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
    """Return the command line in a directory of its own, where it has to end with `code`.

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


def mentions(text: str, *parts: str) -> bool:
    """Return whether a line of the text has all parts, in this order."""
    return re.search(".*".join(map(re.escape, parts)), text) is not None


def report(slowdust: Slowdust, name: str) -> dict[str, Any]:
    """Return the report as its JSON has it."""
    actual: dict[str, Any] = json.loads(slowdust("report", name, "--json"))
    return actual


def results(slowdust: Slowdust, name: str) -> dict[tuple[str, str], dict[str, Any]]:
    """Return the results by test and version of the contender."""
    actual = report(slowdust, name)
    versions = {info["name"]: info["version"] for info in actual["contender_info"]}
    return {(result["test"], versions[result["contender"]]): result for result in actual["results"]}
