"""Tables and archives of real directories: of many numbers of clients, renamed, packed."""

from __future__ import annotations

import gzip
import tarfile
import tracemalloc
from pathlib import Path

import pytest

from slowdust.store.manifest import Fate
from tests.unit.archive.command import Slowdust, mentions, report, results, slowdust
from tests.unit.archive.sysbench_files import RUN_A, RUN_B, Written, write_archive

__all__ = ["slowdust"]

TWO_LEVELS = f"""\
sb.prepare.met.hot-points.range100.pk1
base1 sb.prepare.met.hot-points.range100.pk1 and base2 sb.prepare.met.hot-points.range100.pk1
--- absolute
cpu/o\t\tcs/o\tr/o\trKB/o\twKB/o\to/s\tdbms
0.000024\t0.131\t0\t0\t0.892\t95602\t{RUN_A}
0.000023\t0.132\t0\t0\t0.872\t97560\t{RUN_B}
--- relative to first result
0.96\t\t1.01\t1\t1\t0.98\t1.02\t{RUN_B}

sb.met.hot-points.range100.pk1.dop1
base1 sb.met.hot-points.range100.pk1.dop1 and base2 sb.met.hot-points.range100.pk1.dop48
--- absolute
cpu/o\t\tcs/o\tr/o\trKB/o\twKB/o\to/s\tdbms
0.000100\t4.000\t0\t0\t0\t24279\t{RUN_A}
0.000097\t2.000\t0\t0\t0\t976669\t{RUN_B}
--- relative to first result
0.97\t\t0.50\t1\t1\t1\t40.23\t{RUN_B}

"""


def test_a_table_that_compares_numbers_of_clients(tmp_path: Path, slowdust: Slowdust) -> None:
    folder = tmp_path / "a"
    folder.mkdir()
    (folder / "o.met.1u.48u").write_text(TWO_LEVELS)
    slowdust("import", "sysbench", folder, "--compat")
    measured = {
        (result["contender"], result["clients"], result["qps"])
        for result in report(slowdust, "a")["results"]
        if result["test"] == "hot-points.range100"
    }
    assert measured == {
        ("postgres@10.23:x10a_c8+o2", 1, 24279),
        ("postgres@17.4:x10a_c8+o2", 48, 976669),
    }
    printed = slowdust("report", "a", "--classic", "classic")
    assert "hot-points.range100 is" not in printed
    assert "X host CPU" not in printed
    assert Path("classic/o.met.1u.48u").read_text() == TWO_LEVELS


def test_relative_tables_of_several_numbers_of_clients_are_written_each_with_its_own(
    tmp_path: Path, slowdust: Slowdust
) -> None:
    folder = tmp_path / "a"
    folder.mkdir()
    for clients in range(1, 12):
        rows = f"1.{clients:02}\thot-points_range=100\n0.{clients:02}\tscan_range=100\n"
        text = f"Relative to: {RUN_A}\ncol-1 : {RUN_B}\n\ncol-1\n{rows}"
        (folder / f"qps.rel.ma.{clients}u.tsv").write_text(text)
    slowdust("import", "sysbench", folder, "--compat")
    slowdust("report", "a", "--classic", "classic")
    written = {path.name: path.read_text() for path in Path("classic").glob("*.tsv")}
    assert written == {path.name: path.read_text() for path in folder.iterdir()}


def test_a_renamed_table_of_hardware_is_read(tmp_path: Path, slowdust: Slowdust) -> None:
    write_archive(tmp_path / "raw", {RUN_A: [Written()], RUN_B: [Written(rate=1200.25)]})
    slowdust("import", "sysbench", "raw", "--compat")
    slowdust("report", "raw", "--classic", "made")
    folder = tmp_path / "a"
    folder.mkdir()
    (folder / "met.all.txt").write_text(Path("made/o.met").read_text())
    slowdust("import", "sysbench", folder, "--compat")
    actual = results(slowdust, "a")["hot-points.range100", "17.4"]
    assert (actual["clients"], actual["qps"]) == (8, 1200)
    assert actual["per_op"]["host_cs"] > 0


def test_rates_by_number_of_clients_are_of_those_that_other_runs_had(
    tmp_path: Path, slowdust: Slowdust
) -> None:
    folder = tmp_path / "a"
    for clients in (1, 2, 4):
        written = Written(rate=1000.5 * clients, dop=clients, without=frozenset({"r.qps"}))
        written.write(folder / RUN_A)
    block = "sb.r.qps.hot-points.range100.pk1"
    rows = f"{block}\n1000\t2001\t4001\t{RUN_A}\n1500\t3000\t6000\t{RUN_B}\n"
    unknown = f"\nsb.r.qps.point-query.range100.pk1\n1\t2\t{RUN_A}\n"
    (folder / "o.sum.rx.abs").write_text(rows + unknown)
    (folder / "o.sum.rx.rel").write_text(f"{block}\n1.50\t1.50\t1.50\t{RUN_B}\n")
    printed = slowdust("import", "sysbench", folder)
    assert mentions(printed, "o.sum.rx.abs: not used: 1 row ", "clients")
    block = f"{Fate.DIFFERS}: o.sum.rx.abs: hot-points.range100.pk1 of {RUN_A}"
    assert mentions(printed, block, "4001", "4002")
    rates = {
        result["clients"]: (result["qps"], result["rqps"])
        for result in report(slowdust, "a")["results"]
        if result["contender"].startswith("postgres@17.4")
    }
    assert rates == {
        clients: (1500 * clients, pytest.approx(1500 / 1000.5)) for clients in (1, 2, 4)
    }


def test_packed_run_directories_are_read(tmp_path: Path, slowdust: Slowdust) -> None:
    runs = {RUN_A: [Written()], RUN_B: [Written(rate=1200.25)]}
    write_archive(tmp_path / "raw", runs)
    slowdust("import", "sysbench", "raw")
    expected = results(slowdust, "raw")
    folder = write_archive(tmp_path / "a", runs)
    for run in (RUN_A, RUN_B):
        with tarfile.open(folder / f"{run}.tar.gz", "w:gz") as archive:
            archive.add(tmp_path / "raw" / run, run)
    printed = slowdust("import", "sysbench", folder)
    assert mentions(printed, f"skipped: {RUN_A}.tar.gz: packed", "directory")
    for path in [*folder.glob("*/*"), *(path for path in folder.iterdir() if path.is_dir())]:
        path.rmdir() if path.is_dir() else path.unlink()
    assert "skipped" not in slowdust("import", "sysbench", folder)
    assert results(slowdust, "a") == expected


def test_a_packed_run_that_is_damaged_or_leads_elsewhere_is_one_line(
    tmp_path: Path, slowdust: Slowdust
) -> None:
    folder = write_archive(tmp_path / "a", {RUN_A: [Written()]})
    (folder / f"{RUN_B}.tar.gz").write_bytes(b"\x1f\x8bnothing")
    with tarfile.open(folder / "x.pg96.tgz", "w:gz") as archive:
        archive.add(folder / RUN_A, "../../elsewhere")
    with tarfile.open(folder / "x.pg95.tar", "w") as archive:
        empty = tarfile.TarInfo("x.pg95")
        empty.type = tarfile.DIRTYPE
        archive.addfile(empty)
    with tarfile.open(folder / "logs.tar.gz", "w:gz") as archive:
        archive.add(folder / RUN_A, "logs")
    with tarfile.open(folder / "x.pg174_o2.x10a_c9.pk1.tgz", "w:gz") as archive:
        for path in (folder / RUN_A).iterdir():
            archive.add(path, path.name)
    printed = slowdust("import", "sysbench", folder)
    assert "a: 2 contenders, 1 test, 2 results" in printed
    assert "skipped: x.pg95.tar: packed" in printed
    assert "skipped: logs.tar.gz: " in printed
    assert f"skipped: {RUN_B}.tar.gz: " in printed
    assert mentions(printed, "skipped: x.pg96.tgz: ", "'../../elsewhere'")
    assert not list(tmp_path.parent.glob("elsewhere"))


def test_gigabytes_of_blanks_do_not_fill_the_memory(tmp_path: Path, slowdust: Slowdust) -> None:
    folder = write_archive(tmp_path / "a", {RUN_A: [Written()]})
    with gzip.open(folder / RUN_A / "sb.o.scan.range100.pk1.dop8.gz", "wb", 1) as bomb:
        for _ in range(256):
            bomb.write(b" " * (1 << 20))
    tracemalloc.start()
    printed = slowdust("import", "sysbench", folder)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert mentions(printed, "sb.o.scan.range100.pk1.dop8.gz: ", "64 MB")
    assert peak < 200 << 20


def test_the_oldest_version_is_the_base_however_files_are_named(
    tmp_path: Path, slowdust: Slowdust
) -> None:
    folder = tmp_path / "a"
    folder.mkdir()
    newer = "x.pg180_o2.x10a_c8.pk1"
    for name, runs, row in (("a", (newer, RUN_B), "10\t12"), ("z", (RUN_B, RUN_A), "12\t14")):
        columns = "".join(f"col-{place} : {run}\n" for place, run in enumerate(runs, 1))
        text = f"{columns}\n{row}\thot-points_range=100\n"
        (folder / f"qps.abs.{name}.tsv").write_text(text)
    printed = slowdust("import", "sysbench", folder, "--clients", "8")
    assert "the base is postgres@10.23:x10a_c8+o2" in printed
    contenders = [result["contender"] for result in report(slowdust, "a")["results"]]
    assert [name.partition(":")[0] for name in contenders] == [
        "postgres@10.23", "postgres@17.4", "postgres@18.0",
    ]  # fmt: skip


def test_tests_before_the_writes_are_a_group_of_their_own(
    tmp_path: Path, slowdust: Slowdust
) -> None:
    rows = {RUN_A: 1000.5, RUN_B: 1200.25}
    tests = ("hot-points", "hot-points.pre", "point-query")
    archive = write_archive(
        tmp_path / "a",
        {run: [Written(test=test, rate=rate) for test in tests] for run, rate in rows.items()},
    )
    slowdust("import", "sysbench", archive)
    printed = slowdust("report", "a", "--md")
    assert "Point queries (2 tests)" in printed
    assert "Before the writes (1 test)" in printed


def test_too_many_contenders_are_refused(tmp_path: Path, slowdust: Slowdust) -> None:
    folder = tmp_path / "a"
    folder.mkdir()
    runs = [f"x.pg{100_000 + number}_o2.c8.pk1" for number in range(501)]
    columns = "".join(f"col-{place} : {run}\n" for place, run in enumerate(runs, 1))
    rates = "\t".join(["100"] * len(runs))
    (folder / "qps.abs.x.tsv").write_text(f"{columns}\n{rates}\thot-points_range=100\n")
    printed = slowdust("import", "sysbench", folder, "--clients", "8", code=2)
    assert mentions(printed, "'a' has 501 contenders", "500")
