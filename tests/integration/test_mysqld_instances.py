"""Real servers of MySQL and MariaDB, from creation to removal."""

from __future__ import annotations

import os
import signal
from collections.abc import Callable, Iterator
from functools import partial
from pathlib import Path

import msgspec
import psutil
import pytest

from slowdust.accounts import server_account
from slowdust.builds import Build, allocators
from slowdust.dbms import family
from slowdust.dbms.access import USER, Access, Target
from slowdust.dbms.environment import Environment
from slowdust.dbms.family import Family
from slowdust.dbms.settings import AcceptedSettings
from slowdust.errors import SlowdustError, UsageError
from slowdust.experiment.contenders import carry_out
from slowdust.experiment.driver.process import Data, Driver
from slowdust.instances.instance import Instance
from slowdust.instances.leftovers import clean_leftovers
from slowdust.instances.processes import ProcessMark
from slowdust.instances.programs import InstanceError
from tests.integration.conftest import GetBuildOf, MakeInstance
from tests.integration.owner_process import start_owner
from tests.queries import answered
from tests.tiers.selection import ends_first, full
from tests.waiting import wait_until

OLDEST, OLD, NEW = "mysql@5.5.9", "mysql@5.6.24", "mysql@9.7.4"
MYSQL = (OLDEST, OLD, "mysql@5.7.22", "mysql@8.0.15", NEW)
MARIADB = (
    "mariadb@10.1.8",
    "mariadb@10.1.13",
    "mariadb@10.1.23",
    "mariadb@10.2.11",
    "mariadb@10.11.5",
    "mariadb@10.11.18",
    "mariadb@11.4.5",
    "mariadb@11.8.9",
)


BUILDS = [*ends_first(MYSQL), *ends_first(MARIADB)]
WITH_ROCKSDB = "mariadb@10.11.18"
CHANGED_BY_MAINTENANCE = """SHOW GLOBAL VARIABLES WHERE variable_name IN
    ('innodb_io_capacity', 'innodb_io_capacity_max', 'innodb_max_dirty_pages_pct',
     'innodb_max_dirty_pages_pct_lwm')"""
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
    instance = make_instance(build, {"innodb-io-capacity": "3K"})
    instance.start()
    target = instance.target()
    (found,) = ask(target, "SELECT VERSION()")
    assert str(found[0]).startswith(build.version)
    check_settings_in_force(ask, instance)
    assert instance.allocator in ("glibc", "jemalloc", "tcmalloc")

    load(driver, instance)
    before = ask(target, CHANGED_BY_MAINTENANCE)
    assert ["innodb_io_capacity", "3072"] in before
    assert value_of(ask, instance, "innodb_max_dirty_pages_pct") in ("90", "90.000000")
    assert maintain(driver, instance) == []
    assert ask(target, CHANGED_BY_MAINTENANCE) == before
    check_sizes(family(build.dbms), ask, instance)

    sockets = instance.socket_dir
    assert psutil.Process(instance.pid).net_connections("inet") == []
    instance.stop()
    instance.start()
    assert ask(target, "SELECT COUNT(*) FROM sbtest1") == [[str(DATA.rows)]]
    os.kill(instance.pid, signal.SIGKILL)
    wait_until(lambda: not instance.alive())
    with pytest.raises(InstanceError, match="signal 9"):
        instance.check_alive()
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
    sizes = answered(kind.sizes(site, []), partial(ask, instance.target()))
    assert 300_000 < sizes.table_bytes < 1_000_000
    assert 10_000 < sizes.index_bytes < 300_000
    assert sizes.data_bytes >= sizes.table_bytes + sizes.index_bytes
    assert answered(kind.buffer_pool(site), partial(ask, instance.target())) == 64 << 20


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
    sizes = answered(kind.sizes(instance.site, []), partial(ask, instance.target()))
    assert sizes.data_bytes > 10_000
    assert answered(kind.buffer_pool(instance.site), partial(ask, instance.target())) == 64 << 20
    instance.stop()
    instance.start()
    assert ask(instance.target(), "SELECT COUNT(*) FROM sbtest1") == [[str(DATA.rows)]]


@pytest.mark.parametrize("build", [OLDEST, pytest.param(NEW, marks=full)], indirect=True)
def test_memory_is_empty_after_a_restart(
    build: Build, make_instance: MakeInstance, driver: Driver, ask: Ask
) -> None:
    instance = make_instance(build, engine="memory")
    instance.start()
    load(driver, instance)
    assert maintain(driver, instance) == []
    kind = family(build.dbms)
    sizes = answered(kind.sizes(instance.site, []), partial(ask, instance.target()))
    assert sizes.data_bytes == sizes.table_bytes + sizes.index_bytes > 300_000
    assert not kind.keeps_tables(instance.site)
    instance.stop()
    instance.start()
    assert ask(instance.target(), "SELECT COUNT(*) FROM sbtest1") == [["0"]]


@pytest.mark.parametrize("build", [OLDEST, pytest.param(NEW, marks=full)], indirect=True)
def test_binlog_is_on_when_it_is_set(build: Build, make_instance: MakeInstance, ask: Ask) -> None:
    instance = make_instance(build, {"log-bin": "on", "sync-binlog": "1"})
    instance.start()
    assert value_of(ask, instance, "log_bin") == "ON"
    assert value_of(ask, instance, "sync_binlog") == "1"


def accept(build: Build, overrides: dict[str, str]) -> AcceptedSettings:
    kind = family(build.dbms)
    return kind.accept(
        build, server_account(), kind.settings("small", overrides, 1, engine="innodb")
    )


def test_settings_that_a_version_does_not_know(builds: GetBuildOf) -> None:
    old, new = builds("mysql", "5.6.24"), builds("mysql", "9.7.4")
    assert "innodb_redo_log_capacity" in accept(old, {}).skipped
    assert "query_cache_size" in accept(new, {}).skipped
    with pytest.raises(UsageError, match="'innodb_redo_log_capacity'"):
        accept(old, {"innodb-redo-log-capacity": "64M"})
    with pytest.raises(UsageError, match="innodb_buffer_pool_size"):
        accept(new, {"inodb_buffer_pool_size": "64M"})


@pytest.mark.parametrize("build", [*ends_first(MYSQL), *ends_first(MARIADB[1:])], indirect=True)
def test_refused_values_are_reported_in_the_servers_own_words(build: Build) -> None:
    """MariaDB 10.1.8 prints its help without warnings."""
    refused = f"{build.version} refuses the settings: "
    with pytest.raises(UsageError, match=f"{refused}.*max.connections"):
        accept(build, {"max_connections": "-4"})
    with pytest.raises(UsageError, match=refused) as error:
        accept(build, {"innodb_doublewrite": "perhaps"})
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("build", [NEW, pytest.param(MARIADB[-1], marks=full)], indirect=True)
def test_encrypted_access_is_next_to_the_socket_and_asks_for_a_password(
    build: Build, make_instance: MakeInstance, driver: Driver, ask: Ask
) -> None:
    kind = family(build.dbms)
    assert kind.without_tls(build, server_account()) is None
    instance = make_instance(build, access=kind.with_encryption(Access(), build))
    instance.start()
    version = "SHOW SESSION STATUS LIKE 'Ssl_version'"
    target, encrypted = instance.target(), instance.encrypted_target()
    assert ask(target, version) == [["Ssl_version", ""]]
    assert ask(encrypted, version)[0][1] in ("TLSv1.2", "TLSv1.3")
    assert ask(encrypted, "SELECT CURRENT_USER()") == [[f"{USER}@127.0.0.1"]]
    for tls in (encrypted.tls, None):
        without = msgspec.structs.replace(encrypted, password=None, tls=tls)
        with pytest.raises(SlowdustError, match="Access denied"):
            driver.sql(without, ["SELECT 1"])


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        (OLD, "no setting tls_version"),
        pytest.param("mysql@5.7.22", "only TLSv1,TLSv1.1", marks=full),
        pytest.param("mysql@8.0.15", "OpenSSL 1.0", marks=full),
    ],
)
def test_builds_whose_tls_is_too_old_are_known(builds: GetBuildOf, name: str, reason: str) -> None:
    build = builds(*name.split("@"))
    assert reason in str(family(build.dbms).without_tls(build, server_account()))


@pytest.mark.parametrize("build", [OLDEST, pytest.param(NEW, marks=full)], indirect=True)
def test_server_that_does_not_start_shows_its_log(
    build: Build, make_instance: MakeInstance
) -> None:
    instance = make_instance(build)
    (instance.data_dir / "data/ibdata1").write_bytes(b"no table space")
    with pytest.raises(
        InstanceError, match=rf"{build.version} did not start: .*(ibdata1|InnoDB)"
    ) as error:
        instance.start()
    assert len(str(error.value).splitlines()) > 3
    assert not instance.alive()


@pytest.mark.parametrize("arguments", [("no-watchdog",), pytest.param((), marks=full)])
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


@pytest.mark.parametrize("build", [OLD, pytest.param(NEW, marks=full)], indirect=True)
@pytest.mark.parametrize(
    "allocator",
    [pytest.param("glibc", marks=full), "jemalloc", pytest.param("tcmalloc", marks=full)],
)
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
        with pytest.raises(UsageError, match=rf"cannot use {allocator}: .* is built in"):
            make_instance(build, environment=allocator_of(allocator))
