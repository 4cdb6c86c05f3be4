"""The classic tables of measured experiments and of clean imports."""

from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from slowdust.store.folder import Folder, writing
from slowdust.store.manifest import Manifest
from slowdust.store.measured import Use
from slowdust.store.slice import Slice
from tests.unit.archive.command import Slowdust, slowdust
from tests.unit.archive.sysbench_files import RUN_A, RUN_B, Written, write_archive
from tests.unit.synthetic import QUIET, synthetic_experiment

__all__ = ["slowdust"]
OLD, NEW = "postgres@15.8", "postgres@17.6"


def measured(*, clients: tuple[int, ...] = (1,)) -> tuple[Manifest, list[Slice]]:
    """A scan of 1,000 rows at 100 scans/s, and a test at 2,000 and 1,000 operations/s."""
    manifest, slices = synthetic_experiment(
        [OLD, NEW], ["point-query", "scan"], noise=QUIET, clients=clients, blocks=6, seed=1
    )
    for result in slices:
        rate = 2000.0 if result.place.contender == OLD else 1000.0
        result.measured.seconds = result.measured.probe_seconds = 1.0
        result.measured.operations = 100 if result.place.test == "scan" else int(rate)
        result.measured.rows = 1000 * result.measured.operations
        result.qps = 100_000.0 if result.place.test == "scan" else rate
        result.unit = "rows/s" if result.place.test == "scan" else "operations/s"
        result.measured.uses["host"] = Use(
            cpu_user_s=1.0,
            cpu_system_s=0.5,
            cpu_iowait_s=0.0,
            cpu_steal_s=0.0,
            cpu_idle_s=2.5,
            context_switches=4000,
            interrupts=0,
            reads=0,
            read_bytes=0,
            writes=10,
            write_bytes=2 * 1024 * 1000,
        )
    return manifest, slices


def store(manifest: Manifest, slices: list[Slice]) -> None:
    with writing(Folder(Path("results/mine"))) as writer:
        writer.write_manifest(manifest)
        writer.append(*slices)


def test_tables_of_a_measured_experiment(slowdust: Slowdust) -> None:
    store(*measured())
    slowdust("report", "mine", "--classic", "classic")
    assert sorted(path.name for path in Path("classic").iterdir()) == [
        "o.met", "qps.abs.csv", "qps.abs.tsv", "qps.rel.csv", "qps.rel.tsv"
    ]  # fmt: skip
    assert Path("classic/qps.abs.tsv").read_text(encoding="utf-8") == (
        f"col-1 : {OLD}\ncol-2 : {NEW}\n\ncol-1\tcol-2\n100\t100\tscan\n2000\t1000\tpoint-query\n"
    )
    assert (
        Path("classic/qps.rel.csv").read_text(encoding="utf-8") == "scan,1.00\npoint-query,0.50\n"
    )


def test_hardware_of_a_measured_experiment_matches_the_host(
    slowdust: Slowdust, snapshot: SnapshotAssertion
) -> None:
    store(*measured())
    slowdust("report", "mine", "--classic", "classic")
    scan, point = Path("classic/o.met").read_text(encoding="utf-8").split("\n\n")[:2]
    # 1.5 of 4 CPUs are 37.5%; at 2,000 operations/s, and at 100 thousand rows/s.
    assert point.splitlines() == snapshot
    assert f"0.375000\t40.000\t0.000\t0.000\t20.000\t100\t{OLD}" in scan.splitlines()


def test_each_number_of_clients_has_its_tables(slowdust: Slowdust) -> None:
    store(*measured(clients=(1, 8)))
    slowdust("report", "mine", "--classic", "classic")
    names = {path.name for path in Path("classic").iterdir()}
    assert {"o.met.c1", "o.met.c8", "qps.abs.c1.tsv", "qps.abs.c8.tsv"} <= names


@pytest.mark.parametrize("mode", [[], ["--compat"]])
def test_the_numbers_of_an_import_are_as_published(
    tmp_path: Path, slowdust: Slowdust, mode: list[str]
) -> None:
    tests = [Written(rate=1000.5), Written(test="scan", rate=11.25)]
    archive = write_archive(tmp_path / "mar25", {RUN_A: tests, RUN_B: tests})
    slowdust("import", "sysbench", archive, *mode)
    slowdust("report", "mar25", "--classic", "classic")
    written = Path("classic", RUN_A, "sb.met.hot-points.range100.pk1.dop8").read_text(
        encoding="utf-8"
    )
    assert written.splitlines()[-1].split("\t")[-1] == "0.037653"
    assert Path("classic/qps.abs.csv").read_text(encoding="utf-8") == (
        "hot-points_range=100,1000,1000\nscan_range=100,11,11\n"
    )
    rate = Path("classic", RUN_B, "sb.r.qps.hot-points.range100.pk1").read_text(encoding="utf-8")
    assert rate == "1000\tpgsql hot-points range=100\n"


def test_several_numbers_of_clients_stand_in_one_file_of_rates(
    tmp_path: Path, slowdust: Slowdust
) -> None:
    few, many = Written(rate=100.0, dop=1), Written(rate=700.0, dop=8)
    slowdust("import", "sysbench", write_archive(tmp_path / "a", {RUN_A: [few, many]}))
    slowdust("report", "a", "--classic", "classic")
    rates = Path("classic", RUN_A, "sb.r.qps.hot-points.range100.pk1").read_text(encoding="utf-8")
    assert rates == "100\t700\tpgsql hot-points range=100\n"


def test_files_of_others_are_not_replaced(
    tmp_path: Path, slowdust: Slowdust, snapshot: SnapshotAssertion
) -> None:
    archive = write_archive(tmp_path / "a", {RUN_A: [Written()], RUN_B: [Written()]})
    slowdust("import", "sysbench", archive)
    slowdust("report", "a", "--classic", "classic")
    slowdust("report", "a", "--classic", "classic")
    Path("classic/o.met").write_text("mine", encoding="utf-8")
    Path("classic/qps.abs.csv").unlink()
    complaint = slowdust("report", "a", "--classic", "classic", code=2)
    assert complaint == snapshot
    assert Path("classic/o.met").read_text(encoding="utf-8") == "mine"
    assert not Path("classic/qps.abs.csv").exists()
    Path("other").mkdir()
    Path("other", RUN_A).write_text("mine", encoding="utf-8")
    complaint = slowdust("report", "a", "--classic", "other", code=2)
    assert complaint == snapshot


@pytest.mark.parametrize("name", ["../../x", "/{root}/x", "a/../../x"])
def test_a_run_whose_name_is_a_path_is_not_written_elsewhere(
    tmp_path: Path, slowdust: Slowdust, name: str, snapshot: SnapshotAssertion
) -> None:
    name = name.replace("/{root}", str(tmp_path))
    slowdust("import", "sysbench", write_archive(tmp_path / "a", {RUN_A: [Written()]}))
    for file in ("manifest.json", "slices.ndjson"):
        path = Path("results/a", file)
        path.write_text(path.read_text(encoding="utf-8").replace(RUN_A, name), encoding="utf-8")
    before = sorted(tmp_path.iterdir())
    complaint = slowdust("report", "a", "--classic", "classic/deep", code=2)
    assert complaint == snapshot
    assert sorted(tmp_path.iterdir()) == before


@pytest.mark.parametrize("mode", [[], ["--compat"]])
def test_the_imported_directory_is_not_written_into(
    tmp_path: Path, slowdust: Slowdust, mode: list[str], snapshot: SnapshotAssertion
) -> None:
    archive = write_archive(tmp_path / "a", {RUN_A: [Written(without=frozenset({"met", "r.qps"}))]})
    slowdust("import", "sysbench", archive, *mode)
    before = sorted(archive.rglob("*"))
    complaint = slowdust("report", "a", "--classic", archive, code=2)
    assert complaint == snapshot
    complaint = slowdust("report", "a", "--classic", archive / RUN_A / "below", code=2)
    assert complaint == snapshot
    slowdust("report", "a", "--classic", tmp_path / "a-b")
    assert sorted(archive.rglob("*")) == before


def test_next_to_runs_that_were_imported_alone_there_is_room(
    tmp_path: Path, slowdust: Slowdust, snapshot: SnapshotAssertion
) -> None:
    archive = write_archive(tmp_path / "a", {RUN_A: [Written()], RUN_B: [Written()]})
    slowdust("import", "sysbench", archive / RUN_A)
    complaint = slowdust("report", "a", "--classic", archive / RUN_A, code=2)
    assert complaint == snapshot
    slowdust("report", "a", "--classic", archive / "classic")
    assert (archive / "classic" / "o.met").is_file()
