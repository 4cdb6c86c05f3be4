"""Figures of a baseline, their comparison, and the file of recorded figures."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import ClassVar, Literal

import msgspec
import numpy as np
from scipy import stats

Comparison = Literal["equal", "within chance", "better", "worse", "not recorded", "not measured"]
CHANCE = 0.05
"""The probability of a comparison that reports any figure as worse by chance."""
_TOLERANCE = 0.01
"""Relative difference of equal counts of instructions: two runs differ by up to 0.7%."""


class _Share(msgspec.Struct, frozen=True):
    """The share of results with a property."""

    good: ClassVar[bool]
    count: int
    of: int

    def __str__(self) -> str:
        return f"{self.count:,} of {self.of:,} ({self.count / self.of:.1%})"

    def compare(self, now: _Share, chance: float) -> Comparison:
        """Compare by Fisher's exact test, one-sided at `chance` for each side."""
        if self.count * now.of == now.count * self.of:
            return "equal"
        table = np.array([[now.count, now.of - now.count], [self.count, self.of - self.count]])
        more = bool(stats.fisher_exact(table, "greater").pvalue < chance)
        fewer = bool(stats.fisher_exact(table, "less").pvalue < chance)
        if not more and not fewer:
            return "within chance"
        return "better" if more == self.good else "worse"


class Right(_Share, frozen=True, tag="right"):
    """Correct results: intervals that contain the truth, differences that are found."""

    good = True


class Wrong(_Share, frozen=True, tag="wrong"):
    """Incorrect results."""

    good = False


class Instructions(msgspec.Struct, frozen=True, tag="instructions"):
    """Instructions per operation, which do not depend on other programs."""

    per_operation: float

    def __str__(self) -> str:
        return f"{self.per_operation:,.1f}"

    def compare(self, now: Instructions) -> Comparison:
        """Compare with a fixed tolerance: a count is not random."""
        ratio = now.per_operation / self.per_operation
        if abs(ratio - 1) <= _TOLERANCE:
            return "equal"
        return "worse" if ratio > 1 else "better"


Figure = Right | Wrong | Instructions


class Baseline(msgspec.Struct, frozen=True):
    """Figures by name, and the conditions of their measurement."""

    conditions: Mapping[str, str]
    figures: Mapping[str, Figure]

    @classmethod
    def read(cls, path: Path) -> Baseline:
        """Read a recorded baseline."""
        return msgspec.json.decode(path.read_bytes(), type=cls)

    def write(self, path: Path) -> None:
        """Record this baseline, a line for each figure."""
        rows = ",\n".join(
            f"    {_json(name)}: {_json(figure)}" for name, figure in self.figures.items()
        )
        conditions = _json(self.conditions)
        path.write_text(
            f'{{\n  "conditions": {conditions},\n  "figures": {{\n{rows}\n  }}\n}}\n',
            encoding="utf-8",
        )


def _json(value: object) -> str:
    return msgspec.json.encode(value).decode()


def compare(recorded: Mapping[str, Figure], now: Mapping[str, Figure]) -> dict[str, Comparison]:
    """Compare all figures of two baselines; new figures come last."""
    both = recorded.keys() & now.keys()
    chance = CHANCE / max(len(both), 1)
    return {
        name: _compare(recorded.get(name), now.get(name), chance)
        for name in dict.fromkeys((*recorded, *now))
    }


def _compare(recorded: Figure | None, now: Figure | None, chance: float) -> Comparison:
    match recorded, now:
        case None, _:
            return "not recorded"
        case _, None:
            return "not measured"
        case (Right() as before, Right() as after) | (Wrong() as before, Wrong() as after):
            return before.compare(after, chance)
        case Instructions() as before, Instructions() as after:
            return before.compare(after)
    raise TypeError(f"{recorded} and {now} are figures of two kinds")
