"""Changes in words, for the progress of a search and for its reports."""

from __future__ import annotations

import math
from collections.abc import Sequence

from slowdust.bisection.candidates import Candidate
from slowdust.bisection.metrics import TIME, WORK
from slowdust.wording import counted, listing, speed, work_in_words

_CERTAIN = 0.99
_MOST_NAMED = 4
"""Candidates of an interval that are named one by one."""
_PRECISE = 0.1
"""Ratios from here on have three decimals, smaller ones three digits."""
_WHOLE = 99.95
"""Ratios from here on have no decimals."""


def cost_in_words(ratio: float, metric: str) -> str:
    """Write a ratio of costs: '3.1% less work', '13% slower', '1.20 of what it was'."""
    if metric == WORK:
        return work_in_words(ratio)
    if metric == TIME:
        return speed(1 / ratio)
    return f"{ratio:.2f} of what it was"


def interval_in_words(ratio: float, low: float, high: float) -> str:
    """Write a ratio with its interval: '1.031 [1.029, 1.032]'."""
    return f"{ratio_in_words(ratio)} [{ratio_in_words(low)}, {ratio_in_words(high)}]"


def ratio_in_words(ratio: float) -> str:
    """Write a ratio: '1.031', '2,000', '0.00051'."""
    if ratio >= _WHOLE:
        return f"{ratio:,.0f}"
    return f"{ratio:.3f}" if ratio >= _PRECISE else f"{ratio:.3g}"


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
