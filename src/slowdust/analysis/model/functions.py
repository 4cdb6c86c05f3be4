"""Changes of functions, as a report lists them."""

from __future__ import annotations

from typing import Literal

import msgspec

from slowdust.store.profile import ProfileSource

WHOLE_OBJECT = "(all functions)"
"""Name of the row of an object that has no symbols in one of two profiles."""
UNNAMED = "(no symbols)"
"""Name of the functions of an object that have no symbol."""

Fate = Literal["grew", "shrank", "came", "went"]
"""What became of a function: `came` is one that the base did not call, `went` one that only the
base called."""


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
    came: float = 0.0
    """Own costs of all functions that came, the others among them."""
    went: float = 0.0
    """Own costs, on the base, of all functions that went."""
    increase: float = 0.0
    """Sum of all changes that are more, those of functions that came among them."""
    decrease: float = 0.0
    """Sum of all changes that are less, as a positive number."""
    unnamed: dict[str, list[str]] = {}
    """Contender -> objects without symbols, which are one row each on both sides."""

    @property
    def change(self) -> float:
        """The whole change per operation."""
        return self.total - self.base_total

    @property
    def cancels(self) -> bool:
        """Whether changes of both signs are so large that shares in their sum tell little."""
        return min(self.increase, self.decrease) > CANCELLING * abs(self.change)

    @property
    def others_share(self) -> float | None:
        """The part of the others in the whole change; None where that is 0."""
        return self.others_change / self.change if self.change else None
