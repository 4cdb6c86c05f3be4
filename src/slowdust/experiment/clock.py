"""The clock that experiments go by: the machine's, or one that simulated servers move on."""

from __future__ import annotations

import time
from typing import Protocol

from slowdust.units import Second


class Clock(Protocol):
    """A clock, as the module `time` is one."""

    def monotonic(self) -> Second: ...

    def sleep(self, seconds: Second, /) -> None: ...


MACHINE: Clock = time
