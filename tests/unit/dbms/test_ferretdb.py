"""Commands to FerretDB and its database, without either."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from slowdust.accounts import Account
from slowdust.builds import Build
from slowdust.dbms import family
from slowdust.dbms.access import Access, Auth, Listen, Names
from slowdust.dbms.family import Commit, Site, Sizes
from slowdust.dbms.settings import AcceptedSettings, Settings, shipped_configs
from slowdust.dbms.stages import Stage, Statements
from slowdust.errors import SlowdustError, UsageError
from slowdust.secret import Secret
from slowdust.store.manifest import BuildFacts
from tests.queries import read

FERRETDB = family("ferretdb")
ME = Account("me", 1, 1)
PASSWORD = Access(auth=Auth.SCRAM, password=Secret("pencil"))


def build_of(version: str = "1.24.2", dbms: str = "ferretdb") -> Build:
    facts = BuildFacts(source="directory", version=version, sha256="", binary_bytes=1)
    root = Path(f"/{dbms}")
    return Build(dbms, version, root, "directory", root / "bin" / dbms, facts)


def site_of(
    folder: Path,
    values: Mapping[str, str] | None = None,
    version: str = "1.24.2",
    access: Access | None = None,
    create: Mapping[str, bool] | None = None,
) -> Site:
    engine = "postgres" if values and "postgres" in values else "sqlite"
    return Site(
        build=build_of(version),
        account=ME,
        data_dir=folder,
        config_file=folder / "server.conf",
        socket_dir=Path("/s"),
        port=5432,
        access=access or Access(),
        settings=AcceptedSettings(values or {}, (), create or {}),
        engine=engine,
    )


def settings_of(**values: str) -> Settings:
    return Settings("mine", values, {}, {})


@pytest.fixture
def beneath(monkeypatch: pytest.MonkeyPatch) -> None:
    """A build of each version of Postgres, in place of the catalog's."""
    monkeypatch.setattr(
        "slowdust.dbms.ferretdb.postgres_build",
        lambda version: build_of(version, "postgres"),
    )


def test_the_server_listens_on_its_socket_alone(tmp_path: Path) -> None:
    assert FERRETDB.server_command(site_of(tmp_path)) == [
        "/ferretdb/bin/ferretdb", "--handler=sqlite", f"--sqlite-url=file:{tmp_path}/",
        f"--state-dir={tmp_path}", "--listen-unix=/s/mongodb-5432.sock", "--listen-addr=",
        "--debug-addr=-", "--telemetry=disable", "--log-level=error",
    ]  # fmt: skip
    loopback = site_of(tmp_path, access=Access(Listen.LOOPBACK))
    assert "--listen-addr=127.0.0.1:5432" in FERRETDB.server_command(loopback)


def test_pragmas_are_the_query_of_the_databases_address(tmp_path: Path) -> None:
    site = site_of(tmp_path, {"cache_size": "-2000", "synchronous": "full", "page_size": "8192"})
    pragmas = "_pragma=page_size%288192%29&_pragma=cache_size%28-2000%29&_pragma=synchronous%28full"
    assert f"--sqlite-url=file:{tmp_path}/?{pragmas}%29" in FERRETDB.server_command(site)
    assert FERRETDB.configuration(site) == (
        "cache_size = -2000\npage_size = 8192\nsynchronous = full\n"
    )


@pytest.mark.parametrize("value", ["1)&_txlock=x(1", "a b", "", "'x'", "1;2"])
def test_a_value_cannot_be_more_than_one(
    tmp_path: Path, value: str, snapshot: SnapshotAssertion
) -> None:
    with pytest.raises(UsageError) as error:
        FERRETDB.server_command(site_of(tmp_path, {"cache_size": value}))
    assert str(error.value) == snapshot


@pytest.mark.parametrize("config", shipped_configs("ferretdb"))
def test_shipped_configurations_are_accepted(config: str) -> None:
    settings = FERRETDB.settings(config, {}, 2, engine="sqlite", memory_bytes=4 << 30)
    accepted = FERRETDB.accept(build_of(), ME, settings)
    assert accepted.values == settings.required
    assert accepted.values["cache_size"].startswith("-")


@pytest.mark.parametrize(
    "setting",
    [
        ("cache_sise", "3"),
        ("writable_schema", "1"),
        ("encoding", "utf-16"),
        ("shared_buffers", "64MB"),
        ("journal_mode", "wahl"),
        ("synchronous", "maybe"),
        ("mmap_size", "64MB"),
    ],
)
def test_settings_that_sqlite_would_ignore_are_refused(
    setting: tuple[str, str], snapshot: SnapshotAssertion
) -> None:
    settings = FERRETDB.settings("default", dict([setting]), 1, engine="sqlite")
    with pytest.raises(UsageError) as error:
        FERRETDB.accept(build_of(), ME, settings)
    assert str(error.value) == snapshot


def test_an_optional_setting_that_sqlite_lacks_is_skipped() -> None:
    optional = {"cache_size": "-2000", "direct_io": "on"}
    accepted = FERRETDB.accept(build_of(), ME, Settings("mine", {}, optional, {}))
    assert (accepted.values, accepted.skipped) == ({"cache_size": "-2000"}, ("direct_io",))


@pytest.mark.parametrize("config", shipped_configs("postgres"))
def test_over_postgres_configurations_match_postgres(config: str) -> None:
    own, sized = {"Work-Mem": "3MB"}, 4 << 30
    settings = FERRETDB.settings(config, own, 2, engine="postgres", clients=200, memory_bytes=sized)
    beneath = family("postgres").settings(config, own, 2, clients=200, memory_bytes=sized)
    assert settings.required == {**beneath.required, "postgres": "17.6"}
    assert settings.optional == beneath.optional


@pytest.mark.parametrize("where", ["configuration", "override"])
def test_the_version_of_postgres_is_a_setting(
    tmp_path: Path, where: str, snapshot: SnapshotAssertion
) -> None:
    file = tmp_path / "mine.toml"
    own = 'postgres = "15.8"' if where == "configuration" else ""
    file.write_text(f"[settings]\nwork_mem = '1MB'\n{own}\n")
    overrides = {"postgres": "15.8"} if where == "override" else {}
    settings = FERRETDB.settings(str(file), overrides, 1, engine="postgres")
    assert settings.required["postgres"] == "15.8"
    assert FERRETDB.backing_server(settings) == ("postgres", "15.8")
    file.write_text(f"[settings]\ncache_size = -2000\n{own}\n")
    with pytest.raises(UsageError) as error:
        FERRETDB.settings(str(file), overrides, 1, engine="sqlite")
    assert str(error.value) == snapshot


def test_a_version_that_postgres_does_not_have(snapshot: SnapshotAssertion) -> None:
    with pytest.raises(UsageError) as error:
        FERRETDB.accept(build_of(), ME, settings_of(postgres="99.1"))
    assert str(error.value) == snapshot


@pytest.mark.usefixtures("beneath")
def test_postgres_is_asked_about_its_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[tuple[Build, Settings]] = []

    def accept(_: object, build: Build, __: Account, settings: Settings) -> AcceptedSettings:
        asked.append((build, settings))
        return AcceptedSettings(settings.required, ("jit",), settings.create)

    monkeypatch.setattr(type(family("postgres")), "accept", accept)
    create = {"data_checksums": False}
    values = {"work_mem": "1MB", "postgres": "15.8", "names": "short"}
    given = Settings("mine", values, {}, create)
    accepted = FERRETDB.accept(build_of(), ME, given)
    assert accepted == AcceptedSettings(given.required, ("jit",), create)
    ((build, settings),) = asked
    assert (build.dbms, build.version) == ("postgres", "15.8")
    assert (settings.required, settings.create) == ({"work_mem": "1MB"}, {"data_checksums": False})


@pytest.mark.usefixtures("beneath")
def test_a_shell_runs_postgres_under_the_server(tmp_path: Path) -> None:
    values = {"max_connections": "120", "work_mem": "1MB", "postgres": "15.8"}
    site = site_of(tmp_path, values, access=Access(Listen.LOOPBACK))
    shell, option, script = FERRETDB.server_command(site)
    assert (shell, option) == ("/bin/sh", "-c")
    assert f"/postgres/bin/postgres -D {tmp_path}/postgres -c " in script
    assert "listen_addresses= -c port=5432 -c unix_socket_directories=/s &" in script
    url = "postgres://slowdust@/postgres?host=/s&port=5432&pool_max_conns=110"
    assert f"--handler=postgresql '--postgresql-url={url}' --state-dir={tmp_path}" in script
    assert "--telemetry=disable" in script
    assert "--listen-addr=127.0.0.1:5432" in script
    configuration = FERRETDB.configuration(site)
    assert "work_mem = '1MB'\n" in configuration
    assert "postgres = " not in configuration, "the version is no setting of Postgres"
    assert FERRETDB.programs(site) == (
        Path("/ferretdb/bin/ferretdb"), Path("/postgres/bin/postgres"), Path("/bin/sh"),
    )  # fmt: skip


def test_over_sqlite_there_is_one_program(tmp_path: Path) -> None:
    assert FERRETDB.programs(site_of(tmp_path)) == (Path("/ferretdb/bin/ferretdb"),)


@pytest.mark.parametrize("version", ["1.12.1", "1.18.0", "1.20.1"])
def test_versions_that_keep_no_users_have_no_passwords(
    version: str, snapshot: SnapshotAssertion
) -> None:
    FERRETDB.check_access(build_of(version), Access(Listen.LOOPBACK))
    with pytest.raises(UsageError) as error:
        FERRETDB.check_access(build_of(version), PASSWORD)
    assert str(error.value) == snapshot


def test_a_password_makes_the_only_user(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    for version in ("1.21.0", "1.24.2"):
        FERRETDB.check_access(build_of(version), PASSWORD)
    command = FERRETDB.server_command(site_of(tmp_path, access=PASSWORD))
    assert command[-3:] == [
        "--test-enable-new-auth", "--setup-database=slowdust", "--setup-username=slowdust",
    ]  # fmt: skip
    assert FERRETDB.secret_variables(site_of(tmp_path, access=PASSWORD)) == {
        "FERRETDB_SETUP_PASSWORD": Secret("pencil")
    }
    assert FERRETDB.secret_variables(site_of(tmp_path)) == {}
    with pytest.raises(UsageError) as error:
        FERRETDB.check_access(build_of(), Access(auth=Auth.MD5, password=Secret("p")))
    assert str(error.value) == snapshot


def texts(stages: list[Stage]) -> list[str]:
    return [text for stage in stages if isinstance(stage, Statements) for text in stage.texts]


def test_statistics_are_gathered_and_postgres_tables_vacuumed(tmp_path: Path) -> None:
    sqlite = site_of(tmp_path)
    assert texts(FERRETDB.after_load(sqlite, ["a", "b"])) == [
        '{"collStats":"a"}', '{"collStats":"b"}'
    ]  # fmt: skip
    assert FERRETDB.after_writes(sqlite, ["a"]) == FERRETDB.after_load(sqlite, ["a"])
    assert FERRETDB.after_step(sqlite, ["a"]) == []
    postgres = {"postgres": "17.6"}
    assert texts(FERRETDB.after_load(site_of(tmp_path, postgres), ["a"])) == [
        '{"collStats":"a"}', '{"compact":"a"}'
    ]  # fmt: skip


@pytest.mark.parametrize("values", [{}, {"postgres": "17.6"}])
def test_short_names_are_for_the_client_alone(
    tmp_path: Path, values: dict[str, str], snapshot: SnapshotAssertion
) -> None:
    site = site_of(tmp_path, {**values, "names": "short"})
    target = FERRETDB.target(site)
    assert (target.names, target.engine, target.socket) == (Names.SHORT, None, "/s")
    assert FERRETDB.target(site_of(tmp_path, values)).names is Names.LONG
    assert FERRETDB.server_command(site) == FERRETDB.server_command(site_of(tmp_path, values))
    with pytest.raises(UsageError) as error:
        FERRETDB.accept(build_of(), ME, settings_of(names="tiny"))
    assert str(error.value) == snapshot
    with pytest.raises(UsageError) as error2:
        FERRETDB.accept(build_of(), ME, Settings("mine", {}, {}, {"checksums": True}))
    assert str(error2.value) == snapshot


@pytest.mark.parametrize(
    ("engine", "settings", "waits"),
    [
        ("sqlite", {}, "synchronous=full"),
        ("sqlite", {"synchronous": "normal"}, None),
        ("sqlite", {"synchronous": "normal", "journal_mode": "delete"}, "synchronous=normal"),
        ("sqlite", {"synchronous": "full", "journal_mode": "off"}, None),
        ("postgres", {"postgres": "17.6"}, "synchronous_commit=on"),
        ("postgres", {"synchronous_commit": "off"}, None),
    ],
)
def test_a_command_waits_for_the_backend(
    engine: str, settings: dict[str, str], waits: str | None
) -> None:
    commit = FERRETDB.commit(settings, engine)
    assert isinstance(commit, Commit)
    assert commit.waits_for_disk is (waits is not None)
    assert waits in (None, commit.setting)


def test_facts_that_the_server_does_not_report_are_absent(
    tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    site = site_of(tmp_path)
    stats = '{"storageSize": 4096, "indexSize": 2048, "totalSize": 8192, "ok": 1.0}'
    assert read(FERRETDB.sizes(site, []), [(stats,)]) == Sizes(8192, 4096, 2048)
    with pytest.raises(SlowdustError) as error:
        read(FERRETDB.sizes(site, []), [('{"ok": 1.0}',)])
    assert str(error.value) == snapshot
    for query in (FERRETDB.counters, FERRETDB.settings_in_force, FERRETDB.facts):
        assert query(site) is None
    assert FERRETDB.buffer_pool(site) is None


def test_reasons_are_found() -> None:
    log = [
        "2026-01-01T10:00:00Z\tINFO\tListening",
        "2026-01-01T10:00:00Z\tFATAL\tsqlite: database is locked",
        "goroutine 1 [running]:",
        "2026-01-01 10:00:00 UTC [7] FATAL:  terminating connection due to administrator command",
    ]
    assert FERRETDB.error_line(log) == log[1]
    assert FERRETDB.error_line(log[:1]) is None
