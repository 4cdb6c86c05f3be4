"""Waits of PostgreSQL's sessions: samples of `pg_stat_activity`, with the blocking processes."""

from __future__ import annotations

from collections.abc import Sequence

from slowdust.dbms.stages import Query, Row
from slowdust.dbms.waits import SampledWaits, SessionSample
from slowdust.store.waits import WaitKind

_STATEMENT = (
    "WITH look AS (SELECT random() < 0.05 AS for_blockers) "
    "SELECT extract(epoch FROM clock_timestamp()), pid, state, wait_event_type, wait_event, "
    "CASE WHEN for_blockers AND wait_event_type = 'Lock' "
    "THEN array_to_string(pg_blocking_pids(pid), ',') END FROM pg_stat_activity CROSS JOIN look "
    "WHERE backend_type = 'client backend' AND pid <> pg_backend_pid()"
)
"""Shows all sessions but its own, and in one sample of twenty what blocks those that wait for a
lock: `pg_blocking_pids` holds all locks of the lock manager, for which others then wait."""
_CLIENT = "Client/ClientRead"
_KINDS: dict[str, WaitKind] = {
    "Lock": "lock",
    "LWLock": "latch",
    "BufferPin": "latch",
    "Buffer": "latch",
    "IO": "io",
    "Client": "client",
}
"""Type of a wait event (PostgreSQL manual, "Wait Events") -> its kind."""
_OTHER_KINDS: dict[str, WaitKind] = {
    # A session waits for the one that writes and flushes the log for both.
    "LWLock/WALWrite": "commit",
    "Timeout/SpinDelay": "latch",
}


def _read(answers: Sequence[Sequence[Row]]) -> list[SessionSample]:
    """Read the sessions; one that has nothing to do waits for its client."""
    samples = []
    for at, process, state, kind_of_event, name, blockers in answers[0]:
        event = None if kind_of_event is None else name_of(kind_of_event, str(name))
        if state != "active":
            event = _CLIENT
        samples.append(
            SessionSample(
                at=float(at or 0),
                process=int(process or 0),
                event=event,
                kind=None if event is None else kind_of(event),
                blockers=tuple(int(pid) for pid in (blockers or "").split(",") if pid),
            )
        )
    return samples


def name_of(kind: str, name: str) -> str:
    """Return the name that PostgreSQL 17 gives an event, so that versions can be compared.

    IO/WALSync became IO/WalSync in 17; the locks LWLock/WALWriteLock and LWLock/buffer_content
    became LWLock/WALWrite and LWLock/BufferContent in 13.
    """
    if kind == "IO" and name.startswith("WAL"):
        name = f"Wal{name[3:]}"
    elif kind == "LWLock" and name.islower():
        name = "".join(part.capitalize() for part in name.split("_"))
    elif kind == "LWLock":
        name = name.removesuffix("Lock")
    return f"{kind}/{name}"


def kind_of(event: str) -> WaitKind:
    """Return the kind of a wait event, 'IO/WalSync'."""
    if event in _OTHER_KINDS:
        return _OTHER_KINDS[event]
    kind = _KINDS.get(event.partition("/")[0], "other")
    return "sync" if kind == "io" and event.endswith("Sync") else kind


WAITS = SampledWaits("pg_stat_activity", Query((_STATEMENT,), _read))
