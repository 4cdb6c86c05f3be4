"""Records of what servers waited for: `waits.ndjson` has one JSON object a line.

Times of sessions are of all sessions of the clients together, so that the time of an operation is
clients * seconds / operations.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from slowdust.store.bounds import Amount, Duration, Natural
from slowdust.store.count import WindowPlace
from slowdust.units import Microsecond

WaitSource = Literal["performance_schema", "processlist", "pg_stat_activity"]
"""`performance_schema` adds up each wait, the others are sampled."""

WaitKind = Literal["lock", "latch", "io", "sync", "commit", "client", "other"]
"""`lock` on rows, tables and transactions; `latch` of the server's own memory: LWLocks, mutexes;
`io` reads and writes of files, in MySQL and MariaDB fsync too; `sync` waits for the disk to have
what was written; `commit` all
of a commit, with what it does itself; `client` waits for the next message."""

NOT_SEEN = "not seen"
"""What a session did that held a lock and is not in the sample: the server's own, for example."""


class Wait(msgspec.Struct, kw_only=True, omit_defaults=True):
    """The time of one event in one window."""

    event: str
    """Name as the server has it: `Lock/transactionid`, `io/file/innodb/innodb_data_file`."""
    kind: WaitKind
    us: Amount
    times: int | None = None
    """Number of waits; absent where they are sampled."""


class Syncs(msgspec.Struct, kw_only=True):
    """Calls that wait until data are on disk, of the whole server."""

    calls: int
    us: Microsecond


class SessionTime(msgspec.Struct, kw_only=True, omit_defaults=True):
    """The time of the processes or threads that serve the sessions, as the kernel sees it."""

    run_us: Microsecond | None = None
    """Time on a CPU of all of them; absent, as the next, where the kernel does not tell."""
    queue_us: Microsecond | None = None
    """Time in which they were ready to run and had no CPU."""
    samples: Natural
    """Looks at one of them each."""
    states: dict[str, Natural] = {}
    """State -> samples: `running` (or ready to run), `page fault`, or the system call in which it
    slept."""


class WaitWindow(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What one contender's sessions waited for in one window."""

    place: WindowPlace
    operations: Natural
    seconds: Duration
    sources: list[WaitSource] = []
    """Where `waits` come from; empty where the server cannot tell."""
    samples: int | None = None
    """Looks at one session each; absent where all waits were added up."""
    waits: list[Wait] = []
    known: list[str] = []
    """Events that the server would tell, were there any; in the first window of a start, where they
    differ between versions. Empty where all servers of the source tell the same."""
    blockers: dict[str, int] = {}
    """What the session at the head of the queue did while others waited for a lock -> samples."""
    syncs: dict[str, Syncs] | None = None
    """System call -> its calls; absent where they could not be counted."""
    sessions: SessionTime | None = None
