"""Wrong uses of a fleet fail with one line, before any cluster is asked."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from tests.unit.cli.command import Slowdust, spoken

GOOD = 'contenders = ["sqlite@3.17.0", "sqlite@3.50.2"]\ntests = ["scan"]\n'
NOWHERE = "127.0.0.1:1"


@pytest.mark.parametrize(
    ("content", "arguments", "named"),
    [
        (GOOD, ("--hosts", "2"), "--hosts"),
        (GOOD, ("--builds", "pull"), "--builds"),
        (GOOD, ("--fleet", NOWHERE, "--spread", "--replicate", "2"), "--spread"),
        (GOOD, ("--spread",), "--spread"),
        (GOOD, ("--unfit",), "--unfit"),
        (GOOD, ("--fleet", NOWHERE, "--no-wait"), "--no-wait"),
        (
            GOOD,
            ("--fleet", NOWHERE, "--hosts", "1", "--replicate", "2"),
            "--hosts",
        ),
        (GOOD, ("--fleet", "here"), "'here'"),
        (GOOD, ("--fleet", NOWHERE, "--resume", "--results", "r"), "r"),
        (
            GOOD.replace("sqlite@3.17.0", "postgresql://a@127.0.0.1/x"),
            ("--fleet", NOWHERE),
            "--fleet",
        ),
        (GOOD + "rows = 7\n", ("--fleet", NOWHERE), "spec.toml:3: rows"),
    ],
    ids=spoken,
)
def test_wrong_use_is_reported_in_one_line(
    slowdust: Slowdust,
    tmp_path: Path,
    content: str,
    arguments: tuple[str, ...],
    named: str,
    *,
    snapshot: SnapshotAssertion,
) -> None:
    file = tmp_path / "spec.toml"
    file.write_text(content)
    outcome = slowdust("run", file, "--results", tmp_path / "results", *arguments)
    assert outcome.code == 2, outcome.err
    assert named in outcome.complaint
    assert outcome.complaint == snapshot
    assert not (tmp_path / "results").exists(), "nothing was begun"


@pytest.mark.parametrize("command", ["status", "doctor", "calibrate"])
def test_addresses_of_fleets_are_checked(slowdust: Slowdust, command: str) -> None:
    outcome = slowdust("fleet", command, "here")
    assert outcome.code == 2
    assert "write HOST:PORT" in outcome.complaint


def test_without_ray_the_fleet_says_what_to_install(
    slowdust: Slowdust, monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    outcome = slowdust("fleet", "status")
    assert outcome.code == 2
    assert outcome.complaint == snapshot
