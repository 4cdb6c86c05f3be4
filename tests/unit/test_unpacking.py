"""Foreign archives cannot write outside their folder."""

from __future__ import annotations

import gzip
import io
import json
import os
import stat
import tarfile
import zipfile
from collections.abc import Callable
from pathlib import Path, PurePosixPath

import pytest

from slowdust.builds.sources.npm import make_links
from slowdust.unpacking import Tree, UnsafeArchive, open_to_all, relative_to_root, unpack


def file_member(
    name: str, content: bytes = b"x", mode: int = 0o644
) -> tuple[tarfile.TarInfo, bytes]:
    info = tarfile.TarInfo(name)
    info.size, info.mode = len(content), mode
    return info, content


def link_member(
    name: str, target: str, kind: bytes = tarfile.SYMTYPE
) -> tuple[tarfile.TarInfo, bytes]:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info, b""


def special_member(name: str, kind: bytes) -> tuple[tarfile.TarInfo, bytes]:
    info = tarfile.TarInfo(name)
    info.type = kind
    return info, b""


def archive_of(folder: Path, *members: tuple[tarfile.TarInfo, bytes]) -> Path:
    path = folder / "archive.tgz"
    with tarfile.open(path, "w:gz") as tar:
        for info, content in members:
            tar.addfile(info, io.BytesIO(content))
    return path


HOSTILE = {
    "absolute path": [file_member("/tmp/slowdust-hostile")],
    "parent directory": [file_member("../escaped")],
    "parent directory inside": [file_member("a/../../escaped")],
    "absolute link": [link_member("a", "/etc")],
    "link out": [link_member("a", "../..")],
    "link out by a chain": [link_member("a/b", ".."), link_member("c", "a/b/../..")],
    "file through a link": [link_member("a", ".."), file_member("a/escaped")],
    "file through a link inside": [file_member("d/x"), link_member("a", "d"), file_member("a/y")],
    "link through a link": [link_member("a", ".."), link_member("a/escaped", "b")],
    "folder through a link": [link_member("a", ".."), link_member("a/made/b", "c")],
    "hard link out": [link_member("a", "../secret", tarfile.LNKTYPE)],
    "hard link to an absolute path": [link_member("a", "/etc/passwd", tarfile.LNKTYPE)],
    "hard link to a link": [link_member("b", "../secret"), link_member("a", "b", tarfile.LNKTYPE)],
    "character device": [special_member("a", tarfile.CHRTYPE)],
    "block device": [special_member("a", tarfile.BLKTYPE)],
    "pipe": [special_member("a", tarfile.FIFOTYPE)],
    "the same file twice": [file_member("a"), file_member("a")],
    "a link over a file": [file_member("a"), link_member("a", "b")],
    "a loop of links": [link_member("a", "b"), link_member("b", "a")],
}


@pytest.mark.parametrize("members", HOSTILE.values(), ids=HOSTILE.keys())
def test_hostile_archive_is_refused(
    tmp_path: Path, members: list[tuple[tarfile.TarInfo, bytes]]
) -> None:
    outside = tmp_path / "outside"
    outside.mkdir()
    (outside / "secret").write_text("secret")
    archive = archive_of(tmp_path, *members)
    before = snapshot(outside)

    with pytest.raises(UnsafeArchive):
        unpack(archive, outside / "folder")

    assert {k: v for k, v in snapshot(outside).items() if not k.startswith("folder")} == before
    assert not Path("/tmp/slowdust-hostile").exists()


def snapshot(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes() if path.is_file() else b""
        for path in folder.rglob("*")
    }


def test_good_archive_keeps_files_links_and_the_mark_of_a_program(tmp_path: Path) -> None:
    archive = archive_of(
        tmp_path,
        file_member("bin/server", b"program", 0o700),
        file_member("lib/lib.so.1", b"library", 0o600),
        link_member("lib/lib.so", "lib.so.1"),
        link_member("bin/server2", "bin/server", tarfile.LNKTYPE),
    )
    folder = tmp_path / "folder"
    unpack(archive, folder)

    assert (folder / "bin/server").read_bytes() == b"program"
    assert (folder / "bin/server").stat().st_mode & 0o777 == 0o755
    assert (folder / "lib/lib.so.1").stat().st_mode & 0o777 == 0o644
    assert (folder / "lib/lib.so").readlink() == Path("lib.so.1")
    assert (folder / "bin/server2").read_bytes() == b"program"


def root_of(tmp_path: Path, *members: tuple[tarfile.TarInfo, bytes]) -> Path:
    tree = Tree(tmp_path / "root", relative_to_root)
    with gzip.open(archive_of(tmp_path, *members)) as stream:
        tree.add_stream(io.BytesIO(stream.read()), "package")
    tree.finish()
    return tmp_path / "root"


@pytest.mark.parametrize(
    ("link", "target", "relative"),
    [
        ("./lib64/ld.so", "/lib/ld.so", "../lib/ld.so"),
        ("rmt", "/usr/sbin/rmt", "usr/sbin/rmt"),
        ("a/b/c", "/", "../.."),
    ],
)
def test_absolute_link_of_a_root_becomes_relative(
    tmp_path: Path, link: str, target: str, relative: str
) -> None:
    assert (root_of(tmp_path, link_member(link, target)) / link).readlink() == Path(relative)


@pytest.mark.parametrize("target", ["/../../etc/passwd", "../../etc/passwd"])
def test_link_out_of_a_root(tmp_path: Path, target: str) -> None:
    if target.startswith("/"):
        link = root_of(tmp_path, link_member("a", target)) / "a"
        assert link.resolve() == tmp_path / "root/etc/passwd", "as '/..' is '/' in a root"
    else:
        with pytest.raises(UnsafeArchive):
            root_of(tmp_path, link_member("a", target))


def test_file_through_a_link_of_an_earlier_archive(tmp_path: Path) -> None:
    first = archive_of(tmp_path, link_member("a", "d"), file_member("d/x"))
    unpack(first, tmp_path / "folder")
    second = archive_of(tmp_path, file_member("a/y"))
    with pytest.raises(UnsafeArchive, match="through a link"):
        unpack(second, tmp_path / "folder")


def test_zip_marks_what_begins_like_a_program(tmp_path: Path) -> None:
    path = tmp_path / "archive.zip"
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in {
            "elf": b"\x7fELF...",
            "script": b"#!/bin/sh",
            "text": b"text",
        }.items():
            archive.writestr(name, content)
    unpack(path, tmp_path / "folder")
    modes = {p.name: p.stat().st_mode & 0o777 for p in (tmp_path / "folder").iterdir()}
    assert modes == {"elf": 0o755, "script": 0o755, "text": 0o644}


def test_link_in_a_zip_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "archive.zip"
    with zipfile.ZipFile(path, "w") as archive:
        link = zipfile.ZipInfo("a")
        link.external_attr = (stat.S_IFLNK | 0o777) << 16
        archive.writestr(link, "/etc/passwd")
    with pytest.raises(UnsafeArchive, match="special file"):
        unpack(path, tmp_path / "folder")


def test_backslash_in_a_zip_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "archive.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("bin\\server", "x")
    with pytest.raises(UnsafeArchive, match="unsafe path"):
        unpack(path, tmp_path / "folder")


def test_backslash_in_a_tar_archive_is_a_letter_like_any_other(tmp_path: Path) -> None:
    name = "system-systemd\\x2dcryptsetup.slice"
    unpack(archive_of(tmp_path, file_member(name)), tmp_path / "folder")
    assert [path.name for path in (tmp_path / "folder").iterdir()] == [name]


def test_setuid_is_not_kept(tmp_path: Path) -> None:
    folder = tmp_path / "folder"
    unpack(archive_of(tmp_path, file_member("a", mode=0o6755)), folder)
    assert (folder / "a").stat().st_mode & 0o7777 == 0o755


def test_a_closed_umask_does_not_close_the_folders(tmp_path: Path) -> None:
    old = os.umask(0o077)
    try:
        folder = tmp_path / "folder"
        unpack(archive_of(tmp_path, file_member("a/b/c")), folder)
        open_to_all(folder)
    finally:
        os.umask(old)
    modes = {p.name: p.stat().st_mode & 0o777 for p in (folder, folder / "a", folder / "a/b")}
    assert set(modes.values()) == {0o755}
    assert (folder / "a/b/c").stat().st_mode & 0o777 == 0o644


def test_too_large_archive_is_refused_before_it_fills_the_disk(tmp_path: Path) -> None:
    archive = archive_of(tmp_path, file_member("a", b"x" * 60), file_member("b", b"x" * 60))
    with pytest.raises(UnsafeArchive, match="more than 100 bytes"):
        Tree(tmp_path / "folder", most=100).add(archive, PurePosixPath())
    assert not (tmp_path / "folder/b").exists()


@pytest.mark.parametrize(
    "damage", [lambda data: data[: len(data) // 2], lambda data: b"no archive at all"]
)
def test_damaged_archive_is_refused(tmp_path: Path, damage: Callable[[bytes], bytes]) -> None:
    archive = archive_of(tmp_path, file_member("a", os.urandom(100_000)))
    archive.write_bytes(damage(archive.read_bytes()))
    with pytest.raises(UnsafeArchive, match="cannot be unpacked"):
        unpack(archive, tmp_path / "folder")


@pytest.mark.parametrize(
    "links",
    [
        [{"source": "native/a", "target": "../outside"}],
        [{"source": "../../secret", "target": "native/b"}],
        [{"source": "/etc/passwd", "target": "native/b"}],
        [{"source": "native/a", "target": "/tmp/slowdust-hostile"}],
        [
            {"source": "native", "target": "native/p/q/r"},
            {"source": "top", "target": "native/p/q/r/l"},
            {"source": "native/a", "target": "native/l/made/x"},
        ],
        [{"source": "native/a"}],
        {"source": "native/a"},
        ["native/a"],
    ],
)
def test_hostile_list_of_links_is_refused(tmp_path: Path, links: object) -> None:
    package = tmp_path / "package"
    (package / "native").mkdir(parents=True)
    (package / "native/a").write_text("a")
    (package / "links.json").write_text(json.dumps(links))
    with pytest.raises(UnsafeArchive):
        make_links(package / "links.json", package)
    assert list(tmp_path.iterdir()) == [package]


def test_links_are_relative_so_that_the_folder_can_be_moved(tmp_path: Path) -> None:
    package = tmp_path / "package"
    (package / "lib").mkdir(parents=True)
    (package / "lib/libpq.so.5.17").write_text("library")
    (package / "links.json").write_text(
        json.dumps([{"source": "lib/libpq.so.5.17", "target": "lib/libpq.so.5"}])
    )
    make_links(package / "links.json", package)
    package.rename(tmp_path / "moved")
    assert (tmp_path / "moved/lib/libpq.so.5").read_text() == "library"


@pytest.mark.parametrize("kind", [tarfile.XHDTYPE, tarfile.GNUTYPE_LONGNAME])
def test_headers_of_gigabytes_are_refused(tmp_path: Path, kind: bytes) -> None:
    long = tarfile.TarInfo("././@LongLink")
    long.type, long.size = kind, 8 << 30
    (tmp_path / "long.tar").write_bytes(long.tobuf(tarfile.GNU_FORMAT) + bytes(10_000))
    with pytest.raises(UnsafeArchive, match=r"^long\.tar: .* 8,589,"):
        unpack(tmp_path / "long.tar", tmp_path / "folder")


def test_sparse_files_are_refused(tmp_path: Path) -> None:
    sparse = tarfile.TarInfo("a")
    sparse.pax_headers = {"GNU.sparse.major": "1", "GNU.sparse.minor": "0"}
    (tmp_path / "sparse.tar").write_bytes(sparse.tobuf() + b"9" * 10_000)
    with pytest.raises(UnsafeArchive, match=r"^sparse\.tar: .*sparse file"):
        unpack(tmp_path / "sparse.tar", tmp_path / "folder")


def test_too_many_members_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("slowdust.unpacking.MOST_MEMBERS", 3)
    archive = archive_of(tmp_path, *(file_member(str(number)) for number in range(4)))
    with pytest.raises(UnsafeArchive, match="more than 3 members"):
        unpack(archive, tmp_path / "folder")


def test_the_reason_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "text.tar").write_text("no archive")
    with pytest.raises(UnsafeArchive) as error:
        unpack(tmp_path / "text.tar", tmp_path / "folder")
    assert "\n" not in str(error.value)
