"""Commands to SQLite's process and its answers, without a process."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from slowdust.accounts import Account
from slowdust.builds import Build
from slowdust.builds.model import Runtime
from slowdust.dbms import family
from slowdust.dbms.access import Access, Auth, Listen
from slowdust.dbms.family import Commit, Site, Sizes
from slowdust.dbms.settings import AcceptedSettings, Settings
from slowdust.dbms.stages import Statements
from slowdust.errors import UsageError
from slowdust.secret import Secret
from slowdust.store.manifest import BuildFacts
from tests.queries import read

SQLITE = family("sqlite")
ME = Account("me", os.getuid(), os.getgid())


def build_of(version: str = "3.50.2") -> Build:
    facts = BuildFacts(source="directory", version=version, sha256="", binary_bytes=1)
    library = Path("/b/lib/libsqlite3.so")
    host = Runtime(host=Path("/d/slowdust-driver"))
    return Build("sqlite", version, Path("/b"), "directory", library, facts, host)


def site_of(folder: Path, **values: str) -> Site:
    return Site(
        build=build_of(),
        account=ME,
        data_dir=folder,
        config_file=folder / "server.conf",
        socket_dir=Path("/tmp/slowdust-0"),
        port=5432,
        access=Access(),
        settings=AcceptedSettings(values, (), {}),
    )


@pytest.fixture
def report(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """The values that the library reports, of the settings that it is given."""
    values: dict[str, str] = {}

    def answer(_: object, command: list[str], text: str) -> subprocess.CompletedProcess[str]:
        names = [line.partition(" = ")[0] for line in text.splitlines()]
        lines = [f"{name} = {values[name]}\n" for name in names if name in values]
        return subprocess.CompletedProcess(command, 0, "".join(lines), "")

    def run(account: Account, command: list[str], *, text: str, **_: object) -> object:
        return answer(account, command, text)

    monkeypatch.setattr(Account, "run", run)
    return values


def test_the_process_loads_the_library_and_serves_one_database(tmp_path: Path) -> None:
    assert SQLITE.server_command(site_of(tmp_path)) == [
        "/d/slowdust-driver", "--library", "/b/lib/libsqlite3.so", "--serve", "/tmp/slowdust-0",
        "--database", f"{tmp_path}/slowdust.db", "--settings", f"{tmp_path}/server.conf",
    ]  # fmt: skip


def test_settings_that_decide_about_others_come_first(tmp_path: Path) -> None:
    site = site_of(tmp_path, cache_size="-2000", journal_mode="wal", page_size="8192", threads="0")
    assert SQLITE.configuration(site) == (
        "page_size = 8192\njournal_mode = wal\ncache_size = -2000\nthreads = 0\n"
    )


@pytest.mark.parametrize("value", ["", "1; ATTACH 'x'", "a b", "'x'", "1\nx = 2", "--1"])
def test_a_value_is_one_word_or_number(
    tmp_path: Path, value: str, snapshot: SnapshotAssertion
) -> None:
    with pytest.raises(UsageError) as error:
        SQLITE.configuration(site_of(tmp_path, cache_size=value))
    assert str(error.value) == snapshot


def test_words_are_the_numbers_that_sqlite_reports(report: dict[str, str]) -> None:
    report |= {"synchronous": "1", "journal_mode": "wal", "foreign_keys": "1"}
    given = {"synchronous": "NORMAL", "journal_mode": "wal", "foreign_keys": "on"}
    accepted = SQLITE.accept(build_of(), ME, Settings("mine", given, {}, {}))
    assert accepted.values == given


def test_a_value_that_is_not_taken_is_refused(
    report: dict[str, str], snapshot: SnapshotAssertion
) -> None:
    report["journal_mode"] = "delete"
    settings = Settings("mine", {"journal_mode": "wahl"}, {}, {})
    with pytest.raises(UsageError) as error:
        SQLITE.accept(build_of(), ME, settings)
    assert str(error.value) == snapshot


def test_a_setting_that_the_version_lacks_is_skipped_where_it_is_optional(
    report: dict[str, str],
) -> None:
    optional = {"analysis_limit": "400"}
    accepted = SQLITE.accept(build_of("3.17.0"), ME, Settings("mine", {}, optional, {}))
    assert (accepted.values, accepted.skipped) == ({}, ("analysis_limit",))
    with pytest.raises(UsageError, match="'analysis_limit'"):
        SQLITE.accept(build_of("3.17.0"), ME, Settings("mine", optional, {}, {}))


@pytest.mark.parametrize("name", ["writable_schema", "integrity_check", "key", "cache_sise"])
def test_pragmas_that_are_no_settings_are_refused(report: dict[str, str], name: str) -> None:
    with pytest.raises(UsageError, match=f"'{name}'"):
        SQLITE.accept(build_of(), ME, Settings("mine", {name: "1"}, {}, {}))


def test_no_client_can_connect(tmp_path: Path) -> None:
    SQLITE.check_access(build_of(), Access())
    for access in (Access(Listen.LOOPBACK), Access(auth=Auth.SCRAM, password=Secret("p"))):
        with pytest.raises(UsageError, match="sqlite"):
            SQLITE.check_access(build_of(), access)


def test_it_is_ready_when_this_process_says_so(tmp_path: Path) -> None:
    site = site_of(tmp_path)
    assert not SQLITE.is_ready(site, 42)
    (tmp_path / "ready").write_text("41")
    assert not SQLITE.is_ready(site, 42)
    (tmp_path / "ready").write_text("42")
    assert SQLITE.is_ready(site, 42)


@pytest.mark.parametrize(
    ("settings", "waits"),
    [
        ({}, True),
        ({"journal_mode": "wal"}, True),
        ({"journal_mode": "wal", "synchronous": "normal"}, False),
        ({"journal_mode": "wal", "synchronous": "2"}, True),
        ({"synchronous": "normal"}, True),
        ({"synchronous": "off"}, False),
        ({"journal_mode": "memory", "synchronous": "full"}, False),
    ],
)
def test_commits_wait_for_the_disk_as_journal_and_level_say(
    settings: dict[str, str], *, waits: bool
) -> None:
    commit = SQLITE.commit(settings, None)
    assert commit == Commit(waits, f"synchronous={settings.get('synchronous', 'full')}")


def test_statistics_and_checkpoint_come_after_a_load(tmp_path: Path) -> None:
    stages = SQLITE.after_load(site_of(tmp_path), ["a", "b"])
    texts = [text for stage in stages if isinstance(stage, Statements) for text in stage.texts]
    assert texts == ["ANALYZE a", "ANALYZE b", "PRAGMA wal_checkpoint(TRUNCATE)"]
    assert SQLITE.after_step(site_of(tmp_path), ["a"]) == []


def test_answers_are_read(tmp_path: Path) -> None:
    site = site_of(tmp_path, cache_size="-2000", synchronous="normal")
    assert read(SQLITE.sizes(site, []), [("4096", "2048", "1024")]) == Sizes(4096, 2048, 1024)
    trees = [("table", "t", "t", "10", "8", "2"), ("index", "t", "t_k", "3", "2", "2")]
    assert read(SQLITE.facts(site), trees) == {
        "t": {"pages": 10.0, "leaf_pages": 8.0, "height": 2.0},
        "t.t_k": {"pages": 3.0, "leaf_pages": 2.0, "height": 2.0},
    }
    in_force = read(SQLITE.settings_in_force(site), [("-2000",), ("2",)])
    assert in_force["cache_size"].as_given
    assert (in_force["synchronous"].text, in_force["synchronous"].as_given) == ("2", False)
    assert SQLITE.counters(site) is None


def test_reasons_are_found(snapshot: SnapshotAssertion) -> None:
    log = ["x", "slowdust-driver: cannot open /d: unable to open database file", "y"]
    assert SQLITE.error_line(log) == snapshot
    assert SQLITE.error_line(["x"]) is None
    assert SQLITE.fatal_error("SQLITE_FULL") == "the disk is full"
    assert SQLITE.fatal_error("SQLITE_BUSY") is None
