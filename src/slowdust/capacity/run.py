"""A search for capacities from its question to its outcome."""

from __future__ import annotations

import math
import shlex
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import msgspec

from slowdust.analysis.comparison.ratio import CONFIDENCE
from slowdust.benchmarks.model import Measuring
from slowdust.capacity import steps, trials
from slowdust.capacity.outcome import Outcome, outcome_of
from slowdust.capacity.record import (
    SERVERS,
    Question,
    Record,
    Trial,
    append_trials,
    read_record,
    read_trials,
    search_in,
    write_record,
)
from slowdust.capacity.search import BUDGET, Bench, Plan, Search
from slowdust.capacity.steps import StepLaboratory, check_commits, check_steps
from slowdust.capacity.trials import Laboratory, SliceLaboratory, check_budget
from slowdust.errors import UsageError
from slowdust.experiment.claims.claim import WhenBusy
from slowdust.experiment.claims.cpus import check_cpus
from slowdust.experiment.contenders import Contenders
from slowdust.experiment.engine.schedule import rounds
from slowdust.experiment.journal import StartMode, open_journal
from slowdust.experiment.local_lab import OpenView as Watching
from slowdust.experiment.run import set_up
from slowdust.experiment.setup import named_as_before, resolve_contenders
from slowdust.experiment.spec.options import spec_from_options
from slowdust.experiment.spec.spec import Spec
from slowdust.experiment.view import View
from slowdust.store.folder import Folder
from slowdust.units import format_duration
from slowdust.wording import counted

Say = Callable[[str], None]


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


def begin(folder: Path, question: Question) -> None:
    """Write the record of a new search; raises UsageError for what cannot be searched."""
    spec = spec_of(question)
    if spec.configured_benchmark().measuring is Measuring.STEPS:
        check_commits(spec, question)
        check_budget(question.trial, steps.USUAL, spec.budget)
    else:
        check_budget(question.trial, trials.USUAL, spec.budget)
    write_record(folder, Record(question=question))


def take_up(folder: Path, question: Question) -> None:
    """Take up the search in a folder; only how long and how precise it is may be changed.

    Raises UsageError, which names what differs.
    """
    record = read_record(folder)
    search_in(folder).check_same(record.question, question, free={"budget", "precision"})
    ended = record.ended if question == record.question else None
    write_record(folder, msgspec.structs.replace(record, question=question, ended=ended))


def run(folder: Path, when_busy: WhenBusy, watching: Watching, say: Say) -> Outcome:
    """Run the search whose record is in a folder, or what is left of it; return what it found.

    Raises:
        SlowdustError: no contender is left, or measuring failed.
    """
    record = read_record(folder)
    spec = spec_of(record.question)
    if record.ended is None and record.contenders:
        record.ended = _search(folder, record, spec, lambda _: None).over
        write_record(folder, record)
    if record.ended is None:
        with watching() as view:
            _measure(folder, record, spec, view, when_busy=when_busy, say=say)
    return _outcome(folder, record, spec)


def _measure(
    folder: Path, record: Record, spec: Spec, view: View, *, when_busy: WhenBusy, say: Say
) -> None:
    servers = Folder(folder / SERVERS)
    mode = StartMode.RESUME if servers.has_manifest() else StartMode.FRESH
    check_cpus(spec.cpus or ())
    resolved = named_as_before(resolve_contenders(spec, view), servers)
    record.contenders = [contender.name for contender in resolved]
    record.starts = spec.planned_incarnations(rounds(spec.budget, tests=1))
    write_record(folder, record)
    with set_up(spec, servers, mode, resolved, view, when_busy=when_busy) as (writer, contenders):
        journal_of = partial(open_journal, spec, writer, contenders, view)
        laboratory: SliceLaboratory | StepLaboratory
        if spec.configured_benchmark().measuring is Measuring.STEPS:
            laboratory = StepLaboratory(spec, contenders, journal_of, view, record.question)
        else:
            laboratory = SliceLaboratory(
                spec, contenders, journal_of, view, record.question, length=record.length
            )
        say(f"search {folder.name} in {folder}")
        running = RunningSearch(folder, record, spec, laboratory, contenders, view, say)
        running.to_the_end()
        laboratory.journal.finish()


@dataclass
class RunningSearch:
    """A search on servers that are set up."""

    folder: Path
    record: Record
    spec: Spec
    laboratory: Laboratory
    contenders: Contenders
    view: View
    say: Say
    search: Search = field(init=False)

    def __post_init__(self) -> None:
        self.search = _search(self.folder, self.record, self.spec, self._keep)

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
        write_record(self.folder, record)

    def _note_failures(self) -> None:
        """Keep why contenders have dropped out, beside the reasons of before an interruption."""
        failed = {each.name: each.failed for each in self.contenders.all if each.failed is not None}
        dropped = {**self.record.dropped, **failed}
        if dropped != self.record.dropped:
            self.record.dropped = dropped
            write_record(self.folder, self.record)

    def _place(self, number: int) -> str:
        """Name a start; one after an interruption may come on top of those that were planned."""
        return f"start {number} of {max(number, self.record.starts)}"

    def _measure(self, number: int, bench: Bench) -> None:
        record = self.record
        if record.length is None:
            record.length = self.laboratory.length
            write_record(self.folder, record)
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


def _search(
    folder: Path, record: Record, spec: Spec, keep: Callable[[Sequence[Trial]], None]
) -> Search:
    plan = Plan(spec.budget, record.question.precision, record.starts, spec.seed)
    return Search(record.contenders, record.question.terms, plan, keep, read_trials(folder))


def _outcome(folder: Path, record: Record, spec: Spec) -> Outcome:
    """Return what the trials on disk come to."""
    search = _search(folder, record, spec, lambda _: None)
    manifest = Folder(folder / SERVERS).read_manifest()
    return outcome_of(folder.name, record, search, manifest, _command(record.question))


def _command(question: Question) -> str:
    """Return the command that repeats a search, with the options that were given."""
    options = dict(question.options)
    settings = options.pop("settings", [])
    words = ["slowdust", "capacity", *question.contenders, "--sla", question.sla]
    words += ["--test", question.test]
    if question.trial is not None:
        words += ["--trial", f"{question.trial:g}s"]
    if question.arrivals != "poisson":
        words += ["--arrivals", question.arrivals]
    for key, value in options.items():
        words += [f"--{key.replace('_', '-')}", str(value)]
    for setting in settings:
        words += ["--set", setting]
    return shlex.join([*words, "--precision", f"{question.precision * 100:g}%"])
