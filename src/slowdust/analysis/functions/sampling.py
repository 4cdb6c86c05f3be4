"""Which functions of sampled profiles changed by more than sampling explains."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from slowdust.analysis.model.functions import FunctionChange
from slowdust.store.profile import Profile

FALSE_CHANGES = 0.05
"""Probability of listing any function of a contender that did not change."""


@dataclass(frozen=True)
class _Sampled:
    """A profile that consists of samples."""

    samples: int
    total: float
    """Cost of an operation: the sum of own costs, positive."""

    def count(self, own: float | None) -> int:
        """Return the number of samples that an own cost stands for."""
        return round((own or 0.0) * self.samples / self.total)

    @property
    def samples_per_cost(self) -> float:
        """Number of samples for each unit of cost per operation."""
        return self.samples / self.total


def beyond_sampling(
    base: Profile, contender: Profile, functions: int
) -> Callable[[FunctionChange], bool]:
    """Return a test of whether a change is larger than the error of sampling.

    Numbers of samples are Poisson distributed, so that of a function that did not change the
    contender's share in the samples of both is binomial: the conditional test of Przyborowski and
    Wilenski (1940, Biometrika 31). `functions` is the number of functions that are tested, among
    which `FALSE_CHANGES` is shared out (Bonferroni). Where every instruction was counted, all
    changes are real ones.
    """
    from scipy.special import bdtr

    before, after = _sampled(base), _sampled(contender)
    if before is None or after is None:
        return lambda change: True
    share = after.samples_per_cost / (after.samples_per_cost + before.samples_per_cost)
    highest = FALSE_CHANGES / max(1, functions) / 2

    def is_beyond(change: FunctionChange) -> bool:
        old, new = before.count(change.base_own), after.count(change.own)
        if change.change > 0:  # P(at least `new` of all) = P(at most `old` of them the base's)
            return bool(bdtr(old, old + new, 1 - share) < highest)
        return bool(bdtr(new, old + new, share) < highest)

    return is_beyond


def partition(
    changes: Sequence[FunctionChange], is_listed: Callable[[FunctionChange], bool], most: int
) -> tuple[list[FunctionChange], list[FunctionChange]]:
    """Return the first `most` changes that are listed, and all others."""
    listed = [change for change in changes if is_listed(change)][:most]
    names = {(change.name, change.object) for change in listed}
    return listed, [change for change in changes if (change.name, change.object) not in names]


def _sampled(profile: Profile) -> _Sampled | None:
    """Return what a profile's samples are; None of exact counts, and of no samples at all."""
    total = sum(cost.own for cost in profile.functions)
    if not profile.samples or total <= 0:
        return None
    return _Sampled(profile.samples, total)
