"""What a family tells of the waits of its servers' sessions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from slowdust.store.waits import Wait, WaitKind, WaitSource

if TYPE_CHECKING:
    from slowdust.dbms.stages import Row


@dataclass(frozen=True)
class TotalledWaits:
    """Waits that a server adds up itself, since some moment."""

    source: WaitSource
    statements: tuple[str, ...]
    read: Callable[[Sequence[Sequence[Row]]], list[Wait]]
    """A function: the answers to the statements -> the totals, each event once."""
    known: str
    """The statement whose rows are the events that the server would tell, were there any."""
    read_known: Callable[[Sequence[Row]], list[str]]
    """A function: the rows of that statement -> the names of the events."""


@dataclass(frozen=True)
class SessionSample:
    """What one session did at one moment."""

    at: float
    """Unix time."""
    process: int
    event: str | None
    """The event for which it waited; None where it did not wait."""
    kind: WaitKind | None
    blockers: tuple[int, ...] = ()
    """Processes that hold the lock for which it waited."""


@dataclass(frozen=True)
class SampledWaits:
    """Waits that are seen in samples."""

    source: WaitSource
    statement: str
    """The statement that shows the sessions of all clients but its own."""
    read: Callable[[Sequence[Row]], list[SessionSample]]
    """A function: the rows of the statement -> what each session did."""


Waits = TotalledWaits | SampledWaits
