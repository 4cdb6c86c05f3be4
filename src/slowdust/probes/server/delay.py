"""The probe of a server that waits before each reply: a contender of a calibration.

It is created explicitly, only for such contenders, so there is no `open_probe`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from slowdust.store.measured import DELAY, Use

_NANOSECONDS = 1_000_000_000

Totals = tuple[int, int, int]
"""The current delay before each send (ns), the sends so far, and the total wait (ns)."""


class DelayProbe:
    """Reads a server's delay and its actual waits."""

    name = DELAY
    parts: Mapping[str, str] = {}

    def __init__(self, totals: Callable[[], Totals]) -> None:
        self._totals = totals

    def read(self) -> Totals:
        return self._totals()

    def use(self, before: Totals, after: Totals) -> Use:
        """Return `delay_us`, the number of `sends` to clients, and their total `waited_s`.

        A long reply is sent in several pieces, and each of them waits.
        """
        (_, first, waited), (delay_ns, last, waited_since) = before, after
        return {
            "delay_us": delay_ns / 1000,
            "sends": last - first,
            "waited_s": (waited_since - waited) / _NANOSECONDS,
        }
