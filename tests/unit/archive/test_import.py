"""Archived runs become experiments: what is in them, what is not, and what is said of the rest."""

import gzip
import json
import os
from pathlib import Path

import pytest

from slowdust.archive import two_processes
from slowdust.store.folder import Folder, writing
from tests.unit.archive.command import Slowdust, report, results, slowdust
from tests.unit.archive.written import RUN_A, RUN_B, Written, write_archive
from tests.unit.synthetic import synthetic_experiment

__all__ = ["slowdust"]

OLD = Written(rate=1000.5, counters=(100, 110))
NEW = Written(rate=1200.25, counters=(90, 95), rss_kb=3_000_000)


def test_two_runs_are_one_experiment(tmp_path: Path, slowdust: Slowdust) -> None:
    archive = write_archive(tmp_path / "mar25.small", {RUN_A: [OLD], RUN_B: [NEW]})
    printed = slowdust("import", "sysbench", archive)
    assert printed.splitlines()[0] == (
        "mar25.small: 2 contenders, 1 test, 2 results, clean; the base is postgres@10.23:x10a_c8+o2"
    )
    assert "mar25.small  2025-03-04        imported (sysbench)" in slowdust("list")
    found = results(slowdust, "mar25.small")
    old, new = found["hot-points.range100", "10.23"], found["hot-points.range100", "17.4"]
    assert (old["qps"], new["qps"], old["unit"]) == (1000.5, 1200.25, "queries/s")
    assert (old["clients"], old["group"], old["slices"]) == (8, "point", 1)
    assert new["rqps"] == pytest.approx(1200.25 / 1000.5)
    assert old["latency_us"] == {"mean": 8000, "p95": 9250, "max": 20500}
    assert (old["peak_vsz_gb"], new["peak_rss_gb"]) == (
        pytest.approx(9_000_003 / 2**20), pytest.approx(3_000_000 / 2**20)
    )  # fmt: skip


@pytest.mark.parametrize(("cpus", "lines"), [(8, 1), (16, 2)])
def test_hosts_of_one_name_with_other_cpus_are_others(
    tmp_path: Path, slowdust: Slowdust, cpus: int, lines: int
) -> None:
    other = NEW.output().replace("8 CPUs", f"{cpus} CPUs")
    later = Written(rate=1300.0, extra={"o": other})
    newest = "x.pg184_o2.x10a_c8.pk1"
    slowdust("import", "sysbench", write_archive(tmp_path / "a", {RUN_A: [OLD], RUN_B: [NEW]}))
    slowdust("import", "sysbench", write_archive(tmp_path / "b", {RUN_B: [later], newest: [later]}))
    manifest = Folder(tmp_path / "results" / "b").read_manifest()
    assert (manifest.host["host"], manifest.host["CPUs"]) == ("box", str(cpus))
    assert len(json.loads(slowdust("history", "--json"))["lines"]) == lines


def test_one_run_has_neither_interval_nor_verdict(tmp_path: Path, slowdust: Slowdust) -> None:
    slowdust("import", "sysbench", write_archive(tmp_path / "a", {RUN_A: [OLD], RUN_B: [NEW]}))
    new = results(slowdust, "a")["hot-points.range100", "17.4"]
    assert new.keys().isdisjoint({"low", "high", "verdict"})
    assert new["flags"] == ["one run: no interval, no verdict"]
    text = slowdust("report", "a")
    assert "no verdict is possible" in text
    assert "None" not in slowdust("report", "a", "--md")


def test_hardware_is_clean_unless_the_published_one_is_asked_for(
    tmp_path: Path, slowdust: Slowdust
) -> None:
    archive = write_archive(tmp_path / "a", {RUN_A: [OLD], RUN_B: [NEW]})
    printed = slowdust("import", "sysbench", archive)
    # 60 samples of 40% and 4,000 switches, published as 64 of which one is 11% and 7, three are 0.
    assert "cpu/o 6.2% (6.2% to 6.2%) and cs/o 6.7% (6.7% to 6.7%) in 2 tests" in printed
    assert "left out: bus-cycles" in printed
    clean = results(slowdust, "a")["hot-points.range100", "10.23"]["per_op"]
    assert clean["host_cpu_us"] == pytest.approx(0.40 * 8 * 1e6 / 1000.5)
    assert clean["host_cs"] == pytest.approx(4000 / 1000.5)
    assert (clean["writes"], clean["host_write_kb"]) == (
        pytest.approx(12 / 1000.5), pytest.approx(96 / 1000.5)
    )  # fmt: skip
    slowdust("import", "sysbench", archive, "--compat", "--name", "b")
    printed = results(slowdust, "b")["hot-points.range100", "10.23"]
    published = 2411 / 64 / 1000.5
    assert printed["qps"] == 1000
    assert printed["per_op"]["host_cpu_us"] == pytest.approx(float(f"{published:.6f}") * 8 * 1e4)
    assert printed["per_op"]["host_cs"] == float(f"{240_007 / 64 / 1000.5:.3f}")


def test_counters_are_compared_per_query(tmp_path: Path, slowdust: Slowdust) -> None:
    slowdust("import", "sysbench", write_archive(tmp_path / "a", {RUN_A: [OLD], RUN_B: [NEW]}))
    new = results(slowdust, "a")["hot-points.range100", "17.4"]
    relative = new["counters_relative"]
    assert next(iter(relative)) == "GHz"
    assert relative["GHz"] == relative["ipc"] == 1
    assert relative["instructions"] == pytest.approx(90 / 1200.25 / (100 / 1000.5))
    assert "bus-cycles" not in relative
    assert new["counters"]["of_one_process"]
    slowdust("report", "a", "--html", "page.html")
    page = Path("page.html").read_text()
    assert "Counters per query, relative" in page
    assert "down 25%" in page


def test_another_clock_rate_is_said(tmp_path: Path, slowdust: Slowdust) -> None:
    slower = {"perf.hw.1": Written.perf(90).replace("2.705 GHz", "2.405 GHz")}
    fast, slow = OLD, Written(rate=900.0, counters=(90,), extra=slower)
    slowdust("import", "sysbench", write_archive(tmp_path / "a", {RUN_A: [fast], RUN_B: [slow]}))
    flags = results(slowdust, "a")["hot-points.range100", "17.4"]["flags"]
    assert any(flag.startswith("clock rate down 11%") for flag in flags)


def test_a_rate_is_that_of_sb_met_where_sb_o_is_missing(tmp_path: Path, slowdust: Slowdust) -> None:
    bare = Written(rate=1100.75, without=frozenset({"o", "vm", "io", "ps", "r.qps"}))
    archive = write_archive(tmp_path / "a", {RUN_A: [OLD], RUN_B: [bare]})
    printed = slowdust("import", "sysbench", archive)
    assert "sb.o is missing: the rate is that of sb.met: 1 result, hot-points.range100" in printed
    found = results(slowdust, "a")
    old, bare_one = found["hot-points.range100", "10.23"], found["hot-points.range100", "17.4"]
    assert bare_one["qps"] == 1100.75
    assert bare_one["latency_us"] == {"mean": 7990, "p95": 9100}
    assert "peak_rss_gb" not in bare_one
    # Its cpu/o is the published one, so the other's has to be, too.
    assert bare_one["per_op"]["host_cpu_us"] == pytest.approx(0.00038081 * 8 * 1e6)
    assert old["per_op"]["host_cs"] == float(f"{240_007 / 64 / 1000.5:.3f}")
    assert any("are the published ones" in flag for flag in old["flags"])


def test_a_rate_is_that_of_the_rounded_one_where_there_is_no_other(
    tmp_path: Path, slowdust: Slowdust
) -> None:
    bare = Written(rate=1100.75, without=frozenset({"o", "vm", "io", "ps", "met"}))
    write_archive(tmp_path / "a", {RUN_A: [Written(test="point-query")], RUN_B: [bare]})
    printed = slowdust("import", "sysbench", tmp_path / "a")
    assert "*.hot-points.range100.pk1: the number of clients is not known" in printed
    slowdust("import", "sysbench", tmp_path / "a", "--clients", "8")
    assert results(slowdust, "a")["hot-points.range100", "17.4"]["qps"] == 1101


def test_rates_of_scan_in_different_units_are_not_compared(
    tmp_path: Path, slowdust: Slowdust
) -> None:
    raw = Written(test="scan", rate=11.25, extra={"r.qps": "125\tpgsql scan range=100\n"})
    bare = Written(test="scan", rate=125.0, without=frozenset({"o", "vm", "io", "ps"}))
    raw.extra["met"] = raw.met().replace("\t11.25", "\t125")
    archive = write_archive(tmp_path / "nov25", {RUN_A: [raw], RUN_B: [bare]})
    printed = slowdust("import", "sysbench", archive)
    assert "published rates are of one thread, which reproduces the published rates" in printed
    found = results(slowdust, "nov25")
    old, new = found["scan.range100", "10.23"], found["scan.range100", "17.4"]
    assert (old["qps"], old["unit"]) == (11.25, "thousand rows/s")
    assert (new["qps"], new["unit"]) == (125, "thousand rows/s of one thread")
    assert new.keys().isdisjoint({"rqps", "per_op_relative", "counters_relative"})
    assert any(flag.startswith("not compared: thousand rows/s of one") for flag in new["flags"])
    slowdust("import", "sysbench", archive, "--compat")
    assert results(slowdust, "nov25")["scan.range100", "17.4"]["rqps"] == 1
    printed = slowdust("import", "sysbench", archive, "--scan", "all-threads")
    assert "published rates are of all threads, as asked for" in printed


def test_hardware_of_all_threads_is_not_divided_by_the_rate_of_one(
    tmp_path: Path, slowdust: Slowdust
) -> None:
    def bare(dop: int) -> Written:
        no_rate = frozenset({"o", "r.qps"})
        return Written(test="scan", rate=125.0, dop=dop, without=no_rate)

    raw = Written(rate=1000.5)
    archive = write_archive(tmp_path / "nov25", {RUN_A: [raw, bare(8), bare(1)]})
    (archive / "o.met").write_text(TABLE.replace("point-query.range100", "scan.range10"))
    found: dict[bool, dict[tuple[str, int], bool]] = {}
    for compat in (False, True):
        mode = ["--compat"] if compat else []
        slowdust("import", "sysbench", archive, "--scan", "one-thread", *mode)
        several = report(slowdust, "nov25")["results"]
        found[compat] = {(one["test"], one["clients"]): bool(one.get("per_op")) for one in several}
        flags = [flag for one in several for flag in one["flags"]]
        told = sum("and the rate that of one" in flag for flag in flags)
        assert told == (0 if compat else 3)
    assert all(found[True].values())
    assert {key for key, there in found[False].items() if not there} == {
        ("scan.range100", 8), ("scan.range10", 64)
    }  # fmt: skip


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
    strange = "qps.abs.x.tsv: lines that are no part of a table, left out: '-> by hand'"
    assert f"  used in part: {strange}" in printed.splitlines()
    assert "o.met.empty: empty" in skipped
    assert "qps.abs.gone.tsv: no regular file" in skipped
    assert f"{RUN_A}/sb.vm.pipe.range100.pk1.dop8: no regular file" in skipped
    assert "qps.rel.alone.tsv: no rows" in skipped
    assert "  1 file of the other kind: `slowdust import iibench` reads them" in printed
    differing = "qps.abs.x.tsv: hot-points_range=100 of x.pg1023_o2.x10a_c8.pk1, 1001 there, 1000"
    assert f"  differs from what it is made of: {differing} from the run's files" in printed
    found = results(slowdust, "a")
    assert found["hot-points.range100", "17.4"]["rqps"] > 1.1
    assert found["lost.range100", "10.23"]["qps"] == 7
    shown = slowdust("show", "a")
    assert "skipped: o.met.empty: empty" in shown
    assert f"used in part: {strange}" in shown


@pytest.mark.parametrize("name", [b"sb.o.\xff", b"sb.o.a\nb", b"qps.abs.\xff.tsv"])
def test_files_whose_names_are_no_text_are_skipped(
    tmp_path: Path, slowdust: Slowdust, name: bytes
) -> None:
    archive = write_archive(tmp_path / "a", {RUN_A: [OLD], RUN_B: [NEW]})
    strange = Path(os.fsdecode(os.fsencode(archive / RUN_A) + b"/" + name))
    strange.parent.mkdir(exist_ok=True)
    strange.write_bytes(b"1")
    printed = slowdust("import", "sysbench", archive)
    told = name.decode(errors="backslashreplace").replace("\n", "\\n")
    assert f"skipped: {RUN_A}/{told}: its name is no UTF-8, or has control characters" in printed
    assert f"skipped: {RUN_A}/{told}: " in slowdust("show", "a")
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
    assert printed.count("not a file of a run of sysbench") == 21
    assert "skipped: 10 more: not a file" in printed


def test_only_foreign_files_are_no_experiment(tmp_path: Path, slowdust: Slowdust) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "notes.txt").write_text("x")
    printed = slowdust("import", "sysbench", tmp_path / "a", code=1)
    assert "skipped: a/notes.txt: not a file of a run of sysbench" in printed
    assert printed.splitlines()[-1] == "nothing was found that an experiment could be made of"
    assert slowdust("list") == ""


TABLE = """\
sb.prepare.met.point-query.warm.range100.pk1
--- absolute
cpu/o\t\tcs/o\tr/o\trKB/o\twKB/o\to/s\tdbms
0.000025\t0.192\t0\t0\t1.235\t95454\tx.my8040_je.z_c8.pk1
0.000024\t0.190\t0\t0\t1.236\t96015\tx.my8040_tc.z_c8.pk1

sb.met.point-query.range100.pk1.dop64
--- absolute
cpu/o\t\tcs/o\tr/o\trKB/o\twKB/o\to/s\tdbms
0.000250\t1.5\t0\t0\t0\t1000\tx.my8040_je.z_c8.pk1
0.000200\t1.5\t0\t0\t0\t1300\tx.my8040_tc.z_c8.pk1
"""
RATES = """\
col-1 : x.my8040_je.z_c8.pk1
col-2 : x.my8040_tc.z_c8.pk1

col-1\tcol-2
1000\t1300\tpoint-query_range=100
20\t30\tscan_range=100
\t5\tinsert_range=100
"""


def test_tables_alone_are_an_experiment_of_what_they_have(
    tmp_path: Path, slowdust: Slowdust
) -> None:
    below = tmp_path / "apr25" / "tables"
    below.mkdir(parents=True)
    (tmp_path / "apr25" / "o.met.x").write_text(TABLE)
    (below / "qps.abs.x.tsv").write_text(RATES)
    printed = slowdust("import", "sysbench", tmp_path / "apr25")
    assert printed.splitlines()[0].startswith("apr25: 2 contenders, 4 tests, 7 results, clean")
    slowdust("report", "apr25", "--classic", "classic")
    rates = Path("classic/tables/qps.abs.x.tsv").read_text()
    assert rates == RATES
    assert "from a table alone" in printed
    found = {
        (one["test"], one["contender"][-2:]): one for one in report(slowdust, "apr25")["results"]
    }
    point, scan = found["point-query.range100", "tc"], found["scan.range100", "tc"]
    assert (point["qps"], point["rqps"], point["clients"]) == (1300, pytest.approx(1.3), 64)
    # Nothing says how many CPUs there were: the time is that of all of them.
    assert point["per_op"]["host_share_us"] == pytest.approx(2.0)
    assert "host_cpu_us" not in point["per_op"]
    assert point.keys().isdisjoint({"latency_us", "measured_s", "peak_rss_gb", "counters"})
    assert (scan["unit"], scan["clients"]) == ("thousand rows/s", 64)
    lone = found["insert.range100", "tc"]
    assert (lone["qps"], lone["flags"][-1]) == (5, "not compared: the base has no rate here")
    assert found["load", "je"]["group"] == "load and warm-up"


def test_a_table_of_rates_alone_needs_the_number_of_clients(
    tmp_path: Path, slowdust: Slowdust
) -> None:
    for name in ("b", "dop4"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "qps.abs.x.tsv").write_text(RATES)
    printed = slowdust("import", "sysbench", tmp_path / "b", code=1)
    assert "qps.abs.x.tsv: the number of clients is not known: give --clients" in printed
    slowdust("import", "sysbench", tmp_path / "b", "--clients", "4")
    assert report(slowdust, "b")["results"][0]["clients"] == 4
    slowdust("import", "sysbench", tmp_path / "dop4", "--name", "c")
    assert report(slowdust, "c")["results"][0]["clients"] == 4


def test_several_directories_are_several_experiments(tmp_path: Path, slowdust: Slowdust) -> None:
    for name in ("mar25/dop1", "mar25/dop8", "apr25"):
        write_archive(tmp_path / "all" / name, {RUN_A: [OLD], RUN_B: [NEW]})
    slowdust("import", "sysbench", tmp_path / "all")
    assert {line.split()[0] for line in slowdust("list").splitlines()} == {
        "apr25", "mar25-dop1", "mar25-dop8"
    }  # fmt: skip
    slowdust("import", "sysbench", tmp_path / "all" / "mar25", "--name", "x", "--results", "other")
    listed = slowdust("list", "--results", "other").splitlines()
    assert {line.split()[0] for line in listed} == {"x-mar25-dop1", "x-mar25-dop8"}
    slowdust("import", "sysbench", tmp_path / "all/apr25" / RUN_A, "--name", "one")
    assert [one["slices"] for one in report(slowdust, "one")["results"]] == [1]


def test_an_import_is_replaced_and_a_measurement_is_not(
    tmp_path: Path, slowdust: Slowdust, monkeypatch: pytest.MonkeyPatch
) -> None:
    archive = write_archive(tmp_path / "a", {RUN_A: [OLD], RUN_B: [NEW]})
    slowdust("import", "sysbench", archive)
    slowdust("import", "sysbench", archive)
    assert len(Folder(tmp_path / "results" / "a").read_slices()) == 2
    manifest, _ = synthetic_experiment(["a@1", "a@2"], ["point-query"], seed=1)
    with writing(Folder(tmp_path / "results" / "measured")) as writer:
        writer.write_manifest(manifest)
    complaint = slowdust("import", "sysbench", archive, "--name", "measured", code=2)
    assert "'measured' in results is no import, and is not replaced by" in complaint
    assert "choose another --name" in complaint


@pytest.mark.parametrize("name", ["../x", "", "a/b", ".", "..", "-x", "a b", "a\n"])
@pytest.mark.parametrize("kind", ["sysbench", "iibench"])
def test_an_import_stays_in_the_results_folder(
    tmp_path: Path, slowdust: Slowdust, name: str, kind: str
) -> None:
    archive = write_archive(tmp_path / "a", {RUN_A: [OLD]})
    complaint = slowdust("import", kind, archive, f"--name={name}", code=2)
    assert "is no name of an experiment: letters, digits and ._@+- only" in complaint
    assert {path.name for path in tmp_path.iterdir()} == {"a"}


def test_two_processes_read_what_one_reads(
    tmp_path: Path, slowdust: Slowdust, monkeypatch: pytest.MonkeyPatch
) -> None:
    tests = [Written(test=f"test-{letter}", rate=1000.0 + n) for n, letter in enumerate("abcde")]
    archive = write_archive(tmp_path / "a", {RUN_A: tests, RUN_B: tests})
    slowdust("import", "sysbench", archive, "--name", "one")
    monkeypatch.setattr(two_processes, "_WORTH_A_PROCESS", 0)
    slowdust("import", "sysbench", archive, "--name", "two")
    one, two = (Path("results", name, "slices.ndjson").read_text() for name in ("one", "two"))
    assert one == two
    assert len(one.splitlines()) == 10
    assert json.loads(one.splitlines()[0])["qps"] == 1000.0


def test_rates_of_several_numbers_of_clients_are_told_apart_by_their_order(
    tmp_path: Path, slowdust: Slowdust
) -> None:
    bare = frozenset({"o", "vm", "io", "ps"})
    few = Written(rate=100.25, dop=1, without=bare, counters=(5,))
    many = Written(rate=700.5, dop=8, without=bare)
    archive = write_archive(tmp_path / "a", {RUN_A: [few, many]})
    rates = archive / RUN_A / "sb.r.rtavg.hot-points.range100.pk1"
    rates.write_text("1.5\t9.5\tpgsql hot-points range=100\n")
    printed = slowdust("import", "sysbench", archive)
    told = {
        one["clients"]: (one["qps"], one["latency_us"].get("mean"))
        for one in report(slowdust, "a")["results"]
    }
    assert told == {1: (100.25, 1500), 8: (700.5, 9500)}
    # One rate for two numbers of clients, and counters of one of them, tell nothing.
    assert "1 rate for 2 numbers of clients" in printed
    assert "perf.hw.hot-points.range100.pk1.1: of which of 2 numbers of clients it is" in printed
