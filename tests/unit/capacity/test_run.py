"""A resumed search keeps its trials and adds only the missing ones."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import msgspec
import pytest

from slowdust.experiment.experiment import Experiment
from slowdust.store.folder import TRIALS_FILE, Folder, writing
from slowdust.store.trial import Trial
from slowdust.studies.capacity.outcome import Outcome
from slowdust.studies.capacity.record import RECORD_FILE, SERVERS, Question, Record
from slowdust.studies.capacity.search import BUDGET, PRECISION, make_search
from slowdust.studies.capacity.study import Capacities
from slowdust.studies.engine import run_study
from tests.unit.synthetic import synthetic_manifest
from tests.unit.synthetic_capacity import Machine, SimulatedServers, question_of, run_start
from tests.unit.synthetic_lab import SimulatedLab

NAMES = ["postgres@15.8", "postgres@17.6"]
QUESTION = question_of(NAMES, precision=0.001, clients="4", rows=10_000, budget="15s")


class FailingServers(SimulatedServers):
    """Servers; the last one has no trials from some turn on."""

    fails_in: int | None = None

    def turn(self, number: int, rates: Mapping[str, float]) -> list[Trial]:
        fails = self.fails_in is not None and number >= self.fails_in
        return super().turn(number, {n: r for n, r in rates.items() if n != NAMES[1] or not fails})


@dataclass
class TrialLab(SimulatedLab):
    """Has the trials of a search on simulated servers."""

    fails_in: int | None = None

    def measure(self, experiment: Experiment) -> None:
        """Have the trials that are wanted."""
        spec, folder = experiment.spec, experiment.folder
        self.measured.append(spec)
        machine = Machine(start=0.005, drift=0.01, noise=0.05, stalls=0.0)
        servers = FailingServers(dict.fromkeys(NAMES, 100e-6), machine)
        servers.fails_in = self.fails_in
        search = make_search(spec, NAMES, folder.read_trials())
        with writing(folder) as writer:
            manifest = synthetic_manifest(NAMES, ["point-query"])
            if self.fails_in is not None:
                manifest.contenders[1].failed = "it crashed"
            writer.write_spec(spec.to_toml())
            writer.write_manifest(manifest)
            while search.wants_start:
                servers.start()
                servers.start_number = search.last_start + 1
                for trials in run_start(search, servers):
                    writer.append_trials(*trials)


def answer(
    folder: Path, question: Question = QUESTION, lab: SimulatedLab | None = None, **how: bool
) -> Outcome:
    return run_study(Capacities(), question, folder, lab or TrialLab(), lambda _: None, **how)


def read(folder: Path) -> Record:
    return msgspec.json.decode((folder / RECORD_FILE).read_bytes(), type=Record)


def longer(question: Question, budget: str) -> Question:
    return msgspec.structs.replace(question, options={**question.options, "budget": budget})


def test_dropped_contenders_are_named_and_measured_again(tmp_path: Path) -> None:
    before = answer(tmp_path, lab=TrialLab(fails_in=3))
    assert [each.failed for each in before.capacities] == [None, "it crashed"]
    after = answer(tmp_path, longer(QUESTION, "30s"), resumes=True)
    assert after.ended == BUDGET
    assert after.trials[: len(before.trials)] == before.trials
    added = [trial.contender for trial in after.trials[len(before.trials) :]]
    assert added.count(NAMES[1]) == added.count(NAMES[0]) > 3


def test_the_command_that_repeats_a_search_can_be_pasted_into_a_shell(tmp_path: Path) -> None:
    options = {
        **QUESTION.options,
        "repo": "/my files/postgres",
        "settings": ["work_mem=64MB", "search_path=a, b"],
    }
    command = answer(tmp_path, msgspec.structs.replace(QUESTION, options=options)).command
    assert "--sla 'p99<5ms' --test point-query" in command
    words = shlex.split(command)
    assert words[words.index("--repo") + 1] == "/my files/postgres"
    assert words[words.index("--set") :][:4] == [
        "--set", "work_mem=64MB", "--set", "search_path=a, b",
    ]  # fmt: skip


def test_a_coarser_precision_that_is_reached_ends_a_search_without_servers(
    tmp_path: Path,
) -> None:
    fine = longer(QUESTION, "30s")
    trials = answer(tmp_path, fine).trials
    for precision, ended in ((0.5, PRECISION), (0.001, BUDGET)):
        lab = TrialLab()
        question = msgspec.structs.replace(fine, precision=precision)
        outcome = answer(tmp_path, question, lab, resumes=True)
        assert (outcome.ended, outcome.trials, lab.measured) == (ended, trials, [])
        assert read(tmp_path).ended == ended


def test_trials_of_earlier_versions_are_read_from_the_folder_of_the_search(tmp_path: Path) -> None:
    before = answer(tmp_path)
    (tmp_path / SERVERS / TRIALS_FILE).rename(tmp_path / TRIALS_FILE)
    lab = TrialLab()
    assert answer(tmp_path, lab=lab, resumes=True) == before
    assert not lab.measured


def test_a_search_of_which_nothing_was_measured_leaves_its_name_free(tmp_path: Path) -> None:
    class NoServers(TrialLab):
        def measure(self, experiment: Experiment) -> None:
            raise OSError("no disk")

    folder = tmp_path / "search"
    with pytest.raises(OSError, match="no disk"):
        answer(folder, lab=NoServers())
    assert not (folder / RECORD_FILE).exists()
    assert not Folder(folder / SERVERS).path.exists()
