"""Response times in the classic buckets: counts and shares, by role and contender."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from operator import add

from slowdust.analysis.model import BUCKETS_US, StepRun
from slowdust.benchmarks.roles import Role
from slowdust.report.html import numbers

_NARROWEST = 0.6
"""Percent of its cell that the bar of a single statement has."""


@dataclass(frozen=True)
class Share:
    """The statements of one contender in one bucket, over all its incarnations."""

    count: int
    share: float
    """The share of its statements."""

    @property
    def percent(self) -> str:
        """The share as '0.02%': small ones keep a digit, since the tail is what matters."""
        if not self.count:
            return ""
        percent = self.share * 100
        return f"{percent:.{max(1, -math.floor(math.log10(percent)))}f}%"

    @property
    def width(self) -> str:
        """The width of its bar, as CSS, so that a single statement is visible."""
        return f"{max(self.share * 100, _NARROWEST if self.count else 0):.1f}%"


@dataclass(frozen=True)
class Bucket:
    """A row: statements up to an upper bound, by contender."""

    label: str
    shares: tuple[Share, ...]


@dataclass(frozen=True)
class RoleHistogram:
    """One role's response times; every bucket's shares follow `contenders`."""

    role: Role
    contenders: tuple[str, ...]
    buckets: tuple[Bucket, ...]


def histograms(runs: Sequence[StepRun], roles: Sequence[Role]) -> tuple[RoleHistogram, ...]:
    """Return one for each of `roles` that did anything; `runs` are those of one step."""
    return tuple(filter(None, (_histogram(runs, role) for role in roles)))


def _histogram(runs: Sequence[StepRun], role: Role) -> RoleHistogram | None:
    counts: dict[str, list[int]] = {}
    for run in runs:
        for use in run.roles:
            if use.role == role.name and use.buckets is not None:
                earlier = counts.get(run.contender, [0] * len(use.buckets))
                counts[run.contender] = [*map(add, earlier, use.buckets)]
    totals = {name: sum(buckets) for name, buckets in counts.items()}
    if not any(totals.values()):
        return None
    filled = [at for buckets in counts.values() for at, count in enumerate(buckets) if count]
    return RoleHistogram(
        role=role,
        contenders=tuple(counts),
        buckets=tuple(
            Bucket(
                _label(at),
                tuple(
                    Share(buckets[at], buckets[at] / totals[name] if totals[name] else 0.0)
                    for name, buckets in counts.items()
                ),
            )
            for at in range(min(filled), max(filled) + 1)
        ),
    )


def _label(at: int) -> str:
    """Return '≤ 256 µs', and behind the last bound '> 16 s'."""
    if at < len(BUCKETS_US):
        return f"\N{LESS-THAN OR EQUAL TO} {numbers.brief_time(BUCKETS_US[at])}"
    return f"> {numbers.brief_time(BUCKETS_US[-1])}"
