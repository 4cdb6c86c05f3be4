"""Commands to Postgres and its answers, without a server."""

from __future__ import annotations

import dataclasses
import os
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from slowdust.accounts import Account
from slowdust.builds import Build
from slowdust.dbms import family
from slowdust.dbms.access import Access, Auth, Listen
from slowdust.dbms.family import Site, Sizes
from slowdust.dbms.postgres import configuration_text
from slowdust.dbms.settings import AcceptedSettings, Settings
from slowdust.dbms.stages import Stage, Statements, WaitUntil
from slowdust.errors import UsageError
from slowdust.secret import Secret
from slowdust.store.manifest import BuildFacts
from tests.queries import read

POSTGRES = family("postgres")


def build_of(version: str) -> Build:
    facts = BuildFacts(source="directory", version=version, sha256="", binary_bytes=1)
    return Build("postgres", version, Path("/b"), "directory", Path("/b/bin/postgres"), facts)


def site_of(folder: Path, version: str = "17.6", access: Access | None = None) -> Site:
    return Site(
        build=build_of(version),
        account=Account("me", os.getuid(), os.getgid()),
        data_dir=folder,
        config_file=folder / "server.conf",
        socket_dir=Path("/tmp/slowdust-0"),
        port=5432,
        access=access or Access(),
        settings=AcceptedSettings({"work_mem": "1MB"}, (), {"data_checksums": False}),
    )


def test_configuration_quotes_what_the_server_would_read_otherwise() -> None:
    text = configuration_text({"b.c": "it's", "a": "back\\slash"})
    assert text == "a = 'back\\\\slash'\nb.c = 'it''s'\n"


@pytest.mark.parametrize(
    ("name", "value"), [("a b", "1"), ("", "1"), ("a", "1\nport = 1"), ("1", "")]
)
def test_configuration_cannot_be_broken_out_of(
    name: str, value: str, snapshot: SnapshotAssertion
) -> None:
    with pytest.raises(UsageError) as error:
        configuration_text({name: value})
    assert str(error.value) == snapshot


@pytest.mark.parametrize("name", ["include", "include_dir", "include_if_exists"])
@pytest.mark.parametrize("where", ["required", "optional"])
def test_an_order_to_read_other_files_is_no_setting(name: str, where: str) -> None:
    values = {name: "/etc/passwd"}
    settings = Settings("mine", *((values, {}) if where == "required" else ({}, values)), {})
    with pytest.raises(UsageError, match=f"{name} is not a setting"):
        POSTGRES.accept(build_of("17.6"), Account("me", 1, 1), settings)


def test_server_listens_on_its_socket_only_by_default(tmp_path: Path) -> None:
    command = " ".join(POSTGRES.server_command(site_of(tmp_path)))
    assert "-c listen_addresses= " in command
    tcp = Access.make(Listen.LOOPBACK)
    assert "listen_addresses=127.0.0.1 " in " ".join(
        POSTGRES.server_command(site_of(tmp_path, access=tcp))
    )


def test_target_is_the_socket_or_the_loopback(tmp_path: Path) -> None:
    target = POSTGRES.target(site_of(tmp_path))
    assert (target.host, target.socket, target.password) == (None, "/tmp/slowdust-0", None)
    target = POSTGRES.target(
        site_of(tmp_path, access=Access(Listen.LOOPBACK, Auth.SCRAM, Secret("pw")))
    )
    assert (target.host, target.socket, target.password) == ("127.0.0.1", None, Secret("pw"))


def test_passwords_are_made_only_where_they_are_asked_for() -> None:
    assert Access.make().password is None
    first, second = (Access.make(auth=Auth.MD5).password for _ in range(2))
    assert first
    assert first != second


@pytest.mark.parametrize("status", ["ready   ", "ready"])
def test_server_is_ready_when_it_says_so(tmp_path: Path, status: str) -> None:
    write_pid_file(tmp_path, 42, status)
    assert POSTGRES.is_ready(site_of(tmp_path), 42)


@pytest.mark.parametrize("status", ["starting", "stopping", "standby", None])
def test_server_is_not_ready_before_it_says_so(tmp_path: Path, status: str | None) -> None:
    write_pid_file(tmp_path, 42, status)
    assert not POSTGRES.is_ready(site_of(tmp_path), 42)


def test_server_is_not_ready_because_an_earlier_one_was(tmp_path: Path) -> None:
    assert not POSTGRES.is_ready(site_of(tmp_path), 42)
    write_pid_file(tmp_path, 41, "ready   ")
    assert not POSTGRES.is_ready(site_of(tmp_path), 42)


def write_pid_file(folder: Path, pid: int, status: str | None) -> None:
    lines = [str(pid), "/data", "1", "5432", "/socket", "", "1 2", *([status] if status else [])]
    (folder / "postmaster.pid").write_text("\n".join(lines) + "\n")


def test_error_line_is_the_first_panic_or_the_last_fatal(snapshot: SnapshotAssertion) -> None:
    log = [
        "2026-01-01 UTC [1] FATAL:  the database system is starting up",
        "2026-01-01 UTC [1] LOG:  aborting",
        "2026-01-01 UTC [1] FATAL:  could not map memory",
    ]
    assert POSTGRES.error_line(log) == snapshot
    log += ["x PANIC:  No space left on device", "x PANIC:  again"]
    assert POSTGRES.error_line(log) == snapshot
    assert POSTGRES.error_line(["LOG:  all is well"]) is None


@pytest.mark.parametrize(
    ("version", "statement"),
    [
        ("10.23", "VACUUM (ANALYZE) sbtest1"),
        ("11.22", "VACUUM (ANALYZE) sbtest1"),
        ("12.22", "VACUUM (ANALYZE, INDEX_CLEANUP ON) sbtest1"),
        ("18.4", "VACUUM (ANALYZE, INDEX_CLEANUP ON) sbtest1"),
    ],
)
def test_maintenance_after_writes(tmp_path: Path, version: str, statement: str) -> None:
    stages = POSTGRES.after_writes(site_of(tmp_path, version), ["sbtest1", "sbtest2"])
    second = statement.replace("sbtest1", "sbtest2")
    assert stages[-2:] == [Statements((statement, second)), Statements(("CHECKPOINT",))]
    check_vacuum_comes_behind_the_commits(stages[:-1])


def test_maintenance_after_load(tmp_path: Path) -> None:
    stages = POSTGRES.after_load(site_of(tmp_path), ["sbtest1"])
    assert stages[-2:] == [Statements(("VACUUM (ANALYZE) sbtest1",)), Statements(("CHECKPOINT",))]
    check_vacuum_comes_behind_the_commits(stages[:-1])


def check_vacuum_comes_behind_the_commits(stages: list[Stage]) -> None:
    """The log is on disk, and no snapshot is older, before VACUUM looks at rows."""
    flush, alone, vacuum = stages
    assert isinstance(flush, Statements)
    assert "SET LOCAL synchronous_commit = on" in flush.texts[0]
    assert "pg_logical_emit_message(true" in flush.texts[0], "it has to write into the log"
    assert "1..32" in flush.texts[0], "no commit behind it shares an entry with one before it"
    assert isinstance(alone, WaitUntil)
    assert alone.is_done([("0",)])
    assert not alone.is_done([("1",)])
    assert isinstance(vacuum, Statements)
    assert vacuum.texts[0].startswith("VACUUM")


@pytest.mark.parametrize(
    ("settings", "texts"),
    [
        ({"autovacuum": "on"}, ("VACUUM (ANALYZE) a", "VACUUM (ANALYZE) b")),
        ({}, ("VACUUM (ANALYZE) a", "VACUUM (ANALYZE) b")),
        ({"autovacuum": "OFF"}, ()),
        ({"autovacuum": "0"}, ()),
    ],
)
def test_autovacuums_work_is_done_where_it_is_on(
    tmp_path: Path, settings: dict[str, str], texts: tuple[str, ...]
) -> None:
    accepted = AcceptedSettings(settings, (), {})
    site = dataclasses.replace(site_of(tmp_path), settings=accepted)
    stages = POSTGRES.after_step(site, ["a", "b"])
    assert stages[-1:] == ([Statements(texts)] if texts else [])
    if texts:
        check_vacuum_comes_behind_the_commits(stages)


def test_sizes_are_read_in_bytes(tmp_path: Path) -> None:
    sizes = read(POSTGRES.sizes(site_of(tmp_path), []), [("8000", "500", "300")])
    assert sizes == Sizes(8000, 500, 300)


def test_no_engines_to_choose(snapshot: SnapshotAssertion) -> None:
    assert POSTGRES.choose_engine(build_of("17.6"), None) is None
    with pytest.raises(UsageError) as error:
        POSTGRES.choose_engine(build_of("17.6"), "innodb")
    assert str(error.value) == snapshot


def test_authentication_of_another_dbms_is_refused(snapshot: SnapshotAssertion) -> None:
    POSTGRES.check_access(build_of("17.6"), Access.make(auth=Auth.SCRAM))
    with pytest.raises(UsageError) as error:
        POSTGRES.check_access(build_of("17.6"), Access.make(auth=Auth.CACHING_SHA2))
    assert str(error.value) == snapshot


@pytest.mark.parametrize(
    ("state", "what"),
    [
        ("53100", "insufficient resources"),
        ("57P01", "operator intervention"),
        ("57014", None),
        ("XX000", "internal error"),
        ("40001", None),
        ("wrong-row-count", None),
    ],
)
def test_fatal_error_is_a_class_of_states(state: str, what: str | None) -> None:
    assert POSTGRES.fatal_error(state) == what


def test_family_that_cannot_be_run_is_wrong_use() -> None:
    with pytest.raises(UsageError, match="unknown dbms 'settings'"):
        family("settings")  # a module of the package, but no family
