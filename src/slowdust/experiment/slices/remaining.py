"""The wall time that an experiment of short slices has yet to take."""

from __future__ import annotations

import time

from slowdust.units import Second


class Remaining:
    """Tells how long the planned incarnations will take, with what their budget does not count.

    The budget counts measuring. Each start of the servers takes time beside it, for loading, ageing
    and maintenance, and later starts are expected to take as long as those so far did.
    """

    def __init__(self) -> None:
        self._starts = 0
        self._beside: Second = 0.0
        """Time beside measuring in the incarnations that are over."""
        self._begun = time.monotonic()
        self._measured: Second = 0.0

    def begin_incarnation(self) -> None:
        """Note that the servers are about to be started."""
        self._beside += self._beside_now(0.0) if self._starts else 0.0
        self._starts += 1
        self._begun, self._measured = time.monotonic(), 0.0

    def measured(self, seconds: Second) -> None:
        """Note a turn that is over."""
        self._measured += seconds

    def left(self, budget_left: Second, starts_left: int, under_way: Second) -> Second:
        """Return the seconds to come: the rest of the budget, and what the starts left take.

        `under_way` is how long the turn that is not over has taken.
        """
        beside = self._beside + self._beside_now(under_way)
        return budget_left + starts_left * beside / max(1, self._starts)

    def _beside_now(self, under_way: Second) -> Second:
        return max(0.0, time.monotonic() - self._begun - self._measured - under_way)
