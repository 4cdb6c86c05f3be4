"""Changes of functions, as a report lists them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

import msgspec

from slowdust.store.profile import ProfileSource
from slowdust.wording import listing

WHOLE_OBJECT = "(all functions)"
"""Name of the row of an object that has no symbols in one of two profiles."""
UNNAMED = "(no symbols)"
"""Name of the functions of an object that have no symbol."""

Fate = Literal["grew", "shrank", "came", "went"]
"""What became of a function: `came` is one that the base did not call, `went` one that only the
base called."""

MatchKind = Literal["moved", "renamed", "replaced", "inlined", "split"]
"""What became of a function that one of two profiles lacks.

`moved`: it is in another object; `renamed`: another function has its calls; `replaced`: a function
that both have makes, or made, its calls; `inlined`: its callers took it in; `split`: it was a part
of its callers.
"""


class FunctionPart(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A function of one contender that is counted with its counterpart; of several counterparts
    each has a share of it, by the calls."""

    name: str
    object: str
    kind: MatchKind
    base_own: float | None = None
    """Own cost on the base, or the share of it; absent where the contender has the function."""
    own: float | None = None

    @property
    def cost(self) -> float:
        return (self.base_own or 0.0) + (self.own or 0.0)


class FunctionChange(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A function of both contenders, or of one; costs are per operation, in the unit above it."""

    name: str
    """Name without parameters; functions without one are `(no symbols)` of their object, and all
    functions of an object that has no symbols on either side are `(all functions)`."""
    object: str
    """File name of the binary or library, the contender's where it has the function."""
    fate: Fate
    change: float
    """Own cost beside the base's: contender minus base."""
    share: float | None = None
    """Change / whole change; absent where the whole change is 0."""
    base_own: float | None = None
    """Own cost on the base; absent where the base did not call it."""
    base_inclusive: float | None = None
    """Cost with all that it calls; absent as well for a whole object."""
    own: float | None = None
    """Own cost on the contender; absent where the contender did not call it."""
    inclusive: float | None = None
    parts: list[FunctionPart] | None = None
    """Functions of one contender that are counted with this one, the largest first: it is their
    counterpart. Absent where there are none."""
    elsewhere: float | None = None
    """Own costs of functions without counterpart on the other side that may have the code which
    this one lost or gained; absent where profiles have no calls."""

    @property
    def remark(self) -> str:
        """What is counted with it, in words: 'renamed from f, with its inlined callee g'.

        Empty where that is nothing, or a small part of its change.
        """
        told = [
            part
            for part in self.parts or ()
            if part.kind in _TOLD_ALWAYS or part.cost >= TOLD_PART * abs(self.change)
        ]
        words = [
            before + listing([part.object if kind == "moved" else part.name for part in parts])
            for kind, before in _REMARKS.items()
            if (parts := [part for part in told if part.kind == kind][:MOST_PARTS])
        ]
        return ", ".join(words)

    @property
    def title(self) -> str:
        return f"{self.name} ({self.remark})" if self.remark else self.name


TOLD_PART = 0.25
"""Cost of a part, as a share of the change that it is counted in, from which it is named."""
MOST_PARTS = 2
"""Parts of one kind that are named."""
_TOLD_ALWAYS: frozenset[MatchKind] = frozenset(("moved", "renamed"))
_REMARKS: Mapping[MatchKind, str] = {
    "moved": "moved from ",
    "renamed": "renamed from ",
    "replaced": "counted with ",
    "inlined": "with inlined ",
    "split": "with split-off ",
}

CANCELLING = 0.5
"""What is against a change, as a share of the change, from which shares in it mislead."""


class FunctionChanges(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Functions of a contender beside the base's in one step: `functions` and the others add up
    to the whole change."""

    benchmark: str
    test: str
    clients: int
    contender: str
    source: ProfileSource
    unit: str
    """`instructions`, exact, or `ns`, the CPU time of samples."""
    base_samples: int | None = None
    """Number of samples of the base's profile; absent, as the next, where all was counted."""
    samples: int | None = None
    base_total: float
    """Cost of an operation on the base: the sum of own costs."""
    total: float
    """Cost of an operation on the contender."""
    functions: list[FunctionChange]
    """The largest changes, of either sign, the largest first; of samples only those that the error
    of sampling does not explain."""
    others: int = 0
    """Number of functions with other changes."""
    others_change: float = 0.0
    """Sum of their changes."""
    matched: int | None = None
    """Number of functions of one side that are counted with a counterpart of the other; absent
    where profiles have no calls, by which they are matched."""
    came: float = 0.0
    """Own costs of all functions that came, without a counterpart, the others among them."""
    went: float = 0.0
    """Own costs, on the base, of all functions that went without a counterpart."""
    increase: float = 0.0
    """Sum of all changes that are more, those of functions that came among them."""
    decrease: float = 0.0
    """Sum of all changes that are less, as a positive number."""
    unnamed: dict[str, list[str]] = {}
    """Contender -> objects without symbols, which are one row each on both sides."""

    @property
    def change(self) -> float:
        return self.total - self.base_total

    @property
    def cancels(self) -> bool:
        """Whether changes of both signs are so large that shares in their sum tell little."""
        return min(self.increase, self.decrease) > CANCELLING * abs(self.change)

    @property
    def others_share(self) -> float | None:
        """The part of the others in the whole change; None where that is 0."""
        return self.others_change / self.change if self.change else None
