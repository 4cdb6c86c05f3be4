"""Hostile bundles: each fault is one line that names the bundle, and memory is bounded."""

from __future__ import annotations

import gzip
import io
import json
import tarfile
import tracemalloc
from collections.abc import Callable, Iterator
from pathlib import Path

import msgspec
import pytest
from syrupy.assertion import SnapshotAssertion

from slowdust.errors import SlowdustError
from slowdust.store import bundle, storage
from slowdust.store.bundle import pack, unpack
from slowdust.store.folder import Folder
from tests.experiments.stored import unpack_experiments

CASES = Path(__file__).parents[2] / "cases" / "bundles"
_ZEROS = 64 << 20


@pytest.fixture
def folder(tmp_path: Path) -> Folder:
    unpack_experiments(tmp_path / "made", "insert")
    return Folder(tmp_path / "made/insert")


def refusal(path: Path, results: Path) -> str:
    """Return why a bundle is refused, which nothing is left of."""
    with pytest.raises(SlowdustError) as error:
        unpack(path, results)
    told = str(error.value)
    assert "\n" not in told
    assert [*results.iterdir()] == []
    return told.replace(str(path), "FILE")


@pytest.mark.parametrize(
    "case",
    [
        "badutf8",
        "f05",
        "f11",
        "m18",
        "sparse2",
    ],
)
def test_bundles_of_an_attack(tmp_path: Path, case: str, snapshot: SnapshotAssertion) -> None:
    assert refusal(CASES / f"{case}.slowdust", tmp_path) == snapshot


@pytest.mark.parametrize(
    "kind",
    [
        *(tarfile.GNUTYPE_LONGNAME, tarfile.GNUTYPE_LONGLINK, tarfile.XHDTYPE, tarfile.XGLTYPE),
        tarfile.SOLARIS_XHDTYPE,
    ],
)
def test_a_header_of_gigabytes_is_not_read(
    tmp_path: Path, kind: bytes, snapshot: SnapshotAssertion
) -> None:
    info = tarfile.TarInfo("././@LongLink")
    info.type, info.size = kind, _ZEROS
    with gzip.open(tmp_path / "long", "wb", 1) as file:
        file.write(info.tobuf(tarfile.GNU_FORMAT))
        file.write(bytes(_ZEROS))
    tracemalloc.start()
    try:
        why = refusal(tmp_path / "long", tmp_path / "results")
        assert tracemalloc.get_traced_memory()[1] < _ZEROS / 2
    finally:
        tracemalloc.stop()
    assert why == snapshot


def test_a_row_of_headers_is_refused(tmp_path: Path, snapshot: SnapshotAssertion) -> None:
    info = tarfile.TarInfo("x")
    info.type = tarfile.XGLTYPE
    with gzip.open(tmp_path / "row", "wb", 1) as file:
        file.write(info.tobuf() * 5000)
    assert refusal(tmp_path / "row", tmp_path / "results") == snapshot


@pytest.mark.parametrize(
    "headers",
    [
        {"size": "-512"},
        {"size": "x"},
        {"GNU.sparse.map": "0,1"},
        {"path": "../../e"},
        {"path": "e/\x1b[31m\n"},
    ],
)
def test_attributes_do_not_lead_elsewhere(
    tmp_path: Path, headers: dict[str, str], snapshot: SnapshotAssertion
) -> None:
    info = tarfile.TarInfo("e/manifest.json")
    info.pax_headers = headers
    with tarfile.open(tmp_path / "file", "w:gz") as archive:
        archive.addfile(info, io.BytesIO())
    assert refusal(tmp_path / "file", tmp_path / "results") == snapshot


@pytest.mark.parametrize(
    ("member", "size"),
    [
        ("manifest.json", 3 << 30),
        ("experiment.toml", 1 << 28),
        ("perf/a.json.gz", 1 << 28),
        ("slices.ndjson", 3 << 30),
    ],
)
def test_a_file_of_gigabytes_is_refused_by_its_header(
    tmp_path: Path, member: str, size: int, snapshot: SnapshotAssertion
) -> None:
    info = tarfile.TarInfo(f"e/{member}")
    info.size = size
    (tmp_path / "large").write_bytes(gzip.compress(info.tobuf()))
    assert refusal(tmp_path / "large", tmp_path / "results") == snapshot


def test_too_many_members_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
) -> None:
    monkeypatch.setattr("slowdust.unpacking.MOST_MEMBERS", 10)
    with tarfile.open(tmp_path / "many", "w:gz") as archive:
        for number in range(11):
            archive.addfile(tarfile.TarInfo(f"e/perf/{number}.json.gz"))
    why = refusal(tmp_path / "many", tmp_path / "results")
    assert why == snapshot


def _changed(path: Path, change: Callable[[str], str]) -> None:
    path.write_text(change(path.read_text()))


@pytest.mark.parametrize(
    ("file", "change", "where"),
    [
        ("manifest.json", lambda text: text.replace("{", '{"z\\nz": 1,', 1), r"'$.z\nz'"),
        ("manifest.json", lambda text: text.replace('"host"', '"hosted"', 1), "$.hosted"),
        (
            "slices.ndjson",
            lambda text: text.replace('"measured": {', '"measured": {"zzz": [],', 1),
            "'$.measured.zzz'",
        ),
    ],
)
def test_unknown_keys_are_named(
    tmp_path: Path, folder: Folder, file: str, change: Callable[[str], str], where: str
) -> None:
    if file == "slices.ndjson":
        records = [json.loads(msgspec.json.encode(each)) for each in folder.read_slices()]
        (folder.path / file).write_text("".join(f"{json.dumps(each)}\n" for each in records))
    _changed(folder.path / file, change)
    pack(folder, tmp_path / "file")
    why = refusal(tmp_path / "file", tmp_path / "results")
    assert where in why
    assert "newer Slowdust" in why


@pytest.mark.parametrize("file", ["manifest.json", "slices.ndjson"])
def test_values_of_unknown_keys_are_not_decoded(tmp_path: Path, folder: Folder, file: str) -> None:
    if file == "slices.ndjson":
        records = [msgspec.json.encode(each) for each in folder.read_slices()]
        (folder.path / file).write_bytes(b"".join(record + b"\n" for record in records))
    old = {"manifest.json": "{", "slices.ndjson": '"measured":{'}[file]
    long = f'{old}"zzz":[{"[]," * 2_400_000}[]],'
    _changed(folder.path / file, lambda text: text.replace(old, long, 1))
    pack(folder, tmp_path / "file")
    tracemalloc.start()
    try:
        why = refusal(tmp_path / "file", tmp_path / "results")
        assert tracemalloc.get_traced_memory()[1] < 100_000_000
    finally:
        tracemalloc.stop()
    assert "zzz'" in why


def test_a_profile_that_is_damaged_is_named(tmp_path: Path, folder: Folder) -> None:
    (folder.path / "perf").mkdir(exist_ok=True)
    (folder.path / "perf/x.json.gz").write_bytes(b"hello")
    pack(folder, tmp_path / "file")
    why = refusal(tmp_path / "file", tmp_path / "results")
    assert why.endswith(" perf/x.json.gz: Not a gzipped file (b'he')")


def test_a_bundle_without_a_manifest(tmp_path: Path) -> None:
    with tarfile.open(tmp_path / "file", "w:gz") as archive:
        archive.addfile(tarfile.TarInfo("e/slices.ndjson"))
    assert "manifest.json" in refusal(tmp_path / "file", tmp_path / "results")


def test_experiments_of_slowdust_have_no_unknown_keys(tmp_path: Path) -> None:
    unpack_experiments(tmp_path / "made")
    for slices in (tmp_path / "made").rglob("slices.ndjson"):
        folder = Folder(slices.parent)
        pack(folder, tmp_path / f"{folder.name}.slowdust")
        unpack(tmp_path / f"{folder.name}.slowdust", tmp_path / "results")


def test_a_record_of_megabytes_is_no_record(
    tmp_path: Path, folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    pack(folder, tmp_path / "file")
    monkeypatch.setattr(storage, "MOST_BYTES", 500)
    why = refusal(tmp_path / "file", tmp_path / "results")
    assert "manifest.json" in why
    assert "more than 0 MB" in why
    monkeypatch.setattr(storage, "MOST_OF_LINE", 500)
    with pytest.raises(SlowdustError, match="more than 0 MB"):
        list(storage.complete_lines(folder.path / "slices.ndjson"))


def test_records_are_checked_one_by_one(
    tmp_path: Path, folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So an import needs the memory of one record, however many there are."""
    pack(folder, tmp_path / "file")
    alive: list[int] = []
    each = Folder.each_slice

    def watched(self: Folder) -> Iterator[object]:
        for number, record in enumerate(each(self)):
            alive.append(number)
            yield record

    def whole(self: Folder) -> None:
        raise AssertionError("all records at once")

    monkeypatch.setattr(Folder, "each_slice", watched)
    monkeypatch.setattr(Folder, "read_slices", whole)
    unpack(tmp_path / "file", tmp_path / "results")
    assert alive


def test_an_experiment_that_no_bundle_can_hold(
    tmp_path: Path, folder: Folder, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(bundle, "MOST_BYTES", 1000)
    with pytest.raises(SlowdustError, match="only 0 MB"):
        pack(folder, tmp_path / "file")
    assert not (tmp_path / "file").exists()
