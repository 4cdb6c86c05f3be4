"""Sentences about a search, for its progress and its reports."""

from __future__ import annotations

import math
from collections.abc import Sequence

from slowdust import ratios
from slowdust.analysis.results.log_ratio import TIME, WORK, LogRatio
from slowdust.studies.bisect.outcome import Change, Contradicted, Outcome
from slowdust.studies.bisect.record import describe_metric
from slowdust.studies.candidates import Candidate
from slowdust.wording import counted, listing, share

_CERTAIN = 0.99
_MOST_NAMED = 4
"""Maximum number of candidates of an interval that are named one by one."""


def cost_in_words(ratio: float, metric: str) -> str:
    """Return a ratio of costs in words: '3.1% less work', '13% slower', 'up 20%'."""
    if metric == WORK:
        return ratios.work_in_words(ratio)
    if metric == TIME:
        return ratios.speed(1 / ratio)
    return ratios.change(ratio)


def sureness(probability: float) -> str:
    """Return a probability in words: '87% sure', 'more than 99% sure'."""
    if probability > _CERTAIN:
        return f"more than {_CERTAIN:.0%} sure"
    return f"{math.floor(probability * 100)}% sure"


def place_in_words(candidates: Sequence[Candidate]) -> str:
    """Return the title of the only candidate, or names of the candidates that may be the change."""
    if len(candidates) == 1:
        return candidates[0].title
    names = [candidate.name for candidate in candidates]
    if len(names) > _MOST_NAMED:
        return f"one of {counted(len(names), 'candidate')}, {names[0]} to {names[-1]}"
    return f"one of {listing(names, 'and')}"


def summary(outcome: Outcome) -> list[str]:
    """Return the answer: the changes, and how sure each is."""
    range_ = f"{outcome.first.name} to {outcome.last.name}"
    what = f"{outcome.test}, {describe_metric(outcome.metric)}"
    if not outcome.changes:
        found = f"No change of {share(outcome.margin)} or more found from {range_} ({what})."
    else:
        number = counted(len(outcome.changes), "change")
        found = f"{number} found from {range_} ({what}):"
    return [found, *(in_words(change, outcome.metric) for change in outcome.changes)]


def in_words(change: Change, metric: str) -> str:
    """Return a change as a sentence."""
    cost = _with_interval(change.cost, metric)
    return f"{name_change(change)}: {cost}, {sureness(change.probability)}."


def _with_interval(cost: LogRatio, metric: str) -> str:
    """Return a cost in words: '3.1% less work, 0.969 [0.968, 0.970]'."""
    words = cost_in_words(cost.ratio.value, metric)
    return f"{words}, {ratios.with_interval(cost.ratio, decimals=3)}"


def name_change(change: Change) -> str:
    """Return the change's title, or names of the candidates that may be the change."""
    return place_in_words(change.candidates)


def contradiction(contradicted: Contradicted, metric: str) -> str:
    """Return a sentence about why a suggested change is not reported."""
    suggested, measured = (
        _with_interval(each, metric) for each in (contradicted.suggested, contradicted.measured)
    )
    measured_work = contradicted.work
    work = f", with {ratios.work_in_words(measured_work.ratio.value)}" if measured_work else ""
    return (
        f"{place_in_words(contradicted.candidates)} is not reported as a change: the search "
        f"suggests {suggested}, but the direct comparison with {contradicted.before.name} shows "
        f"{measured}{work}."
    )


def certainty(outcome: Outcome) -> list[str]:
    """Return what was measured, and which changes the search cannot exclude."""
    lines = [
        f"{outcome.measured} of {counted(outcome.candidates, 'candidate')} were measured. No other "
        f"interval between measured candidates has a change ({sureness(outcome.complete)}). "
        "Changes within an interval that cancel each other are not visible."
    ]
    lines += [contradiction(each, outcome.metric) for each in outcome.contradicted]
    if outcome.doubtful:
        lines.append(f"These intervals may have a change: {listing(outcome.doubtful, 'and')}.")
    lines += [
        f"{change.candidate.name} could not be compared with {change.before.name}: "
        f"{change.unconfirmed}"
        for change in outcome.changes
        if change.unconfirmed is not None
    ]
    lines += [f"{name} could not be measured: {reason}" for name, reason in outcome.skipped.items()]
    return lines
