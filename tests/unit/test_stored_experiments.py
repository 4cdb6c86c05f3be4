"""The stored experiments cover all kinds, name no machine, and have golden texts."""

from __future__ import annotations

import gzip
import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode

from slowdust.benchmarks import BENCHMARKS
from slowdust.kinds import KINDS as ARCHIVE_KINDS
from slowdust.store.folder import Folder
from slowdust.store.manifest import MERGED_SCHEMA
from tests.experiments.kinds import KINDS
from tests.experiments.stored import INPUTS, STORED, unpack_experiments
from tests.same_output.print_all import FAILED, call

MACHINE = re.compile(
    r"(?<![\w.])/(?:work|tmp|root|home|var|srv|opt|mnt|data|Users)/"
    r"|\w\.(?:local|lan|internal|example)\b"
    r"|://(?!(?:[\w.-]+@)?127\.0\.0\.1\b)"
    r"|\b(?!127\.0\.0\.1\b)\d{1,3}(?:\.\d{1,3}){3}\b"
)
"""A path of a machine, the name of a host, the address of one or of a registry."""


class TextFile(SingleFileSnapshotExtension):
    """One file of plain text for each kind."""

    _write_mode = WriteMode.TEXT
    file_extension = "txt"


@pytest.fixture(scope="module")
def results(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A results folder with all stored experiments."""
    results = tmp_path_factory.mktemp("stored") / "results"
    unpack_experiments(results)
    return results


@pytest.fixture(scope="module")
def folders(results: Path) -> dict[str, Folder]:
    """The experiments, with the steps of studies, by their paths below the results folder."""
    paths = [path.parent for path in results.rglob("slices.ndjson")]
    return {str(path.relative_to(results)): Folder(path) for path in sorted(paths)}


def test_every_benchmark_and_way_of_observing_is_there(folders: dict[str, Folder]) -> None:
    manifests = {name: folder.read_manifest() for name, folder in folders.items()}
    measured = {record.place.benchmark for f in folders.values() for record in f.read_slices()}
    assert {*BENCHMARKS} <= measured
    assert {c.dbms for m in manifests.values() for c in m.contenders} >= {
        *("postgres", "mysql", "mariadb", "sqlite", "ferretdb")
    }
    assert folders["counts"].read_counts()
    assert folders["waits"].read_waits()
    sources = {profile.source for f in folders.values() for profile in f.read_profiles()}
    assert sources == {"perf", "callgrind"}
    assert manifests["own"].workload is not None
    imported = manifests["imported"].imported
    assert imported is not None
    assert imported.kind in {kind.name for kind in ARCHIVE_KINDS}
    assert len(manifests["merged"].hosts) == len(manifests["fleet"].hosts) == 2


def test_every_schema_is_there(folders: dict[str, Folder]) -> None:
    files = [folder.path / "manifest.json" for folder in folders.values()]
    schemas = {json.loads(file.read_text())["schema"] for file in files}
    assert schemas == {*range(1, MERGED_SCHEMA + 1)}


def test_every_recipe_is_recorded_and_nothing_else() -> None:
    stored = {path.name for path in STORED.iterdir()}
    for name in KINDS:
        of_kind = {each for each in stored if each.startswith(name)}
        assert of_kind, name
        stored -= of_kind
    assert stored == set()


@pytest.mark.parametrize("name", KINDS)
def test_no_file_names_a_machine(name: str) -> None:
    for path in STORED.glob(f"{name}*/**/*"):
        if path.is_file():
            content = path.read_bytes()
            text = gzip.decompress(content) if path.suffix == ".gz" else content
            found = MACHINE.search(text.decode())
            assert found is None, f"{path}: {found}"


@pytest.mark.parametrize("name", KINDS)
def test_texts(
    name: str,
    results: Path,
    folders: dict[str, Folder],
    monkeypatch: pytest.MonkeyPatch,
    snapshot: SnapshotAssertion,
) -> None:
    monkeypatch.chdir(results.parent)
    monkeypatch.setenv("COLUMNS", "100")
    for variable in ("SLOWDUST_CACHE", "SLOWDUST_DATA", "SLOWDUST_CLAIMS"):
        monkeypatch.setenv(variable, str(results.parent / "nothing"))
    monkeypatch.delenv("SLOWDUST_RESULTS", raising=False)
    for file in KINDS[name].files:
        (results.parent / file).write_text((INPUTS / file).read_text())
    printed = [
        f"$ slowdust {' '.join(command)}\n{call(*command)}" for command in said(name, folders)
    ]
    assert FAILED not in "".join(printed)
    assert "\n".join(printed) == snapshot.use_extension(TextFile)


def said(name: str, folders: dict[str, Folder]) -> Iterator[tuple[str, ...]]:
    """Yield the commands whose texts are golden."""
    if name in folders:
        path = f"results/{name}"
        yield ("report", path)
        yield ("report", path, "--md")
        yield ("explain", path, folders[name].read_manifest().tests[0])
    for command in KINDS[name].again:
        if "--json" not in command:
            yield tuple(command)
