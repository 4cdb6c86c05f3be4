"""Which candidates to measure next, and when the search is over.

The range is cut into quarters first: two changes that cancel each other are seen where they are
not in the same one. Then an interval that holds a change is halved, the one with the largest change
first, until it has one candidate. At last the intervals without a change are halved, the doubtful
and the widest ones first, as far as the number of candidates to measure allows: they may hold
changes that cancel each other.

A noisy measurement is extended until it is clear on which side the change is, each time to twice
its length, `MOST_EXTENSIONS` times at most; the search then goes on by what is likely.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import pairwise

from slowdust.studies.bisect.posterior import Belief
from slowdust.units import known

SURE = 0.95
"""Probability from which a change, or its absence, is taken for certain."""
MOST_EXTENSIONS = 3
_QUARTERS = 4
_FEWEST_TO_QUARTER = 16
_WIDE = 16
"""An interval without a change is halved if it has more than the range's candidates / this."""


@dataclass(frozen=True)
class Measured:
    """One experiment of the search: candidates side by side."""

    places: tuple[int, ...]
    """Their places in the range, ascending."""
    extensions: int
    """How often it has been extended."""


@dataclass(frozen=True)
class Measure:
    """The order to measure candidates side by side."""

    places: tuple[int, ...]


@dataclass(frozen=True)
class Extend:
    """The order to measure on what an experiment has measured, as long again."""

    experiment: int
    """The place of the experiment among those of the search."""


Order = Measure | Extend


def first_order(last: int, skipped: Collection[int]) -> Measure:
    """Return the candidates that are measured first: both ends, of a long range also quarters."""
    parts = _QUARTERS if last >= _FEWEST_TO_QUARTER else 1
    inner = [_nearest(last * part // parts, 0, last, skipped) for part in range(1, parts)]
    return Measure(tuple(sorted({0, last, *(place for place in inner if place is not None)})))


def likely_next(order: Measure, skipped: Collection[int]) -> list[int]:
    """Return the candidates of which some will be measured after an order: the next middles."""
    middles = [
        _nearest((before + after) // 2, before, after, skipped)
        for before, after in pairwise(order.places)
    ]
    return known(middles)


def next_order(
    beliefs: Sequence[Belief], measured: Sequence[Measured], skipped: Collection[int], most: int
) -> Order | None:
    """Return what to measure next; None where the search is over.

    `skipped` has the places of the candidates that cannot be measured; `most` is the number of
    candidates up to which intervals without a change are halved.
    """
    unclear = [belief for belief in beliefs if 1 - SURE < belief.changed < SURE]
    for belief in sorted(unclear, key=lambda each: abs(each.changed - 0.5)):
        if (place := _extensible(belief, measured)) is not None:
            return Extend(place)
    changed = [belief for belief in beliefs if belief.changed >= 0.5]
    by_size = sorted(changed, key=lambda each: -abs(each.log_ratio))
    last = beliefs[-1].after
    quiet = [
        each
        for each in beliefs
        if each.changed < 0.5 and (each.changed > 1 - SURE or each.candidates * _WIDE > last)
    ]
    # The more likely ones first: among them are those whose changes nearly cancel each other.
    quiet.sort(key=lambda each: (-max(each.changed, 1 - SURE), -each.candidates))
    for belief in (*by_size, *(quiet if len(beliefs) + 1 < most else ())):
        middle = (belief.before + belief.after) // 2
        place = _nearest(middle, belief.before, belief.after, skipped)
        if place is not None:
            return Measure((belief.before, place, belief.after))
    return None


def _extensible(belief: Belief, measured: Sequence[Measured]) -> int | None:
    """Return the experiment that tells most of an interval and may be extended, if any."""
    telling = [
        place
        for place, each in enumerate(measured)
        if each.extensions < MOST_EXTENSIONS
        and any(
            before <= belief.before and belief.after <= after
            for before, after in pairwise(each.places)
        )
    ]
    return telling[-1] if telling else None


def _nearest(wanted: int, before: int, after: int, skipped: Collection[int]) -> int | None:
    """Return the place nearest to the wanted one between two that can be measured."""
    inner = [place for place in range(before + 1, after) if place not in skipped]
    return min(inner, key=lambda place: (abs(place - wanted), place), default=None)
