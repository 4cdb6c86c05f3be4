"""The outcome of a search in sentences, which all formats share."""

from __future__ import annotations

import math

from slowdust import ratios
from slowdust.bisection.metrics import TIME, WORK, words_for
from slowdust.bisection.outcome import Change, Outcome
from slowdust.ratios import speed, with_interval, work_in_words
from slowdust.wording import counted, listing, share

_CERTAIN = 0.99
MOST_NAMED = 4
"""Candidates of an interval that are named one by one."""


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
    cost = change.cost
    if metric == WORK:
        words = work_in_words(cost.ratio)
    elif metric == TIME:
        words = speed(1 / cost.ratio)
    else:
        words = ratios.change(cost.ratio)
    exact = with_interval(cost.ratio, cost.low, cost.high, decimals=3)
    return f"{name_of(change)}: {words}, {exact}, {sureness(change.probability)}."


def sureness(probability: float) -> str:
    """Write a probability: '87% sure', 'more than 99% sure'."""
    if probability > _CERTAIN:
        return f"more than {_CERTAIN:.0%} sure"
    return f"{math.floor(probability * 100)}% sure"


def name_of(change: Change) -> str:
    """Return the change itself, or the candidates of which it is one."""
    if len(change.candidates) == 1:
        return change.candidate.title
    names = [candidate.name for candidate in change.candidates]
    if len(names) > MOST_NAMED:
        return f"one of {counted(len(names), 'candidate')}, {names[0]} to {names[-1]}"
    return f"one of {listing(names, 'and')}"


def certainty(outcome: Outcome) -> list[str]:
    """Return what was measured, and what the search cannot exclude."""
    lines = [
        f"{outcome.measured} of {counted(outcome.candidates, 'candidate')} were measured. No other "
        f"interval between two of them has a change: {sureness(outcome.complete)}. Changes that "
        "cancel each other within an interval cannot be seen."
    ]
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
