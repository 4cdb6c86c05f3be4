"""Broken, foreign or oddly named files do not stop an import; each has a line."""

import gzip
import os
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from slowdust.store.manifest import Fate
from tests.unit.archive.command import Slowdust, mentions, report, results, slowdust
from tests.unit.archive.sysbench_files import RUN_A, RUN_B, Written, write_archive

__all__ = ["slowdust"]

OLD = Written(rate=1000.5)
NEW = Written(rate=1200.25)


BROKEN = {
    "sb.o.scan.range100.pk1.dop8": b"",
    "sb.vm.scan.range100.pk1.dop8": b"nothing\n",
    "sb.io.scan.range100.pk1.dop8.gz": gzip.compress(b"x" * 5000)[:20],
    "sb.met.insert.range100.pk1.dop8": b"iostat, vmstat normalized\nsamp\tr/s\n",
    "notes.txt": b"mine",
    "sb.r.qps.delete.range100.pk1": b"1\t2\t3\tpgsql delete range=100\n",
}


@pytest.mark.parametrize("mode", [[], ["--compat"]])
def test_nothing_broken_stops_an_import(
    tmp_path: Path, slowdust: Slowdust, mode: list[str]
) -> None:
    archive = write_archive(tmp_path / "a", {RUN_A: [OLD], RUN_B: [NEW]})
    for name, content in BROKEN.items():
        (archive / RUN_B / name).write_bytes(content)
    (archive / "qps.abs.x.tsv").write_text(
        f"col-1 : {RUN_A}\n\ncol-1\n1001\thot-points_range=100\n-> by hand\n7\tlost_range=100\n"
    )
    (archive / "o.met.x").write_text("sb.met.hot-points.range100.pk1.dop8\n--- absolute\ncpu/o\t\t")
    (archive / "o.met.empty").write_text("")
    (archive / "qps.rel.alone.tsv").write_text("Relative to: x\n")
    (archive / "o.sum.t").write_text("1\t2\n")
    (archive / "qps.abs.gone.tsv").symlink_to("nowhere")
    (archive / RUN_B / "sb.o.gone.range100.pk1.dop8").symlink_to("nowhere")
    os.mkfifo(archive / RUN_A / "sb.vm.pipe.range100.pk1.dop8")
    printed = slowdust("import", "sysbench", archive, *mode)
    skipped = [
        line.removeprefix("  skipped: ") for line in printed.splitlines() if "skipped" in line
    ]
    for name in BROKEN:
        assert sum(line.startswith(f"{RUN_B}/{name}: ") for line in skipped) == 1, name
    assert mentions(printed, "  used in part: qps.abs.x.tsv: ", "'-> by hand'")
    assert "o.met.empty: empty" in skipped
    for name in ("qps.abs.gone.tsv", f"{RUN_A}/sb.vm.pipe.range100.pk1.dop8"):
        assert mentions(printed, f"  skipped: {name}: ", "regular file")
    assert mentions(printed, "  skipped: qps.rel.alone.tsv: ", "rows")
    assert "of iibench 1" in printed
    assert mentions(
        printed, f"  {Fate.DIFFERS}: qps.abs.x.tsv: hot-points_range=100 of {RUN_A}", "1001", "1000"
    )
    actual = results(slowdust, "a")
    assert actual["hot-points.range100", "17.4"]["rqps"] > 1.1
    assert actual["lost.range100", "10.23"]["qps"] == 7
    shown = slowdust("show", "a")
    assert "skipped: o.met.empty: empty" in shown
    assert mentions(shown, "used in part: qps.abs.x.tsv: ", "'-> by hand'")


@pytest.mark.parametrize(
    ("kind", "other"),
    [
        ("o", NEW.output()),
        ("vm", Written(cpu=80).vmstat()),
        ("r.qps", "1\tmysql hot-points range=100\n"),
        ("perf.hw.1", NEW.perf(7)),
    ],
)
def test_of_a_plain_file_and_a_compressed_one_the_plain_one_is_used(
    tmp_path: Path, slowdust: Slowdust, kind: str, other: str
) -> None:
    archive = write_archive(tmp_path / "a", {RUN_A: [Written(counters=(100, 110))]})
    printed = slowdust("import", "sysbench", archive)
    assert ".gz" not in printed
    slices = Path("results/a/slices.ndjson").read_text(encoding="utf-8")
    end = ".1" if kind == "perf.hw.1" else ".dop8" if kind in {"o", "vm"} else ""
    plain = f"sb.{kind.removesuffix('.1')}.{OLD.common}{end}"
    (archive / RUN_A / f"{plain}.gz").write_bytes(gzip.compress(other.encode()))
    printed = slowdust("import", "sysbench", archive)
    assert mentions(printed, f"skipped: {RUN_A}/{plain}.gz: ", "plain")
    assert Path("results/a/slices.ndjson").read_text(encoding="utf-8") == slices
    (archive / RUN_A / plain).write_bytes(b"")
    printed = slowdust("import", "sysbench", archive)
    assert f"skipped: {RUN_A}/{plain}.gz" not in printed
    assert Path("results/a/slices.ndjson").read_text(encoding="utf-8") != slices


def test_a_load_is_of_one_test(tmp_path: Path, slowdust: Slowdust) -> None:
    archive = write_archive(tmp_path / "a", {RUN_A: [OLD]})
    for test in ("point-query", "scan"):
        (archive / RUN_A / f"sb.prepare.o.{test}.range100.pk1").write_text(
            "Load seconds is 596 for 8 tables, .134 Mips, 134228 ips\n"
        )
    printed = slowdust("import", "sysbench", archive)
    assert mentions(
        printed,
        f"skipped: {RUN_A}/sb.prepare.o.scan.range100.pk1: ",
        "sb.prepare.o.point-query.range100.pk1",
    )


@pytest.mark.parametrize("name", [b"sb.o.\xff", b"sb.o.a\nb", b"qps.abs.\xff.tsv"])
def test_files_whose_names_are_no_text_are_skipped(
    tmp_path: Path, slowdust: Slowdust, name: bytes
) -> None:
    archive = write_archive(tmp_path / "a", {RUN_A: [OLD], RUN_B: [NEW]})
    strange = Path(os.fsdecode(os.fsencode(archive / RUN_A) + b"/" + name))
    strange.parent.mkdir(exist_ok=True)
    strange.write_bytes(b"1")
    printed = slowdust("import", "sysbench", archive)
    expected = name.decode(errors="backslashreplace").replace("\n", "\\n")
    assert mentions(printed, f"skipped: {RUN_A}/{expected}: ", "UTF-8")
    assert f"skipped: {RUN_A}/{expected}: " in slowdust("show", "a")
    assert len(results(slowdust, "a")) == 2


def test_an_archive_whose_own_name_is_no_text_is_imported(
    tmp_path: Path, slowdust: Slowdust
) -> None:
    home = tmp_path / os.fsdecode(b"my\xff runs")
    slowdust("import", "sysbench", write_archive(home, {RUN_A: [OLD], RUN_B: [NEW]}))
    assert len(results(slowdust, "my-xff-runs")) == 2
    (home / RUN_A).rename(home / os.fsdecode(b"\xff"))
    slowdust("import", "sysbench", home / os.fsdecode(b"\xff"), "--name", "run")
    assert report(slowdust, "run")["contenders"] == ["\\xff"]


def test_many_files_skipped_for_one_reason_are_counted(tmp_path: Path, slowdust: Slowdust) -> None:
    archive = write_archive(tmp_path / "a", {RUN_A: [OLD]})
    for number in range(30):
        (archive / RUN_A / f"note{number}").write_text("x")
    printed = slowdust("import", "sysbench", archive)
    first = f": {RUN_A}/note0, {RUN_A}/note1, {RUN_A}/note10 and 27 more"
    assert mentions(printed, "skipped 30 times: ", first)
    assert printed.count("skipped") == 1
    assert slowdust("show", "a").count("skipped: ") == 30


def test_unneeded_kinds_of_files_fit_one_line(tmp_path: Path, slowdust: Slowdust) -> None:
    archive = write_archive(tmp_path / "a", {RUN_A: [OLD]})
    for number in range(900):
        (archive / RUN_A / f"sb.ls{number % 30:c<9}.x{number}".replace("0", "z")).write_text("x")
        (archive / RUN_A / f"sb.lsh.{number}.delete.range100.pk1").write_text("x")
    printed = slowdust("import", "sysbench", archive)
    assert "sb.lsh 900" in printed
    assert "other kinds" in printed
    assert max(map(len, printed.splitlines())) < 400


def test_only_foreign_files_are_no_experiment(
    tmp_path: Path, slowdust: Slowdust, snapshot: SnapshotAssertion
) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "notes.txt").write_text("x")
    printed = slowdust("import", "sysbench", tmp_path / "a", code=1)
    assert "skipped: a/notes.txt: " in printed
    assert printed.splitlines()[-1] == snapshot
    assert slowdust("list") == ""


@pytest.mark.parametrize("rate", ["0.00", "-1000.50"])
def test_an_output_without_a_rate_is_useless(tmp_path: Path, slowdust: Slowdust, rate: str) -> None:
    result = Written(rate=1000.5)
    result.extra["o"] = result.output().replace("1000.50 per sec", f"{rate} per sec")
    printed = slowdust("import", "sysbench", write_archive(tmp_path / "a", {RUN_A: [result]}))
    assert mentions(printed, f"  skipped: {RUN_A}/sb.o.{result.common}.dop8: ", f"{rate}/s")
    assert mentions(printed, "sb.o ", "sb.met: 1 result, hot-")
    assert results(slowdust, "a")["hot-points.range100", "10.23"]["qps"] == 1000.5


def test_samples_of_processes_that_end_in_a_line_are_reported(
    tmp_path: Path, slowdust: Slowdust
) -> None:
    result = Written()
    result.extra["ps"] = result.processes()[:-40]
    printed = slowdust("import", "sysbench", write_archive(tmp_path / "a", {RUN_A: [result]}))
    assert f"  used in part: {RUN_A}/sb.ps.{result.common}.dop8.gz: truncated " in printed
    assert results(slowdust, "a")["hot-points.range100", "10.23"]["peak_rss_gb"] > 0


@pytest.mark.parametrize("kind", ["met", "perf.hw.1.raw"])
def test_files_that_end_in_a_number_are_torn(tmp_path: Path, slowdust: Slowdust, kind: str) -> None:
    """The number may have had more digits."""
    result = Written(without=frozenset({"vm"}))
    archive = write_archive(tmp_path / "a", {RUN_A: [result]})
    name = f"sb.met.{result.common}.dop8" if kind == "met" else f"sb.perf.hw.{result.common}.1.raw"
    content = result.met()[:-3] if kind == "met" else "cycles\t100\nfaults\t1"
    (archive / RUN_A / name).write_text(content)
    printed = slowdust("import", "sysbench", archive)
    assert f"  skipped: {RUN_A}/{name}: torn" in printed.splitlines()


def test_names_that_are_almost_those_of_a_run_are_foreign(
    tmp_path: Path, slowdust: Slowdust
) -> None:
    archive = write_archive(tmp_path / "a", {RUN_A: [OLD]})
    foreign = [
        "sb.met.d\u00e9l\u00e8te.range100.pk1.dop8",
        "sb.met.<script>alert(1)<",
        "sb.o.hot-points.range100.pk1.dop8.bak",
    ]
    for name in [*foreign, "sb.o.pgvac", "sb.perf.rep.x.hot-points.range100.pk1.dop8.1"]:
        (archive / RUN_A / name).write_text(OLD.met())
    printed = slowdust("import", "sysbench", archive)
    skipped = [line for line in printed.splitlines() if "skipped" in line]
    assert len(skipped) == len(foreign)
    for name in foreign:
        assert mentions(printed, f"  skipped: {RUN_A}/{name}: ", "sb.KIND.TEST.rangeN.pk1[.dopN]")
    assert "sb.o.pgvac 1" in printed


@pytest.mark.parametrize("cell", ["1e-320", "1e308", "inf"])
def test_impossible_rates_are_skipped(tmp_path: Path, slowdust: Slowdust, cell: str) -> None:
    (tmp_path / "a").mkdir()
    table = f"col-1 : {RUN_A}\n\ncol-1\n{cell}\tscan_range=100\n7\thot-points_range=100\n"
    (tmp_path / "a" / "qps.abs.x.tsv").write_text(table)
    printed = slowdust("import", "sysbench", tmp_path / "a", "--clients", "8")
    assert mentions(printed, "qps.abs.x.tsv: ", f"'{cell}")
    assert set(results(slowdust, "a")) == {("hot-points.range100", "10.23")}


def test_an_output_that_is_torn_after_its_rate_keeps_what_is_whole(
    tmp_path: Path, slowdust: Slowdust
) -> None:
    bare = frozenset({"r.rtavg", "r.rt95"})
    runs = {RUN_A: [OLD], RUN_B: [Written(rate=1200.25, without=bare)]}
    archive = write_archive(tmp_path / "a", runs)
    (output,) = (archive / RUN_B).glob("sb.o.*")
    whole = output.read_text()
    output.write_text(whole[: whole.index("20.50") + 1])
    printed = slowdust("import", "sysbench", archive)
    assert f"used in part: {RUN_B}/{output.name}: truncated " in printed
    torn = results(slowdust, "a")["hot-points.range100", "17.4"]
    assert torn["qps"] == 1200.25
    assert torn["latency_us"] == {"mean": 8000.0}


def test_joined_counters_alone_say_why_they_are_not_used(
    tmp_path: Path, slowdust: Slowdust
) -> None:
    (tmp_path / "a").mkdir()
    name = f"join1.abs.x.sb.perf.hw.{OLD.common}.1.sorted"
    (tmp_path / "a" / name).write_text("cycles 100 110\n")
    printed = slowdust("import", "sysbench", tmp_path / "a", code=1)
    assert f"skipped: a/{name}: " in printed
