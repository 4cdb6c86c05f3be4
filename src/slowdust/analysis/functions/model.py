"""Changes of functions in a report."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec

from slowdust.store.profile import ProfileSource
from slowdust.wording import listing

WHOLE_OBJECT = "(all functions)"
"""Name of the row of an object without symbols in either profile."""
UNNAMED = "(no symbols)"
"""Name for functions without symbols in an object."""

Fate = Literal["grew", "shrank", "came", "went"]
"""The change of a function: `came` if the base did not call it, `went` if only the base called
it."""

MatchKind = Literal["moved", "renamed", "replaced", "inlined", "split"]
"""The relation of a function in one profile to its counterpart in the other.

`moved`: it is in another object; `renamed`: another function receives its calls; `replaced`: a
function in both profiles receives its calls; `inlined`: its callers contain it; `split`: it was
part of its callers.
"""


class FunctionPart(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A function of one contender that is counted with its counterpart, or divided among several
    counterparts in proportion to calls."""

    name: str
    object: str
    kind: MatchKind
    base_own: float | None = None
    """Own cost on the base, or a share of it; absent if the function is the contender's."""
    own: float | None = None

    @property
    def cost(self) -> float:
        return (self.base_own or 0.0) + (self.own or 0.0)


class FunctionChange(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A function of either or both contenders; costs are per operation, in
    `FunctionChanges.unit`."""

    name: str
    """Name without parameters; `(no symbols)` for functions without a name in their object, and
    `(all functions)` for an object without symbols on either side."""
    object: str
    """File name of the binary or library, on the contender if it has the function."""
    fate: Fate
    change: float
    """Own cost, contender minus base."""
    share: float | None = None
    """Change / whole change; absent if the whole change is 0."""
    base_own: float | None = None
    """Own cost on the base; absent if the base did not call it."""
    base_inclusive: float | None = None
    """Cost including callees; also absent for a whole object."""
    own: float | None = None
    """Own cost on the contender; absent if the contender did not call it."""
    inclusive: float | None = None
    parts: list[FunctionPart] | None = None
    """Functions of one contender that are counted with this one, their counterpart; the largest
    first. Absent without any."""
    elsewhere: float | None = None
    """Own costs of functions without a counterpart that may have received code from this one, or
    given code to it; absent if profiles have no calls."""

    @property
    def remark(self) -> str:
        """The functions counted with it, in words: 'renamed from f, with inlined g'.

        Empty without any, and if they are a small part of its change.
        """
        named = [
            part
            for part in self.parts or ()
            if part.kind in _ALWAYS_NAMED or part.cost >= _NAMED_PART * abs(self.change)
        ]
        words = [
            before + listing([part.object if kind == "moved" else part.name for part in parts])
            for kind, before in _REMARKS.items()
            if (parts := [part for part in named if part.kind == kind][:MOST_PARTS])
        ]
        return ", ".join(words)

    @property
    def title(self) -> str:
        return f"{self.name} ({self.remark})" if self.remark else self.name


_NAMED_PART = 0.25
"""Smallest cost of a part, as a share of the change that it is counted in, for it to be named."""
MOST_PARTS = 2
"""Maximum number of parts of one kind that are named."""
_ALWAYS_NAMED: frozenset[MatchKind] = frozenset(("moved", "renamed"))
_REMARKS: Mapping[MatchKind, str] = {
    "moved": "moved from ",
    "renamed": "renamed from ",
    "replaced": "counted with ",
    "inlined": "with inlined ",
    "split": "with split-off ",
}

CANCELLING = 0.5
"""Smallest opposite change, as a share of the whole change, at which shares are misleading."""


class FunctionChanges(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Changes of functions from the base to a contender in one step: `functions` and the others add
    up to the whole change."""

    benchmark: str
    test: str
    clients: int
    contender: str
    source: ProfileSource
    unit: str
    """`instructions`, exact, or `ns`, the CPU time of samples."""
    base_samples: int | None = None
    """Number of samples of the base's profile; absent, like the next, for exact counts."""
    samples: int | None = None
    base_total: float
    """Cost of an operation on the base: the sum of own costs."""
    total: float
    """Cost of an operation on the contender."""
    functions: list[FunctionChange]
    """The largest changes in either direction, the largest first; for samples, only changes beyond
    sampling error."""
    others: int = 0
    """Number of other functions that changed."""
    others_change: float = 0.0
    """Sum of their changes."""
    matched: int | None = None
    """Number of functions on one side that are counted with a counterpart on the other; absent if
    profiles have no calls, which matching needs."""
    came: float = 0.0
    """Own costs of all functions that came without a counterpart, listed or not."""
    went: float = 0.0
    """Own costs on the base of all functions that went without a counterpart."""
    increase: float = 0.0
    """Sum of all increases, including functions that came."""
    decrease: float = 0.0
    """Sum of all decreases, as a positive number."""
    unnamed: dict[str, list[str]] = {}
    """Contender -> objects without symbols; each is one row on both sides."""

    @property
    def change(self) -> float:
        return self.total - self.base_total

    @property
    def cancels(self) -> bool:
        """Whether opposite changes are so large that shares of their sum are misleading."""
        return min(self.increase, self.decrease) > CANCELLING * abs(self.change)

    @property
    def others_share(self) -> float | None:
        """Share of the others in the whole change; None if that is 0."""
        return self.others_change / self.change if self.change else None
