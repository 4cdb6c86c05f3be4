"""Profiles: the functions and call stacks in which a server worked, per operation.

The folder `perf/` of an experiment has a compressed JSON file for each.
"""

from __future__ import annotations

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
    """The cost with all that it calls; a recursive function counts once."""


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
