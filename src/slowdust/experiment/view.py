"""The events of a running experiment, for a view that shows them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from slowdust.ratios import Ratio
from slowdust.units import Second


@dataclass(frozen=True)
class InterimVerdict:
    """The verdict on one contender in the test that runs, relative to the base."""

    contender: str
    ratio: Ratio | None
    """The ratio to the base that the verdict is about; None where no block is complete."""
    settled: bool
    """Whether more slices would be wasted."""
    far: bool = False
    """Whether it is so far from the base that few operations of each start are enough."""
    typical: float | None = None
    """The typical ratio, where the verdict is about all time."""
    fails: str = ""
    """The error with which all operations fail, of it or of the base; empty if any succeeded."""


@dataclass(frozen=True)
class Status:
    """The experiment at the end of a block."""

    test: str
    clients: int
    step_number: int
    steps: int
    extent: str
    """The slices so far, in words: '40 slices, start 2 of 4'."""
    verdicts: list[InterimVerdict]
    measured: Second
    budget: Second
    settled: int | None
    """Tests that need no more slices; None where none ends early."""
    left: Second | None = None
    """Wall time to the end, if no other test ends early; None if unknown."""
    rate: str | None = None
    """The rate so far of a contender that is alone, with its unit; else None."""
    following: Second = 0.0
    """The part of `left` that comes behind what is timed: counting, profiles, waits."""


class View(Protocol):
    """Receives the events of a run; never blocks it for long."""

    def phase(self, text: str) -> None:
        """Begin something other than measuring: fetching, loading, maintenance."""

    def waiting(self, why: str, so_far: Second) -> None:
        """Show why the experiment waits, and for how long it has; called again and again."""

    def progress(self, done: int, total: int) -> None:
        """Show how far the phase has come."""

    def block(self, status: Status) -> None:
        """Show the status after a block has been measured."""

    def step_done(self, status: Status) -> None:
        """Show the status after a test has had its turn in this incarnation."""

    def confirm(self, question: str) -> bool:
        """Ask the user; where nobody is at a terminal, the answer is no."""

    def warning(self, text: str) -> None:
        """Show what the user should know, though it does not stop the experiment."""
