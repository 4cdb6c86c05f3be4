"""What the sessions of a contender waited for, as a report lists it."""

from __future__ import annotations

import msgspec

from slowdust.store.waits import WaitKind, WaitSource
from slowdust.units import Microsecond


class Difference(msgspec.Struct, kw_only=True):
    """A value beside the base's, from the windows that both have: neighbours are paired."""

    base: float
    """The base's value, the trimmed mean of its windows, as all values of `ContenderWaits` are."""
    change: float
    """Contender minus base, of trimmed means."""
    low: float
    high: float
    """99% interval of `change`, by the scatter of the windows, which sampling is a part of."""

    @property
    def is_certain(self) -> bool:
        return self.low > 0 or self.high < 0


class WaitCost(msgspec.Struct, kw_only=True, omit_defaults=True):
    """One event that sessions wait for."""

    event: str
    kind: WaitKind
    us: Microsecond
    """Time per operation."""
    times: float | None = None
    """Number of waits per operation; absent where they are sampled."""
    beside: Difference | None = None
    """The time beside the base's; absent for the base, and where the base has other events."""


class SyncCost(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Waits for the disk, by fsync and the like, of the whole server."""

    per_operation: float
    """Number of calls per operation; in a test that writes an operation has one commit."""
    us: Microsecond | None = None
    """Time of one call; absent where there were none."""
    calls: list[str]
    """The system calls, the most frequent first."""
    per_operation_beside: Difference | None = None
    us_beside: Difference | None = None


class SessionStates(msgspec.Struct, kw_only=True, omit_defaults=True):
    """The time per operation of the processes or threads that serve sessions, by the kernel."""

    run_us: Microsecond | None = None
    """Time on a CPU."""
    queue_us: Microsecond | None = None
    """Time in which they could have run and had no CPU."""
    queue_beside: Difference | None = None
    asleep_us: dict[str, Microsecond] = {}
    """System call -> time asleep in it, estimated from samples; the longest first."""
    asleep_beside: dict[str, Difference] = {}


class ContenderWaits(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What one contender's sessions waited for in one step. It was observed with what observing
    costs, so that only shares and differences count."""

    benchmark: str
    test: str
    clients: int
    contender: str
    windows: int
    time_us: Microsecond
    """Time of an operation while it was observed: clients * seconds / operations."""
    time_beside: Difference | None = None
    sources: list[WaitSource] = []
    """Where the events come from; empty where the server cannot tell."""
    samples: int | None = None
    """Looks at one session each; absent where all waits were added up."""
    kinds: dict[WaitKind, Microsecond] = {}
    """Kind -> time per operation, the longest first, without the client's."""
    kinds_beside: dict[WaitKind, Difference] = {}
    waits: list[WaitCost] = []
    """The events with the most time on either contender, without the client's."""
    others: int = 0
    """Number of events with less time."""
    others_us: Microsecond = 0.0
    blockers: dict[str, float] = {}
    """What the session at the head of a queue for a lock did -> share of those that waited."""
    syncs: SyncCost | None = None
    sessions: SessionStates | None = None
    words: str = ""
    """What it waits for, as a sentence."""
    words_of_change: str = ""
    """What it waits for longer or less long than the base, as a sentence's end; empty where no
    difference is certain."""
