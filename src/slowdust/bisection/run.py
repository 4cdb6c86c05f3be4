"""A search from its question to its outcome."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from functools import partial
from pathlib import Path

import msgspec

from slowdust.bisection.candidates import Candidates
from slowdust.bisection.experiments import Experiments
from slowdust.bisection.metrics import AUTO, TIME, WORK, metric_called
from slowdust.bisection.outcome import Outcome, outcome_of
from slowdust.bisection.posterior import sums
from slowdust.bisection.record import (
    Question,
    Record,
    read_record,
    search_in,
    write_record,
)
from slowdust.bisection.search import Search
from slowdust.builds.revisions.repository import diff_stat
from slowdust.errors import UsageError
from slowdust.experiment.claims.claim import WhenBusy
from slowdust.experiment.run import counting_for, counting_of
from slowdust.experiment.setup import resolve_contenders
from slowdust.experiment.spec.options import spec_from_options
from slowdust.experiment.unattended import Watching

MARGINS = {WORK: 0.01, TIME: 0.03}
"""Smallest changes that are looked for."""

Say = Callable[[str], None]


def begin(candidates: Candidates, question: Question, watching: Watching) -> Record:
    """Return the record of a new search, once both ends of its range are built.

    Raises:
        UsageError: an option is wrong, there is no such metric, or it cannot be had.
        SlowdustError: an end cannot be built.
    """
    ends = [candidates.listed[0].contender, candidates.listed[-1].contender]
    try:
        spec = spec_from_options(ends, question.options)
    except UsageError as error:
        # The option of a search is --test: the rest of the sentence names the test.
        raise UsageError(str(error).removeprefix("--tests: ")) from None
    tests = [test.name for test in spec.chosen_tests()]
    if len(tests) != 1:
        raise UsageError(f"--test {question.options['tests']} means {len(tests)} tests: name one")
    if len(spec.clients) != 1:
        raise UsageError("--clients: a search has one number of clients")
    if len(spec.planned_contenders()) != len(ends):
        raise UsageError("--set: a search has one value of each setting")
    metric = metric_called(question.metric)
    with watching() as view:
        resolved = resolve_contenders(spec, view)
    if metric in (AUTO, WORK):
        counting = counting_for(resolved, counting_of(spec), spec)
        if metric == WORK and counting.source is None:
            raise UsageError(f"--metric work: {counting.reason}")
        metric = TIME if counting.source is None else WORK
    return Record(
        question=question,
        candidates=candidates,
        metric=metric,
        margin=MARGINS.get(metric, MARGINS[TIME]) if question.margin is None else question.margin,
    )


def take_up(folder: Path, question: Question) -> None:
    """Take up the search in a folder; of its question only the number of candidates may be another.

    Raises UsageError, which names what differs.
    """
    record = read_record(folder)
    # More candidates may be wanted now.
    search_in(folder).check_same(record.question, question, free=["most_candidates"])
    write_record(folder, msgspec.structs.replace(record, question=question))


def run(folder: Path, when_busy: WhenBusy, watching: Watching, say: Say) -> Outcome:
    """Run the search whose record is in a folder, or what is left of it; return what it found.

    Raises:
        SlowdustError: an end of the range cannot be measured, or measuring failed.
    """
    record = read_record(folder)
    save: Callable[[Record], None] = partial(write_record, folder)
    experiments = Experiments(folder, record, when_busy, watching)
    search = Search(record, experiments, save, say)
    with closing(experiments):
        beliefs = search.run()
    record.finished = True
    save(record)
    costs = sums(search.evidence, search.last, search.drift)
    outcome = outcome_of(record, beliefs, costs, experiments.confirmed, search.contradicted)
    _add_diff_stats(outcome, record)
    return outcome


def _add_diff_stats(outcome: Outcome, record: Record) -> None:
    """Set the files that each commit changed which is a change."""
    if record.candidates.folder is None:
        return
    for change in outcome.changes:
        if change.candidate.commit is not None and len(change.candidates) == 1:
            folder = Path(record.candidates.folder)
            change.diff_stat = diff_stat(folder, change.candidate.commit)
