"""The events of a running experiment, for a view that shows them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from slowdust.ratios import Ratio
from slowdust.units import Second


@dataclass(frozen=True)
class InterimVerdict:
    """The interim verdict on a contender in the running test, relative to the base."""

    contender: str
    ratio: Ratio | None
    """The judged ratio to the base; None before the first complete block."""
    settled: bool
    """Whether more slices would not change the verdict."""
    far: bool = False
    """Whether it is so far from the base that few operations per start are enough."""
    typical: float | None = None
    """The trimmed ratio, if the verdict is about the ratio of totals."""
    fails: str = ""
    """The error with which all operations of it or of the base fail; else empty."""


@dataclass(frozen=True)
class Status:
    """The experiment at the end of a block."""

    test: str
    clients: int
    step_number: int
    steps: int
    extent: str
    """The slices so far: '40 slices, start 2 of 4'."""
    verdicts: list[InterimVerdict]
    measured: Second
    budget: Second
    settled: int | None
    """Tests that need no more slices; None if tests do not end early."""
    left: Second | None = None
    """Wall time to the end if no other test ends early; None if unknown."""
    rate: str | None = None
    """The rate and unit of a single contender so far; None for several."""
    following: Second = 0.0
    """The part of `left` after the timed part: counting, profiles, waits."""


class View(Protocol):
    """Receives the events of a run; must not block it for long."""

    def phase(self, text: str) -> None:
        """Begin a phase other than measuring: fetching, loading, maintenance."""

    def waiting(self, why: str, so_far: Second) -> None:
        """Show what the experiment waits for, and for how long so far; called repeatedly."""

    def progress(self, done: int, total: int) -> None:
        """Show the progress of the phase."""

    def block(self, status: Status) -> None:
        """Show the status after a block has been measured."""

    def step_done(self, status: Status) -> None:
        """Show the status after a test had its turn in this start of the servers."""

    def confirm(self, question: str) -> bool:
        """Ask the user; without a terminal the answer is no."""

    def warning(self, text: str) -> None:
        """Show a warning that does not stop the experiment."""
