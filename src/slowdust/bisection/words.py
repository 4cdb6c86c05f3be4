"""Changes in words, for the progress of a search and for its reports."""

from __future__ import annotations

import math
from collections.abc import Sequence

from slowdust import ratios
from slowdust.bisection.candidates import Candidate
from slowdust.bisection.metrics import TIME, WORK
from slowdust.wording import counted, listing

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
