"""A search that goes on keeps what it knew before, and does no more than it has to."""

from __future__ import annotations

import shlex
from collections.abc import Callable, Mapping
from pathlib import Path

import msgspec

from slowdust.capacity.outcome import Outcome
from slowdust.capacity.record import RECORD_FILE, SERVERS, Question, Record, Trial, read_trials
from slowdust.capacity.search import BUDGET, PRECISION, Bench
from slowdust.experiment.contender import RunningContender
from slowdust.experiment.contenders import Contenders
from slowdust.experiment.driver.process import Driver
from slowdust.experiment.live import PlainView
from slowdust.store.folder import Folder, writing
from slowdust.studies.capacity.study import Capacities, RunningSearch, spec_of
from slowdust.studies.engine import run_study
from slowdust.units import Second
from tests.unit.synthetic import synthetic_manifest
from tests.unit.synthetic_capacity import Machine, SimulatedServers, question_of
from tests.unit.synthetic_contenders import contender
from tests.unit.synthetic_lab import SimulatedLab

NAMES = ["postgres@15.8", "postgres@17.6"]
QUESTION = question_of(NAMES, precision=0.001, clients="4", rows=10_000, budget="15s")


class _Laboratory:
    """Simulated servers, the last of which fails in every turn from one on."""

    unit = "operations/s"

    def __init__(self, contenders: list[RunningContender], fails_in: int | None) -> None:
        self.length: Second | None = 0.5
        machine = Machine(start=0.005, drift=0.01, noise=0.05, stalls=0.0)
        self._servers = SimulatedServers(dict.fromkeys(NAMES, 100e-6), machine)
        self._contenders = contenders
        self._fails_in = fails_in
        self.peaks = self._servers.peaks
        self.lowest = self._servers.lowest

    def start(self, number: int, measure: Callable[[Bench], None]) -> None:
        self._servers.start()
        self._servers.start_number = number
        measure(self)

    def turn(self, number: int, rates: Mapping[str, float]) -> list[Trial]:
        last = self._contenders[-1]
        if self._fails_in is not None and number >= self._fails_in:
            last.failed = "it crashed"
        return self._servers.turn(
            number,
            {name: rate for name, rate in rates.items() if name != last.name or not last.failed},
        )


def write(folder: Path, record: Record) -> None:
    (folder / RECORD_FILE).write_bytes(msgspec.json.encode(record))


def read(folder: Path) -> Record:
    return msgspec.json.decode((folder / RECORD_FILE).read_bytes(), type=Record)


def run(folder: Path, record: Record, *, fails_in: int | None) -> Record:
    """Run a search with simulated servers; return its record as it is on disk."""
    view, each = PlainView(), [contender(name) for name in NAMES]
    with Driver() as driver:
        running = RunningSearch(
            folder,
            record,
            spec_of(record.question),
            _Laboratory(each, fails_in),
            Contenders(each, driver, folder, view),
            view,
            lambda _: None,
            lambda: write(folder, record),
        )
        running.to_the_end()
    return read(folder)


def found(folder: Path, record: Record) -> Outcome:
    """Write the record of a search that has ended, and its servers; return its outcome."""
    write(folder, record)
    with writing(Folder(folder / SERVERS)) as writer:
        writer.write_manifest(synthetic_manifest(NAMES, ["point-query"]))
    return resumed(folder, record.question)


def resumed(folder: Path, question: Question) -> Outcome:
    """Resume a search where there are no servers to measure."""
    return run_study(Capacities(), question, folder, SimulatedLab(), lambda _: None, resumes=True)


def test_who_dropped_out_is_remembered_and_measured_again(tmp_path: Path) -> None:
    begun = Record(question=QUESTION, contenders=NAMES, starts=1)
    before = run(tmp_path, begun, fails_in=3)
    assert before.dropped == {NAMES[1]: "it crashed"}
    trials = len(read_trials(tmp_path))
    longer = msgspec.structs.replace(QUESTION, options={**QUESTION.options, "budget": "30s"})
    again = msgspec.structs.replace(before, question=longer, ended=None, starts=2)
    after = run(tmp_path, again, fails_in=None)
    assert (after.dropped, after.ended) == (before.dropped, BUDGET)
    added = [trial.contender for trial in read_trials(tmp_path)[trials:]]
    assert added.count(NAMES[1]) == added.count(NAMES[0]) > 3


def test_the_command_that_repeats_a_search_can_be_pasted_into_a_shell(tmp_path: Path) -> None:
    options = {
        **QUESTION.options,
        "repo": "/my files/postgres",
        "settings": ["work_mem=64MB", "search_path=a, b"],
    }
    asked = msgspec.structs.replace(QUESTION, trial=12.5, options=options)
    command = found(tmp_path, Record(question=asked, contenders=NAMES, ended=BUDGET)).command
    assert "--sla 'p99<5ms' --test point-query --trial 12.5s" in command
    words = shlex.split(command)
    assert words[words.index("--repo") + 1] == "/my files/postgres"
    assert words[words.index("--set") :][:4] == [
        "--set", "work_mem=64MB", "--set", "search_path=a, b",
    ]  # fmt: skip


def test_a_coarser_precision_that_is_reached_ends_a_search_without_servers(
    tmp_path: Path,
) -> None:
    begun = Record(question=QUESTION, contenders=NAMES, starts=3, length=0.5)
    assert run(tmp_path, begun, fails_in=None).ended == BUDGET
    trials = read_trials(tmp_path)
    assert found(tmp_path, read(tmp_path)).ended == BUDGET
    for precision, ended in ((0.5, PRECISION), (0.001, BUDGET)):
        outcome = resumed(tmp_path, msgspec.structs.replace(QUESTION, precision=precision))
        assert (outcome.ended, outcome.trials) == (ended, trials)
        assert read(tmp_path).ended == ended
