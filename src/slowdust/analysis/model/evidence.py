"""Exact evidence of a change: amounts that other programs on the host do not move."""

from __future__ import annotations

from typing import Literal

import msgspec

EvidenceKind = Literal[
    "plan", "rows", "pages", "planning", "instructions", "system calls", "settings"
]
"""The kinds, in the order in which reasons name those that explain as much."""


class Evidence(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A plan, an amount per operation or a setting in which a contender differs from the base."""

    kind: EvidenceKind
    words: str
    """The amount before 'per operation', such as 'rows read by the engine'; of a plan or a setting,
    the difference."""
    base: float | None = None
    """Amount per operation; absent, as the next two, where the evidence is no number."""
    contender: float | None = None
    ratio: float | None = None
    """Contender / base; absent where the base's amount is 0."""
    explains: float | None = None
    """ln(`ratio`) / ln(time per operation / the base's), at most 1: the share of the change that it
    can explain. 0 where it moved the other way; absent without a number, and where the verdict is
    `same`."""
    nearness: float = 0.0
    """How near its share of the change is to all of it, from 0 to 1: a ratio of amounts that is far
    above that of the time explains too much."""
    leads: bool = False
    """Whether it is the reason of a faster or slower result, which has what leads first."""
