"""CPU used in a window by the contenders that should have been idle: it was taken from another."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from slowdust.store.measured import IDLE
from slowdust.store.slice import Slice
from slowdust.units import Second

BUSY = 0.05
"""CPU of theirs, of one core, that is worth a warning."""


def mean_share(slices: Sequence[Slice]) -> float | None:
    """Theirs of one core, mean over `slices`; None where it was not measured."""
    shares = [_share(record) for record in slices if _was_measured(record)]
    return fmean(shares) if shares else None


def notes_about_idle_cpu(slices: Sequence[Slice]) -> list[str]:
    """The warning that they were busy beside the `slices` of one test and contender, if so.

    Slices are many, and their mean decides. Long steps are few: the worst incarnation decides,
    for it moves the estimate alone.
    """
    steps = [record for record in slices if record.step is not None and _was_measured(record)]
    if steps:
        worst = max(steps, key=_share)
        share, where = _share(worst), f" in incarnation {worst.place.incarnation}"
    else:
        share, where = mean_share(slices) or 0.0, ""
    return [f"idle contenders were busy: {share:.0%} of a CPU{where}"] if share > BUSY else []


def _was_measured(record: Slice) -> bool:
    return bool(_idle_cpu_s(record) and _window(record))


def _share(record: Slice) -> float:
    return sum(_idle_cpu_s(record)) / _window(record)


def _idle_cpu_s(record: Slice) -> list[Second]:
    """Return the CPU time of each contender that should have been idle."""
    return [use["cpu_s"] for probe, use in record.measured.uses.items() if probe.startswith(IDLE)]


def _window(record: Slice) -> Second:
    """Return the window's length; 0 where it is unknown."""
    return record.measured.probe_seconds or record.measured.seconds or 0.0
