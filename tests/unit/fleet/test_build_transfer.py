"""Builds are compiled once and pushed by their content."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping
from contextlib import nullcontext
from pathlib import Path

import pytest

from slowdust.builds.pushed import hash_folder
from slowdust.errors import SlowdustError
from slowdust.experiment.spec.spec import Spec, parse_spec
from slowdust.fleet.build_transfer import (
    PushedFolder,
    has_folder,
    packed,
    push_builds,
    put,
)
from slowdust.fleet.cluster import HostLost
from tests.tiers.selection import needs
from tests.unit.builds.source_projects import VERSION, commit, postgres_sources, write
from tests.unit.synthetic_fleet import Heard, SimulatedFleet, SimulatedHost

FOLDER = "builds/sqlite/3.1.0"


@pytest.fixture
def caches(open_dir: Path, monkeypatch: pytest.MonkeyPatch) -> tuple[Path, Path]:
    """The caches of the head, which is used until `at` is called, and of a host."""
    head, host = open_dir / "head", open_dir / "host"
    binaries = head / FOLDER / "binaries"
    (binaries / "lib").mkdir(parents=True)
    (binaries / "server").write_text("#!/bin/sh\n")
    (binaries / "server").chmod(0o755)
    (binaries / "lib" / "it.so.1").write_bytes(b"\x7fELF")
    (binaries / "lib" / "it.so").symlink_to("it.so.1")
    (head / FOLDER / "build.json").write_text("{}")
    at(head, monkeypatch)
    return head, host


def at(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLOWDUST_CACHE", str(cache))


def test_a_folder_arrives_as_it_was(
    caches: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    head, host = caches
    folder, archive = packed(FOLDER)
    at(host, monkeypatch)
    assert not has_folder(folder)
    put(folder, archive)
    assert has_folder(folder)
    put(folder, archive)  # another shard has come meanwhile
    assert hash_folder(host / FOLDER) == hash_folder(head / FOLDER)
    assert (host / FOLDER / "binaries" / "server").stat().st_mode & 0o777 == 0o755
    assert (host / FOLDER / "build.json").read_text() == "{}"
    assert [path.name for path in (host / FOLDER).parent.glob("[!.]*")] == ["3.1.0"]


def test_a_build_of_the_host_with_another_content_is_not_replaced(
    caches: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    _, host = caches
    folder, archive = packed(FOLDER)
    at(host, monkeypatch)
    put(folder, archive)
    (host / FOLDER / "binaries" / "server").write_text("#!/bin/bash\n")
    with pytest.raises(SlowdustError, match="differs from the head"):
        has_folder(folder)


def test_damaged_and_unsafe_archives_are_refused(
    caches: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    head, host = caches
    folder, archive = packed(FOLDER)
    (head / FOLDER / "binaries" / "server").write_text("#!/bin/xx\n")
    _, other = packed(FOLDER)
    at(host, monkeypatch)
    with pytest.raises(SlowdustError, match="checksum"):
        put(folder, other)
    with pytest.raises(SlowdustError, match="cannot be unpacked"):
        put(folder, archive[: len(archive) // 2])
    assert not (host / FOLDER).exists()
    for elsewhere in ("builds/sqlite/../../x", "/etc/passwd", "trees/a/b"):
        with pytest.raises(SlowdustError, match=re.escape(elsewhere)):
            put(PushedFolder(folder=elsewhere, sha256=folder.sha256), archive)


class Compilers(SimulatedFleet):
    """Hosts that compile as a real host does, each in a cache of its own."""

    def __init__(self, folder: Path, patch: pytest.MonkeyPatch, **compilers: str | None) -> None:
        super().__init__({name: SimulatedHost() for name in compilers})
        self._folder = folder
        self._patch = patch
        self._compilers = compilers
        self.asked: list[str] = []

    def ask(
        self,
        what: Callable[..., object],
        *arguments: object,
        hosts: Collection[str],
        **_: object,
    ) -> Mapping[str, object]:
        [host] = hosts
        self.asked.append(host)
        compiler = self._compilers[host]
        if compiler is None:
            return {host: HostLost(reason="node lost")}
        with self._patch.context() as patch:
            patch.setenv("SLOWDUST_CACHE", str(self._folder / host))
            patch.setenv("CC", compiler)
            return {host: what(*arguments)}


@pytest.fixture
def repository(open_dir: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Two commits, and one that does not compile; the head has an empty cache and no compiler."""
    monkeypatch.setenv("SLOWDUST_CACHE", str(open_dir / "head"))
    monkeypatch.setenv("CC", "no-compiler")
    repository = postgres_sources(open_dir / "repository")
    commit(repository, "Begin", "old")
    write(repository, {"src/backend/version.c": VERSION.replace("15.18", "15.19")})
    commit(repository, "Release another", "new")
    write(repository, {"src/backend/version.c": "int version = ;\n"})
    commit(repository, "Break it", "broken")
    return repository


def spec_of(repository: Path, *contenders: str) -> Spec:
    return parse_spec({"name": "n", "contenders": [*contenders], "repo": str(repository)})


OLD, NEW, BROKEN = "postgres@git:old", "postgres@git:new", "postgres@git:broken"


@needs("cc", "make", "git")
def test_the_head_compiles_where_it_can_and_pushes(
    repository: Path, open_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CC", "gcc")
    fleet = Compilers(open_dir, monkeypatch, a="gcc")
    push_builds(spec_of(repository, OLD, NEW), fleet, lambda: nullcontext(Heard()))  # type: ignore[arg-type]
    assert not fleet.asked
    assert len(fleet.pushed) == 2


@needs("cc", "make", "git")
def test_one_host_compiles_all_where_the_head_has_no_compiler(
    repository: Path, open_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fleet = Compilers(open_dir, monkeypatch, a=None, b="no-compiler", c="gcc", d="gcc")
    push_builds(spec_of(repository, OLD, NEW), fleet, lambda: nullcontext(Heard()))  # type: ignore[arg-type]
    assert fleet.asked == ["a", "b", "c"]
    assert len(fleet.pushed) == 2
    for folder in fleet.pushed:
        assert hash_folder(open_dir / "c" / folder) == hash_folder(open_dir / "head" / folder)


@needs("cc", "make", "git")
def test_builds_that_no_host_can_compile_fail_with_all_reasons(
    repository: Path, open_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    fleet = Compilers(open_dir, monkeypatch, a=None, b="no-compiler")
    with pytest.raises(SlowdustError, match=r"the head: .*; a: node lost; b: .*no-compil"):
        push_builds(spec_of(repository, OLD), fleet, lambda: nullcontext(Heard()))  # type: ignore[arg-type]
    fleet = Compilers(open_dir, monkeypatch, c="gcc", d="gcc")
    with pytest.raises(SlowdustError, match=r"\bc\b.* compile"):
        push_builds(spec_of(repository, BROKEN), fleet, lambda: nullcontext(Heard()))  # type: ignore[arg-type]
    assert fleet.asked == ["c"], "another host would fail as well"
