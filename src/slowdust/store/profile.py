"""Profiles: cost of functions and call stacks of a server, per operation.

The folder `perf/` of an experiment has a compressed JSON file per profile.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Literal

import msgspec

ProfileSource = Literal["callgrind", "perf"]
_Key = tuple[str, str]


class FunctionCost(msgspec.Struct, array_like=True):
    """The cost of one function per operation."""

    name: str
    """Demangled; clones made by the compiler (`.part.0`, `.constprop.0`, `.cold`) are merged."""
    object: str
    """File name of its binary or library, without directories."""
    own: float
    inclusive: float
    """Cost including all callees; a recursive function counts once."""


class Calls(msgspec.Struct, array_like=True):
    """The calls of one function by another; recursive calls are excluded."""

    caller: int
    """Index in the profile's functions, like the next."""
    callee: int
    count: float


class Profile(msgspec.Struct, kw_only=True, omit_defaults=True):
    """The profile of one contender's server in one step."""

    benchmark: str
    test: str
    clients: int
    contender: str
    source: ProfileSource
    unit: str
    """`instructions`, exact, or `ns`, the CPU time of samples."""
    operations: int
    """Number of operations that it averages."""
    samples: int | None = None
    """Number of samples; None if every instruction was counted."""
    functions: list[FunctionCost]
    """All functions, the largest own cost first; own costs add up to the cost of an operation."""
    stacks: dict[str, float] = {}
    """Call stack, outermost function first, joined by ';' -> own cost per operation."""
    calls: list[Calls] = []
    """All calls; empty for samples, and for profiles of versions that did not store calls."""
    unnamed_objects: list[str] = []
    """Objects without symbols, whose functions have no names."""


def merge_profiles(profiles: Iterable[Profile]) -> list[Profile]:
    """Return one profile per source, step and contender, averaged over all operations."""
    groups: dict[tuple[str, str, int, str, str], list[Profile]] = defaultdict(list)
    for profile in profiles:
        place = (profile.benchmark, profile.test, profile.clients, profile.contender)
        groups[*place, profile.source].append(profile)
    return [_mean(group) if len(group) > 1 else group[0] for group in groups.values()]


def calls_between(
    functions: Sequence[FunctionCost], counts: Mapping[tuple[_Key, _Key], float]
) -> list[Calls]:
    """Return calls with indexes of functions; `counts` is (caller, callee) -> number."""
    index = {(each.name, each.object): at for at, each in enumerate(functions)}
    return [
        Calls(index[caller], index[callee], count) for (caller, callee), count in counts.items()
    ]


def _mean(profiles: Sequence[Profile]) -> Profile:
    """Return the mean profile, weighted by operations."""
    own: dict[tuple[str, str], float] = defaultdict(float)
    inclusive: dict[tuple[str, str], float] = defaultdict(float)
    calls: dict[tuple[_Key, _Key], float] = defaultdict(float)
    stacks: dict[str, float] = defaultdict(float)
    operations = sum(profile.operations for profile in profiles)
    for profile in profiles:
        share = profile.operations / operations
        keys = [(function.name, function.object) for function in profile.functions]
        for key, function in zip(keys, profile.functions, strict=True):
            own[key] += share * function.own
            inclusive[key] += share * function.inclusive
        for each in profile.calls:
            calls[keys[each.caller], keys[each.callee]] += share * each.count
        for stack, cost in profile.stacks.items():
            stacks[stack] += share * cost
    functions = [
        FunctionCost(*function, cost, inclusive[function])
        for function, cost in sorted(own.items(), key=lambda item: -item[1])
    ]
    return msgspec.structs.replace(
        profiles[0],
        operations=operations,
        functions=functions,
        stacks=dict(stacks),
        calls=calls_between(functions, calls),
        unnamed_objects=sorted({name for each in profiles for name in each.unnamed_objects}),
    )
