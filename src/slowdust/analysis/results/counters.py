"""Hardware counters per operation, relative to the base's.

Both numbers are of the same kind, so that what one process of many was counted for, beside the
operations of all, cancels. The clock rate comes first: different clocks make different rates.
"""

from __future__ import annotations

from collections.abc import Sequence

from slowdust.store.archived import Counters
from slowdust.store.slice import Slice
from slowdust.units import known
from slowdust.wording import change

CLOCK = "GHz"
OTHER_CLOCK = 0.02
"""Relative difference of the clock rates from which on it has to be said."""


def counters_of(slices: Sequence[Slice]) -> Counters | None:
    """Of the first slice that has them."""
    archived = known(record.archived for record in slices)
    return next(iter(known(run.counters for run in archived)), None)


def relative_counters(base: Counters | None, ours: Counters | None) -> dict[str, float] | None:
    """Each counter / the base's, the clock rate first, then the other ratios, then the events.

    None where one of the two has none, or only relative ones; a counter that one of them lacks, or
    that the base has 0 of, is left out.
    """
    if base is None or ours is None or base.relative_to != ours.relative_to:
        return None
    theirs = base.ratios | base.per_operation
    values = ours.ratios | ours.per_operation
    names = sorted(values, key=lambda name: name != CLOCK)
    return {name: values[name] / theirs[name] for name in names if theirs.get(name)}


def notes_about_clock(relative: dict[str, float] | None) -> list[str]:
    """A warning where the two ran at different clock rates."""
    ratio = (relative or {}).get(CLOCK, 1.0)
    if abs(ratio - 1) < OTHER_CLOCK:
        return []
    return [f"clock rate {change(ratio)} from the base's: rates and counters are of other clocks"]
