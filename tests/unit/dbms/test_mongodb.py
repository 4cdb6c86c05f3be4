"""Commands to mongod and its answers, without a server.

The replies are shortened from MongoDB's manual, the lines of logs from published ones.
"""

from __future__ import annotations

import dataclasses
import json
import subprocess
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from slowdust.accounts import Account
from slowdust.builds import Build
from slowdust.dbms import family
from slowdust.dbms.access import Access, Auth, Listen
from slowdust.dbms.family import Commit, Site, Sizes
from slowdust.dbms.settings import AcceptedSettings, Settings, setting_name, shipped_configs
from slowdust.dbms.stages import Row, Statements
from slowdust.errors import UsageError
from slowdust.secret import Secret
from slowdust.store.manifest import BuildFacts
from tests.queries import read

MONGODB = family("mongodb")
ME = Account("me", 1, 1)
CACHE = "storage.wiredTiger.engineConfig.cacheSizeGB"
COMPRESSOR = "storage.wiredTiger.collectionConfig.blockCompressor"
FSYNC = '{"fsync":1,"$db":"admin"}'
STATUS = {
    "metrics": {
        "document": {"deleted": 3, "inserted": 3768, "returned": 47793, "updated": 43},
        "queryExecutor": {"scanned": 39060, "scannedObjects": 794184},
    },
    "wiredTiger": {
        "cache": {
            "maximum bytes configured": 268435456,
            "pages requested from the cache": 5000,
            "tracked dirty bytes in the cache": 4096,
        }
    },
    "ok": 1.0,
}


def build_of(version: str = "7.0.14") -> Build:
    facts = BuildFacts(source="directory", version=version, sha256="", binary_bytes=1)
    return Build("mongodb", version, Path("/b"), "directory", Path("/b/bin/mongod"), facts)


def site_of(
    folder: Path,
    values: Mapping[str, str] | None = None,
    engine: str = "wiredtiger",
    listen: Listen = Listen.SOCKET,
) -> Site:
    return Site(
        build=build_of(),
        account=ME,
        data_dir=folder / "data",
        config_file=folder / "server.conf",
        socket_dir=Path("/s"),
        port=5432,
        access=Access(listen),
        settings=AcceptedSettings(values or {}, (), {}),
        engine=engine,
    )


def reply_of(document: object) -> list[Row]:
    return [(json.dumps(document),)]


Answer = Callable[[str], str]


@pytest.fixture
def answering(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Callable[[Answer], list[list[str]]]:
    """Answer for the server by a function of the configuration's text; yield the commands."""

    def install(answer: Answer) -> list[list[str]]:
        commands: list[list[str]] = []

        def run(_: Account, command: list[str], *, text: str | None = None, **__: object) -> object:
            commands.append(command)
            options = dict(part.removeprefix("--").split("=", 1) for part in command[1:])
            said = answer(Path(options["config"]).read_text())
            said = said.replace("DBPATH", options["dbpath"])
            return subprocess.CompletedProcess(command, 100, said, "")

        monkeypatch.setattr(Account, "run", run)
        monkeypatch.setattr(Account, "make_directory", lambda _, path: path.mkdir())
        monkeypatch.setattr(Account, "temporary_root", lambda _: tmp_path)
        return commands

    return install


def takes_all(_: str) -> str:
    error = "NonExistentPath: Data directory DBPATH not found. Create the missing directory"
    start = {"s": "I", "c": "CONTROL", "msg": "MongoDB starting"}
    end = {"s": "E", "msg": "DBException in initAndListen, terminating", "attr": {"error": error}}
    return f"{json.dumps(start)}\n{json.dumps(end)}\n"


def takes_all_as_before_4_4(_: str) -> str:
    return (
        "2019-08-05T10:52:01.123+0000 I CONTROL  [initandlisten] MongoDB starting : pid=7\n"
        "2019-08-05T10:52:01.125+0000 I STORAGE  [initandlisten] exception in initAndListen: "
        "NonExistentPath: Data directory DBPATH not found., terminating\n"
    )


def test_the_server_has_its_socket_in_place_of_an_address(tmp_path: Path) -> None:
    assert MONGODB.server_command(site_of(tmp_path)) == [
        "/b/bin/mongod", f"--config={tmp_path}/server.conf", f"--dbpath={tmp_path}/data",
        "--storageEngine=wiredTiger", "--bind_ip=/s/mongodb-5432.sock", "--port=5432",
        "--unixSocketDirectory=/s",
    ]  # fmt: skip
    command = MONGODB.server_command(site_of(tmp_path, {}, "mmapv1", Listen.LOOPBACK))
    assert "--bind_ip=127.0.0.1" in command
    assert "--storageEngine=mmapv1" in command


def test_settings_are_sections_of_yaml_and_those_of_the_client_are_not(tmp_path: Path) -> None:
    values = {
        CACHE: "0.5",
        "storage.syncPeriodSecs": "3600",
        "storage.wiredTiger.collectionConfig.configString": "type=lsm",
        "setParameter.ttlMonitorEnabled": "off",
        "operationProfiling.mode": "off",
        "writeConcern.j": "true",
    }
    site = site_of(tmp_path, values)
    assert MONGODB.configuration(site) == (
        "operationProfiling:\n"
        "  mode: off\n"
        "setParameter:\n"
        "  ttlMonitorEnabled: false\n"
        "storage:\n"
        "  syncPeriodSecs: 3600\n"
        "  wiredTiger:\n"
        "    collectionConfig:\n"
        '      configString: "type=lsm"\n'
        "    engineConfig:\n"
        "      cacheSizeGB: 0.5\n"
    )


@pytest.mark.parametrize(
    ("name", "value"),
    [("cacheSizeGB", "1"), ("storage: x", "1"), ("storage.a", "1\nnet:\n  port: 1"), ("a..b", "1")],
)
def test_unwritable_texts_are_refused(
    tmp_path: Path, name: str, value: str, snapshot: SnapshotAssertion
) -> None:
    site = site_of(tmp_path, {name: value})
    with pytest.raises(UsageError) as error:
        MONGODB.configuration(site)
    assert str(error.value) == snapshot


def test_a_section_is_no_setting(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    site = site_of(tmp_path, {"storage.journal": "1", "storage.journal.enabled": "true"})
    with pytest.raises(UsageError) as error:
        MONGODB.configuration(site)
    assert str(error.value) == snapshot


def test_names_keep_their_case() -> None:
    assert setting_name(CACHE) == CACHE
    assert setting_name("Innodb-Buffer-Pool-Size") == "innodb_buffer_pool_size"


@pytest.mark.parametrize("config", shipped_configs("mongodb"))
@pytest.mark.parametrize("engine", MONGODB.engines)
@pytest.mark.parametrize("answer", [takes_all, takes_all_as_before_4_4])
def test_a_server_that_misses_its_data_alone_takes_the_settings(
    answering: Callable[[Answer], list[list[str]]], config: str, engine: str, answer: Answer
) -> None:
    commands = answering(answer)
    settings = MONGODB.settings(config, {}, 2, engine=engine, memory_bytes=4 << 30)
    accepted = MONGODB.accept(build_of(), ME, settings)
    assert accepted.values == {**settings.optional, **settings.required}
    (command,) = commands
    assert command[0] == "/b/bin/mongod"


@pytest.mark.parametrize(
    "said",
    [
        "Unrecognized option: storage.journal.enabled\ntry '/b/mongod --help' for more information",
        'Failed global initialization: BadValue: Illegal --setParameter parameter: "ttlMonitor"',
        json.dumps(
            {
                "s": "F",
                "msg": "Error during global initialization",
                "attr": {
                    "error": {
                        "code": 2,
                        "codeName": "BadValue",
                        "errmsg": 'Illegal --setParameter parameter: "ttlMonitor"',
                    }
                },
            }
        ),
    ],
)
def test_a_setting_that_the_version_lacks_is_skipped_where_it_is_optional(
    answering: Callable[[Answer], list[list[str]]], said: str, snapshot: SnapshotAssertion
) -> None:
    name = "storage.journal.enabled" if "journal" in said else "setParameter.ttlMonitor"
    last = name.rpartition(".")[2]
    answering(lambda file: said if f"{last}: " in file else takes_all(file))
    optional = {name: "true", COMPRESSOR: "zstd"}
    accepted = MONGODB.accept(build_of(), ME, Settings("mine", {}, optional, {}))
    assert (accepted.values, accepted.skipped) == ({COMPRESSOR: "zstd"}, (name,))
    with pytest.raises(UsageError) as error:
        MONGODB.accept(build_of(), ME, Settings("mine", optional, {}, {}))
    assert str(error.value) == snapshot


def test_a_value_that_the_server_refuses(
    answering: Callable[[Answer], list[list[str]]],
    snapshot: SnapshotAssertion,
) -> None:
    answering(lambda _: "Invalid value for blockCompressor: zst\n")
    settings = Settings("mine", {COMPRESSOR: "zst"}, {}, {})
    with pytest.raises(UsageError) as error:
        MONGODB.accept(build_of(), ME, settings)
    assert str(error.value) == snapshot


def test_a_server_that_says_nothing_takes_nothing(
    answering: Callable[[Answer], list[list[str]]],
    snapshot: SnapshotAssertion,
) -> None:
    answering(lambda _: "")
    with pytest.raises(UsageError) as error:
        MONGODB.accept(build_of(), ME, Settings("mine", {}, {}, {}))
    assert str(error.value) == snapshot


@pytest.mark.parametrize(
    ("required", "create"),
    [
        ({"net.port": "1"}, {}),
        ({"storage.engine": "inMemory"}, {}),
        ({"writeConcern.j": "perhaps"}, {}),
        ({}, {"checksums": True}),
    ],
)
def test_settings_that_are_refused_without_the_server(
    required: dict[str, str], create: dict[str, bool], snapshot: SnapshotAssertion
) -> None:
    with pytest.raises(UsageError) as error:
        MONGODB.accept(build_of(), ME, Settings("mine", required, {}, create))
    assert str(error.value) == snapshot


@pytest.mark.parametrize(
    "version",
    [
        "3.4.24",
        "2.6.12",
        "2.0.1-mongodb-2.4.10",
    ],
)
def test_servers_before_op_msg_are_refused(version: str, snapshot: SnapshotAssertion) -> None:
    with pytest.raises(UsageError) as error:
        MONGODB.choose_engine(build_of(version), None)
    assert str(error.value) == snapshot
    assert "\n" not in str(error.value)


@pytest.mark.parametrize("version", ["3.6.23", "4.0.28", "7.0.14", "7.0.14-8", "8.2.3"])
def test_wiredtiger_is_the_engine_of_all_versions(version: str) -> None:
    assert MONGODB.choose_engine(build_of(version), None) == "wiredtiger"


def test_mmapv1_ends_with_4_0(snapshot: SnapshotAssertion) -> None:
    assert MONGODB.choose_engine(build_of("4.0.28"), "mmapv1") == "mmapv1"
    with pytest.raises(UsageError) as error:
        MONGODB.choose_engine(build_of("4.2.25"), "mmapv1")
    assert str(error.value) == snapshot


@pytest.mark.parametrize("has", [True, False])
def test_the_server_says_whether_it_has_the_engine_in_memory(
    monkeypatch: pytest.MonkeyPatch, *, has: bool, snapshot: SnapshotAssertion
) -> None:
    options = "  --inMemorySizeGB arg   The maximum memory in GB" if has else "  --port arg"

    def run(_: Account, command: list[str], **__: object) -> object:
        assert command == ["/b/bin/mongod", "--help"]
        return subprocess.CompletedProcess(command, 0, options, "")

    monkeypatch.setattr(Account, "run", run)
    if has:
        assert MONGODB.choose_engine(build_of("7.0.14-8"), "inmemory") == "inmemory"
    else:
        with pytest.raises(UsageError) as error:
            MONGODB.choose_engine(build_of(), "inmemory")
        assert str(error.value) == snapshot


def test_the_key_file_has_the_password_of_the_servers_own_user(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir()
    site = dataclasses.replace(
        site_of(tmp_path), access=Access(Listen.LOOPBACK, Auth.SCRAM, Secret("pw"))
    )
    MONGODB.create(site, lambda *_: "")
    key = tmp_path / "key"
    assert (key.read_text(), key.stat().st_mode & 0o777) == ("pw", 0o600)
    assert MONGODB.server_command(site)[-2:] == [
        f"--keyFile={key}", "--setParameter=enableLocalhostAuthBypass=false",
    ]  # fmt: skip
    target = MONGODB.target(site)
    assert (target.user, target.password, target.auth_source) == ("__system", Secret("pw"), "local")


def test_a_server_on_its_socket_asks_for_no_password(tmp_path: Path) -> None:
    MONGODB.create(site_of(tmp_path), lambda *_: "")
    assert not any(tmp_path.iterdir())
    assert "--keyFile" not in " ".join(MONGODB.server_command(site_of(tmp_path)))
    assert MONGODB.target(site_of(tmp_path)).user == "slowdust"


def test_the_client_asks_for_the_journal_where_the_settings_say_so(tmp_path: Path) -> None:
    plain = MONGODB.target(site_of(tmp_path))
    assert (plain.engine, plain.journaled, plain.socket) == (None, False, "/s")
    assert MONGODB.target(site_of(tmp_path, {"writeConcern.j": "on"})).journaled
    assert MONGODB.commit({}, "wiredtiger") == Commit(
        waits_for_disk=False, setting="writeConcern.j=false"
    )
    waits = Commit(waits_for_disk=True, setting="writeConcern.j=true")
    assert MONGODB.commit({"writeConcern.j": "on"}, "mmapv1") == waits
    assert MONGODB.commit({"writeConcern.j": "true"}, "inmemory") is None


@pytest.mark.parametrize(
    ("size", "written"), [(1 << 20, "0.25"), (1 << 28, "0.25"), (5 << 28, "1.25"), (1 << 33, "8")]
)
def test_caches_are_in_gigabytes(size: int, written: str) -> None:
    assert MONGODB.render_bytes(size) == written


def test_a_checkpoint_is_done_where_the_server_would_soon_do_one(tmp_path: Path) -> None:
    checkpoint = [Statements((FSYNC,))]
    rare = site_of(tmp_path, {"storage.syncPeriodSecs": "3600"})
    assert MONGODB.after_load(rare, ["a"]) == checkpoint
    assert MONGODB.after_writes(rare, ["a"]) == checkpoint
    assert MONGODB.sizes(rare, ["a"]).before == tuple(checkpoint)
    assert MONGODB.after_step(rare, ["a"]) == []
    for site in (site_of(tmp_path), site_of(tmp_path, {"storage.syncPeriodSecs": "60"})):
        assert MONGODB.after_step(site, ["a"]) == checkpoint
    assert MONGODB.after_load(site_of(tmp_path, engine="inmemory"), ["a"]) == []


def test_replies_are_read(tmp_path: Path) -> None:
    site = site_of(tmp_path)
    stats = {"objects": 2000, "storageSize": 4096, "indexSize": 2048, "ok": 1.0}
    assert read(MONGODB.sizes(site, []), reply_of(stats)) == Sizes(6144, 4096, 2048)
    assert read(MONGODB.facts(site), reply_of(stats), reply_of(STATUS)) == {
        "server": {"documents": 2000.0, "dirty_bytes": 4096.0}
    }
    assert read(MONGODB.counters(site), reply_of(STATUS)) == {
        "keys_examined": 39060.0,
        "documents_examined": 794184.0,
        "documents_written": 3814.0,
        "page_requests": 5000.0,
    }
    assert read(MONGODB.buffer_pool(site), reply_of(STATUS)) == 1 << 28
    assert MONGODB.buffer_pool(site_of(tmp_path, engine="mmapv1")) is None


def test_unreported_facts_are_absent(tmp_path: Path) -> None:
    site = site_of(tmp_path)
    nothing = reply_of({"ok": 1.0})
    assert read(MONGODB.counters(site), nothing) == {}
    assert read(MONGODB.facts(site), nothing, nothing) == {"server": {}}
    assert read(MONGODB.buffer_pool(site), nothing) is None


def test_settings_in_force_are_those_that_the_server_read(tmp_path: Path) -> None:
    given = {
        CACHE: "0.50",
        COMPRESSOR: "zlib",
        "setParameter.ttlMonitorEnabled": "off",
        "storage.directoryPerDB": "true",
        "writeConcern.j": "true",
    }
    site = site_of(tmp_path, given)
    wired = {"engineConfig": {"cacheSizeGB": 0.5}, "collectionConfig": {"blockCompressor": "zstd"}}
    parsed = {
        "setParameter": {"ttlMonitorEnabled": "false"},
        "storage": {"dbPath": "/d", "wiredTiger": wired, "directoryPerDB": True},
    }
    in_force = read(MONGODB.settings_in_force(site), reply_of({"parsed": parsed, "ok": 1.0}))
    assert {name: (value.text, value.as_given) for name, value in in_force.items()} == {
        CACHE: ("0.5", True),
        COMPRESSOR: ("zstd", False),
        "setParameter.ttlMonitorEnabled": ("false", True),
        "storage.directoryPerDB": ("true", True),
    }


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (
            '{"s":"F","c":"STORAGE","msg":"Failed to start up WiredTiger","attr":{"reason":"x"}}',
            "Failed to start up WiredTiger",
        ),
        (
            '{"s":"E","msg":"Failed to unlink socket file","attr":{"error":"Permission denied"}}',
            "Failed to unlink socket file: Permission denied",
        ),
        (
            "2018-02-21T09:21:44.123+0000 E STORAGE  [initandlisten] WiredTiger error (22)",
            "WiredTiger error (22)",
        ),
        ("mongod: error while loading shared libraries: libssl.so.1.1", None),
    ],
)
def test_reasons_are_found(line: str, reason: str | None) -> None:
    log = [
        '{"s":"I","msg":"MongoDB starting","attr":{"pid":7}}',
        "2018-02-21T09:21:44.000+0000 I CONTROL  [initandlisten] MongoDB starting : pid=7",
        line,
        '{"s":"F","msg":"***aborting after fassert() failure"}',
    ]
    assert MONGODB.error_line(log) == (reason or line)
    assert MONGODB.error_line(log[:2]) is None


def test_fatal_states() -> None:
    assert MONGODB.fatal_error("mongodb/14031") == "the disk is full"
    assert MONGODB.fatal_error("mongodb/112") is None
