"""Response times in the classic buckets: counts and shares, by role and contender."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from slowdust.analysis.model import BUCKETS_US, StepRun
from slowdust.report.html import numbers

_NARROWEST = 0.6
"""Percent of its cell that the bar of a bucket with a single statement has."""


@dataclass(frozen=True)
class Share:
    """What one contender has in one bucket, over all its incarnations."""

    count: int
    share: float
    """Of its statements."""

    @property
    def percent(self) -> str:
        """'0.02%': small shares keep a digit, since the tail is what matters."""
        if not self.count:
            return ""
        percent = self.share * 100
        return f"{percent:.{max(1, -math.floor(math.log10(percent)))}f}%"

    @property
    def width(self) -> str:
        """Of its bar, as CSS: what is there is seen."""
        return f"{max(self.share * 100, _NARROWEST if self.count else 0):.1f}%"


@dataclass(frozen=True)
class Bucket:
    """A line: statements up to an upper bound, by contender."""

    label: str
    shares: tuple[Share, ...]


@dataclass(frozen=True)
class RoleHistogram:
    """One role's response times; every bucket's shares follow `contenders`."""

    role: str
    contenders: tuple[str, ...]
    buckets: tuple[Bucket, ...]


def histograms(runs: Sequence[StepRun], roles: Sequence[str]) -> tuple[RoleHistogram, ...]:
    """Of each of `roles` that did anything, in that order; `runs` are those of one step."""
    return tuple(found for role in roles if (found := _histogram(runs, role)))


def _histogram(runs: Sequence[StepRun], role: str) -> RoleHistogram | None:
    counts: dict[str, list[int]] = {}
    for run in runs:
        for use in run.roles:
            if use.role == role and use.buckets is not None:
                counts[run.contender] = _added(counts.get(run.contender), use.buckets)
    totals = {name: sum(buckets) for name, buckets in counts.items()}
    if not any(totals.values()):
        return None
    filled = [at for buckets in counts.values() for at, count in enumerate(buckets) if count]
    return RoleHistogram(
        role=role,
        contenders=tuple(counts),
        buckets=tuple(
            Bucket(_label(at), _shares(at, counts, totals))
            for at in range(min(filled), max(filled) + 1)
        ),
    )


def _added(before: list[int] | None, buckets: Sequence[int]) -> list[int]:
    if before is None:
        return list(buckets)
    return [one + other for one, other in zip(before, buckets, strict=True)]


def _shares(
    at: int, counts: Mapping[str, Sequence[int]], totals: Mapping[str, int]
) -> tuple[Share, ...]:
    return tuple(
        Share(buckets[at], buckets[at] / totals[name] if totals[name] else 0.0)
        for name, buckets in counts.items()
    )


def _label(at: int) -> str:
    """'up to 256 µs', and behind the last bound 'over 16 s'."""
    if at < len(BUCKETS_US):
        return f"\N{LESS-THAN OR EQUAL TO} {numbers.brief_time(BUCKETS_US[at])}"
    return f"> {numbers.brief_time(BUCKETS_US[-1])}"
