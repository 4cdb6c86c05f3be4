"""Servers are suspended, and none stays suspended."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest

from slowdust.experiment.driver.process import Driver, TargetError
from slowdust.instances.control_groups import make_frozen_group, remove_group
from slowdust.instances.instance import Instance
from slowdust.instances.leftovers import clean_leftovers
from slowdust.instances.processes import ProcessMark
from tests.integration.conftest import GetBuildOf, MakeInstance
from tests.integration.owner_process import start_owner
from tests.tiers.selection import full
from tests.waiting import wait_until

MOUNTS = ("/sys/fs/cgroup/unified", "/sys/fs/cgroup")
SERVERS = [
    ("postgres", "17.6"),
    pytest.param("mysql", "9.7.4", marks=full),
    pytest.param("mariadb", "10.11.18", marks=full),
]
LOCK_TIMEOUTS = [
    ("postgres@17.6", "SET lock_timeout = '1s'"),
    pytest.param("mysql@9.7.4/innodb", "SET innodb_lock_wait_timeout = 1", marks=full),
    pytest.param("mariadb@10.11.18/rocksdb", "SET rocksdb_lock_wait_timeout = 1", marks=full),
]
"""DBMS@VERSION/ENGINE, and the statement after which a session waits 1 s for a lock."""


PATIENCE = (
    "DO $$ BEGIN WHILE NOT (SELECT is_called FROM released) "
    "LOOP PERFORM pg_sleep(0.01); END LOOP; END $$"
)
"""The statement of Postgres that ends when a number of the sequence is taken."""
WAYS = ["control group", "signals"]


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest) -> str:
    """The way to suspend servers; skips without the right to use it."""
    if request.param == "control group":
        folder = make_frozen_group()
        if folder is None:
            pytest.skip("no control group can be made")
        remove_group(folder)
        assert not folder.exists()
    return str(request.param)


@pytest.fixture
def make_freezable(make_instance: MakeInstance, way: str) -> MakeInstance:
    """Make a small instance that is frozen in that way."""

    def make(*arguments: object, **named: object) -> Instance:
        instance = make_instance(*arguments, **named)
        if way == "signals":
            instance.frozen_group = None
        return instance

    return make


def still(process: psutil.Process) -> bool:
    """Return whether the kernel has stopped a process, by a signal or in its control group."""
    group = Path(f"/proc/{process.pid}/cgroup").read_text(encoding="utf-8").split("0::")[-1].strip()
    events = (Path(f"{mount}{group}/cgroup.events") for mount in MOUNTS)
    frozen = any(path.exists() and "frozen 1" in path.read_text() for path in events)
    return frozen or process.status() == psutil.STATUS_STOPPED


def standing_still(instance: Instance) -> set[bool]:
    root = psutil.Process(instance.pid)
    return {still(process) for process in [root, *root.children(recursive=True)]}


def cpu_seconds(instance: Instance) -> float:
    root = psutil.Process(instance.pid)
    return sum(sum(process.cpu_times()[:2]) for process in [root, *root.children(recursive=True)])


@pytest.mark.parametrize(("dbms", "version"), SERVERS)
def test_all_processes_of_a_server_are_suspended_and_resumed_also_after_a_kill(
    make_freezable: MakeInstance, builds: GetBuildOf, dbms: str, version: str, way: str
) -> None:
    instance = make_freezable(builds(dbms, version))
    instance.start()
    assert instance.freezing == way
    instance.freeze()
    assert standing_still(instance) == {True}
    used = cpu_seconds(instance)
    time.sleep(0.3)
    assert cpu_seconds(instance) == used
    assert instance.alive()
    instance.freeze()  # again
    instance.thaw()
    wait_until(lambda: standing_still(instance) == {False})
    for _ in range(20):
        instance.freeze()
        instance.thaw()
    with Driver() as driver:
        assert driver.sql(instance.target(), ["SELECT 1"])[0].rows == [["1"]]
    instance.check_alive()
    instance.freeze()
    instance.stop()
    assert not instance.alive()
    instance.freeze()  # a server that does not run
    instance.start()
    assert standing_still(instance) == {False}

    children = psutil.Process(instance.pid).children(recursive=True)
    assert dbms != "postgres" or len(children) > 3
    instance.freeze()
    psutil.Process(instance.pid).kill()
    wait_until(lambda: not instance.alive())
    assert all(still(child) for child in children)
    instance.thaw()
    psutil.wait_procs(children, timeout=60)
    assert not any(child.is_running() for child in children)


@pytest.mark.parametrize(("dbms", "version"), SERVERS)
@pytest.mark.parametrize(
    "way", ["control group", pytest.param("signals", marks=full)], indirect=True
)
def test_a_killed_slowdust_leaves_no_frozen_server(
    builds: GetBuildOf, data_root: object, dbms: str, version: str, way: str
) -> None:
    del data_root
    builds(dbms, version)
    owner, pid, _, directory = start_owner(dbms, version, "frozen", way)
    assert still(psutil.Process(pid))
    owner.kill()
    owner.wait()
    wait_until(lambda: ProcessMark.of(pid) is None and not directory.exists())


@pytest.mark.parametrize(
    "way", [pytest.param("control group", marks=full), "signals"], indirect=True
)
def test_the_next_slowdust_ends_a_frozen_server_that_was_left(
    builds: GetBuildOf, data_root: object, way: str
) -> None:
    del data_root
    builds("postgres", "17.6")
    owner, pid, _, directory = start_owner("postgres", "17.6", "frozen", "no-watchdog", way)
    owner.kill()
    owner.wait()
    assert still(psutil.Process(pid))
    (leftover,) = clean_leftovers()
    assert leftover.servers == 1
    assert ProcessMark.of(pid) is None
    assert not directory.exists()


@pytest.mark.parametrize(("named", "setting"), LOCK_TIMEOUTS)
def test_timeouts_of_waits_for_locks_count_suspended_time(
    make_instance: MakeInstance, builds: GetBuildOf, named: str, setting: str
) -> None:
    contender, _, engine = named.partition("/")
    dbms, version = contender.split("@")
    instance = make_instance(builds(dbms, version), engine=engine or None)
    instance.start()
    of_engine = f" ENGINE={engine}" if engine else ""
    activity = "information_schema.processlist WHERE info"
    prepare, wait, release = "SELECT 1", "SELECT SLEEP(5)", "SELECT 1"
    if dbms == "postgres":
        activity = "pg_stat_activity WHERE query"
        prepare, wait, release = "CREATE SEQUENCE released", PATIENCE, "SELECT nextval('released')"
    hold = ["BEGIN", "UPDATE t SET v = 1 WHERE id = 1", wait, "COMMIT"]

    def under_way(statement: str) -> bool:
        found = f"SELECT count(*) FROM {activity} LIKE '{statement[:20]}%'"
        return third.sql(instance.target(), [found])[0].rows == [["1"]]

    with Driver() as first, Driver() as second, Driver() as third, ThreadPoolExecutor() as threads:
        first.sql(
            instance.target(),
            [
                prepare,
                f"CREATE TABLE t (id int PRIMARY KEY, v int){of_engine}",
                "INSERT INTO t VALUES (1, 0)",
            ],
        )
        holder = threads.submit(first.sql, instance.target(), hold)
        wait_until(lambda: under_way(wait))
        update = "UPDATE t SET v = 2 WHERE id = 1"
        waiter = threads.submit(second.sql, instance.target(), [setting, update])
        wait_until(lambda: under_way(update))
        instance.freeze()
        time.sleep(1.2)
        assert not waiter.done()
        instance.thaw()
        with pytest.raises(TargetError, match=r"(?i)lock.*timeout"):
            waiter.result(timeout=60)
        assert not holder.done(), "the timeout of 1 s has passed, by the clock of the wall"
        third.sql(instance.target(), [release])
        holder.result(timeout=60)
        (value,) = first.sql(instance.target(), ["SELECT v FROM t"])
    assert value.rows == [["1"]]
    instance.check_alive()


@full
def test_the_watchdog_of_innodb_lets_a_server_live_that_stood_still_for_longer(
    make_instance: MakeInstance, builds: GetBuildOf
) -> None:
    """Take MariaDB's, which can be set, and which ends a server at its first look."""
    settings = {"innodb_fatal_semaphore_wait_threshold": "1"}
    instance = make_instance(builds("mariadb", "10.11.18"), settings, engine="innodb")
    instance.start()
    insert = "INSERT INTO t SELECT a.v, b.v FROM s a, s b"
    with Driver() as driver, ThreadPoolExecutor() as threads:
        driver.sql(
            instance.target(),
            [
                "CREATE TABLE s (v int)",
                f"INSERT INTO s VALUES {', '.join(f'({number})' for number in range(200))}",
                "CREATE TABLE t (v int, w int, KEY (v), KEY (w))",
            ],
        )
        inserts = threads.submit(driver.sql, instance.target(), [insert] * 4, 4)
        for _ in range(2):
            time.sleep(0.1)
            assert not inserts.done(), "latches are in use"
            instance.freeze()
            time.sleep(1.3)
            instance.thaw()
        inserts.result(timeout=60)
    instance.check_alive()
