"""Changes between the base's functions and a contender's, by name and object, or matched."""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence, Set
from dataclasses import dataclass
from typing import NamedTuple

from slowdust.analysis.functions.matching import Counts, Key, Matched, Part, match_functions
from slowdust.analysis.functions.model import (
    UNNAMED,
    WHOLE_OBJECT,
    Fate,
    FunctionChange,
    FunctionChanges,
    FunctionPart,
)
from slowdust.stats.blocks import Step
from slowdust.store.profile import Profile

MOST_FUNCTIONS = 15
"""Number of functions that are listed by name; the others share one row."""

_VERSION = re.compile(r"(?:-[\d.]+)?\.so(?:\.[\d.]+)?$")
_ROUNDING = 1e-9
"""Largest change, as a share of the cost, that is a rounding error of sums of parts."""
_SERVERS = frozenset({"mysqld", "mariadbd"})
"""File names of the same server program in different DBMS and versions."""
FALSE_CHANGES = 0.05
"""Probability of listing any unchanged function of a contender."""


class _Cost(NamedTuple):
    """Costs of a function, or of several with one key."""

    object: str
    own: float
    inclusive: float | None


class _Side(NamedTuple):
    """A profile by key."""

    costs: Mapping[Key, _Cost]
    counts: Counts


def function_changes(
    profiles: Sequence[Profile], base: str, contenders: Sequence[str]
) -> list[FunctionChanges]:
    """Return the changes for each contender with a profile of a step that the base also has.

    They are in the order of the profiles' steps, then of `contenders`. Only profiles of the same
    source are compared.
    """
    return [
        changes_between(before, after)
        for by_contender in profiles_by_step(profiles).values()
        if (before := by_contender.get(base)) is not None
        for name in contenders
        if name != base and (after := by_contender.get(name)) is not None
    ]


def profiles_by_step(profiles: Sequence[Profile]) -> dict[tuple[Step, str], dict[str, Profile]]:
    """Return (step, source) -> contender -> profile."""
    grouped: dict[tuple[Step, str], dict[str, Profile]] = {}
    for profile in profiles:
        step = Step.of(profile)
        grouped.setdefault((step, profile.source), {})[profile.contender] = profile
    return grouped


def changes_between(base: Profile, contender: Profile) -> FunctionChanges:
    """Return the changes between the base's functions and the contender's, which add up exactly.

    Functions are identified by name and object. Versions of a library are one object
    (`libcrypto.so.1.1`, `libcrypto.so.3`), and so are the server programs of MySQL and MariaDB. An
    object without symbols in either profile is compared as a whole. If both profiles have calls,
    functions of one side are counted with their counterparts (`match_functions`). For samples, only
    changes beyond sampling error are listed by name.
    """
    unnamed = {p.contender: p.unnamed_objects for p in (base, contender) if p.unnamed_objects}
    whole = {_object(name) for names in unnamed.values() for name in names}
    before, after = _side_of(base, whole), _side_of(contender, whole)
    has_calls = bool(base.calls and contender.calls)
    if has_calls:
        matched = match_functions(before.counts, after.counts, nameless={WHOLE_OBJECT, UNNAMED})
    else:
        matched = Matched(before.counts.own, after.counts.own, parts={}, elsewhere={})
    base_total = sum(before.counts.own.values())
    total = sum(after.counts.own.values())
    changes = sorted(
        _changes(before, after, matched, total - base_total),
        key=lambda change: (-abs(change.change), change.name, change.object),
    )
    is_listed = beyond_sampling(base, contender, len(changes))
    listed, others = partition(changes, is_listed, MOST_FUNCTIONS)
    return FunctionChanges(
        benchmark=contender.benchmark,
        test=contender.test,
        clients=contender.clients,
        contender=contender.contender,
        source=contender.source,
        unit=contender.unit,
        base_samples=base.samples,
        samples=contender.samples,
        base_total=base_total,
        total=total,
        functions=listed,
        others=len(others),
        others_change=sum(change.change for change in others),
        matched=matched.functions if has_calls else None,
        came=sum(change.own or 0.0 for change in changes if change.fate == "came"),
        went=sum(change.base_own or 0.0 for change in changes if change.fate == "went"),
        increase=sum(change.change for change in changes if change.change > 0),
        decrease=-sum(change.change for change in changes if change.change < 0),
        unnamed=unnamed,
    )


def _changes(
    before: _Side, after: _Side, matched: Matched, whole: float
) -> Iterator[FunctionChange]:
    for key in matched.base.keys() | matched.contender.keys():
        old, new = matched.base.get(key), matched.contender.get(key)
        change = (new or 0.0) - (old or 0.0)
        if abs(change) > _ROUNDING * max(old or 0.0, new or 0.0):
            parts = sorted(matched.parts.get(key, ()), key=lambda part: (-part.own, part.function))
            yield FunctionChange(
                name=key[0],
                object=(after.costs.get(key) or before.costs[key]).object,
                fate=_fate(old, new, change),
                change=change,
                share=change / whole if whole else None,
                base_own=old,
                base_inclusive=_inclusive(key, before, parts),
                own=new,
                inclusive=_inclusive(key, after, parts),
                parts=[_part(part, before if part.is_base else after) for part in parts] or None,
                elsewhere=matched.elsewhere.get(key),
            )


def _part(part: Part, side: _Side) -> FunctionPart:
    return FunctionPart(
        name=part.function[0],
        object=side.costs[part.function].object,
        kind=part.kind,
        base_own=part.own if part.is_base else None,
        own=None if part.is_base else part.own,
    )


def _inclusive(key: Key, side: _Side, parts: Sequence[Part]) -> float | None:
    """Return the cost of a function, under its name on this side, including its callees.

    None if it is counted with a function that it does not call.
    """
    if any(part.kind == "replaced" for part in parts):
        return None
    names = [key, *(part.function for part in parts if part.kind in ("moved", "renamed"))]
    return next((side.costs[name].inclusive for name in names if name in side.costs), None)


def _fate(old: float | None, new: float | None, change: float) -> Fate:
    if old is None:
        return "came"
    if new is None:
        return "went"
    return "grew" if change > 0 else "shrank"


def _side_of(profile: Profile, whole: Set[str]) -> _Side:
    """Return a profile's functions by key; functions with the same key are added up.

    Objects in `whole` are one function without inclusive cost, since their functions call each
    other.
    """
    costs: dict[Key, _Cost] = {}
    keys: list[Key] = []
    for cost in profile.functions:
        joined = _object(cost.object)
        key = (WHOLE_OBJECT if joined in whole else cost.name), joined
        keys.append(key)
        if (other := costs.get(key)) is not None:
            costs[key] = _Cost(other.object, other.own + cost.own, None)
        else:
            inclusive = None if joined in whole else cost.inclusive
            costs[key] = _Cost(cost.object, cost.own, inclusive)
    calls: dict[tuple[Key, Key], float] = defaultdict(float)
    for each in profile.calls:
        calls[keys[each.caller], keys[each.callee]] += each.count
    return _Side(costs, Counts({key: cost.own for key, cost in costs.items()}, calls))


def _object(name: str) -> str:
    return "mysqld" if name in _SERVERS else _VERSION.sub("", name)


@dataclass(frozen=True)
class _Sampled:
    """A profile that consists of samples."""

    samples: int
    total: float
    """Cost of an operation: the sum of own costs, positive."""

    def count(self, own: float | None) -> int:
        return round((own or 0.0) * self.samples / self.total)

    @property
    def samples_per_cost(self) -> float:
        """Number of samples for each unit of cost per operation."""
        return self.samples / self.total


def beyond_sampling(
    base: Profile, contender: Profile, functions: int
) -> Callable[[FunctionChange], bool]:
    """Return a predicate for changes larger than the sampling error.

    Numbers of samples are Poisson distributed. For an unchanged function, the contender's share of
    both sides' samples is therefore binomial: the conditional test of Przyborowski and Wilenski
    (1940, Biometrika 31). `FALSE_CHANGES` is divided by the number of tested `functions`
    (Bonferroni). If every instruction was counted, all changes pass.
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
    """Return the first `most` listed changes, and all others."""
    listed = [change for change in changes if is_listed(change)][:most]
    names = {(change.name, change.object) for change in listed}
    return listed, [change for change in changes if (change.name, change.object) not in names]


def _sampled(profile: Profile) -> _Sampled | None:
    """Return a profile as samples; None for exact counts, and without samples."""
    total = sum(cost.own for cost in profile.functions)
    if not profile.samples or total <= 0:
        return None
    return _Sampled(profile.samples, total)
