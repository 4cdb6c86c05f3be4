"""Packed run directories: unpacked sizes are bounded, and each fault is one line."""

from __future__ import annotations

import tarfile
from io import BytesIO
from pathlib import Path

from slowdust.archive.files import Packed, walk


def pack(path: Path, content: bytes) -> None:
    with tarfile.open(path, "w:gz") as archive:
        info = tarfile.TarInfo("sb.o.scan.range100.pk1.dop8")
        info.size = len(content)
        archive.addfile(info, BytesIO(content))


def test_all_of_a_directory_share_what_may_be_unpacked(tmp_path: Path) -> None:
    archive, place = tmp_path / "a", tmp_path / "place"
    archive.mkdir()
    place.mkdir()
    for number in range(3):
        pack(archive / f"x.pg1{number}.tar.gz", bytes(60))
    [visited] = walk(archive)
    assert len(list(Packed(place, left=150).open(visited))) == 2
    [problem] = visited.problems
    assert problem.path.name == "x.pg12.tar.gz"
    assert "30 bytes" in problem.reason
    assert len([*place.iterdir()]) == 2


def test_a_header_of_gigabytes_is_one_problem(tmp_path: Path) -> None:
    long = tarfile.TarInfo("././@LongLink")
    long.type, long.size = tarfile.GNUTYPE_LONGNAME, 8 << 30
    (tmp_path / "x.pg17.tar").write_bytes(long.tobuf(tarfile.GNU_FORMAT) + bytes(10_000))
    [visited] = walk(tmp_path)
    (tmp_path / "place").mkdir()
    assert list(Packed(tmp_path / "place").open(visited)) == []
    [problem] = visited.problems
    assert "8,589,934,592 bytes" in problem.reason
