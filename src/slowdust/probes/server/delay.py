"""The probe of a server that waits before each reply: a contender of a calibration.

It is made by hand for such contenders alone, so there is no `probe_of`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from slowdust.store.measured import DELAY, Use

_NANOSECONDS = 1_000_000_000


class Totals(Protocol):
    """Totals of the sends of a server to its clients."""

    @property
    def delay_ns(self) -> int: ...

    @property
    def sends(self) -> int: ...

    @property
    def waited_ns(self) -> int: ...


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
        return {
            "delay_us": after.delay_ns / 1000,
            "sends": after.sends - before.sends,
            "waited_s": (after.waited_ns - before.waited_ns) / _NANOSECONDS,
        }
