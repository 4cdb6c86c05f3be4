"""Whether the direct measurement of a change contradicts it.

What a search knows of a change comes from many measurements over longer intervals. The direct
measurement of the change and the candidate before it is the one that a reader can repeat.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

_SIDES = 1.96
_OF_SIZE = 0.10
"""Share of a change's size, as a log ratio, by which its measurements may differ."""


@dataclass(frozen=True)
class Direct:
    """The log ratio of a change as measured beside the candidate before it."""

    log_ratio: float
    error: float
    work: tuple[float, float] | None = None
    """Log ratio of the instructions in the same experiment, and its error, where time decides."""

    def contradicts(self, change: float, margin: float) -> bool:
        """Return whether this measurement contradicts a change of this log ratio.

        It does where its 95% interval excludes the change, and either includes no change or the
        opposite one, or has another size: by more than `margin` and a tenth of the change. It also
        does where it shows no change in time, and the instructions changed the other way.
        """
        along = math.copysign(1.0, change)
        least, most = (along * self.log_ratio + side * self.error for side in (-_SIDES, _SIDES))
        size = abs(change)
        if self.work is not None and least <= 0:
            work, error = self.work
            if along * work + _SIDES * error < 0:
                return True
        beyond = max(least - size, size - most)
        return beyond > 0 and (least <= 0 or beyond > max(margin, _OF_SIZE * size))
