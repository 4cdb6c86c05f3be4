"""The clock of experiments: the machine's, or a simulated one that simulated servers advance."""

from __future__ import annotations

import time
from typing import Protocol

from slowdust.units import Second


class Clock(Protocol):
    """The part of the module `time` that experiments use."""

    def monotonic(self) -> Second: ...

    def sleep(self, seconds: Second, /) -> None: ...


MACHINE: Clock = time
