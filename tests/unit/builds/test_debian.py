"""Builds and allocators from Debian packages, with a fake apt."""

from __future__ import annotations

import io
import re
import tarfile
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from syrupy.assertion import SnapshotAssertion

from slowdust.builds import Build, allocators, resolve
from slowdust.builds.model import Runtime
from slowdust.builds.sources.debian import upstream
from slowdust.errors import SlowdustError, UsageError

if TYPE_CHECKING:
    Registry = Any  # of conftest.py, which cannot be imported

MakeTar = Callable[[Mapping[str, bytes], str], bytes]

PRINTS = "mysqld  Ver 9.7.4-2 for Linux on x86_64 ((Debian))"


def publish(registry: Registry, candidate: str = "9.7.4-2", prints: str = PRINTS) -> None:
    registry.publish_server_packages(candidate, "usr/sbin/mysqld", prints)


def get(phases: list[str] | None = None) -> Build:
    return resolve("mysql", "9.7.4", ([] if phases is None else phases).append)


def test_build_runs_by_its_own_loader_and_says_of_what_packages_it_is(registry: Registry) -> None:
    publish(registry)
    build = get()
    libraries = build.root / "usr/lib/x86_64-linux-gnu"
    assert build.facts.version == "9.7.4"
    assert build.facts.source == "debian sid mysql-server-core 9.7.4-2"
    assert build.runtime == Runtime(libraries / "ld-linux-x86-64.so.2", (libraries,))
    listing = (build.root / "packages.txt").read_text().splitlines()
    assert [line.split("sha256:")[0] for line in listing] == [
        "libc6 1.0 amd64 ",
        "server 1.0 amd64 ",
    ]
    assert get() == build, "as before when it comes from the cache"


def test_apt_writes_to_no_directory_of_the_machine_and_believes_its_keyring_alone(
    registry: Registry, open_dir: Path
) -> None:
    publish(registry)
    get()
    source = (registry.home / "debian.sources").read_text()
    assert "URIs: http://main/\nSuites: sid\n" in source
    assert f"Signed-By: {registry.home / 'keyring.gpg'}\n" in source
    assert "trusted" not in source.lower()
    settings = (registry.home / "apt.conf").read_text()
    assert 'AllowUnauthenticated "false"' in settings
    for place in ("Dir::State", "Dir::State::status", "Dir::Cache", "Dir::Log"):
        path = rf'{place} "{open_dir}/cache/builds/mysql/\.slowdust-tmp-\w+/content/download/apt/'
        assert re.search(path, settings)
    for call in registry.calls():
        assert "indextargets" in call or "--config-file" in call


def test_mirror_can_be_chosen(registry: Registry, monkeypatch: pytest.MonkeyPatch) -> None:
    publish(registry)
    monkeypatch.setenv("SLOWDUST_DEBIAN_MIRROR", "http://mine/debian")
    get()
    assert "URIs: http://mine/debian\n" in (registry.home / "debian.sources").read_text()


def test_suite_that_has_moved_on(registry: Registry, snapshot: SnapshotAssertion) -> None:
    publish(registry, candidate="9.7.5-1")
    with pytest.raises(SlowdustError) as error:
        get()
    assert str(error.value) == snapshot


def test_package_that_the_suite_has_not(registry: Registry, snapshot: SnapshotAssertion) -> None:
    publish(registry, candidate="(none)")
    with pytest.raises(SlowdustError) as error:
        get()
    assert str(error.value) == snapshot


def test_packages_that_are_not_signed(registry: Registry, snapshot: SnapshotAssertion) -> None:
    publish(registry)
    registry.fail_apt(
        "W: GPG error: http://main sid: NO_PUBKEY 1\nE: The repository is not signed."
    )
    with pytest.raises(SlowdustError) as error:
        get()
    assert str(error.value) == snapshot


def test_package_that_is_damaged(registry: Registry, open_dir: Path) -> None:
    publish(registry)
    (registry.home / "packages/libc6.deb").write_bytes(b"no package")
    with pytest.raises(SlowdustError, match=r"libc6\.deb: "):
        get()
    assert not (open_dir / "cache/builds/mysql/9.7.4").exists()


def test_package_that_ends_early(registry: Registry, snapshot: SnapshotAssertion) -> None:
    publish(registry)
    program = registry.bin / "dpkg-deb"
    program.write_text(program.read_text() + 'case "$*" in *--fsys-tarfile*) exit 1;; esac\n')
    with pytest.raises(SlowdustError) as error:
        get()
    assert str(error.value) == snapshot


@pytest.mark.parametrize("client", ["apt-get", "apt-cache", "dpkg-deb"])
def test_machine_without_apt(registry: Registry, client: str) -> None:
    publish(registry)
    registry.remove_client(client)
    with pytest.raises(SlowdustError, match=f"{client} is not installed"):
        get()


def test_machine_without_keyring(registry: Registry) -> None:
    publish(registry)
    (registry.home / "keyring.gpg").unlink()
    with pytest.raises(SlowdustError, match="debian-archive-keyring"):
        get()


def test_machine_whose_apt_knows_no_debian(
    registry: Registry, monkeypatch: pytest.MonkeyPatch
) -> None:
    publish(registry)
    (registry.home / "targets").write_text("Ubuntu|Ubuntu|http://ubuntu/\n")
    monkeypatch.setattr("platform.freedesktop_os_release", lambda: {"ID": "ubuntu"})
    with pytest.raises(SlowdustError, match="SLOWDUST_DEBIAN_MIRROR"):
        get()


def package_of(*members: tuple[str, bytes, str]) -> bytes:
    """(name, kind, target of a link) each; directories and links."""
    buffer = io.BytesIO()
    with tarfile.open(fileobj=buffer, mode="w") as tar:
        for name, kind, target in members:
            info = tarfile.TarInfo(name)
            info.type, info.linkname = kind, target
            tar.addfile(info)
    return buffer.getvalue()


def test_link_of_a_package_leads_to_the_root_of_the_packages(registry: Registry) -> None:
    publish(registry)
    target = "/lib/x86_64-linux-gnu/ld-linux-x86-64.so.2"
    links = package_of(("./lib64/ld.so", tarfile.SYMTYPE, target))
    (registry.home / "packages/links.deb").write_bytes(links)
    link = get().root / "usr/lib64/ld.so"
    assert link.readlink() == Path("../../lib/x86_64-linux-gnu/ld-linux-x86-64.so.2")
    assert link.is_file()


def test_packages_before_and_after_the_merged_usr_fit_together(registry: Registry) -> None:
    publish(registry)
    loader = "lib/x86_64-linux-gnu/ld-linux-x86-64.so.2"
    packages = registry.home / "packages"
    links = package_of(("./lib", tarfile.SYMTYPE, "usr/lib"), ("./bin", tarfile.SYMTYPE, "usr/bin"))
    (packages / "base-files.deb").write_bytes(links)
    old = package_of(
        ("./lib", tarfile.DIRTYPE, ""),
        ("./sbin/ld", tarfile.LNKTYPE, f"./{loader}"),
        ("./usr/lib/ld", tarfile.LNKTYPE, f"./usr/{loader}"),
    )
    (packages / "old.deb").write_bytes(old)
    root = get().root
    for name in ("bin", "lib", "lib64", "sbin"):
        assert (root / name).readlink() == Path("usr", name)
    for name in (loader, f"usr/{loader}", "sbin/ld", "usr/lib/ld"):
        assert (root / name).read_bytes().startswith(b"#!/bin/sh")


def test_merged_usr_leads_nowhere_else(
    registry: Registry, open_dir: Path, snapshot: SnapshotAssertion
) -> None:
    publish(registry)
    link = package_of(("./lib", tarfile.SYMTYPE, "srv"))
    (registry.home / "packages/strange.deb").write_bytes(link)
    with pytest.raises(SlowdustError) as error:
        get()
    assert str(error.value) == snapshot
    assert not (open_dir / "cache/builds/mysql/9.7.4").exists()


@pytest.mark.parametrize(
    ("packaged", "version"),
    [
        ("9.7.4-2", "9.7.4"),
        ("1:10.11.18-0+deb12u1", "10.11.18"),
        ("1:11.8.9+ds-4", "11.8.9"),
        ("5.3.0-1", "5.3.0"),
        ("2.10-1", "2.10"),
        ("7", "7"),
    ],
)
def test_version_of_a_package_without_what_debian_appends(packaged: str, version: str) -> None:
    assert upstream(packaged) == version


def test_allocator_is_fetched_once(registry: Registry, open_dir: Path, make_tar: MakeTar) -> None:
    library = "./usr/lib/x86_64-linux-gnu/libjemalloc.so.2"
    registry.publish_packages("5.3.0-1", {"libjemalloc2": make_tar({library: b"jemalloc"}, "")})
    assert allocators.cached("jemalloc") is None
    path = allocators.library("jemalloc", print)
    assert path.read_bytes() == b"jemalloc"
    assert sorted(p.name for p in path.parent.iterdir()) == ["allocator.json", "libjemalloc.so.2"]
    record = allocators.cached("jemalloc")
    assert record is not None
    assert record.source == "debian bookworm libjemalloc2 5.3.0-1"
    registry.remove_client("apt-get")
    assert allocators.library("jemalloc", print) == path
    path.chmod(0o644)
    path.write_bytes(b"another")
    with pytest.raises(SlowdustError, match=r"jemalloc.* changed"):
        allocators.library("jemalloc", print)


def test_allocator_that_is_not_to_be_had(registry: Registry, snapshot: SnapshotAssertion) -> None:
    with pytest.raises(UsageError) as error:
        allocators.library("hoard", print)
    assert str(error.value) == snapshot
    registry.publish_packages("2.11-1", {})
    with pytest.raises(SlowdustError) as error2:
        allocators.library("tcmalloc", print)
    assert str(error2.value) == snapshot
