"""`slowdust capacity` as a study."""

from __future__ import annotations

import shutil
from pathlib import Path

import msgspec

from slowdust.benchmarks.insert import InsertBenchmark
from slowdust.benchmarks.model import Measuring
from slowdust.builds.model import Progress
from slowdust.commands import command_line
from slowdust.errors import UsageError
from slowdust.experiment.experiment import Experiment, Lab
from slowdust.experiment.passes.trials import (
    USUAL,
    USUAL_OF_STEPS,
    check_commits,
    check_length,
    step_with_rate,
)
from slowdust.experiment.spec.options import spec_from_options
from slowdust.experiment.spec.spec import Spec, TrialsTable
from slowdust.report import json
from slowdust.report.document import Document
from slowdust.store.folder import TRIALS_FILE, Folder
from slowdust.store.study_folder import StudyFolder
from slowdust.studies.capacity.document import document
from slowdust.studies.capacity.outcome import Outcome, summarize_search
from slowdust.studies.capacity.record import RECORD_FILE, SERVERS, Question, Record
from slowdust.studies.capacity.search import BUDGET, Search, make_search
from slowdust.studies.engine import Order, Study, Unfit
from slowdust.units import format_duration
from slowdust.wording import counted


def make_spec(question: Question) -> Spec:
    """Return the specification of the experiment with the trials.

    Raises:
        UsageError: an option is wrong, or the test has no capacity.
    """
    options = {**question.options, "tests": question.test, "name": SERVERS, "count": "off"}
    asked = {"sla": question.sla, "precision": question.precision, "arrivals": question.arrivals}
    table = TrialsTable.model_validate({**asked, "length": question.trial})
    try:
        spec = spec_from_options(question.contenders, options)
    except UsageError as error:
        # A search has the option --test; the rest of the message names the test.
        raise UsageError(str(error).replace("--tests", "--test", 1)) from None
    spec = spec.model_copy(update={"trials": table})
    if len(spec.clients) != 1:
        raise UsageError("--clients: capacity takes one number of clients")
    if spec.configured_benchmark().measuring is Measuring.STEPS:
        step_with_rate(spec, question.test)
        return spec
    tests = spec.chosen_tests()
    if len(tests) != 1:
        raise UsageError(f"--test {question.test} matches {len(tests)} tests: choose one")
    if tests[0].consumes:
        raise UsageError(
            f"--test {question.test} consumes a row per operation, so it cannot sustain a rate: "
            "choose another test"
        )
    return spec


class Capacities(Study[Question, Record, Outcome]):
    """The search for capacities. Its only experiment has trials in place of slices."""

    noun = "search"
    kept = "trials"
    record_file = RECORD_FILE
    record_type = Record
    results = ""
    free = ("budget", "precision")
    _is_new = False

    def begin(self, question: Question, lab: Lab, say: Progress) -> Record:
        """Return the record of a new search, once its builds are available."""
        del say
        spec = make_spec(question)
        benchmark = spec.configured_benchmark()
        if isinstance(benchmark, InsertBenchmark):
            rows = benchmark.settings.rows_per_commit[-1]
            step, length = step_with_rate(spec, question.test), question.trial or USUAL_OF_STEPS
            check_commits(step, rows, length)
            check_length(question.trial, USUAL_OF_STEPS, spec.budget)
        else:
            check_length(question.trial, USUAL, spec.budget)
        lab.prepare(spec)
        self._is_new = True
        return Record(question=question)

    def resume(self, question: Question) -> None:
        """Take the budget and the precision, which may have changed."""
        before = self.record
        ended = before.ended if question == before.question else None
        self.record = msgspec.structs.replace(before, question=question, ended=ended)

    def open(self, folder: Path, say: Progress) -> None:
        """Begin with the stored trials; move trials of earlier versions."""
        self._say, self._spec = say, make_spec(self.record.question)
        self._folder = Folder(folder / SERVERS)
        if (earlier := folder / TRIALS_FILE).is_file() and self._folder.has_manifest():
            earlier.replace(self._folder.path / TRIALS_FILE)

    def next(self) -> Order | None:
        """Return the experiment, unless the trials already suffice."""
        record = self.record
        if record.ended is None and self._folder.has_manifest():
            record.ended = self._search().over
        return Order(self._spec) if record.ended is None else None

    def carry_out(self, order: Order, lab: Lab, results: Path) -> Experiment:
        """Run trials until the search is over, even in a finished experiment."""
        experiment = Experiment.create_or_open(order.spec, results).with_spec(order.spec)
        experiment.run(lab)
        return experiment

    def learn(self, order: Order, found: Experiment | Unfit) -> None:
        """Note why the search ended, and report the trials and the time."""
        del order, found
        search = self._search()
        self.record.ended = search.over or BUDGET
        spent = f"{format_duration(search.spent)} of {format_duration(self._spec.budget)}"
        self._say(f"{counted(len(search.trials), 'trial')}, {spent}")

    def _search(self) -> Search:
        """Return the search with the trials on disk."""
        names = [each.name for each in self._folder.read_manifest().contenders]
        return make_search(self._spec, names, self._folder.read_trials())

    def outcome(self) -> Outcome:
        """Return the outcome of the trials on disk."""
        manifest = self._folder.read_manifest()
        name, command = self._folder.path.parent.name, _command(self.record.question)
        return summarize_search(name, self.record, self._search(), manifest, command)

    def document(self, outcome: Outcome) -> Document:
        """Return the answer as a document."""
        return document(outcome)

    def how_to_resume(self, folder: StudyFolder, error: BaseException) -> str | None:
        """Return the command that resumes; a search without trials is removed."""
        servers = Folder(folder.path / SERVERS)
        if servers.read_trials():
            return super().how_to_resume(folder, error)
        if self._is_new and (isinstance(error, UsageError) or not servers.has_manifest()):
            (folder.path / RECORD_FILE).unlink(missing_ok=True)
            shutil.rmtree(servers.path, ignore_errors=True)
        return None


def _command(question: Question) -> str:
    """Return the command that repeats a search, with its options."""
    given = {
        "sla": question.sla,
        "test": question.test,
        "trial": None if question.trial is None else f"{question.trial:g}s",
        "arrivals": question.arrivals if question.arrivals != "poisson" else None,
        **question.plain_options,
        "set": question.settings,
        "precision": f"{question.precision * 100:g}%",
    }
    return command_line(["capacity", *question.contenders], given)


def capacity_schema() -> str:
    """Return the JSON schema of `slowdust capacity --json`, as in docs/capacity.schema.json."""
    return json.schema_of(Outcome, "slowdust-capacity-1", "The highest rates that meet an SLA")
