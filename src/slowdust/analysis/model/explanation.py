"""An explanation: the change of the time per operation as a sum of parts."""

from __future__ import annotations

from typing import Literal

import msgspec

from slowdust.units import Microsecond

PartName = Literal[
    "instructions",
    "time per instruction",
    "user CPU",
    "system CPU",
    "server CPU",
    "other server CPU",
    "client CPU",
    "waiting",
    "server",
]
"""`server CPU` is user and system CPU in one, and `other server CPU` what it has beside the
instructions, where ticks of the clock cannot tell user from system mode well enough; `server` is
all of the time outside the client, where CPU time and waiting cannot be told apart."""


class Part(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A part of the change of the time per operation."""

    name: PartName
    base_us: Microsecond | None = None
    """The base's time per operation that is this; absent, as the next, for factors of CPU
    time: instructions and what is beside them."""
    us: Microsecond | None = None
    change: float
    """What it adds to ln(time per operation / the base's): above 0 it makes the contender slower.
    The parts add up to the change of the whole."""
    low: float | None = None
    high: float | None = None
    """95% interval of `change`; absent with fewer than two blocks."""

    @property
    def is_certain(self) -> bool:
        """Whether its interval excludes 0."""
        return self.low is not None and self.high is not None and (self.low > 0 or self.high < 0)


class Explanation(msgspec.Struct, kw_only=True, omit_defaults=True):
    """The time per operation of a contender beside the base's, and what its change consists of."""

    base_us: Microsecond
    """Time of the clients, but of no more of them than there are CPUs, / operations: the time of an
    operation where no client waits for a CPU."""
    us: Microsecond
    change: float
    """ln(`us` / `base_us`), the mean over the incarnations; above 0 if slower. It is of totals, but
    without blocks that lie far from the others, unless the verdict is about all time."""
    low: float | None = None
    high: float | None = None
    parts: list[Part]
    main: list[PartName] = []
    """Parts that are a good part of the change of a result that is faster or slower: at least a
    quarter of it, with an interval that excludes 0. The largest first."""
    words: str = ""
    """The same in a sentence's end; empty unless the result is faster or slower."""

    def part(self, name: PartName) -> Part | None:
        """Return the part of that name; None where the change has no such part."""
        return next((part for part in self.parts if part.name == name), None)
