"""Servers that stand still, and that never stay so."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import psutil
import pytest

from slowdust.experiment.driver.process import Driver, TargetError
from slowdust.instances.control_groups import remove_group
from slowdust.instances.freezing import make_frozen_group
from slowdust.instances.instance import Instance
from slowdust.instances.leftovers import clean_leftovers
from slowdust.instances.processes import ProcessMark
from tests.integration.conftest import GetBuildOf, MakeInstance, Query
from tests.integration.owner_process import start_owner, wait_until

MOUNTS = ("/sys/fs/cgroup/unified", "/sys/fs/cgroup")
SERVERS = [("postgres", "17.6"), ("mysql", "9.7.4"), ("mariadb", "10.11.18")]
LOCK_TIMEOUTS = [
    ("postgres", "17.6", None, "SET lock_timeout = '1s'"),
    ("mysql", "9.7.4", "innodb", "SET innodb_lock_wait_timeout = 1"),
    ("mariadb", "10.11.18", "rocksdb", "SET rocksdb_lock_wait_timeout = 1"),
]
"""DBMS, version, engine, and the statement after which a session waits 1 s for a lock."""


WAYS = ["control group", "signals"]


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest) -> str:
    """The way in which servers are made to stand still, if there is the right to it."""
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
def test_all_processes_of_a_server_stand_still_and_go_on(
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
    instance.freeze()
    instance.stop()
    assert not instance.alive()
    instance.freeze()  # a server that does not run
    instance.start()
    assert standing_still(instance) == {False}


def test_a_session_outlives_that_its_server_stands_still(
    make_freezable: MakeInstance, builds: GetBuildOf, query: Query
) -> None:
    instance = make_freezable(builds("postgres", "17.6"))
    instance.start()
    for _ in range(20):
        instance.freeze()
        instance.thaw()
    assert query(instance.target(), "SELECT 1") == [["1"]]
    instance.check_alive()


def test_the_children_of_a_server_killed_while_it_stands_still_go_on(
    make_freezable: MakeInstance, builds: GetBuildOf
) -> None:
    instance = make_freezable(builds("postgres", "17.6"))
    instance.start()
    children = psutil.Process(instance.pid).children(recursive=True)
    assert len(children) > 3
    instance.freeze()
    psutil.Process(instance.pid).kill()
    wait_until(lambda: not instance.alive())
    assert {still(child) for child in children} == {True}
    instance.thaw()
    psutil.wait_procs(children, timeout=10)
    assert not any(child.is_running() for child in children)


@pytest.mark.parametrize(("dbms", "version"), SERVERS)
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


@pytest.mark.parametrize("case", LOCK_TIMEOUTS)
def test_timeouts_of_waits_for_locks_count_the_time_in_which_a_server_stands_still(
    make_instance: MakeInstance, builds: GetBuildOf, case: tuple[str, str, str | None, str]
) -> None:
    dbms, version, engine, setting = case
    instance = make_instance(builds(dbms, version), engine=engine)
    instance.start()
    of_engine = "" if engine is None else f" ENGINE={engine}"
    sleep = "pg_sleep(2.5)::text" if dbms == "postgres" else "SLEEP(2.5)"
    hold = ["BEGIN", "UPDATE t SET v = 1 WHERE id = 1", f"SELECT {sleep}", "COMMIT"]
    with Driver() as first, Driver() as second, ThreadPoolExecutor() as threads:
        first.sql(
            instance.target(),
            [
                f"CREATE TABLE t (id int PRIMARY KEY, v int){of_engine}",
                "INSERT INTO t VALUES (1, 0)",
            ],
        )
        holder = threads.submit(first.sql, instance.target(), hold)
        time.sleep(0.3)
        waiter = threads.submit(
            second.sql, instance.target(), [setting, "UPDATE t SET v = 2 WHERE id = 1"]
        )
        time.sleep(0.2)
        instance.freeze()
        time.sleep(1.2)
        assert not waiter.done()
        instance.thaw()
        with pytest.raises(TargetError, match=r"(?i)lock.*timeout"):
            waiter.result(timeout=10)
        assert not holder.done(), "the timeout of 1 s has passed, by the clock of the wall"
        holder.result(timeout=10)
        (value,) = first.sql(instance.target(), ["SELECT v FROM t"])
    assert value.rows == [["1"]]
    instance.check_alive()


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
