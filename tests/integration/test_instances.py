"""Real servers, from creation to removal."""

from __future__ import annotations

import os
import signal
import socket
import struct
import subprocess
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

import msgspec
import psutil
import pytest

from slowdust.accounts import server_account
from slowdust.builds import Build
from slowdust.dbms import family
from slowdust.dbms.access import Access, Auth, Listen, Target
from slowdust.dbms.environment import Environment
from slowdust.dbms.family import Shutdown
from slowdust.dbms.settings import AcceptedSettings
from slowdust.dbms.stages import Stage, Statements, WaitUntil
from slowdust.errors import SlowdustError, UsageError
from slowdust.experiment.driver.process import Driver
from slowdust.instances.instance import Instance
from slowdust.instances.leftovers import clean_leftovers
from slowdust.instances.owner import read_record
from slowdust.instances.processes import ProcessMark
from slowdust.instances.programs import InstanceError
from slowdust.instances.rundir import RunDirectory
from slowdust.secret import Secret
from tests.integration.owner_process import start_owner
from tests.queries import answered
from tests.tiers.selection import ends_first, full
from tests.waiting import wait_until

VERSIONS = ("10.23", "15.8", "17.6", "18.4")
OLDEST, NEWEST = VERSIONS[0], VERSIONS[-1]

GetBuild = Callable[[str], Build]
MakeInstance = Callable[..., Instance]
Query = Callable[[Target, str], list[list[str | None]]]


def value_of(query: Query, instance: Instance, setting: str) -> str | None:
    return query(instance.target(), f"SHOW {setting}")[0][0]


def connect(target: Target) -> socket.socket:
    """A client of Postgres whose server has begun to talk with it."""
    client = socket.socket(socket.AF_UNIX)
    client.connect(f"{target.socket}/.s.PGSQL.{target.port}")
    start = b"user\0%b\0\0" % target.user.encode()
    client.sendall(struct.pack("!ii", len(start) + 8, 196608) + start)
    assert client.recv(1) == b"R"
    return client


@pytest.mark.parametrize("version", ends_first(VERSIONS))
def test_life_of_a_server(
    postgres_builds: GetBuild, make_instance: MakeInstance, query: Query, version: str
) -> None:
    instance = make_instance(postgres_builds(version))
    assert not instance.alive()
    instance.start()
    assert instance.alive()
    assert value_of(query, instance, "server_version") == version
    assert value_of(query, instance, "listen_addresses") == ""
    assert value_of(query, instance, "shared_buffers") == "64MB"
    assert value_of(query, instance, "synchronous_commit") == "off"
    assert value_of(query, instance, "data_checksums") == "off"
    assert query(
        instance.target(),
        "SELECT datcollate, pg_encoding_to_char(encoding) FROM pg_database "
        "WHERE datname = current_database()",
    ) == [["C", "UTF8"]]
    query(instance.target(), "CREATE TABLE sbtest1 AS SELECT generate_series(1, 1000) AS id")

    first_pid = instance.pid
    with connect(instance.target()):
        started = time.monotonic()
        instance.stop(Shutdown.ORDERLY)
    assert time.monotonic() - started < 60, "it waits for no client"
    assert "database system is shut down" in instance.log_tail(1)[0]
    assert not instance.alive()
    instance.start()
    assert instance.pid != first_pid
    assert query(instance.target(), "SELECT count(*) FROM sbtest1") == [["1000"]]

    query(instance.target(), "CHECKPOINT")
    with instance.log_path.open("a") as log:
        log.write("2026-01-01 00:00:00 UTC [7] FATAL:  connection to client lost\n")
    os.kill(instance.pid, signal.SIGKILL)
    wait_until(lambda: not instance.alive())
    with pytest.raises(InstanceError, match=r"signal 9 \(FATAL"):
        instance.check_alive()
    instance.start()
    assert query(instance.target(), "SELECT count(*) FROM sbtest1") == [["1000"]]
    instance.check_alive()

    sockets = Path(instance.target().socket or "")
    last_pid = instance.pid
    instance.remove()
    assert not instance.directory.exists()
    assert not sockets.exists()
    assert ProcessMark.of(last_pid) is None


def carry_out(query: Query, target: Target, stages: Sequence[Stage]) -> None:
    for stage in stages:
        if isinstance(stage, WaitUntil):
            wait_for(query, target, stage)
        else:
            assert isinstance(stage, Statements)
            for statement in stage.texts:
                query(target, statement)


def wait_for(query: Query, target: Target, stage: WaitUntil) -> None:
    wait_until(lambda: stage.is_done(query(target, stage.statement)))


@pytest.mark.parametrize("version", ends_first(VERSIONS))
def test_maintenance_sizes_and_settings_are_understood_by_the_server(
    postgres_builds: GetBuild, make_instance: MakeInstance, query: Query, version: str
) -> None:
    build = postgres_builds(version)
    postgres = family("postgres")
    settings = {"work_mem": "3MB", "autovacuum": "on", "autovacuum_naptime": "1h"}
    hidden_and_custom = {"zero_damaged_pages": "on", "my.note": "it's \\ 1"}
    instance = make_instance(build, settings | hidden_and_custom)
    instance.start()
    target = instance.target()
    query(target, "CREATE TABLE sbtest1 AS SELECT generate_series(1, 10000) AS id")
    query(target, "CREATE INDEX k_1 ON sbtest1 (id)")
    carry_out(query, target, postgres.after_load(instance.site, ["sbtest1"]))
    carry_out(query, target, postgres.after_writes(instance.site, ["sbtest1"]))
    assert query(target, "SELECT relallvisible > 0 FROM pg_class WHERE relname = 'sbtest1'") == [
        ["t"]
    ]

    def ask(statement: str) -> list[list[str | None]]:
        return query(target, statement)

    sizes = answered(postgres.sizes(instance.site, ["sbtest1"]), ask)
    assert 300_000 < sizes.table_bytes < 1_000_000
    assert 100_000 < sizes.index_bytes < 1_000_000
    assert sizes.data_bytes > sizes.table_bytes + sizes.index_bytes
    assert answered(postgres.buffer_pool(instance.site), ask) == 64 << 20
    assert query(target, "SHOW work_mem") == [["3MB"]]
    assert query(target, "SHOW shared_buffers") == [["64MB"]]
    assert value_of(query, instance, "zero_damaged_pages") == "on"
    assert value_of(query, instance, "my.note") == "it's \\ 1"

    query(target, "CREATE TABLE purchases1 AS SELECT generate_series(1, 10000) AS id")
    query(target, "DELETE FROM purchases1 WHERE id <= 5000")
    carry_out(query, target, postgres.after_step(instance.site, ["purchases1"]))
    owed = (
        "SELECT n_dead_tup, n_mod_since_analyze FROM pg_stat_user_tables "
        "WHERE relname = 'purchases1'"
    )
    # Autovacuum finds nothing to do in its next turn.
    wait_until(lambda: query(target, owed) == [["0", "0"]])


def accept(build: Build, overrides: dict[str, str]) -> AcceptedSettings:
    kind = family(build.dbms)
    return kind.accept(build, server_account(), kind.settings("small", overrides, 1))


def test_settings_that_a_version_does_not_know(postgres_builds: GetBuild) -> None:
    old = accept(postgres_builds(OLDEST), {})
    assert old.skipped == ("jit",)
    assert "jit" not in old.values
    assert accept(postgres_builds(NEWEST), {}).values["jit"] == "off"
    with pytest.raises(UsageError, match=r"10\.23 .*'jit'"):
        accept(postgres_builds(OLDEST), {"jit": "off"})


@pytest.mark.parametrize("version", ends_first(VERSIONS))
def test_unknown_settings_and_refused_values_are_named(
    postgres_builds: GetBuild, version: str
) -> None:
    build = postgres_builds(version)
    with pytest.raises(UsageError, match=f"{version} .*'work_men': .*work_mem"):
        accept(build, {"work_men": "1MB"})
    values = {"work_mem": "much", "max_connections": "-4", "fsync": "perhaps"}
    with pytest.raises(UsageError) as error:
        accept(build, values)
    text = str(error.value)
    assert text.startswith(f"postgres {version} refuses the settings: ")
    assert 'invalid value for parameter "work_mem": "much"' in text
    assert '-4 is outside the valid range for parameter "max_connections"' in text
    assert 'parameter "fsync" requires a Boolean value' in text
    assert "\n" not in text


def test_settings_of_the_instance_itself_cannot_be_set(
    postgres_build: Build, make_instance: MakeInstance
) -> None:
    with pytest.raises(UsageError, match="port "):
        make_instance(postgres_build, {"Port": "1"})


def test_server_that_does_not_start_shows_its_log(
    postgres_build: Build, make_instance: MakeInstance
) -> None:
    instance = make_instance(postgres_build, {"shared_preload_libraries": "no_such_library"})
    with pytest.raises(InstanceError) as error:
        instance.start()
    first, *log = str(error.value).splitlines()
    assert first.startswith('postgres@17.6 did not start: FATAL: could not access file "no_such_l')
    assert first.endswith("(exit code 1)")
    assert log
    assert not instance.alive()


@pytest.mark.parametrize(
    ("version", "auth"),
    [
        (OLDEST, Auth.MD5),
        (NEWEST, Auth.SCRAM),
        pytest.param(OLDEST, Auth.SCRAM, marks=full),
        pytest.param(NEWEST, Auth.MD5, marks=full),
    ],
)
def test_password_is_asked_for_on_the_loopback(
    postgres_builds: GetBuild, make_instance: MakeInstance, version: str, auth: Auth
) -> None:
    access = Access.make(Listen.LOOPBACK, auth)
    instance = make_instance(postgres_builds(version), access=access)
    instance.start()
    target = instance.target()
    assert (target.host, target.socket) == ("127.0.0.1", None)
    listening = [
        connection.laddr.ip
        for connection in psutil.Process(instance.pid).net_connections("inet")
        if connection.status == psutil.CONN_LISTEN
    ]
    assert listening == ["127.0.0.1"]
    kind = "md5" if auth is Auth.MD5 else "SCRAM-SHA-256"
    statement = f"SELECT rolpassword LIKE '{kind}%' FROM pg_authid WHERE rolname = current_user"
    with Driver() as driver:
        assert driver.sql(target, [statement])[0].rows == [["t"]]
        wrong = msgspec.structs.replace(target, password=Secret("wrong"))
        with pytest.raises(SlowdustError, match="password authentication failed"):
            driver.sql(wrong, [statement])
    assert not list(instance.directory.rglob("password"))


@pytest.mark.parametrize("version", [OLDEST, pytest.param(NEWEST, marks=full)])
def test_encrypted_access_is_next_to_the_socket_and_asks_for_a_password(
    postgres_builds: GetBuild, make_instance: MakeInstance, version: str
) -> None:
    build = postgres_builds(version)
    kind = family(build.dbms)
    assert kind.without_tls(build, server_account()) is None
    instance = make_instance(build, access=kind.with_encryption(Access(), build))
    instance.start()
    target, encrypted = instance.target(), instance.encrypted_target()
    assert (target.socket is None, encrypted.host) == (False, "127.0.0.1")
    key = instance.site.key.stat()
    assert (key.st_mode & 0o077, key.st_uid) == (0, instance.account.uid)
    statement = "SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid()"
    with Driver() as driver:
        for each, is_encrypted in ((target, "f"), (encrypted, "t")):
            assert driver.sql(each, [statement])[0].rows == [[is_encrypted]]
        for tls in (encrypted.tls, None):
            without = msgspec.structs.replace(encrypted, password=None, tls=tls)
            with pytest.raises(SlowdustError, match="password"):
                driver.sql(without, [statement])


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_root_runs_servers_as_another_user(
    postgres_build: Build, make_instance: MakeInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SLOWDUST_USER", "nobody")
    instance = make_instance(postgres_build)
    instance.start()
    server = psutil.Process(instance.pid)
    uid, gid = instance.account.uid, instance.account.gid
    assert instance.account.name == "nobody"
    assert set(server.uids()) == {uid}
    assert set(server.gids()) == {gid}
    groups = (
        Path(f"/proc/{server.pid}/status")
        .read_text(encoding="utf-8")
        .partition("Groups:")[2]
        .splitlines()[0]
    )
    assert groups.split() in ([], [str(gid)])
    assert instance.data_dir.stat().st_uid == uid
    assert Path(instance.target().socket or "").stat().st_mode & 0o777 == 0o700
    assert instance.directory.stat().st_uid == 0


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root")
def test_data_root_that_the_server_cannot_enter(
    postgres_build: Build, make_instance: MakeInstance, open_dir: Path
) -> None:
    open_dir.chmod(0o700)
    with pytest.raises(SlowdustError, match=r"cannot enter .*: set SLOWDUST_DATA to another"):
        make_instance(postgres_build)


def test_environment_is_clean_but_for_what_is_asked(
    postgres_build: Build, make_instance: MakeInstance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PGPORT", "1")
    monkeypatch.setenv("MALLOC_CHECK_", "3")
    instance = make_instance(
        postgres_build, environment=Environment(None, {"MALLOC_ARENA_MAX": "1"})
    )
    instance.start()
    environment = Path(f"/proc/{instance.pid}/environ").read_text(encoding="utf-8").split("\0")
    assert "MALLOC_ARENA_MAX=1" in environment
    assert "LC_ALL=C" in environment
    assert not [text for text in environment if text.startswith(("PGPORT", "MALLOC_CHECK_"))]


@pytest.fixture
def tiny_disk(open_dir: Path) -> Iterator[Path]:
    """A file system of 90 MB, enough for a data directory and little else."""
    disk = open_dir / "disk"
    disk.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=90m,mode=755", "slowdust-test", str(disk)]
    if os.geteuid() != 0 or subprocess.run(command, check=False).returncode != 0:
        pytest.skip("cannot mount a small file system")
    yield disk
    subprocess.run(["umount", str(disk)], check=True)


def test_full_disk_is_reported(
    tiny_disk: Path,
    postgres_build: Build,
    query: Query,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("SLOWDUST_DATA", str(tiny_disk / "data"))
    with RunDirectory.open("full") as run:
        settings = family("postgres").settings("small", {"min_wal_size": "32MB"}, 1)
        instance = Instance.create(run, "a", postgres_build, settings)
        instance.start()
        query(instance.target(), "CREATE TABLE filler (c text)")
        with pytest.raises((RuntimeError, ConnectionError)):
            while True:
                query(
                    instance.target(),
                    "INSERT INTO filler SELECT repeat('x', 1000) FROM generate_series(1, 20000)",
                )
        assert "No space left on device" in "\n".join(instance.log_tail(50))
        with pytest.raises(InstanceError, match=r"b: .*data directory") as error:
            Instance.create(run, "b", postgres_build, settings)
        assert "No space left on device" in str(error.value)
    assert list((tiny_disk / "data/instances").glob("full-*")) == []


def test_watchdog_cleans_up_after_a_killed_slowdust(data_root: Path, postgres_build: Build) -> None:
    owner, server, sockets, directory = start_owner("postgres", "17.6")
    owner.kill()
    owner.wait()
    wait_until(lambda: ProcessMark.of(server) is None)
    wait_until(lambda: not directory.exists() and not sockets.exists())


def test_next_run_cleans_up_when_the_watchdog_was_killed_too(
    data_root: Path, postgres_build: Build
) -> None:
    owner, server, sockets, directory = start_owner("postgres", "17.6", "no-watchdog")
    # A second live run, which must not be touched.
    other, other_server, _, other_directory = start_owner("postgres", "17.6")
    try:
        owner.kill()
        owner.wait()
        assert ProcessMark.of(server)
        assert read_record(directory).servers[0].mark.pid == server
        (leftover,) = clean_leftovers()
        assert (leftover.directory, leftover.servers) == (directory, 1)
        wait_until(lambda: ProcessMark.of(server) is None)
        assert not directory.exists()
        assert not sockets.exists()
        assert ProcessMark.of(other_server)
        assert other_directory.exists()
    finally:
        other.send_signal(signal.SIGINT)
        other.wait(60)
    wait_until(lambda: ProcessMark.of(other_server) is None)
    assert not other_directory.exists(), "Ctrl-C must leave nothing"
