"""mongod from the vendor's archives, and directories of its forks."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from slowdust.builds import from_directory, resolve, sources
from slowdust.builds.catalog import find_catalog
from slowdust.errors import SlowdustError, UsageError

if TYPE_CHECKING:
    Registry = Any  # of conftest.py, which cannot be imported

MakeTar = Callable[[Mapping[str, bytes], str], bytes]

ARCHIVE = "mongodb-linux-x86_64-ubuntu2204-7.0.14.tgz"
PRINTED = {
    "7.0.14": 'db version v7.0.14\nBuild Info: {\n    "version": "7.0.14",\n    "modules": []\n}',
    "3.6.23": "db version v3.6.23\ngit version: d352e6a4764659e0d0350ce77279de3c1f243e5c",
    "7.0.14-8": 'db version v7.0.14-8\nBuild Info: {\n    "version": "7.0.14-8"\n}',
    "2.0.1-mongodb-2.4.10": "TokuMX mongod server v2.0.1-mongodb-2.4.10, using TokuKV rev 4a2",
}


def server(version: str) -> bytes:
    return f"#!/bin/sh\ncat <<'.'\n{PRINTED[version]}\n.\n".encode()


@pytest.fixture
def vendor(
    registry: Registry, open_dir: Path, make_tar: MakeTar, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """The directory of an archive and its checksum file."""
    folder = open_dir / "vendor"
    folder.mkdir()
    top = ARCHIVE.removesuffix(".tgz")
    content = make_tar({f"{top}/bin/mongod": server("7.0.14")}, "gz")
    (folder / ARCHIVE).write_bytes(content)
    line = f"{hashlib.sha256(content).hexdigest()}  {ARCHIVE}\n"
    (folder / f"{ARCHIVE}.sha256").write_text(line)
    monkeypatch.setenv("SLOWDUST_MONGODB_MIRROR", str(folder))
    monkeypatch.setenv("PATH", "/usr/bin:/bin")
    return folder


def test_each_archive_has_its_checksum_next_to_it(vendor: Path) -> None:
    build = resolve("mongodb", "7.0.14", print)
    assert (build.version, build.facts.version) == ("7.0.14", "7.0.14")
    assert build.server == build.root / "bin/mongod"
    assert build.facts.source.startswith(f"archive {ARCHIVE} sha256 ")


def test_an_archive_with_another_checksum_is_refused(vendor: Path) -> None:
    (vendor / f"{ARCHIVE}.sha256").write_text(f"{'0' * 64}  {ARCHIVE}\n")
    with pytest.raises(SlowdustError, match="instead of 0000"):
        resolve("mongodb", "7.0.14", print)


def test_checksums_of_another_archive_are_none(vendor: Path) -> None:
    (vendor / f"{ARCHIVE}.sha256").write_text(f"{'0' * 64}  other.tgz\n")
    with pytest.raises(SlowdustError, match=f"{ARCHIVE}.sha256 .*checksum"):
        resolve("mongodb", "7.0.14", print)


@pytest.mark.parametrize(
    ("version", "archive"),
    [
        ("3.6", "mongodb-linux-x86_64-3.6.23.tgz"),
        ("4.2", "mongodb-linux-x86_64-ubuntu1804-4.2.25.tgz"),
        ("5.0", "mongodb-linux-x86_64-ubuntu2004-5.0.31.tgz"),
        ("8.0", "mongodb-linux-x86_64-ubuntu2204-8.0.17.tgz"),
    ],
)
def test_archives_have_the_names_of_their_series(version: str, archive: str) -> None:
    (origin,) = find_catalog("mongodb").find(version).origins
    assert sources.describe(origin).endswith(f"/{archive}")


@pytest.mark.parametrize("version", ["3.0.15", "3.4.24"])
def test_versions_with_another_protocol_are_not_in_the_catalog(version: str) -> None:
    with pytest.raises(UsageError, match=r"mongodb 3 .*3\.6\.1"):
        find_catalog("mongodb").find(version)


@pytest.mark.parametrize("version", PRINTED)
@pytest.mark.parametrize("path", ["bin/mongod", "usr/bin/mongod", "mongod"])
def test_servers_are_recognised_by_what_they_print(open_dir: Path, version: str, path: str) -> None:
    program = open_dir / "build" / path
    program.parent.mkdir(parents=True, exist_ok=True)
    program.write_bytes(server(version))
    program.chmod(0o755)
    build = from_directory(open_dir / "build")
    assert (build.dbms, build.version) == ("mongodb", version)
