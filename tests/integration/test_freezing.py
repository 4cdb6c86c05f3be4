"""Servers that stand still, and that never stay so."""

from __future__ import annotations

import time

import psutil
import pytest

from slowdust.instances.instance import Instance
from slowdust.instances.leftovers import clean_leftovers
from slowdust.instances.processes import ProcessMark
from tests.integration.conftest import GetBuildOf, MakeInstance, Query
from tests.integration.owner_process import start_owner, wait_until

SERVERS = [("postgres", "17.6"), ("mysql", "9.7.4"), ("mariadb", "10.11.18")]


def states(instance: Instance) -> set[str]:
    root = psutil.Process(instance.pid)
    return {process.status() for process in [root, *root.children(recursive=True)]}


def cpu_seconds(instance: Instance) -> float:
    root = psutil.Process(instance.pid)
    return sum(sum(process.cpu_times()[:2]) for process in [root, *root.children(recursive=True)])


@pytest.mark.parametrize(("dbms", "version"), SERVERS)
def test_all_processes_of_a_server_stand_still_and_go_on(
    make_instance: MakeInstance, builds: GetBuildOf, dbms: str, version: str
) -> None:
    instance = make_instance(builds(dbms, version))
    instance.start()
    instance.freeze()
    assert states(instance) == {psutil.STATUS_STOPPED}
    used = cpu_seconds(instance)
    time.sleep(0.3)
    assert cpu_seconds(instance) == used
    assert instance.alive()
    instance.freeze()  # again
    instance.thaw()
    wait_until(lambda: psutil.STATUS_STOPPED not in states(instance))
    instance.freeze()
    instance.stop()
    assert not instance.alive()
    instance.freeze()  # a server that does not run
    instance.start()
    assert psutil.STATUS_STOPPED not in states(instance)


def test_a_session_outlives_that_its_server_stands_still(
    make_instance: MakeInstance, builds: GetBuildOf, query: Query
) -> None:
    instance = make_instance(builds("postgres", "17.6"))
    instance.start()
    for _ in range(20):
        instance.freeze()
        instance.thaw()
    assert query(instance.target(), "SELECT 1") == [["1"]]
    instance.check_alive()


def test_the_children_of_a_server_killed_while_it_stands_still_go_on(
    make_instance: MakeInstance, builds: GetBuildOf
) -> None:
    instance = make_instance(builds("postgres", "17.6"))
    instance.start()
    children = psutil.Process(instance.pid).children(recursive=True)
    assert len(children) > 3
    instance.freeze()
    psutil.Process(instance.pid).kill()
    wait_until(lambda: not instance.alive())
    assert {child.status() for child in children} == {psutil.STATUS_STOPPED}
    instance.thaw()
    psutil.wait_procs(children, timeout=10)
    assert not any(child.is_running() for child in children)


@pytest.mark.parametrize(("dbms", "version"), SERVERS)
def test_a_killed_slowdust_leaves_no_frozen_server(
    builds: GetBuildOf, data_root: object, dbms: str, version: str
) -> None:
    del data_root
    builds(dbms, version)
    owner, pid, _, directory = start_owner(dbms, version, "frozen")
    assert psutil.Process(pid).status() == psutil.STATUS_STOPPED
    owner.kill()
    owner.wait()
    wait_until(lambda: ProcessMark.of(pid) is None and not directory.exists())


def test_the_next_slowdust_ends_a_frozen_server_that_was_left(
    builds: GetBuildOf, data_root: object
) -> None:
    del data_root
    builds("postgres", "17.6")
    owner, pid, _, directory = start_owner("postgres", "17.6", "frozen", "no-watchdog")
    owner.kill()
    owner.wait()
    assert psutil.Process(pid).status() == psutil.STATUS_STOPPED
    (leftover,) = clean_leftovers()
    assert leftover.servers == 1
    assert ProcessMark.of(pid) is None
    assert not directory.exists()
