"""`slowdust doctor`: its text, its JSON and its exit code."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from slowdust.experiment import doctor
from slowdust.experiment.doctor.host import Check, Host, note, ok, problem
from slowdust.store.finding import Finding
from tests.unit.cli.command import Slowdust


def bad(host: Host) -> Finding:
    del host
    why = "The clock follows the load, so a server that waits more also computes slower, and more."
    return problem("Frequency governor", "It is schedutil.", why, "sudo cpupower " + "x" * 70)


def good(host: Host) -> Finding:
    del host
    return ok("SMT", "Each CPU is a core of its own.")


def known(host: Host) -> Finding:
    del host
    return note("NUMA nodes", "There are 2 NUMA nodes.", "Memory of another node is slower.")


@pytest.fixture
def checks(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> list[Check]:
    """The checks of the command, which tests fill."""
    (tmp_path / "data").mkdir()  # SLOWDUST_DATA of the fixture `slowdust`
    chosen: list[Check] = []
    monkeypatch.setattr(doctor, "CHECKS", chosen)
    return chosen


@pytest.mark.parametrize("columns", [60, 120])
def test_findings_fit_the_terminal_and_commands_stay_whole(
    slowdust: Slowdust,
    monkeypatch: pytest.MonkeyPatch,
    checks: list[Check],
    columns: int,
    snapshot: SnapshotAssertion,
) -> None:
    monkeypatch.setenv("COLUMNS", str(columns))
    checks += [good, bad]
    outcome = slowdust("doctor")
    assert outcome.code == 3
    lines = outcome.out.splitlines()
    assert lines == snapshot
    [command] = [line for line in lines if "cpupower" in line]
    assert command.endswith("x" * 70)
    assert max(len(line) for line in lines if line != command) <= columns


def test_no_problem_is_no_failure(
    slowdust: Slowdust, checks: list[Check], snapshot: SnapshotAssertion
) -> None:
    checks += [good, known, known]
    outcome = slowdust("doctor")
    assert outcome.code == 0
    assert outcome.out == snapshot


def test_json_has_the_findings_without_absent_fields(
    slowdust: Slowdust, checks: list[Check]
) -> None:
    checks += [good, known]
    outcome = slowdust("doctor", "--json")
    assert outcome.code == 0
    assert json.loads(outcome.out) == {
        "schema": 1,
        "findings": [
            {
                "check": "NUMA nodes",
                "severity": "note",
                "state": "There are 2 NUMA nodes.",
                "effect": "Memory of another node is slower.",
            },
            {"check": "SMT", "severity": "ok", "state": "Each CPU is a core of its own."},
        ],
    }
