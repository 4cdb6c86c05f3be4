"""Profiles: the functions and call stacks in which a server worked, per operation.

The folder `perf/` of an experiment has a compressed JSON file for each.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import Literal

import msgspec

ProfileSource = Literal["callgrind", "perf"]


class FunctionCost(msgspec.Struct, array_like=True):
    """The cost of one function per operation."""

    name: str
    """Demangled; clones that a compiler made (`.part.0`, `.constprop.0`, `.cold`) are folded."""
    object: str
    """File name of the binary or library that it is in, without directories."""
    own: float
    inclusive: float
    """Cost with all that it calls; a recursive function counts once."""


class Profile(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Where one contender's server worked in one step."""

    benchmark: str
    test: str
    clients: int
    contender: str
    source: ProfileSource
    unit: str
    """`instructions`, exact, or `ns`, the CPU time of samples."""
    operations: int
    """Number of operations that it is the mean of."""
    samples: int | None = None
    """Number of samples; None where every instruction was counted."""
    functions: list[FunctionCost]
    """All functions, the largest own cost first; their own costs add up to that of an operation."""
    stacks: dict[str, float] = {}
    """Call stack, the outermost function first, joined by ';' -> own cost per operation."""
    unnamed_objects: list[str] = []
    """Objects without symbols, whose functions have no names."""


def joined_profiles(profiles: Iterable[Profile]) -> list[Profile]:
    """Return one profile of each source, step and contender: the mean over all operations."""
    groups: dict[tuple[str, str, int, str, str], list[Profile]] = defaultdict(list)
    for profile in profiles:
        place = (profile.benchmark, profile.test, profile.clients, profile.contender)
        groups[*place, profile.source].append(profile)
    return [_mean(group) if len(group) > 1 else group[0] for group in groups.values()]


def _mean(profiles: Sequence[Profile]) -> Profile:
    """Return the costs of an operation, any of all that the profiles are about."""
    own: dict[tuple[str, str], float] = defaultdict(float)
    inclusive: dict[tuple[str, str], float] = defaultdict(float)
    stacks: dict[str, float] = defaultdict(float)
    operations = sum(profile.operations for profile in profiles)
    for profile in profiles:
        share = profile.operations / operations
        for function in profile.functions:
            own[function.name, function.object] += share * function.own
            inclusive[function.name, function.object] += share * function.inclusive
        for stack, cost in profile.stacks.items():
            stacks[stack] += share * cost
    return msgspec.structs.replace(
        profiles[0],
        operations=operations,
        functions=[
            FunctionCost(*function, cost, inclusive[function])
            for function, cost in sorted(own.items(), key=lambda item: -item[1])
        ],
        stacks=dict(stacks),
        unnamed_objects=sorted({name for each in profiles for name in each.unnamed_objects}),
    )
