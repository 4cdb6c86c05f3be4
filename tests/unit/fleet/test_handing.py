"""Builds are handed on by their content."""

from __future__ import annotations

from pathlib import Path

import pytest

from slowdust.builds.handed_on import content_of
from slowdust.errors import SlowdustError
from slowdust.fleet.building.handing import Bundle, is_there, packed, put

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
    bundle, archive = packed(FOLDER)
    at(host, monkeypatch)
    assert not is_there(bundle)
    put(bundle, archive)
    assert is_there(bundle)
    put(bundle, archive)  # another shard has come meanwhile
    assert content_of(host / FOLDER) == content_of(head / FOLDER)
    assert (host / FOLDER / "binaries" / "server").stat().st_mode & 0o777 == 0o755
    assert (host / FOLDER / "build.json").read_text() == "{}"
    assert [path.name for path in (host / FOLDER).parent.glob("[!.]*")] == ["3.1.0"]


def test_a_build_of_the_host_with_another_content_is_not_replaced(
    caches: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    _, host = caches
    bundle, archive = packed(FOLDER)
    at(host, monkeypatch)
    put(bundle, archive)
    (host / FOLDER / "binaries" / "server").write_text("#!/bin/bash\n")
    with pytest.raises(SlowdustError, match="is not what the head has"):
        is_there(bundle)


def test_what_arrives_damaged_or_leads_elsewhere_is_refused(
    caches: tuple[Path, Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    head, host = caches
    bundle, archive = packed(FOLDER)
    (head / FOLDER / "binaries" / "server").write_text("#!/bin/xx\n")
    _, other = packed(FOLDER)
    at(host, monkeypatch)
    with pytest.raises(SlowdustError, match="another content"):
        put(bundle, other)
    with pytest.raises(SlowdustError, match="cannot be unpacked"):
        put(bundle, archive[: len(archive) // 2])
    assert not (host / FOLDER).exists()
    for folder in ("builds/sqlite/../../x", "/etc/passwd", "trees/a/b"):
        with pytest.raises(SlowdustError, match="no folder of a cache"):
            put(Bundle(folder=folder, sha256=bundle.sha256), archive)
