"""Invalid stores: each is one line that names the file."""

from __future__ import annotations

import json
import tarfile
from collections.abc import Callable
from io import BytesIO
from pathlib import Path
from typing import Any

import msgspec
import pytest
from syrupy.assertion import SnapshotAssertion

from slowdust.errors import SlowdustError, UsageError
from slowdust.store.bounds import MOST_CONTENDERS
from slowdust.store.folder import Folder
from slowdust.unpacking import UnsafeArchive, unpack
from tests.experiments.stored import unpack_experiments

Change = Callable[[dict[str, Any]], object]


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    """An experiment whose slices are of the present schema."""
    unpack_experiments(tmp_path, "micro")
    folder = Folder(tmp_path / "micro")
    records = [msgspec.json.encode(record) + b"\n" for record in folder.read_slices()]
    (folder.path / "slices.ndjson").write_bytes(b"".join(records))
    return folder


def _change_manifest(folder: Folder, change: Change) -> None:
    path = folder.path / "manifest.json"
    manifest = json.loads(path.read_text())
    change(manifest)
    path.write_text(json.dumps(manifest))


def _change_slice(folder: Folder, change: Change) -> None:
    path = folder.path / "slices.ndjson"
    first, *rest = path.read_text().splitlines(keepends=True)
    record = json.loads(first)
    change(record)
    path.write_text("".join([json.dumps(record) + "\n", *rest]))


@pytest.mark.parametrize(
    "change",
    [
        lambda m: m.update(schema=0),
        lambda m: m.update(schema=-1),
        lambda m: m.update(contenders=[]),
        lambda m: m.update(base="another"),
        lambda m: m["contenders"].append(m["contenders"][0]),
        lambda m: m["method"].update(incarnations=0),
    ],
)
def test_manifests(folder: Folder, change: Change, snapshot: SnapshotAssertion) -> None:
    _change_manifest(folder, change)
    with pytest.raises(SlowdustError) as error:
        folder.read_manifest()
    assert f"{folder.path / 'manifest.json'} is damaged: " in str(error.value)
    assert str(error.value) == snapshot


@pytest.mark.parametrize(
    "change",
    [
        lambda s: s["place"].update(contender="x"),
        lambda s: s["place"].update(clients=0),
        lambda s: s["measured"].update(seconds=0),
        lambda s: s["measured"].update(seconds=1e18),
        lambda s: s["measured"].update(operations=-1),
        lambda s: s["measured"]["latency"]["counts"].append(1),
        lambda s: s["measured"]["latency"]["counts"].__setitem__(0, -1),
        lambda s: s["measured"]["latency"].update(max_ns=-1),
        lambda s: s.update(qps=-1),
    ],
)
def test_slices(folder: Folder, change: Change, snapshot: SnapshotAssertion) -> None:
    _change_slice(folder, change)
    with pytest.raises(SlowdustError) as error:
        folder.read_slices()
    assert f"{folder.path / 'slices.ndjson'} is damaged: " in str(error.value)
    assert str(error.value) == snapshot


def test_slices_that_come_twice(folder: Folder) -> None:
    path = folder.path / "slices.ndjson"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join([*lines, lines[3]]))
    with pytest.raises(SlowdustError, match=f"records 4 and {len(lines) + 1} "):
        folder.read_slices()


def test_more_than_a_report_is_made_of(folder: Folder, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("slowdust.store.folder.MOST_SLICES", 10)
    with pytest.raises(UsageError, match="more than 10 slices"):
        folder.read_slices()

    def many(manifest: dict[str, Any]) -> None:
        first = manifest["contenders"][0]
        added = (first | {"name": f"x{number}"} for number in range(MOST_CONTENDERS))
        manifest["contenders"].extend(added)

    _change_manifest(folder, many)
    with pytest.raises(UsageError, match=f"at most {MOST_CONTENDERS}"):
        folder.read_manifest()


def test_archives_of_folders_in_each_other(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    with tarfile.open(tmp_path / "deep.tar.gz", "w:gz") as archive:
        info = tarfile.TarInfo("/".join(["n"] * 1500))
        archive.addfile(info, BytesIO())
    with pytest.raises(UnsafeArchive) as error:
        unpack(tmp_path / "deep.tar.gz", tmp_path / "unpacked")
    assert str(error.value) == snapshot
