"""An archive of the Insert Benchmark, from its files to an experiment, and back to files."""

from __future__ import annotations

from pathlib import Path

import pytest

from slowdust.analysis.stored import analyse
from slowdust.archive.insert.archive import InsertArchive, read_archive
from slowdust.archive.insert.classic import SUMMARY, published_files
from slowdust.archive.insert.experiment import experiment_of, scan
from slowdust.exchange import Mode
from slowdust.ratios import Ratio
from slowdust.store.manifest import Fate, Manifest
from slowdust.store.measured import PrintedRole
from slowdust.store.slice import Slice
from slowdust.store.step import RoleUse
from tests.unit.archive.insert_files import (
    RESULT,
    STEPS,
    client_output,
    row,
    write_client,
    write_merged,
    write_runs,
)

OLD, NEW = "8m.pg1110_o2.c1", "8m.pg174_o2.c1"


def archive_in(folder: Path) -> InsertArchive:
    [actual] = scan([folder])
    assert actual.home is not None
    return read_archive(actual.home, actual.paths, foreign=lambda name: None)


def experiment_in(
    folder: Path, mode: Mode = Mode.CLEAN, clients: int | None = None
) -> tuple[Manifest, dict[tuple[str, str], Slice]]:
    written = experiment_of(archive_in(folder), "archive", mode, clients)
    assert written is not None
    return written.manifest, {
        (record.place.test, record.place.contender): record for record in written.slices
    }


def problems(archive: InsertArchive) -> dict[str, str]:
    return {problem.path.name: problem.reason for problem in archive.problems}


def printed_role(use: RoleUse) -> PrintedRole:
    assert use.printed is not None
    return use.printed


def test_runs_become_slices(tmp_path: Path) -> None:
    write_runs(tmp_path, {OLD: {}, NEW: {"qp500.L4": {"qps": "44000", "cpupq": "45"}}})
    manifest, slices = experiment_in(tmp_path)
    assert manifest.base == "postgres@11.10:c1+o2"
    assert [result.run for result in manifest.contenders] == ["pg1110_o2.c1", "pg174_o2.c1"]
    assert manifest.tests == [
        "l.i0", "l.x", "l.i1", "l.i2", "qr100", "qp100", "qr500", "qp500", "qr1000", "qp1000",
    ]  # fmt: skip
    assert manifest.clients == [8]
    assert "8 clients, derived from the insert rates" in manifest.warnings[0]
    record = slices["qp500", "postgres@17.4:c1+o2"]
    assert (record.qps, record.unit) == (44000, "point queries/s")
    assert record.printed is not None
    assert (
        record.printed.per_operation["host_cpu_us"],
        record.printed.per_operation["writes"],
    ) == (45, 50.0 / 44000)
    assert record.step is not None
    assert (record.step.target, printed_role(record.step.roles["insert"]).rate) == (4000, 3996)
    assert record.measured.seconds is None
    load = slices["l.i0", "postgres@17.4:c1+o2"]
    assert load.printed is not None
    assert (load.qps, load.printed.per_operation["writes"]) == (50000, 0.3)
    assert load.printed.response is not None
    assert load.printed.response.max == 125_000


def test_while_indexes_are_created_the_longest_operation_is_none_of_the_step(
    tmp_path: Path,
) -> None:
    write_runs(tmp_path, {OLD: {}})
    _, slices = experiment_in(tmp_path)
    record = slices["l.x", "postgres@11.10:c1+o2"]
    assert record.printed is not None
    assert (record.unit, record.printed.response) == ("indexed rows/s", None)


def test_a_missed_sla_is_not_compared(tmp_path: Path) -> None:
    write_runs(
        tmp_path,
        {OLD: {}, NEW: {"qr1000.L5": {"ips": "7599"}, "qp1000.L6": {"ips": "7600"}}},
    )
    manifest, slices = experiment_in(tmp_path)
    actual = {
        (result.test, result.contender): result
        for result in analyse(manifest, list(slices.values())).results
    }
    missed, met = (actual[test, "postgres@17.4:c1+o2"] for test in ("qr1000", "qp1000"))
    assert missed.writers is not None
    assert (missed.writers.sla_met, missed.writers.deletes, missed.ratio) == (False, None, None)
    assert met.ratio == Ratio(1.0)


def test_published_sizes_of_nothing_are_skipped_unless_compatible(tmp_path: Path) -> None:
    write_runs(tmp_path, {OLD: {"l.i0": {"rss": "0.0"}, "l.x": {"rss": "NA"}}})
    manifest, clean = experiment_in(tmp_path)
    _, compatible = experiment_in(tmp_path, Mode.COMPAT)
    assert clean["l.i0", manifest.base].measured.uses == {}
    use = compatible["l.i0", manifest.base].measured.uses["server"]
    assert use == {"rss_bytes": 0}
    assert compatible["l.x", manifest.base].measured.uses == {}
    assert manifest.imported is not None
    assert any(
        "resident size" in result and "1 step" in result for result in manifest.imported.differences
    )


def test_classic_files_are_written_as_they_were(tmp_path: Path) -> None:
    write_runs(tmp_path, {OLD: {"l.i1": {"maxop": "12.345"}}, NEW: {}})
    rows = {(tag, step): row(tag, step) for tag in (OLD, NEW) for step in STEPS}
    rows[OLD, "l.i1"] = row(OLD, "l.i1", {"maxop": "12.345"})
    for step in STEPS:
        write_merged(tmp_path / "res.a", step, [[rows[OLD, step], rows[NEW, step]]])
        write_merged(tmp_path / "res.b", step, [[rows[NEW, step]], [rows[OLD, step]]])
    archive = archive_in(tmp_path)
    assert (archive.problems, archive.used) == ([], 2 + 4 * len(STEPS))
    manifest, slices = experiment_in(tmp_path)
    assert manifest.imported is not None
    written = published_files(manifest, list(slices.values()))
    for path in tmp_path.glob("**/*.*"):
        if path.is_file():
            assert written.pop(path.relative_to(tmp_path)) == path.read_text()
    assert set(written) == {Path("res.a", SUMMARY), Path("res.b", SUMMARY)}


def test_merged_tables_alone(tmp_path: Path) -> None:
    for step in ("l.i0", "qr100.L1"):
        write_merged(tmp_path / "res", step, [[row(tag, step) for tag in (NEW, OLD)]])
    manifest, slices = experiment_in(tmp_path)
    assert (manifest.base, manifest.tests) == ("postgres@11.10:c1+o2", ["l.i0", "qr100"])
    assert manifest.imported is not None
    assert {path.name for path in published_files(manifest, list(slices.values()))} == {
        "mrg.l.i0", "mrg.qr100.L1", "rel.l.i0", "rel.qr100.L1", SUMMARY,
    }  # fmt: skip


def test_broken_files_are_one_line_each(tmp_path: Path) -> None:
    write_runs(tmp_path, {OLD: {}, NEW: {}, "8m.zz.c1": {}})
    (tmp_path / "o.sum.t.8m.my80.c1").write_text("ips\tqps\n1\t2\n")
    torn = tmp_path / f"o.sum.t.{NEW}"
    torn.write_text(torn.read_text()[:-90])
    (tmp_path / "notes.txt").write_text("hello")
    (tmp_path / "o.sum.t.empty").touch()
    (tmp_path / "o.ib.dop8.1.gz").write_bytes(b"\x1f\x8bnothing")
    (tmp_path / "o.vm.dop8").write_text("procs")
    tables = tmp_path / "res.a"
    write_merged(tables, "l.i0", [[row(OLD, "l.i0"), row("8m.zz.c1", "l.i0", {"ips": "1"})]])
    (tables / "rel.l.x").write_text((tables / "rel.l.i0").read_text())
    (tables / "mrg.some").write_text((tables / "mrg.l.i0").read_text())
    archive = archive_in(tmp_path)
    assert problems(archive) == {
        "o.sum.t.8m.my80.c1": "torn",
        f"o.sum.t.{NEW}": problems(archive)[f"o.sum.t.{NEW}"],
        "notes.txt": "not a file of the Insert Benchmark",
        "o.sum.t.empty": "empty",
        "o.ib.dop8.1.gz": problems(archive)["o.ib.dop8.1.gz"],
        "mrg.l.i0": "ips of zz.c1, 1 instead of 50000 from o.sum",
        "rel.l.i0": "ips of zz.c1, 0.00 instead of 1.00 from o.sum",
        "rel.l.x": "ips of zz.c1, 0.00 instead of 1.00 from o.sum",
    }
    partly = {problem.path.name for problem in archive.problems if problem.fate is Fate.PARTLY}
    assert partly == {f"o.sum.t.{NEW}"}
    assert "cannot be read" in problems(archive)["o.ib.dop8.1.gz"]
    assert list(archive.runs["pg174_o2.c1"]) == list(STEPS[:-1])
    assert archive.by_products == {"mrg.some": 1, "o.vm": 1}
    manifest, _ = experiment_in(tmp_path)
    assert [result.name for result in manifest.contenders if result.dbms == "unknown"] == ["zz.c1"]
    assert manifest.imported is not None
    assert len(manifest.imported.skipped) == 8


def test_output_of_clients_has_more_than_the_tables(tmp_path: Path) -> None:
    step = tmp_path / OLD / "qr100.L1"
    step.mkdir(parents=True)
    for client in (1, 2):
        queries = [5000 * client, 7000 * client, 0]
        printed = client_output([100, 100, 0], queries=queries, deletes=[100, 50, 0])
        (step / f"o.ib.dop2.{client}").write_bytes(printed)
    write_client(tmp_path / OLD / "l.i0", clients=2, client=1, inserts=[900, 1100])
    (tmp_path / OLD / "l.i0" / "o.res.dop2").write_text(RESULT)
    manifest, slices = experiment_in(tmp_path)
    assert manifest.clients == [2]
    record = slices["qr100", manifest.base]
    assert record.qps == 12000 * 3 / 3
    assert record.step is not None
    roles = record.step.roles
    assert printed_role(roles["insert"]).rate == 400 / 3
    assert printed_role(roles["delete"]).rate == 100
    assert [second.rows for second in roles["delete"].per_second] == [200, 100, 0]
    assert [second.statements for second in roles["query"].per_second] == [15000, 21000, 0]
    assert roles["query"].per_second[0].max_ns == 300_000
    query = printed_role(roles["query"])
    assert query.response is not None
    assert query.buckets is not None
    assert (query.buckets[:2], query.response.max) == ([36000, 4], 900)
    load = slices["l.i0", manifest.base]
    assert load.qps == 10_000_000 / 301, "one of two clients is not all: the counts of o.res"
    assert load.printed is not None
    assert "host_cpu_us" not in load.printed.per_operation
    assert load.printed.per_operation["host_share_us"] == 12.04
    _, published = experiment_in(tmp_path, Mode.COMPAT)
    assert published["l.i0", manifest.base].qps == 33222.5
    assert manifest.imported is not None
    assert "rates are 1.000 times the published" in manifest.imported.differences[0]


def test_two_sizes_of_a_run_do_not_mix(tmp_path: Path) -> None:
    write_runs(tmp_path, {OLD: {}, OLD.replace("8m", "800m"): {"l.i0": {"ips": "7"}}})
    archive = archive_in(tmp_path)
    [reason] = problems(archive).values()
    assert "with another size" in reason
    assert len(archive.runs) == 1


def test_archives_are_found_below_a_directory(tmp_path: Path) -> None:
    write_runs(tmp_path / "8m", {OLD: {}})
    write_merged(tmp_path / "8m" / "res.a", "l.i0", [[row(OLD, "l.i0")]])
    write_runs(tmp_path / "80m" / "sum", {OLD.replace("8m", "80m"): {}})
    write_merged(tmp_path / "tables" / "res.x", "l.i0", [[row(NEW, "l.i0")]])
    (tmp_path / "readme").touch()
    assert {there.home: len(there.paths) for there in scan([tmp_path])} == {
        tmp_path / "80m" / "sum": 1,
        tmp_path / "8m": 3,
        tmp_path / "tables": 2,
        None: 1,
    }
    [below] = scan([tmp_path / "8m" / "res.a"])
    assert below.home == tmp_path / "8m" / "res.a"


def test_a_client_of_no_step_lies_in_the_directory_that_was_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    write_client(Path("a"), clients=1, client=1, inserts=[1])
    [actual] = scan([Path("a")])
    assert actual.home == tmp_path / "a"
