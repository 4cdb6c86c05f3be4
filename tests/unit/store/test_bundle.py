"""Bundles: their content, and the attacks that they prevent."""

from __future__ import annotations

import gzip
import io
import tarfile
from collections.abc import Mapping
from pathlib import Path

import pytest

from slowdust.errors import SlowdustError, UsageError
from slowdust.store import bundle
from slowdust.store.bundle import pack, unpack
from slowdust.store.experiments import Annotation, read_annotation, write_annotation
from slowdust.store.folder import Folder, writing
from slowdust.store.profile import Profile
from tests.unit.synthetic_history import keep, measured


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    results = tmp_path / "results"
    keep(results, *measured("night", {"8.0.28": 1.0, "8.0.40": 0.9}, tests=["scan"]))
    folder = Folder(results / "night")
    folder.spec_file.write_text('name = "night"\n')
    (folder.logs / "server.log").write_text("/home/somebody/data")
    write_annotation(folder, Annotation(note="full moon", tags=["nightly"]))
    return folder


@pytest.fixture
def file(tmp_path: Path, folder: Folder) -> Path:
    pack(folder, tmp_path / "night.slowdust")
    return tmp_path / "night.slowdust"


def written(path: Path, members: Mapping[str, bytes], kind: bytes = tarfile.REGTYPE) -> Path:
    """Write an archive that is not `pack`'s."""
    with tarfile.open(path, "w:gz") as archive:
        for name, content in members.items():
            info = tarfile.TarInfo(name)
            info.type, info.linkname = kind, "/etc/passwd"
            info.size = len(content) if kind == tarfile.REGTYPE else 0
            archive.addfile(info, io.BytesIO(content))
    return path


def files_of(folder: Folder) -> dict[str, bytes]:
    paths = (path for path in folder.path.rglob("*") if path.is_file())
    return {str(path.relative_to(folder.path)): path.read_bytes() for path in paths}


def test_another_slowdust_has_the_experiment_as_it_was(
    tmp_path: Path, folder: Folder, file: Path
) -> None:
    there = unpack(file, tmp_path / "elsewhere")
    assert there.path == tmp_path / "elsewhere/night"
    expected = files_of(folder)
    del expected["logs/server.log"], expected[".lock"]
    assert files_of(there) == expected
    assert read_annotation(there).note == "full moon"
    assert [path.name for path in (tmp_path / "elsewhere").iterdir()] == ["night"]


def test_profiles_travel_too(tmp_path: Path, folder: Folder) -> None:
    profile = Profile(
        benchmark="micro",
        test="scan",
        clients=1,
        contender="mysql@8.0.28",
        source="callgrind",
        unit="instructions",
        operations=1,
        functions=[],
    )
    with writing(folder) as writer:
        writer.write_profile(profile, 0, None)
    pack(folder, tmp_path / "file")
    assert len(unpack(tmp_path / "file", tmp_path / "elsewhere").read_profiles()) == 1


def test_it_may_get_another_name(tmp_path: Path, folder: Folder, file: Path) -> None:
    there = unpack(file, folder.path.parent, "guest")
    assert there.read_manifest().experiment == "guest"
    assert there.spec_file.read_text() == 'name = "guest"\n'


def test_nothing_is_overwritten(tmp_path: Path, folder: Folder, file: Path) -> None:
    with pytest.raises(UsageError, match="'night'"):
        unpack(file, folder.path.parent)
    content = file.read_bytes()
    with pytest.raises(UsageError, match="already exists"):
        pack(folder, file)
    assert file.read_bytes() == content


@pytest.mark.parametrize(
    "member",
    [
        *("../manifest.json", "/night/manifest.json", "night/../../manifest.json"),
        *("night/manifest.json/x", "night/.bashrc", "night/logs/server.log", "manifest.json"),
        *("night/perf/../x.json.gz", "night/perf/a/b.json.gz", ".night/manifest.json"),
    ],
)
def test_other_members_are_refused(tmp_path: Path, member: str) -> None:
    file = written(tmp_path / "file", {member: b"{}"})
    with pytest.raises(SlowdustError, match="bundle"):
        unpack(file, tmp_path / "results")
    assert [*tmp_path.rglob("*")] == [tmp_path / "file", tmp_path / "results"]


@pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE])
def test_links_and_devices_are_refused(tmp_path: Path, kind: bytes) -> None:
    file = written(tmp_path / "file", {"night/manifest.json": b""}, kind)
    with pytest.raises(SlowdustError, match="bundle"):
        unpack(file, tmp_path / "results")


def test_two_experiments_or_a_file_twice_are_refused(tmp_path: Path) -> None:
    two = written(tmp_path / "two", {"a/manifest.json": b"{}", "b/manifest.json": b"{}"})
    with pytest.raises(SlowdustError, match="several experiments"):
        unpack(two, tmp_path / "results")
    with tarfile.open(tmp_path / "twice", "w:gz") as archive:
        for _ in range(2):
            archive.addfile(tarfile.TarInfo("a/manifest.json"))
    with pytest.raises(SlowdustError, match="twice"):
        unpack(tmp_path / "twice", tmp_path / "results")


def test_a_bomb_is_refused(tmp_path: Path, file: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(bundle, "MOST_BYTES", 1000)
    with pytest.raises(SlowdustError, match="too large"):
        unpack(file, tmp_path / "elsewhere")
    assert [*(tmp_path / "elsewhere").iterdir()] == []


def test_a_bomb_in_a_profile_is_refused(
    tmp_path: Path, folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    (folder.path / "perf").mkdir()
    (folder.path / "perf/scan.json.gz").write_bytes(gzip.compress(bytes(10_000_000)))
    pack(folder, tmp_path / "bomb")
    monkeypatch.setattr(bundle, "MOST_BYTES", 5_000_000)
    with pytest.raises(SlowdustError, match="too large"):
        unpack(tmp_path / "bomb", tmp_path / "elsewhere")
    assert [*(tmp_path / "elsewhere").iterdir()] == []


def test_texts_that_command_a_terminal_are_refused(tmp_path: Path, folder: Folder) -> None:
    write_annotation(folder, Annotation(note="two lines\n\tare fine"))
    pack(folder, tmp_path / "fine")
    assert read_annotation(unpack(tmp_path / "fine", tmp_path / "elsewhere")).note
    write_annotation(folder, Annotation(note="\x1b]0;title\x07"))
    pack(folder, tmp_path / "bad")
    with pytest.raises(SlowdustError, match=r"annotation\.json .*control characters"):
        unpack(tmp_path / "bad", tmp_path / "results-2")


def test_damaged_files_leave_nothing(tmp_path: Path, file: Path) -> None:
    content = file.read_bytes()
    (tmp_path / "cut").write_bytes(content[: len(content) // 2])
    (tmp_path / "text").write_text("not an archive")
    (tmp_path / "beginning").write_bytes(content[:3])
    (tmp_path / "empty").touch()
    damaged = written(
        tmp_path / "damaged", {"night/manifest.json": b"{", "night/experiment.toml": b""}
    )
    for path in (*(tmp_path / name for name in ("cut", "text", "beginning", "empty")), damaged):
        with pytest.raises(SlowdustError, match="damaged"):
            unpack(path, tmp_path / "elsewhere")
    assert [*(tmp_path / "elsewhere").iterdir()] == []


def test_a_missing_file_is_wrong_use(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="/none"):
        unpack(tmp_path / "none", tmp_path / "results")
