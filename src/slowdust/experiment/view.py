"""What a running experiment tells whoever watches it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

from slowdust.units import Second


@dataclass(frozen=True)
class Standing:
    """How one contender stands in the test that runs, relative to the base."""

    contender: str
    rqps: float | None
    """None where no block is complete."""
    low: float | None
    high: float | None
    verdict: str
    settled: bool
    """More slices of it would be wasted."""


@dataclass(frozen=True)
class Status:
    """The experiment at the end of a block."""

    test: str
    clients: int
    step_number: int
    steps: int
    extent: str
    """How much of it there is, in words: '40 slices, incarnation 2'."""
    standings: list[Standing]
    measured: Second
    budget: Second
    settled: int | None
    """Tests that need no more slices; None where none ends early."""


class View(Protocol):
    """Receives the events of a run; never blocks it for long."""

    def phase(self, text: str) -> None:
        """Something other than measuring is under way: fetching, loading, maintenance."""

    def progress(self, done: int, total: int) -> None:
        """How far the phase has come."""

    def block(self, status: Status) -> None:
        """A block has been measured."""

    def step_done(self, status: Status) -> None:
        """A test has had its turn in this incarnation."""

    def warning(self, text: str) -> None:
        """Something the user should know, that does not stop the experiment."""
