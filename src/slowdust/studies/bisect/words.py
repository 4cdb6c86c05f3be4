"""A search in sentences, for its progress and its reports."""

from __future__ import annotations

import math
from collections.abc import Sequence

from slowdust import ratios
from slowdust.analysis.results.log_ratio import TIME, WORK, LogRatio
from slowdust.studies.bisect.outcome import Change, Contradicted, Outcome
from slowdust.studies.bisect.record import words_for
from slowdust.studies.candidates import Candidate
from slowdust.wording import counted, listing, share

_CERTAIN = 0.99
_MOST_NAMED = 4
"""Candidates of an interval that are named one by one."""


def cost_in_words(ratio: float, metric: str) -> str:
    """Write a ratio of costs: '3.1% less work', '13% slower', 'up 20%'."""
    if metric == WORK:
        return ratios.work_in_words(ratio)
    if metric == TIME:
        return ratios.speed(1 / ratio)
    return ratios.change(ratio)


def sureness(probability: float) -> str:
    """Write a probability: '87% sure', 'more than 99% sure'."""
    if probability > _CERTAIN:
        return f"more than {_CERTAIN:.0%} sure"
    return f"{math.floor(probability * 100)}% sure"


def place_in_words(candidates: Sequence[Candidate]) -> str:
    """Return the title of the one candidate, or name the candidates of which one is the change."""
    if len(candidates) == 1:
        return candidates[0].title
    names = [candidate.name for candidate in candidates]
    if len(names) > _MOST_NAMED:
        return f"one of {counted(len(names), 'candidate')}, {names[0]} to {names[-1]}"
    return f"one of {listing(names, 'and')}"


def summary(outcome: Outcome) -> list[str]:
    """Return the answer: what changed where, and how sure that is."""
    range_ = f"{outcome.first.name} to {outcome.last.name}"
    what = f"{outcome.test}, {words_for(outcome.metric)}"
    if not outcome.changes:
        found = f"No change of {share(outcome.margin)} or more was found from {range_} ({what})."
    else:
        number = counted(len(outcome.changes), "change")
        found = f"{number} found from {range_} ({what}):"
    return [found, *(in_words(change, outcome.metric) for change in outcome.changes)]


def in_words(change: Change, metric: str) -> str:
    """Return a change as a sentence."""
    cost = _with_interval(change.cost, metric)
    return f"{name_of(change)}: {cost}, {sureness(change.probability)}."


def _with_interval(cost: LogRatio, metric: str) -> str:
    """Write a cost: '3.1% less work, 0.969 [0.968, 0.970]'."""
    words = cost_in_words(cost.ratio.value, metric)
    return f"{words}, {ratios.with_interval(cost.ratio, decimals=3)}"


def name_of(change: Change) -> str:
    """Return the change itself, or the candidates of which it is one."""
    return place_in_words(change.candidates)


def contradiction(contradicted: Contradicted, metric: str) -> str:
    """Return why a change that the search suggests is not reported, as a sentence."""
    suggested, measured = (
        _with_interval(each, metric) for each in (contradicted.suggested, contradicted.measured)
    )
    measured_work = contradicted.work
    work = f", with {ratios.work_in_words(measured_work.ratio.value)}" if measured_work else ""
    return (
        f"{place_in_words(contradicted.candidates)} is not reported as a change: the search "
        f"suggests {suggested}; measured directly beside {contradicted.before.name}: "
        f"{measured}{work}."
    )


def certainty(outcome: Outcome) -> list[str]:
    """Return what was measured, and what the search cannot exclude."""
    lines = [
        f"{outcome.measured} of {counted(outcome.candidates, 'candidate')} were measured. No other "
        f"interval between two of them has a change: {sureness(outcome.complete)}. Changes that "
        "cancel each other within an interval cannot be seen."
    ]
    lines += [contradiction(each, outcome.metric) for each in outcome.contradicted]
    if outcome.doubtful:
        lines.append(f"Not sure: {listing(outcome.doubtful, 'and')}.")
    lines += [
        f"{change.candidate.name} could not be measured beside {change.before.name}: "
        f"{change.unconfirmed}"
        for change in outcome.changes
        if change.unconfirmed is not None
    ]
    lines += [f"{name} could not be measured: {reason}" for name, reason in outcome.skipped.items()]
    return lines
