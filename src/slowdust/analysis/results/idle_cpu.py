"""CPU used in a window by the contenders that should have been idle: it was taken from another."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from slowdust.store.records import Slice
from slowdust.units import Second

BUSY = 0.05
"""CPU of theirs, of one core, that is worth a warning."""


def mean_share(slices: Sequence[Slice]) -> float | None:
    """Theirs of one core, mean over `slices`; None where it was not measured."""
    shares = [_share(piece) for piece in slices if _was_measured(piece)]
    return fmean(shares) if shares else None


def busy_idlers(slices: Sequence[Slice]) -> list[str]:
    """The warning that they were busy beside the `slices` of one test and contender, if so.

    Slices are many, and their mean decides. Long steps are few: the worst incarnation decides,
    for it moves the estimate alone.
    """
    steps = [piece for piece in slices if piece.step is not None and _was_measured(piece)]
    if steps:
        worst = max(steps, key=_share)
        share, where = _share(worst), f" in incarnation {worst.incarnation}"
    else:
        share, where = mean_share(slices) or 0.0, ""
    return [f"idle contenders were busy: {share:.0%} of a CPU{where}"] if share > BUSY else []


def _was_measured(piece: Slice) -> bool:
    return bool(piece.idle_cpu_s and _window(piece))


def _share(piece: Slice) -> float:
    return sum(piece.idle_cpu_s.values()) / _window(piece)


def _window(piece: Slice) -> Second:
    """Its length; 0 where it is unknown."""
    return piece.probe_seconds or piece.seconds or 0.0
