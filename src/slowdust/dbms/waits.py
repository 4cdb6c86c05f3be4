"""What a family tells of the waits of its servers' sessions."""

from __future__ import annotations

from dataclasses import dataclass

from slowdust.dbms.stages import Query
from slowdust.store.waits import Wait, WaitKind, WaitSource


@dataclass(frozen=True)
class TotalledWaits:
    """Waits that a server adds up itself, since some moment."""

    source: WaitSource
    totals: Query[list[Wait]]
    """The query for each event once, with its total."""
    events: Query[list[str]]
    """The query for the events that the server would tell, were there any."""


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
    sessions: Query[list[SessionSample]]
    """The query, of one statement, for what the sessions of all clients but its own do."""


Waits = TotalledWaits | SampledWaits
