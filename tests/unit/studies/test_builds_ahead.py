"""Builds are made in the background, by a program that exits with the search."""

from __future__ import annotations

import sys
import time
from pathlib import Path

import pytest

from slowdust.studies.engine import BuildsAhead


@pytest.fixture
def log(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Give builds a program in Slowdust's place that writes down what it is asked for."""
    program = tmp_path / "program"
    program.write_text('#!/bin/sh\necho "$@" "priority $(nice)"\nexec sleep 60\n')
    program.chmod(0o755)
    monkeypatch.setattr(sys, "executable", str(program))
    return tmp_path / "log"


def _wait_for(text: str, log: Path) -> None:
    end = time.monotonic() + 30
    while text not in log.read_text():
        assert time.monotonic() < end
        time.sleep(0.01)


def test_a_second_order_waits_until_the_first_is_done_and_close_ends_it(log: Path) -> None:
    builds = BuildsAhead(log)
    builds.build(["postgres@git:c1", "postgres@git:c2"], "/a/repository")
    builds.build(["postgres@git:c3"], "/a/repository")
    asked = "builds get --repo /a/repository postgres@git:c1 postgres@git:c2 priority 19"
    _wait_for(asked, log)
    begun = time.monotonic()
    builds.close()
    assert time.monotonic() - begun < 30
    assert "c3" not in log.read_text()


def test_nothing_is_started_for_nothing(log: Path) -> None:
    builds = BuildsAhead(log)
    builds.build([], None)
    builds.close()
    assert not log.exists()
