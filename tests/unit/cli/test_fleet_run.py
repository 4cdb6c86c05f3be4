"""`slowdust run --fleet` on a simulated fleet: names and --resume."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from slowdust.fleet.queue import Record, State, read_record
from slowdust.store.folder import Folder
from tests.unit.cli.command import Slowdust
from tests.unit.synthetic_fleet import SimulatedFleet, SimulatedHost

ADDRESS = "127.0.0.1:7000"
SPEC = """
contenders = ["postgres@15.8", "postgres@17.6"]
tests = ["point-query", "scan"]
incarnations = 4
budget = "200s"
count = "off"
"""


class InterruptedFleet(SimulatedFleet):
    """A fleet whose head gets Ctrl-C once, at a moment."""

    def __init__(self, after: float | None) -> None:
        super().__init__({"a": SimulatedHost(), "b": SimulatedHost()})
        self._after = after

    def now(self) -> float:
        if self._after is not None and self.clock > self._after:
            self._after = None
            raise KeyboardInterrupt
        return super().now()


class FleetCommand:
    """`slowdust run` with a fleet in place of Ray."""

    def __init__(self, slowdust: Slowdust, monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
        self._slowdust = slowdust
        self._monkeypatch = monkeypatch
        self.results = folder / "results"
        self.spec = folder / "ci.toml"
        self.spec.write_text(SPEC)

    def __call__(self, file: object, *more: object, after: float | None = None) -> tuple[int, str]:
        """Run with more options; return the exit code and what it complained of."""
        fleet = InterruptedFleet(after)

        @contextmanager
        def connected(_: str) -> Iterator[InterruptedFleet]:
            yield fleet

        self._monkeypatch.setattr("slowdust.cli.fleet.connected", connected)
        options = ["--fleet", ADDRESS, "--results", self.results, *more]
        outcome = self._slowdust("run", file, *options)
        return outcome.code, outcome.err

    def record(self, name: str = "ci") -> Record:
        return read_record(self.results / f"{name}.fleet")


PULL = ("--builds", "pull")


@pytest.fixture
def run(slowdust: Slowdust, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> FleetCommand:
    return FleetCommand(slowdust, monkeypatch, tmp_path)


def test_the_name_of_what_a_fleet_has_begun_is_taken(
    run: FleetCommand, slowdust: Slowdust, snapshot: SnapshotAssertion
) -> None:
    run(run.spec, *PULL, after=8.0)
    assert not (run.results / "ci").exists(), "nothing is joined yet"
    outcome = slowdust("run", run.spec, "--yes", "--results", run.results)
    assert outcome.code == 2
    assert outcome.complaint == snapshot


def test_results_of_another_experiment_are_found_before_anything_is_measured(
    run: FleetCommand,
    snapshot: SnapshotAssertion,
) -> None:
    run(run.spec, *PULL, after=8.0)
    (run.results / "ci").mkdir()
    (run.results / "ci" / "manifest.new").touch()
    before = run.record()
    code, complaint = run("ci", "--resume")
    assert code == 2
    assert complaint == snapshot
    assert run.record() == before


def test_an_experiment_of_a_file_called_as_the_record_is_has_its_own_name(
    run: FleetCommand,
) -> None:
    file = run.spec.rename(run.spec.with_name("fleet.toml"))
    assert run(file, *PULL)[0] == 0
    assert Folder(run.results / "fleet").has_manifest()


def test_a_name_is_free_again_where_nothing_was_measured(run: FleetCommand) -> None:
    run.spec.write_text(SPEC.replace("postgres@15.8", "postgres@15.99"))
    code, complaint = run(run.spec)
    assert (code, "--resume" in complaint) == (2, False)
    run.spec.write_text(SPEC)
    assert not (run.results / "ci.fleet").exists()
    assert run(run.spec, *PULL)[0] == 0


def test_a_refused_name_leaves_nothing(run: FleetCommand, snapshot: SnapshotAssertion) -> None:
    (run.results / "ci").mkdir(parents=True)
    (run.results / "ci" / "x").touch()
    code, complaint = run(run.spec, *PULL)
    assert code == 2
    assert complaint == snapshot
    assert not (run.results / "ci.fleet").exists()


def test_omitted_options_keep_their_values_when_an_experiment_is_resumed(
    run: FleetCommand, snapshot: SnapshotAssertion
) -> None:
    _, complaint = run(run.spec, *PULL, "--hosts", 1, "--unfit", "--fail-on", "slower", after=8.0)
    assert complaint == snapshot
    wanted = run.record().wanted
    code, complaint = run("ci", "--resume", "--replicate", 3)
    assert code == 2
    assert complaint == snapshot
    assert run("ci", "--resume", "--spread")[0] == 0
    assert run.record().wanted == wanted
    assert len({each.host for each in run.record().placements}) == 1


@pytest.mark.parametrize("file", ["ci", "ci.fleet", "ci.fleet/fleet.toml"])
def test_an_experiment_resumes_by_the_path_of_its_folder(run: FleetCommand, file: str) -> None:
    run(run.spec, *PULL, after=30.0)
    assert run(run.results / file, "--resume", "--results", "elsewhere")[0] == 0
    assert all(each.state is not State.RUNNING for each in run.record().placements)


def test_results_of_a_fleet_are_resumed_where_possible(
    run: FleetCommand, slowdust: Slowdust, snapshot: SnapshotAssertion
) -> None:
    run(run.spec, *PULL, after=30.0)
    outcome = slowdust("run", "ci", "--resume", "--results", run.results)
    assert outcome.complaint == snapshot
    outcome = slowdust("run", run.results / "ci/experiment.toml", "--resume", "--yes")
    assert (outcome.code, "--resume --fleet" in outcome.complaint) == (2, True)
    assert run("ci", "--resume")[0] == 0
    outcome = slowdust("more", "ci", "--results", run.results)
    assert outcome.complaint == snapshot
