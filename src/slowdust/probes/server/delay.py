"""The probe of a server that waits before each reply: a contender of a calibration.

It is made by hand for such contenders alone, so there is no `probe_of`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from slowdust.store.measured import DELAY, Use

_NANOSECONDS = 1_000_000_000

Totals = tuple[int, int, int]
"""The delay before each send now, in ns; the sends so far, and the time that all waited, in ns."""


class DelayProbe:
    """Reads the delay of a server and the time that it really waited."""

    name = DELAY
    parts: Mapping[str, str] = {}

    def __init__(self, totals: Callable[[], Totals]) -> None:
        self._totals = totals

    def read(self) -> Totals:
        return self._totals()

    def use(self, before: Totals, after: Totals) -> Use:
        """Return `delay_us`, `sends` to clients, and `waited_s` by all of them together.

        A long reply is sent in several pieces, each of which waits.
        """
        (_, first, waited), (delay_ns, last, waited_since) = before, after
        return {
            "delay_us": delay_ns / 1000,
            "sends": last - first,
            "waited_s": (waited_since - waited) / _NANOSECONDS,
        }
