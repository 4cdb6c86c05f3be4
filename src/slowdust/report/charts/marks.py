"""Marks of contenders: each has the same colour and shape everywhere on the page."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

COLOURS = 7
"""The number of colours of the style sheet for contenders other than the base (classes k1..k7)."""

SHAPES = ("round", "square", "pale")
"""The shapes of the dot, a new one when the colours are used up: 21 contenders differ."""


@dataclass(frozen=True)
class Mark:
    """The style classes of one contender: `colour` is k0 for the base, k1..k7 for the others."""

    colour: str
    shape: str

    @property
    def css_class(self) -> str:
        return f"{self.colour} {self.shape}"


def marks_of(contenders: Sequence[str], base: str) -> dict[str, Mark]:
    """Return a mark for every contender, in their order; the base has its own colour."""
    marks = {base: Mark("k0", SHAPES[0])}
    for index, name in enumerate(name for name in contenders if name != base):
        turn, colour = divmod(index, COLOURS)
        marks[name] = Mark(f"k{colour + 1}", SHAPES[turn % len(SHAPES)])
    return marks
