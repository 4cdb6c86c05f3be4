"""The published Insert Benchmark is reproduced byte for byte."""

from __future__ import annotations

from pathlib import Path

import pytest

from slowdust.analysis.results.summary import summary_tables
from slowdust.analysis.stored import analyse
from slowdust.archive.insert.archive import InsertArchive, read_archive
from slowdust.archive.insert.classic import SUMMARY, published_files
from slowdust.archive.insert.experiment import experiment_of, scan
from slowdust.exchange import Mode
from slowdust.store.manifest import Manifest
from slowdust.store.slice import Slice
from tests.unit.archive.published import RUNS, needs_archive

pytestmark = needs_archive
JANUARY = RUNS / "ibench.jan2021"
SIZE = JANUARY / "20m"
PUBLISHED = JANUARY / "published" / "21_01_21_ibench_20m.summary_tables.html"


@pytest.fixture(scope="module")
def archive() -> InsertArchive:
    [actual] = scan([SIZE])
    assert actual.home is not None
    return read_archive(actual.home, actual.paths, foreign=lambda name: None)


@pytest.fixture(scope="module", params=list(Mode))
def imported(
    archive: InsertArchive, request: pytest.FixtureRequest
) -> tuple[Manifest, list[Slice]]:
    written = experiment_of(archive, "january", request.param, clients=None)
    assert written is not None
    return written.manifest, written.slices


def files(imported: tuple[Manifest, list[Slice]]) -> dict[Path, str]:
    manifest, slices = imported
    assert manifest.imported is not None
    return published_files(manifest, slices)


def test_an_archive_is_found_from_above() -> None:
    actual = {there.home: len(there.paths) for there in scan([JANUARY])}
    assert actual == {SIZE.resolve(): 212, None: 1}


def test_everything_but_the_selections_is_used(archive: InsertArchive) -> None:
    assert archive.used == 206
    assert archive.problems == []
    assert {"mrg.some", "rel.some"} <= archive.by_products.keys()
    assert {len(steps) for steps in archive.runs.values()} == {15}


def test_classic_files(imported: tuple[Manifest, list[Slice]]) -> None:
    written = files(imported)
    published = [
        path.relative_to(SIZE)
        for path in SIZE.glob("**/*.*")
        if path.is_file() and path.suffix != ".some"
    ]
    assert len(published) == 206
    for path in published:
        assert written[path] == (SIZE / path).read_text(), path


def test_summary_tables(imported: tuple[Manifest, list[Slice]]) -> None:
    written = files(imported)
    assert written[Path("res.a") / SUMMARY] == PUBLISHED.read_text()


def test_contenders_clients_and_host(imported: tuple[Manifest, list[Slice]]) -> None:
    manifest, _ = imported
    assert manifest.base == "mysql@5.6.49:cx6d"
    assert [contender.name for contender in manifest.contenders[6:]] == [
        "postgres@11.10:cx5",
        "postgres@12.4:cx5",
        "postgres@13.1:cx5",
        "myrocks@5.6:cx6a",
        "myrocks@8.0:cx6a",
    ]
    assert (manifest.clients, manifest.host) == ([1], {"CPUs": "4"})


def test_the_report_has_the_published_rates(imported: tuple[Manifest, list[Slice]]) -> None:
    [summary] = summary_tables(analyse(*imported))
    place = [column.test for column in summary.absolute.columns].index("q1000.2")
    text = PUBLISHED.read_text()
    for row in summary.absolute.rows:
        if "badcnf" in row.name:
            continue
        assert f">{row.cells[place].value:.0f}</td></tr>" in text
    assert summary.insert_rate is not None
    targets = {cell.value for cell in summary.insert_rate.rows[-1].cells}
    assert targets == {100, 200, 400, 600, 800, 1000}
    assert not any(cell.missed_sla for row in summary.absolute.rows for cell in row.cells)
