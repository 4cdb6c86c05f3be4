"""Wrong uses of a fleet are told in one line, before any cluster is asked."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from tests.unit.cli.command import Slowdust

GOOD = 'contenders = ["sqlite@3.17.0", "sqlite@3.50.2"]\ntests = ["scan"]\n'
NOWHERE = "127.0.0.1:1"


@pytest.mark.parametrize(
    ("content", "arguments", "complaint"),
    [
        (GOOD, ("--hosts", "2"), "--hosts: there is no fleet without --fleet ADDRESS"),
        (GOOD, ("--builds", "pull"), "--builds: there is no fleet"),
        (GOOD, ("--fleet", NOWHERE, "--spread", "--replicate", "2"), "one host, or several"),
        (GOOD, ("--spread",), "--spread: there is no fleet"),
        (GOOD, ("--unfit",), "--unfit: there is no fleet"),
        (GOOD, ("--fleet", NOWHERE, "--no-wait"), "waits for its turn on each host"),
        (
            GOOD,
            ("--fleet", NOWHERE, "--hosts", "1", "--replicate", "2"),
            "--hosts 1: a test is measured on --replicate 2",
        ),
        (GOOD, ("--fleet", "here"), "'here' is no address of a cluster: write HOST:PORT"),
        (GOOD, ("--fleet", NOWHERE, "--resume", "--results", "r"), "no fleet has measured"),
        (
            GOOD.replace("sqlite@3.17.0", "postgresql://a@127.0.0.1/x"),
            ("--fleet", NOWHERE),
            "is measured from one host alone",
        ),
        (GOOD + "rows = 7\n", ("--fleet", NOWHERE), "spec.toml:3: rows"),
    ],
)
def test_wrong_use_is_told_in_one_line(
    slowdust: Slowdust,
    tmp_path: Path,
    content: str,
    arguments: tuple[str, ...],
    complaint: str,
) -> None:
    file = tmp_path / "spec.toml"
    file.write_text(content)
    outcome = slowdust("run", file, "--results", tmp_path / "results", *arguments)
    assert outcome.code == 2, outcome.err
    assert complaint in outcome.complaint
    assert not (tmp_path / "results").exists(), "nothing was begun"


@pytest.mark.parametrize("command", ["status", "doctor", "calibrate"])
def test_addresses_of_fleets_are_checked(slowdust: Slowdust, command: str) -> None:
    outcome = slowdust("fleet", command, "here")
    assert outcome.code == 2
    assert "write HOST:PORT" in outcome.complaint


def test_without_ray_the_fleet_says_what_to_install(
    slowdust: Slowdust, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    outcome = slowdust("fleet", "status")
    assert outcome.code == 2
    assert outcome.complaint == (
        "slowdust: --fleet needs Ray, which is not installed: pip install 'slowdust[fleet]'"
    )
