"""Records of servers' waits: `waits.ndjson`, one JSON object per line.

Times of sessions are summed over all client sessions, so that the time per operation is clients *
seconds / operations.
"""

from __future__ import annotations

from typing import Literal

import msgspec

from slowdust.store.bounds import Amount, Duration, Natural
from slowdust.store.count import WindowPlace
from slowdust.units import Microsecond

WaitSource = Literal["performance_schema", "processlist", "pg_stat_activity"]
"""`performance_schema` adds up all waits; the others are sampled."""

WaitKind = Literal["lock", "latch", "io", "sync", "commit", "client", "other"]
"""`lock`: on rows, tables and transactions; `latch`: on memory of the server (LWLocks, mutexes);
`io`: reads and writes of files, in MySQL and MariaDB also fsync; `sync`: fsync; `commit`: a whole
commit, including its own work; `client`: for the next message."""

NOT_SEEN = "not seen"
"""State of a lock's holder that is not in the sample, such as a session of the server itself."""


class Wait(msgspec.Struct, kw_only=True, omit_defaults=True):
    """The time of one wait event in one window."""

    event: str
    """The server's name: `Lock/transactionid`, `io/file/innodb/innodb_data_file`."""
    kind: WaitKind
    us: Amount
    times: int | None = None
    """Number of waits; absent if they are sampled."""


class Syncs(msgspec.Struct, kw_only=True):
    """Sync calls of the whole server."""

    calls: int
    us: Microsecond


class SessionTime(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Kernel accounting of the processes or threads that serve the sessions."""

    run_us: Microsecond | None = None
    """Total time on a CPU; like the next, absent if the kernel does not report it."""
    queue_us: Microsecond | None = None
    """Total time in the run queue."""
    samples: Natural
    """Number of samples, of one process or thread each."""
    states: dict[str, Natural] = {}
    """State -> samples: `running` (or ready to run), `page fault`, or the blocking system call."""


class WaitWindow(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Waits of one contender's sessions in one window."""

    place: WindowPlace
    operations: Natural
    seconds: Duration
    sources: list[WaitSource] = []
    """Sources of `waits`; empty if the server has none."""
    samples: int | None = None
    """Number of samples, of one session each; absent if all waits were added up."""
    waits: list[Wait] = []
    known: list[str] = []
    """Events that the server can report; in the first window of a start, if they differ between
    versions. Empty if all servers of the source report the same events."""
    blockers: dict[str, int] = {}
    """State of the session at the head of a lock's queue, while others waited -> samples."""
    syncs: dict[str, Syncs] | None = None
    """System call -> its calls; absent if they could not be counted."""
    sessions: SessionTime | None = None
