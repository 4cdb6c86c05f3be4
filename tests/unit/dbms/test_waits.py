"""Servers' answers about the waits of their sessions."""

import pytest

from slowdust.dbms import postgres as postmaster
from slowdust.dbms.mysqld import waits as mysqld
from slowdust.dbms.stages import Row
from slowdust.store.waits import Wait


def test_sessions_of_postgres() -> None:
    rows: list[Row] = [
        ["100.25", "11", "active", "Lock", "transactionid", "12,13"],
        ["100.25", "12", "active", "IO", "WalSync", None],
        ["100.25", "13", "active", None, None, None],
        ["100.25", "14", "idle in transaction", "Client", "ClientRead", None],
        ["100.25", "15", "idle", None, None, None],
    ]
    samples = postmaster.WAITS.sessions.read([rows])
    assert [(each.process, each.event, each.kind) for each in samples] == [
        (11, "Lock/transactionid", "lock"),
        (12, "IO/WalSync", "sync"),
        (13, None, None),
        (14, "Client/ClientRead", "client"),
        (15, "Client/ClientRead", "client"),
    ]
    assert [each.blockers for each in samples] == [(12, 13), (), (), (), ()]
    assert {each.at for each in samples} == {100.25}


@pytest.mark.parametrize(
    ("kind", "old", "new"),
    [
        ("IO", "WALSync", "IO/WalSync"),  # up to 16
        ("IO", "WalSync", "IO/WalSync"),
        ("IO", "WALInitWrite", "IO/WalInitWrite"),
        ("IO", "DataFileRead", "IO/DataFileRead"),
        ("LWLock", "WALWriteLock", "LWLock/WALWrite"),  # up to 12, as the next
        ("LWLock", "buffer_content", "LWLock/BufferContent"),
        ("LWLock", "WALWrite", "LWLock/WALWrite"),
        ("Lock", "tuple", "Lock/tuple"),
    ],
)
def test_events_of_old_versions_have_the_names_of_new_ones(kind: str, old: str, new: str) -> None:
    assert postmaster.event_name(kind, old) == new


@pytest.mark.parametrize(
    ("event", "kind"),
    [
        ("IO/WalSync", "sync"),
        ("IO/DataFileSync", "sync"),
        ("IO/DataFileRead", "io"),
        ("LWLock/WALWrite", "commit"),
        ("LWLock/BufferContent", "latch"),
        ("Timeout/SpinDelay", "latch"),
        ("Timeout/VacuumDelay", "other"),
        ("InjectionPoint/x", "other"),
    ],
)
def test_kinds_of_postgres(event: str, kind: str) -> None:
    assert postmaster.wait_kind(event) == kind


def test_totals_of_the_performance_schema() -> None:
    answers = [
        [
            ["wait/synch/mutex/innodb/trx_mutex", "4", "2500000"],
            ["wait/io/file/sql/binlog", "1", "1000000000"],
        ],
        [["stage/sql/waiting for handler commit", "1", "3000000000"]],
        [["Innodb_row_lock_time", "5"], ["Innodb_row_lock_waits", "2"]],
    ]
    assert mysqld.WAITS.totals.read(answers) == [
        Wait(event="synch/mutex/innodb/trx_mutex", kind="latch", us=2.5, times=4),
        Wait(event="io/file/sql/binlog", kind="io", us=1000.0, times=1),
        Wait(event="stage/sql/waiting for handler commit", kind="commit", us=3000.0, times=1),
        Wait(event="innodb/row lock", kind="lock", us=5000.0, times=2),
    ]


def test_a_server_without_innodb_has_no_row_locks_of_it() -> None:
    assert mysqld.WAITS.totals.read([[], [], []]) == []


def test_sessions_of_myrocks() -> None:
    rows: list[Row] = [
        ["7.5", "21", "Waiting for row lock"],
        ["7.5", "22", "Commit"],
        ["7.5", "23", None],
    ]
    samples = mysqld.ROCKSDB_ROW_LOCKS.sessions.read([rows])
    assert [(each.process, each.event, each.kind) for each in samples] == [
        (21, "rocksdb/row lock", "lock"),
        (22, None, None),
        (23, None, None),
    ]
