"""`slowdust bisect` as a study: its experiments, and their results for the search."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any

import msgspec

from slowdust.analysis.results.failures import fails, sentence_about
from slowdust.analysis.results.log_ratio import TIME, WORK
from slowdust.analysis.stored import Stored
from slowdust.builds.model import Progress
from slowdust.builds.revisions import diff_stat
from slowdust.errors import UsageError
from slowdust.experiment.experiment import Experiment, Lab
from slowdust.experiment.local_lab import choose_counting, confirm_counting
from slowdust.experiment.spec.options import spec_from_options
from slowdust.experiment.spec.spec import Spec
from slowdust.report.document import Document
from slowdust.store.manifest import ContenderFacts
from slowdust.studies.bisect.document import document
from slowdust.studies.bisect.outcome import Outcome, summarize_search
from slowdust.studies.bisect.posterior import Direct, MeasuredRatio, sums
from slowdust.studies.bisect.record import AUTO, Question, Record, parse_metric
from slowdust.studies.bisect.search import DirectWanted, Search, StepWanted
from slowdust.studies.candidates import committed, released
from slowdust.studies.engine import Order, Study, Unfit
from slowdust.units import Second
from slowdust.wording import first_line

MARGINS = {WORK: 0.01, TIME: 0.03}
"""Default smallest changes to look for."""
_TO_COUNT: Second = 1.0
"""Budget of an experiment that only counts work."""
_COUNTING_EACH: Second = 60.0
"""Default budget of counting per candidate."""


def step_spec(record: Record, name: str, places: Sequence[int]) -> Spec:
    """Return the experiment of a step, which measures only the deciding metric."""
    if record.metric != WORK:
        return _spec(record, name, places, {"count": "off"})
    return _spec(record, name, places, {"budget": _TO_COUNT, "incarnations": 1})


def change_spec(record: Record, wanted: DirectWanted) -> Spec:
    """Return the experiment that compares a change with its predecessor, in time and work."""
    listed = record.candidates.listed
    again = "" if wanted.number == 1 else f"-{wanted.number}"
    name = f"change-{listed[wanted.after].name}-beside-{listed[wanted.before].name}{again}"
    return _spec(record, name, [wanted.before, wanted.after], {})


def _spec(record: Record, name: str, places: Sequence[int], own: Mapping[str, Any]) -> Spec:
    contenders = [record.candidates.listed[place].contender for place in places]
    counting = _COUNTING_EACH * len(places)
    options = {"count_budget": counting, **record.question.options, **own, "name": name}
    return spec_from_options(contenders, options)


class Bisection(Study[Question, Record, Outcome]):
    """The search for the releases or commits that changed a test."""

    noun = "search"
    record_file = "bisection.json"
    record_type = Record
    free = ("most_candidates",)
    _search: Search

    def begin(self, question: Question, lab: Lab, say: Progress) -> Record:
        """Return the record of a new search, once the ends of its range are built."""
        del say
        if question.good is None or question.bad is None:
            candidates = released(question.range)
        else:
            repo = str(question.options["repo"])
            candidates = committed(question.range, repo, question.good, question.bad, lab.phase)
        ends = [candidates.listed[0].contender, candidates.listed[-1].contender]
        try:
            spec = spec_from_options(ends, question.options)
        except UsageError as error:
            # A search has the option --test; the rest of the message names the test.
            raise UsageError(str(error).removeprefix("--tests: ")) from None
        if (tests := len(spec.chosen_tests())) != 1:
            raise UsageError(
                f"--test {question.options['tests']} matches {tests} tests: choose one"
            )
        if len(spec.clients) != 1:
            raise UsageError("--clients: bisect takes one number of clients")
        if len(spec.planned_contenders()) != len(ends):
            raise UsageError("--set: bisect takes one value per setting")
        metric = parse_metric(question.metric)
        resolved = lab.prepare(spec)
        if metric in (AUTO, WORK):
            counting = confirm_counting(resolved, choose_counting(spec), spec)
            if metric == WORK and counting.source is None:
                raise UsageError(f"--metric work: {counting.reason}")
            metric = TIME if counting.source is None else WORK
        usual = MARGINS.get(metric, MARGINS[TIME])
        margin = usual if question.margin is None else question.margin
        return Record(question=question, candidates=candidates, metric=metric, margin=margin)

    def resume(self, question: Question) -> None:
        """Take the number of candidates, which may have changed."""
        self.record = msgspec.structs.replace(self.record, question=question)

    def open(self, folder: Path, say: Progress) -> None:
        """Begin with the record."""
        del folder
        self._search = Search(self.record, say, extends=self.record.metric != WORK)
        self._confirmed: dict[int, Stored] = {}

    def next(self) -> Order | None:
        """Return the experiment of a step, or of a change and the candidate before it."""
        wanted = self._search.next()
        if wanted is None:
            self.record.finished = True
            return None
        record = self.record
        if isinstance(wanted, DirectWanted):
            return Order(change_spec(record, wanted), wanted)
        spec = step_spec(record, f"step-{wanted.number + 1:02}", wanted.places)
        step = record.steps[wanted.number]
        extends = max(step.done, 0) < wanted.extensions
        before = spec.budget * 2 ** max(0, wanted.extensions - 1)
        # A compiler that runs concurrently disturbs time, but not counted work.
        ahead = wanted.ahead if record.metric == WORK else ()
        return Order(
            spec,
            wanted,
            extra=before if extends else 0.0,  # doubles its length
            extended=before if step.budget_s is None else step.budget_s,
            builds={n: step_spec(record, "build", [p]) for n, p in enumerate(wanted.places)},
            ahead=[record.candidates.listed[place].contender for place in ahead],
        )

    def learn(self, order: Order, found: Experiment | Unfit) -> None:
        """Store the ratios between neighbours, or the candidate that cannot be measured."""
        wanted, search = order.subject, self._search
        if isinstance(wanted, StepWanted):
            if isinstance(found, Experiment):
                unfit = self._unfit(found, wanted.places)
                found_ = unfit or self._evidence(found, wanted.places, self.record.metric)
                self.record.steps[wanted.number].budget_s = found.spec.budget
            else:
                found_ = found
            search.learn_step(wanted, found_)
            return
        assert isinstance(wanted, DirectWanted)
        if isinstance(found, Unfit):
            search.learn_direct(wanted, found)
            return
        places = (wanted.before, wanted.after)
        unfit = self._unfit(found, places)
        if unfit is None:
            self._confirmed[wanted.after] = found.stored
            found.write_page()
        search.learn_direct(wanted, unfit or self._direct(found, places))

    def _direct(self, experiment: Experiment, places: Sequence[int]) -> Direct | None:
        """Return the ratio of a change to the candidate before it; None if it was not measured."""
        measured = self._evidence(experiment, places, self.record.metric)
        if not measured:
            return None
        timed = self.record.metric == TIME
        work = self._evidence(experiment, places, WORK) if timed else []
        counted = (work[0].log_ratio, work[0].error) if work else None
        return Direct(measured[0].log_ratio, measured[0].error, counted)

    def _unfit(self, experiment: Experiment, places: Sequence[int]) -> Unfit | None:
        """Return the first candidate whose server did not run to the end."""
        for place, facts in self._facts(experiment, places):
            if facts.failed:
                return Unfit(places.index(place), first_line(facts.failed))
            for result in experiment.report().results:
                if result.contender == facts.name and fails(result.failures):
                    return Unfit(places.index(place), sentence_about([result], result.test))
        return None

    def _facts(
        self, experiment: Experiment, places: Sequence[int]
    ) -> list[tuple[int, ContenderFacts]]:
        """Return the contenders of an experiment at these places, with the places.

        The experiment may have other contenders: candidates that were skipped later.
        """
        listed = self.record.candidates.listed
        written = {listed[place].contender: place for place in places}
        names = [contender.contender for contender in experiment.spec.contenders]
        pairs = zip(names, experiment.stored.manifest.contenders, strict=True)
        return [(written[name], facts) for name, facts in pairs if name in written]

    def _evidence(
        self, experiment: Experiment, places: Sequence[int], metric: str
    ) -> list[MeasuredRatio]:
        """Return the ratios of neighbours in a metric."""
        return [
            MeasuredRatio(before, after, ratio.log, ratio.error)
            for (before, base), (after, other) in pairwise(self._facts(experiment, places))
            for ratio in experiment.log_ratios(other.name, base.name, metric).values()
        ]

    def outcome(self) -> Outcome:
        """Return the outcome, with the changed files of each commit that is a change."""
        search, record = self._search, self.record
        costs = sums(search.evidence, search.last, search.drift)
        outcome = summarize_search(
            record, search.beliefs(), costs, self._confirmed, search.contradicted
        )
        for change in outcome.changes:
            commit, repository = change.candidate.commit, record.candidates.folder
            if repository is not None and commit is not None and len(change.candidates) == 1:
                change.diff_stat = diff_stat(Path(repository), commit)
        return outcome

    def document(self, outcome: Outcome) -> Document:
        """Return the answer as a document."""
        return document(outcome)
