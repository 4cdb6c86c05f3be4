"""`slowdust capacity` as a study: from its question to its outcome."""

from __future__ import annotations

import math
import shutil
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import msgspec

from slowdust.benchmarks.model import Measuring
from slowdust.builds.model import Progress
from slowdust.capacity import steps, trials
from slowdust.capacity.outcome import Outcome, outcome_of
from slowdust.capacity.record import (
    RECORD_FILE,
    SERVERS,
    TRIALS_FILE,
    Question,
    Record,
    Trial,
    append_trials,
    read_trials,
)
from slowdust.capacity.search import BUDGET, Bench, Plan, Search
from slowdust.capacity.steps import StepLaboratory, check_commits, check_steps
from slowdust.capacity.trials import Laboratory, SliceLaboratory, check_budget
from slowdust.commands import command_line
from slowdust.errors import UsageError
from slowdust.experiment.contenders import Contenders
from slowdust.experiment.engine.schedule import rounds
from slowdust.experiment.experiment import Experiment, Lab
from slowdust.experiment.journal import open_journal
from slowdust.experiment.local_lab import LocalLab
from slowdust.experiment.spec.options import spec_from_options
from slowdust.experiment.spec.spec import Spec
from slowdust.experiment.view import View
from slowdust.report import json
from slowdust.stats.relative import CONFIDENCE
from slowdust.store.folder import Folder
from slowdust.store.study_folder import StudyFolder
from slowdust.studies.capacity import note, page
from slowdust.studies.engine import Document, Order, Study, Unfit
from slowdust.units import format_duration
from slowdust.wording import counted


def spec_of(question: Question) -> Spec:
    """Return the specification of the experiment that trials are part of.

    Raises:
        UsageError: an option is wrong, or what is asked for cannot be searched.
    """
    options = {**question.options, "tests": question.test, "name": SERVERS, "count": "off"}
    try:
        spec = spec_from_options(question.contenders, options)
    except UsageError as error:
        # The option of a search is --test: the rest of the sentence names the test.
        raise UsageError(str(error).replace("--tests", "--test", 1)) from None
    if len(spec.clients) != 1:
        raise UsageError("--clients: a search has one number of clients")
    if spec.configured_benchmark().measuring is Measuring.STEPS:
        check_steps(spec, question.test)
        return spec
    tests = spec.chosen_tests()
    if len(tests) != 1:
        raise UsageError(f"--test {question.test} means {len(tests)} tests: name one")
    if tests[0].consumes:
        raise UsageError(
            f"--test {question.test}: each operation uses up a row, so that no rate can be held: "
            "choose another test"
        )
    return spec


class Capacities(Study[Question, Record, Outcome]):
    """The search for capacities. Its one experiment has trials in place of slices."""

    noun = "search"
    kept = "trials"
    record_file = RECORD_FILE
    record_type = Record
    results = ""
    free = ("budget", "precision")
    _is_new = False

    def begin(self, question: Question, lab: Lab, say: Progress) -> Record:
        """Return the record of a new search, once its builds are at hand."""
        del say
        spec = spec_of(question)
        if spec.configured_benchmark().measuring is Measuring.STEPS:
            check_commits(spec, question)
            check_budget(question.trial, steps.USUAL, spec.budget)
        else:
            check_budget(question.trial, trials.USUAL, spec.budget)
        lab.prepare(spec)
        self._is_new = True
        return Record(question=question)

    def resume(self, question: Question) -> None:
        """Take over how long and how precise the search is."""
        before = self.record
        ended = before.ended if question == before.question else None
        self.record = msgspec.structs.replace(before, question=question, ended=ended)

    def open(self, folder: Path, say: Progress) -> None:
        """Begin with the trials that there are."""
        self._folder, self._say = folder, say
        self._spec = spec_of(self.record.question)

    def next(self) -> Order | None:
        """Return the experiment, unless the trials are enough already."""
        record = self.record
        if record.ended is None and record.contenders:
            record.ended = search_of(self._folder, record, self._spec).over
        return Order(self._spec) if record.ended is None else None

    def carry_out(self, order: Order, lab: Lab, results: Path) -> Experiment:
        """Run trials on this host until the search is over."""
        if not isinstance(lab, LocalLab):
            raise UsageError("capacities are searched on one host: leave out --fleet")
        spec, record = order.spec, self.record
        experiment = Experiment.create_or_open(spec, results).with_spec(spec)
        with lab.servers(experiment) as (writer, contenders, view):
            record.contenders = contenders.names
            record.starts = spec.planned_incarnations(rounds(spec.budget, tests=1))
            journal_of = partial(open_journal, spec, writer, contenders, view)
            laboratory: SliceLaboratory | StepLaboratory
            if spec.configured_benchmark().measuring is Measuring.STEPS:
                laboratory = StepLaboratory(spec, contenders, journal_of, view, record.question)
            else:
                laboratory = SliceLaboratory(
                    spec, contenders, journal_of, view, record.question, length=record.length
                )
            keep = partial(self.save, StudyFolder(self._folder, self.noun, self.record_file))
            keep()
            RunningSearch(
                self._folder, record, spec, laboratory, contenders, view, self._say, keep
            ).to_the_end()
            laboratory.journal.finish()
        return experiment

    def learn(self, order: Order, found: Experiment | Unfit) -> None:
        """Nothing is left to note: each turn of trials was."""

    def outcome(self) -> Outcome:
        """Return what the trials on disk come to."""
        search = search_of(self._folder, self.record, self._spec)
        manifest = Folder(self._folder / SERVERS).read_manifest()
        command = _command(self.record.question)
        return outcome_of(self._folder.name, self.record, search, manifest, command)

    def document(self, outcome: Outcome) -> Document:
        """Return the page and the note."""
        return Document(page.render(outcome), note.render(outcome))

    def how_to_resume(self, folder: StudyFolder, error: BaseException) -> str | None:
        """Return the command that resumes; a search without trials leaves its name free."""
        if read_trials(folder.path):
            return super().how_to_resume(folder, error)
        servers = Folder(folder.path / SERVERS)
        if self._is_new and (isinstance(error, UsageError) or not servers.has_manifest()):
            for name in (RECORD_FILE, TRIALS_FILE):
                (folder.path / name).unlink(missing_ok=True)
            shutil.rmtree(servers.path, ignore_errors=True)
        return None


@dataclass
class RunningSearch:
    """A search on servers that are set up."""

    folder: Path
    record: Record
    spec: Spec
    laboratory: Laboratory
    contenders: Contenders
    view: View
    say: Progress
    save: Callable[[], None]
    """Writes the record."""
    search: Search = field(init=False)

    def __post_init__(self) -> None:
        self.search = search_of(self.folder, self.record, self.spec, self._keep)

    def to_the_end(self) -> None:
        """Measure start after start until the search is over."""
        record, search = self.record, self.search
        record.unit = self.laboratory.unit
        while record.ended is None and search.wants_start:
            number = search.last_start + 1
            self.view.phase(self._place(number))
            self.laboratory.start(number, partial(self._measure, number))
            if search.last_start < number:
                break  # nobody had a trial
        record.ended = record.ended or BUDGET
        self._note_failures()
        self.save()

    def _note_failures(self) -> None:
        """Keep why contenders have dropped out, beside the reasons of before an interruption."""
        failed = {each.name: each.failed for each in self.contenders.all if each.failed is not None}
        dropped = {**self.record.dropped, **failed}
        if dropped != self.record.dropped:
            self.record.dropped = dropped
            self.save()

    def _place(self, number: int) -> str:
        """Name a start; one after an interruption may come on top of those that were planned."""
        return f"start {number} of {max(number, self.record.starts)}"

    def _measure(self, number: int, bench: Bench) -> None:
        record = self.record
        if record.length is None:
            record.length = self.laboratory.length
            self.save()
        self.view.phase(f"{self._place(number)}: searching")
        record.ended = self.search.run_start(number, bench)
        for line in self._so_far(number):
            self.say(line)

    def _keep(self, trials: Sequence[Trial]) -> None:
        append_trials(self.folder, trials)
        self._note_failures()
        milliseconds = round(self.search.spent * 1000)
        self.view.progress(milliseconds, max(1, round(self.spec.budget * 1000)))

    def _so_far(self, number: int) -> list[str]:
        """Say what is known after a start."""
        search, record = self.search, self.record
        spent = f"{format_duration(search.spent)} of {format_duration(self.spec.budget)}"
        head = f"{self._place(number)}: {counted(len(search.trials), 'trial')}, {spent}"
        known = []
        curve = search.curve() if search.trials else None
        for place, name in enumerate(search.names):
            if curve is not None and search.met(name) == {True, False}:
                low, high = map(math.exp, curve.capacity(place).interval(CONFIDENCE))
                known.append(f"{name} {low:,.0f} to {high:,.0f} {record.unit}")
        return ["; ".join([head, *known])]


def search_of(
    folder: Path,
    record: Record,
    spec: Spec,
    keep: Callable[[Sequence[Trial]], None] = lambda _: None,
) -> Search:
    """Return a search as far as its trials on disk have come; `keep` writes those of a turn."""
    plan = Plan(spec.budget, record.question.precision, record.starts, spec.seed)
    return Search(record.contenders, record.question.terms, plan, keep, read_trials(folder))


def _command(question: Question) -> str:
    """Return the command that repeats a search, with the options that were given."""
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
