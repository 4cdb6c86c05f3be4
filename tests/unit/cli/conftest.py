"""The command line in a directory of its own, and the stored experiments of the tests in it."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.experiments.stored import unpack_experiments
from tests.unit.cli.any_input import no_hang
from tests.unit.cli.command import Outcome, Slowdust, call


@pytest.fixture
def slowdust(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Slowdust]:
    """The command line, called in an empty directory, with no builds in the cache."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("SLOWDUST_RESULTS", raising=False)
    monkeypatch.setenv("SLOWDUST_CACHE", str(tmp_path / "cache"))
    monkeypatch.setenv("SLOWDUST_DATA", str(tmp_path / "data"))
    handlers = {number: signal.getsignal(number) for number in (signal.SIGTERM, signal.SIGHUP)}

    def run(*arguments: object) -> Outcome:
        return call(arguments, monkeypatch, capsys)

    yield run
    for number, handler in handlers.items():
        signal.signal(number, handler)


@pytest.fixture(name="no_hang")
def _no_hang() -> Iterator[None]:
    """Fail a test that takes minutes."""
    with no_hang():
        yield


@pytest.fixture
def results(tmp_path: Path) -> Path:
    """The results folder with the measured experiments insert, micro and slap; slap is newest."""
    folder = tmp_path / "results"
    names = ("micro", "insert", "slap")
    unpack_experiments(folder, *names)
    for hour, name in enumerate(names):
        os.utime(folder / name / "manifest.json", (3600 * hour, 3600 * hour))
    return folder
