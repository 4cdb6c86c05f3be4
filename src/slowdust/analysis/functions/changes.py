"""Changes from the base's functions to a contender's, joined by name and object."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence, Set
from typing import NamedTuple

from slowdust.analysis.comparison.relative import Step
from slowdust.analysis.functions.sampling import beyond_sampling, partition
from slowdust.analysis.model.functions import (
    WHOLE_OBJECT,
    Fate,
    FunctionChange,
    FunctionChanges,
)
from slowdust.store.profile import Profile

MOST_FUNCTIONS = 15
"""Number of functions that are listed by name; the others are one row."""

_VERSION = re.compile(r"(?:-[\d.]+)?\.so(?:\.[\d.]+)?$")
_SERVERS = frozenset({"mysqld", "mariadbd"})
"""File names of one server program, by its DBMS and version."""


_Key = tuple[str, str]


class _Cost(NamedTuple):
    """Costs that are joined."""

    object: str
    own: float
    inclusive: float | None


def function_changes(
    profiles: Sequence[Profile], base: str, contenders: Sequence[str]
) -> list[FunctionChanges]:
    """Return the changes of every contender with a profile of a step that the base has as well.

    They are in the order of the profiles' steps, then of `contenders`. Profiles are joined that
    have one source.
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
        step = Step(profile.benchmark, profile.test, profile.clients)
        grouped.setdefault((step, profile.source), {})[profile.contender] = profile
    return grouped


def changes_between(base: Profile, contender: Profile) -> FunctionChanges:
    """Return the changes from the base's functions to the contender's, which add up exactly.

    A function is joined by its name and its object; libraries of several versions are one object
    (`libcrypto.so.1.1`, `libcrypto.so.3`), and so are the server programs of MySQL and MariaDB.
    An object that has no symbols in one of the two is joined as a whole. Of samples only changes
    that sampling does not explain are listed by name.
    """
    unnamed = {p.contender: p.unnamed_objects for p in (base, contender) if p.unnamed_objects}
    whole = {_object(name) for names in unnamed.values() for name in names}
    before, after = _by_key(base, whole), _by_key(contender, whole)
    base_total = sum(cost.own for cost in before.values())
    total = sum(cost.own for cost in after.values())
    changes = sorted(
        _changes(before, after, total - base_total),
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
        came=sum(change.own or 0.0 for change in changes if change.fate == "came"),
        went=sum(change.base_own or 0.0 for change in changes if change.fate == "went"),
        increase=sum(change.change for change in changes if change.change > 0),
        decrease=-sum(change.change for change in changes if change.change < 0),
        unnamed=unnamed,
    )


def _changes(
    before: Mapping[_Key, _Cost], after: Mapping[_Key, _Cost], whole: float
) -> Iterator[FunctionChange]:
    for key in before.keys() | after.keys():
        old, new = before.get(key), after.get(key)
        change = (new.own if new else 0.0) - (old.own if old else 0.0)
        if change:
            yield FunctionChange(
                name=key[0],
                object=(new or before[key]).object,
                fate=_fate(old, new, change),
                change=change,
                share=change / whole if whole else None,
                base_own=old.own if old else None,
                base_inclusive=old.inclusive if old else None,
                own=new.own if new else None,
                inclusive=new.inclusive if new else None,
            )


def _fate(old: _Cost | None, new: _Cost | None, change: float) -> Fate:
    if old is None:
        return "came"
    if new is None:
        return "went"
    return "grew" if change > 0 else "shrank"


def _by_key(profile: Profile, whole: Set[str]) -> dict[_Key, _Cost]:
    """Return the functions by what they are joined by; those of one key are added up.

    Objects in `whole` are one function, which has no inclusive cost: its functions call each other.
    """
    costs: dict[_Key, _Cost] = {}
    for cost in profile.functions:
        joined = _object(cost.object)
        key = (WHOLE_OBJECT if joined in whole else cost.name), joined
        if (other := costs.get(key)) is not None:
            costs[key] = _Cost(other.object, other.own + cost.own, None)
        else:
            inclusive = None if joined in whole else cost.inclusive
            costs[key] = _Cost(cost.object, cost.own, inclusive)
    return costs


def _object(name: str) -> str:
    return "mysqld" if name in _SERVERS else _VERSION.sub("", name)
