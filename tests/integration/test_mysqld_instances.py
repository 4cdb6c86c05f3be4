"""Real servers of MySQL and MariaDB, from their making to their cleaning away."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import psutil
import pytest

from slowdust.builds import Build, allocators
from slowdust.dbms import family
from slowdust.dbms.access import Access, Auth, Listen, Target
from slowdust.dbms.environment import Environment
from slowdust.dbms.family import Family
from slowdust.errors import SlowdustError, UsageError
from slowdust.experiment.driver.process import Data, Driver
from slowdust.experiment.maintenance import carry_out
from slowdust.instances.instance import Instance
from slowdust.instances.leftovers import clean_leftovers
from slowdust.instances.processes import ProcessMark
from slowdust.instances.programs import InstanceError
from slowdust.secret import Secret
from tests.integration.conftest import GetBuildOf, MakeInstance
from tests.integration.owner_process import start_owner, wait_until

BUILDS = (
    "mysql@5.5.9",
    "mysql@5.6.24",
    "mysql@9.7.4",
    "mariadb@10.1.8",
    "mariadb@10.1.13",
    "mariadb@10.1.23",
    "mariadb@10.2.11",
    "mariadb@10.11.5",
    "mariadb@10.11.18",
    "mariadb@11.4.5",
    "mariadb@11.8.9",
)
OLD, NEW = "mysql@5.6.24", "mysql@9.7.4"
WITH_ROCKSDB = "mariadb@10.11.18"
WITHOUT_HELP = "mariadb@10.1.8"
DATA = Data(tables=1, rows=2000, seed=7)

Ask = Callable[[Target, str], list[list[str | None]]]


@pytest.fixture(scope="module")
def driver() -> Iterator[Driver]:
    with Driver() as running:
        yield running


@pytest.fixture(scope="module")
def ask(driver: Driver) -> Ask:
    """Run one statement; returns rows of text."""

    def one(target: Target, statement: str) -> list[list[str | None]]:
        (answer,) = driver.sql(target, [statement])
        return [list(row) for row in answer.rows]

    return one


@pytest.fixture
def build(request: pytest.FixtureRequest, builds: GetBuildOf) -> Build:
    """The build with the name that a test is parametrised with."""
    dbms, version = request.param.split("@")
    return builds(dbms, version)


def load(driver: Driver, instance: Instance) -> None:
    driver.load(instance.target(), DATA, lambda done, total: None)


def maintain(driver: Driver, instance: Instance) -> list[str]:
    """Both maintenances; what took too long."""
    kind = family(instance.build.dbms)
    late: list[str] = []
    rows = DATA.tables * DATA.rows
    for stages in (kind.after_load, kind.after_writes):
        todo = stages(instance.site, ["sbtest1"])
        carry_out(driver, instance.target(), todo, rows, late.append)
    return late


def value_of(ask: Ask, instance: Instance, variable: str) -> str | None:
    return ask(instance.target(), f"SHOW GLOBAL VARIABLES LIKE '{variable}'")[0][1]


@pytest.mark.parametrize("build", BUILDS, indirect=True)
def test_life_of_a_server(
    build: Build, make_instance: MakeInstance, driver: Driver, ask: Ask
) -> None:
    instance = make_instance(build)
    instance.start()
    target = instance.target()
    (found,) = ask(target, "SELECT VERSION()")
    assert str(found[0]).startswith(build.version)
    check_settings_in_force(ask, instance)
    assert instance.allocator in ("glibc", "jemalloc", "tcmalloc")

    load(driver, instance)
    assert maintain(driver, instance) == []
    assert value_of(ask, instance, "innodb_max_dirty_pages_pct") in ("90", "90.000000")
    check_sizes(family(build.dbms), ask, instance)

    sockets = instance.socket_dir
    assert psutil.Process(instance.pid).net_connections("inet") == []
    instance.stop()
    instance.start()
    assert ask(target, "SELECT COUNT(*) FROM sbtest1") == [[str(DATA.rows)]]
    pid = instance.pid
    instance.remove()
    assert not instance.directory.exists()
    assert not sockets.exists()
    assert ProcessMark.of(pid) is None


def check_settings_in_force(ask: Ask, instance: Instance) -> None:
    assert value_of(ask, instance, "innodb_buffer_pool_size") == str(64 << 20)
    assert value_of(ask, instance, "innodb_flush_log_at_trx_commit") == "2"
    assert value_of(ask, instance, "thread_cache_size") == "0"
    assert value_of(ask, instance, "innodb_doublewrite") == "ON"
    assert value_of(ask, instance, "innodb_file_per_table") == "ON"
    assert value_of(ask, instance, "log_bin") == "OFF"
    assert value_of(ask, instance, "performance_schema") == "OFF"
    assert value_of(ask, instance, "character_set_server") == "latin1"


def check_sizes(kind: Family, ask: Ask, instance: Instance) -> None:
    site = instance.site
    sizes = kind.read_sizes(site, ask(instance.target(), kind.sizes_statement(site)))
    assert 300_000 < sizes.table_bytes < 1_000_000
    assert 10_000 < sizes.index_bytes < 300_000
    assert sizes.data_bytes >= sizes.table_bytes + sizes.index_bytes
    pool = kind.buffer_pool_statement(site)
    assert pool is not None
    assert ask(instance.target(), pool) == [[str(64 << 20)]]


@pytest.mark.parametrize("build", [OLD, NEW], indirect=True)
def test_maintenance_restores_what_was_in_force(
    build: Build, make_instance: MakeInstance, driver: Driver, ask: Ask
) -> None:
    instance = make_instance(build, {"innodb-io-capacity": "3K"})
    instance.start()
    load(driver, instance)
    changed = ("innodb_io_capacity", "innodb_io_capacity_max", "innodb_max_dirty_pages_pct_lwm")
    before = [value_of(ask, instance, name) for name in changed]
    assert before[0] == "3072"
    assert maintain(driver, instance) == []
    assert [value_of(ask, instance, name) for name in changed] == before


@pytest.mark.parametrize("build", [WITH_ROCKSDB], indirect=True)
def test_rocksdb(build: Build, make_instance: MakeInstance, driver: Driver, ask: Ask) -> None:
    instance = make_instance(build, {"rocksdb-max-background-jobs": "1"}, engine="rocksdb")
    instance.start()
    load(driver, instance)
    assert maintain(driver, instance) == []
    (row,) = ask(instance.target(), "SHOW TABLE STATUS LIKE 'sbtest1'")
    assert row[1] == "ROCKSDB"
    assert value_of(ask, instance, "rocksdb_max_background_jobs") == "1"
    kind = family("mariadb")
    sizes = kind.read_sizes(
        instance.site, ask(instance.target(), kind.sizes_statement(instance.site))
    )
    assert sizes.data_bytes > 10_000
    pool = kind.buffer_pool_statement(instance.site)
    assert pool is not None
    assert ask(instance.target(), pool) == [[str(64 << 20)]]
    instance.stop()
    instance.start()
    assert ask(instance.target(), "SELECT COUNT(*) FROM sbtest1") == [[str(DATA.rows)]]


@pytest.mark.parametrize("build", [OLD, NEW], indirect=True)
def test_memory_is_empty_after_a_restart(
    build: Build, make_instance: MakeInstance, driver: Driver, ask: Ask
) -> None:
    instance = make_instance(build, engine="memory")
    instance.start()
    load(driver, instance)
    assert maintain(driver, instance) == []
    kind = family(build.dbms)
    sizes = kind.read_sizes(
        instance.site, ask(instance.target(), kind.sizes_statement(instance.site))
    )
    assert sizes.data_bytes == sizes.table_bytes + sizes.index_bytes > 300_000
    assert not kind.keeps_tables(instance.site)
    instance.stop()
    instance.start()
    assert ask(instance.target(), "SELECT COUNT(*) FROM sbtest1") == [["0"]]


@pytest.mark.parametrize(
    ("build", "auth"),
    [
        ("mysql@5.5.9", Auth.NATIVE),
        (OLD, Auth.NATIVE),
        (NEW, Auth.CACHING_SHA2),
        ("mariadb@10.11.5", Auth.NATIVE),
    ],
    indirect=["build"],
)
def test_password_is_asked_for_on_the_loopback(
    build: Build,
    make_instance: MakeInstance,
    ask: Ask,
    auth: Auth,
) -> None:
    instance = make_instance(build, access=Access.make(Listen.LOOPBACK, auth))
    instance.start()
    target = instance.target()
    assert (target.host, target.socket) == ("127.0.0.1", None)
    assert ask(target, "SELECT CURRENT_USER()") == [["slowdust@127.0.0.1"]]
    listening = [
        connection.laddr.ip
        for connection in psutil.Process(instance.pid).net_connections("inet")
        if connection.status == psutil.CONN_LISTEN
    ]
    assert listening == ["127.0.0.1"]
    for user, wrong in (
        (target.user, Secret("wrong")),
        (target.user, None),
        ("root", None),
        ("", None),
    ):
        other = msgspec.structs.replace(target, user=user, password=wrong)
        # MySQL asks whom it does not know for the proof of any method, so as not to tell.
        with pytest.raises(SlowdustError, match=r"Access denied|method \w+ is not supported"):
            ask(other, "SELECT 1")


def test_settings_that_a_version_does_not_know(
    builds: GetBuildOf, make_instance: MakeInstance
) -> None:
    old, new = builds("mysql", "5.6.24"), builds("mysql", "9.7.4")
    assert "innodb_redo_log_capacity" in make_instance(old).settings.skipped
    assert "query_cache_size" in make_instance(new).settings.skipped
    with pytest.raises(UsageError, match="has no setting 'innodb_redo_log_capacity'"):
        make_instance(old, {"innodb-redo-log-capacity": "64M"})
    with pytest.raises(UsageError, match="did you mean innodb_buffer_pool_size"):
        make_instance(new, {"inodb_buffer_pool_size": "64M"})


@pytest.mark.parametrize("build", [name for name in BUILDS if name != WITHOUT_HELP], indirect=True)
def test_refused_values_are_told_in_the_servers_own_words(
    build: Build, make_instance: MakeInstance
) -> None:
    refused = f"{build.version} refuses the settings: "
    with pytest.raises(UsageError, match=f"{refused}.*max.connections"):
        make_instance(build, {"max_connections": "-4"})
    with pytest.raises(UsageError, match=refused) as error:
        make_instance(build, {"innodb_doublewrite": "perhaps"})
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("build", [OLD, NEW], indirect=True)
def test_binlog_is_on_when_it_is_set(build: Build, make_instance: MakeInstance, ask: Ask) -> None:
    instance = make_instance(build, {"log-bin": "on", "sync-binlog": "1"})
    instance.start()
    assert value_of(ask, instance, "log_bin") == "ON"
    assert value_of(ask, instance, "sync_binlog") == "1"


@pytest.mark.parametrize("build", [NEW], indirect=True)
def test_server_that_does_not_start_shows_its_log(
    build: Build, make_instance: MakeInstance
) -> None:
    instance = make_instance(build)
    (instance.data_dir / "data/ibdata1").write_bytes(b"no table space")
    with pytest.raises(InstanceError, match=r"mysql@9\.7\.4 did not start: .*ibdata1.*") as error:
        instance.start()
    assert len(str(error.value).splitlines()) > 3
    assert not instance.alive()


@pytest.mark.parametrize("build", [OLD, NEW], indirect=True)
def test_killed_server_is_noticed_and_can_be_started_again(
    build: Build, make_instance: MakeInstance, driver: Driver, ask: Ask
) -> None:
    instance = make_instance(build)
    instance.start()
    load(driver, instance)
    os.kill(instance.pid, signal.SIGKILL)
    wait_until(lambda: not instance.alive())
    with pytest.raises(InstanceError, match="is not running: killed by signal 9"):
        instance.check_alive()
    instance.start()
    assert ask(instance.target(), "SELECT COUNT(*) FROM sbtest1") == [[str(DATA.rows)]]


@pytest.mark.parametrize("arguments", [(), ("no-watchdog",)])
def test_server_that_runs_through_a_loader_is_cleaned_away(
    builds: GetBuildOf, data_root: Path, arguments: tuple[str, ...]
) -> None:
    builds("mysql", "9.7.4")
    owner, server, sockets, directory = start_owner("mysql", "9.7.4", *arguments)
    assert "ld-linux" in psutil.Process(server).exe()
    owner.kill()
    owner.wait()
    if arguments:
        (leftover,) = clean_leftovers()
        assert leftover.servers == 1
    wait_until(lambda: ProcessMark.of(server) is None)
    wait_until(lambda: not directory.exists() and not sockets.exists())


@pytest.fixture(scope="module")
def allocator_of() -> Callable[[str], Environment]:
    """The environment with an allocator."""

    def make(name: str) -> Environment:
        library = allocators.library(name, print) if name in allocators.NAMES else None
        return Environment(name, {}, library)

    return make


@pytest.mark.parametrize("build", [OLD, NEW], indirect=True)
@pytest.mark.parametrize("allocator", ["glibc", "jemalloc", "tcmalloc"])
def test_allocator_is_at_work(
    build: Build,
    make_instance: MakeInstance,
    allocator_of: Callable[[str], Environment],
    allocator: str,
) -> None:
    environment = allocator_of(allocator)
    instance = make_instance(build, environment=environment)
    instance.start()
    assert instance.allocator == allocator
    if environment.library is not None:
        maps = Path(f"/proc/{instance.pid}/maps").read_text(encoding="utf-8")
        assert environment.library.resolve().name in maps


@pytest.mark.parametrize("build", ["mariadb@10.1.23"], indirect=True)
def test_allocator_that_is_built_in_cannot_be_replaced(
    build: Build, make_instance: MakeInstance, allocator_of: Callable[[str], Environment]
) -> None:
    for allocator in ("glibc", "jemalloc"):
        with pytest.raises(UsageError, match=rf"cannot have {allocator}: .* is built in"):
            make_instance(build, environment=allocator_of(allocator))
