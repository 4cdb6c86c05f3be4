"""Waits of the sessions of MySQL and MariaDB: the Performance Schema and InnoDB's status.

Only leaf events are read: `wait/io/table` and `wait/lock/table` contain the waits of the storage
engine, and socket waits are waits for the client. Two kinds of waits have no events: waits for
InnoDB's row locks are in its status, and waits for another thread that flushes the log are in the
commit's stage, together with the rest of the commit. MyRocks shows waits for row locks only in the
process list, which is sampled.
"""

from __future__ import annotations

from collections.abc import Sequence

from slowdust.dbms.stages import Query, Row, SampledWaits, SessionSample, TotalledWaits
from slowdust.store.waits import Wait, WaitKind

SINCE = (5, 6)
"""The first version whose instruments can be set at startup."""
_INSTRUMENTS = {
    "%": "OFF",
    "wait/synch/%": "ON",
    "wait/io/file/%": "ON",
    "wait/lock/metadata/%": "ON",
    "stage/sql/%commit%": "ON",
}
"""Instruments of the Performance Schema; the longest matching pattern applies."""
_CONSUMERS = ("events-waits-current", "events-stages-current")
OPTIONS = (
    "--loose-performance-schema=ON",
    *(
        f"--loose-performance-schema-instrument={name}={value}"
        for name, value in _INSTRUMENTS.items()
    ),
    *(f"--loose-performance-schema-consumer-{name}=ON" for name in _CONSUMERS),
)
"""Options that make a server total the waits of its sessions, if it was built with support."""

_OF_SESSIONS = (
    "SELECT e.event_name, SUM(e.count_star), SUM(e.sum_timer_wait) "
    "FROM performance_schema.events_{of}_summary_by_thread_by_event_name e "
    "JOIN performance_schema.threads t ON t.thread_id = e.thread_id "
    "WHERE t.name = 'thread/sql/one_connection' AND t.processlist_id <> CONNECTION_ID() "
    "AND e.count_star > 0 GROUP BY e.event_name"
)
_ROW_LOCK_TIME, _ROW_LOCK_WAITS = "innodb_row_lock_time", "innodb_row_lock_waits"
_STATEMENTS = (
    _OF_SESSIONS.format(of="waits"),
    _OF_SESSIONS.format(of="stages"),
    f"SHOW GLOBAL STATUS WHERE Variable_name IN ('{_ROW_LOCK_TIME}', '{_ROW_LOCK_WAITS}')",
)
_EVENTS = (
    "SELECT name FROM performance_schema.setup_instruments "
    "WHERE enabled = 'YES' AND (name LIKE 'wait/%' OR name LIKE 'stage/%') ORDER BY name"
)
"""The enabled instruments, which differ between versions: a missing one was not measured."""
_SESSIONS = (
    "SELECT UNIX_TIMESTAMP(SYSDATE(6)), tid, state FROM information_schema.processlist "
    "WHERE id <> CONNECTION_ID() AND command <> 'Daemon'"
)
_WAITS_FOR_ROW = "Waiting for row lock"
_ROCKSDB_ROW_LOCK = "rocksdb/row lock"
_PS_PER_US = 1e6
_MS = 1e3
_ROW_LOCK = "innodb/row lock"


def _read(answers: Sequence[Sequence[Row]]) -> list[Wait]:
    *summaries, status = answers
    waits = [
        Wait(
            event=str(name).removeprefix("wait/"),
            kind=_kind_of(str(name)),
            us=float(picoseconds or 0) / _PS_PER_US,
            times=int(times or 0),
        )
        for rows in summaries
        for name, times, picoseconds in rows
    ]
    totals = {str(name).lower(): int(value or 0) for name, value in status}
    if totals.keys() >= {_ROW_LOCK_TIME, _ROW_LOCK_WAITS}:
        waiting = _MS * totals[_ROW_LOCK_TIME]
        waits.append(Wait(event=_ROW_LOCK, kind="lock", us=waiting, times=totals[_ROW_LOCK_WAITS]))
    return waits


def _read_events(answers: Sequence[Sequence[Row]]) -> list[str]:
    return [_ROW_LOCK, *(str(name).removeprefix("wait/") for (name,) in answers[0])]


def _kind_of(name: str) -> WaitKind:
    """Return the kind of an instrument, 'wait/io/file/sql/binlog'. `io` includes fsyncs."""
    if name.startswith("stage/"):
        return "commit"
    if name.startswith("wait/io/"):
        return "io"
    return "latch" if name.startswith("wait/synch/") else "lock"


def _read_sessions(answers: Sequence[Sequence[Row]]) -> list[SessionSample]:
    samples = []
    for at, thread, state in answers[0]:
        waits = state == _WAITS_FOR_ROW
        samples.append(
            SessionSample(
                at=float(at or 0),
                process=int(thread or 0),
                event=_ROCKSDB_ROW_LOCK if waits else None,
                kind="lock" if waits else None,
            )
        )
    return samples


WAITS = TotalledWaits(
    "performance_schema", Query(_STATEMENTS, _read), Query((_EVENTS,), _read_events)
)
ROCKSDB_ROW_LOCKS = SampledWaits("processlist", Query((_SESSIONS,), _read_sessions))
