"""Builds in wheels, with a local folder as pip's index."""

from __future__ import annotations

import zipfile
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from slowdust.builds import resolve
from slowdust.builds.catalog import find_catalog
from slowdust.errors import SlowdustError, UsageError

VERSION = "16.2-pgvector0.6.2"
SERVER = b'#!/bin/sh\necho "postgres (PostgreSQL) 16.2"\n'
DESCRIPTION = b"Metadata-Version: 2.1\nName: pgserver\nVersion: 0.1.4\n"
FILES = {
    "pgserver/__init__.py": b"",
    "pgserver/pginstall/bin/postgres": SERVER,
    "pgserver/pginstall/share/postgresql/extension/vector.control": b"",
    "pgserver.libs/libpq.so.5": b"\x7fELF",
}

Publish = Callable[[Mapping[str, bytes]], None]


@pytest.fixture
def publish(open_dir: Path, monkeypatch: pytest.MonkeyPatch) -> Publish:
    """Return what makes a wheel of these files the only one that pip finds."""
    shelf = open_dir / "wheels"
    shelf.mkdir()
    for variable, value in {
        "SLOWDUST_CACHE": str(open_dir / "cache"),
        "PIP_NO_INDEX": "1",
        "PIP_FIND_LINKS": str(shelf),
    }.items():
        monkeypatch.setenv(variable, value)

    def make(files: Mapping[str, bytes]) -> None:
        wheel = shelf / "pgserver-0.1.4-cp311-cp311-manylinux_2_17_x86_64.whl"
        with zipfile.ZipFile(wheel, "w") as archive:
            for name, content in files.items():
                archive.writestr(name, content)
            archive.writestr("pgserver-0.1.4.dist-info/METADATA", DESCRIPTION)
            archive.writestr("pgserver-0.1.4.dist-info/WHEEL", b"Wheel-Version: 1.0\n")
            archive.writestr("pgserver-0.1.4.dist-info/RECORD", b"")

    return make


def test_server_keeps_its_place_next_to_its_libraries(publish: Publish) -> None:
    publish(FILES)
    build = resolve("postgres", VERSION, print)
    files = {str(p.relative_to(build.root)) for p in build.root.rglob("*") if p.is_file()}
    assert files == set(FILES) - {"pgserver/__init__.py"}
    assert build.server == build.root / "pgserver/pginstall/bin/postgres"
    assert (build.version, build.facts.version) == (VERSION, "16.2")
    assert build.source == "wheel pgserver==0.1.4"


def test_wheel_without_the_folder(publish: Publish) -> None:
    publish({"pgserver/__init__.py": b""})
    with pytest.raises(SlowdustError, match=r"\.whl .*pgserver/pginstall"):
        resolve("postgres", VERSION, print)


def test_hostile_wheel_is_refused(publish: Publish, open_dir: Path) -> None:
    publish({**FILES, "pgserver/pginstall/../../../escaped": b""})
    with pytest.raises(SlowdustError, match="unsafe path"):
        resolve("postgres", VERSION, print)
    assert not list(open_dir.rglob("escaped"))


@pytest.mark.usefixtures("publish")
def test_reason_of_pip_is_reported() -> None:
    with pytest.raises(SlowdustError, match=r"tried wheel pgserver==0\.1\.4 \(p.*: Could not find"):
        resolve("postgres", VERSION, print)


def test_other_version_of_the_server_is_refused(publish: Publish) -> None:
    publish({**FILES, "pgserver/pginstall/bin/postgres": SERVER.replace(b"16.2", b"16.3")})
    with pytest.raises(SlowdustError, match=r"reports version 16\.3"):
        resolve("postgres", VERSION, print)


def test_number_alone_means_the_server_without_extensions() -> None:
    assert "pgvector" not in find_catalog("postgres").find("16").version
    assert find_catalog("postgres").find("16.2").version == "16.2"


def test_unknown_version_of_the_extension_is_reported_with_the_known_ones() -> None:
    with pytest.raises(UsageError, match=r"versions of postgres 16 are .*16\.2-pgvector0\.6\.2"):
        find_catalog("postgres").find("16.2-pgvector9")
