"""The outcome of a search, for reports."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import astuple

import msgspec

from slowdust.analysis.functions.model import FunctionChanges
from slowdust.analysis.model import Result
from slowdust.analysis.results.log_ratio import LogRatio
from slowdust.analysis.stored import Stored
from slowdust.analysis.story.answer import conditions_of
from slowdust.commands import command_line
from slowdust.studies.bisect.posterior import SURE, Belief, Direct, Sum
from slowdust.studies.bisect.record import Question, Record
from slowdust.studies.candidates import Candidate


class Level(msgspec.Struct, kw_only=True):
    """The cost of a measured candidate relative to the first one."""

    candidate: Candidate
    place: int
    cost: LogRatio


class Change(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A change of the test: between one measured candidate and the next."""

    before: Candidate
    candidates: list[Candidate]
    """The candidates that may be the change, in their order; the last one was measured."""
    probability: float
    """Posterior probability that one of them is a change."""
    cost: LogRatio
    """Cost of the last of them relative to `before`."""
    experiment: str | None = None
    """The experiment that compared it with `before`; absent if several candidates are left."""
    result: Result | None = None
    """The result of that experiment: time, and work if it was counted."""
    functions: FunctionChanges | None = None
    unconfirmed: str | None = None
    """Why it could not be compared with `before`."""
    diff_stat: str | None = None
    """The files that the commit changed; absent for releases."""

    @property
    def candidate(self) -> Candidate:
        """The last of the candidates; if there is only one, the change itself."""
        return self.candidates[-1]


class Contradicted(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A change that the search suggests but its direct measurement contradicts."""

    before: Candidate
    candidates: list[Candidate]
    """The candidates that would include the change."""
    suggested: LogRatio
    """Cost of the last of them relative to `before`, by all measurements."""
    measured: LogRatio
    """The same, by the last direct measurement."""
    work: LogRatio | None = None
    """Instructions in that experiment, if time decides and they were counted."""


class Outcome(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A finished search."""

    metric: str
    test: str
    first: Candidate
    last: Candidate
    candidates: int
    """Number of candidates in the range, including the first one."""
    measured: int
    margin: float
    changes: list[Change]
    contradicted: list[Contradicted] = []
    """Suggested changes that are not reported, because direct measurements contradict them."""
    levels: list[Level]
    complete: float
    """Posterior probability that no other interval has a change."""
    doubtful: list[str] = []
    """Intervals that may have a change, in words."""
    skipped: dict[str, str] = {}
    """Candidate -> why it could not be measured."""
    conditions: str = ""
    """Load and host, as in a report's first line; empty without a change."""
    command: str
    """The command that repeats the search."""


def summarize_search(
    record: Record,
    beliefs: Sequence[Belief],
    costs: Sequence[Sum],
    confirmed: Mapping[int, Stored],
    contradicted: Mapping[int, Direct],
) -> Outcome:
    """Return the outcome from the beliefs about the intervals and the costs of the candidates.

    `confirmed` is place of a change -> the experiment that compared it with the candidate before
    it; `contradicted` is place -> the direct measurement that contradicts a change.
    """
    listed = record.candidates.listed
    question = record.question
    changed = [belief for belief in beliefs if belief.changed >= 0.5]
    others = [belief for belief in beliefs if belief.changed < 0.5]
    return Outcome(
        metric=record.metric,
        test=str(question.options["tests"]),
        first=listed[0],
        last=listed[-1],
        candidates=len(listed),
        measured=len(beliefs) + 1,
        margin=record.margin,
        changes=[
            _change(belief, record, confirmed)
            for belief in changed
            if belief.after not in contradicted
        ],
        contradicted=[
            _contradicted(belief, listed, contradicted[belief.after])
            for belief in changed
            if belief.after in contradicted
        ],
        levels=_levels(costs, listed),
        complete=math.prod(1 - belief.changed for belief in others),
        doubtful=[
            f"{listed[belief.before].name} to {listed[belief.after].name}"
            for belief in others
            if belief.changed > 1 - SURE
        ],
        skipped={listed[place].name: reason for place, reason in record.skipped.items()},
        conditions=next(map(_conditions, confirmed.values()), ""),
        command=_command(question),
    )


def _add_confirmation(change: Change, stored: Stored) -> None:
    """Add the result of the experiment that compared a change with the candidate before it."""
    report = stored.report()
    other = stored.manifest.contenders[-1].name
    change.experiment = stored.name
    change.result = next((each for each in report.results if each.contender == other), None)
    change.functions = next(
        (each for each in report.function_changes if each.contender == other), None
    )


def _change(belief: Belief, record: Record, confirmed: Mapping[int, Stored]) -> Change:
    listed = record.candidates.listed
    change = Change(
        before=listed[belief.before],
        candidates=[*listed[belief.before + 1 : belief.after + 1]],
        probability=belief.changed,
        cost=LogRatio(belief.log_ratio, belief.error),
        unconfirmed=record.unconfirmed.get(belief.after) if belief.candidates == 1 else None,
    )
    if (stored := confirmed.get(belief.after)) is not None:
        _add_confirmation(change, stored)
    return change


def _contradicted(belief: Belief, listed: Sequence[Candidate], direct: Direct) -> Contradicted:
    return Contradicted(
        before=listed[belief.before],
        candidates=[*listed[belief.before + 1 : belief.after + 1]],
        suggested=LogRatio(belief.log_ratio, belief.error),
        measured=LogRatio(direct.log_ratio, direct.error),
        work=None if direct.work is None else LogRatio(*direct.work),
    )


def _conditions(stored: Stored) -> str:
    return conditions_of(stored.manifest, stored.report().noise)


def _command(question: Question) -> str:
    """Return the command that repeats a search, with its options."""
    options = question.plain_options
    given = {
        "test": options.pop("tests"),
        "repo": options.pop("repo", None),
        "good": question.good,
        "bad": question.bad,
        "metric": question.metric,
        **options,
        "margin": None if question.margin is None else f"{question.margin:.2%}",
        "set": question.settings,
    }
    return command_line(["bisect", question.range], given)


def _levels(costs: Sequence[Sum], listed: Sequence[Candidate]) -> list[Level]:
    """Return the costs of all measured candidates, including the first one."""
    return [
        Level(candidate=listed[place], place=place, cost=LogRatio(log_ratio, error))
        for place, log_ratio, error in [(0, 0.0, 0.0), *map(astuple, costs)]
    ]
