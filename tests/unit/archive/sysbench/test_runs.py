"""Archived runs become experiments: their content, and notes on everything else."""

import json
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from slowdust.archive import files
from slowdust.store.folder import Folder
from tests.unit.archive.command import Slowdust, mentions, report, results, slowdust
from tests.unit.archive.sysbench_files import RUN_A, RUN_B, TABLE, Written, write_archive

__all__ = ["slowdust"]

OLD = Written(rate=1000.5, counters=(100, 110))
NEW = Written(rate=1200.25, counters=(90, 95), rss_kb=3_000_000)


def test_two_runs_are_one_experiment(tmp_path: Path, slowdust: Slowdust) -> None:
    archive = write_archive(tmp_path / "mar25.small", {RUN_A: [OLD], RUN_B: [NEW]})
    printed = slowdust("import", "sysbench", archive)
    assert printed.splitlines()[0] == (
        "mar25.small: 2 contenders, 1 test, 2 results, clean; the base is postgres@10.23:x10a_c8+o2"
    )
    assert "mar25.small  2025-03-04  imported (sysbench)" in slowdust("list")
    actual = results(slowdust, "mar25.small")
    old, new = actual["hot-points.range100", "10.23"], actual["hot-points.range100", "17.4"]
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


def test_one_run_has_neither_interval_nor_verdict(
    tmp_path: Path, slowdust: Slowdust, snapshot: SnapshotAssertion
) -> None:
    slowdust("import", "sysbench", write_archive(tmp_path / "a", {RUN_A: [OLD], RUN_B: [NEW]}))
    new = results(slowdust, "a")["hot-points.range100", "17.4"]
    assert new.keys().isdisjoint({"low", "high", "verdict"})
    assert new["notes"] == snapshot
    text = slowdust("report", "a")
    assert "without significance" in text
    assert "None" not in slowdust("report", "a", "--md")


def test_hardware_is_clean_unless_the_published_one_is_asked_for(
    tmp_path: Path, slowdust: Slowdust
) -> None:
    archive = write_archive(tmp_path / "a", {RUN_A: [OLD], RUN_B: [NEW]})
    printed = slowdust("import", "sysbench", archive)
    # 60 samples of 40% and 4,000 switches; published as 64, with one of 11% and 7 and three of 0.
    assert mentions(printed, "cpu/o 6.2% (6.2% to 6.2%)", "cs/o 6.7% (6.7% to 6.7%)", "1 test")
    assert "are excluded: bus-cycles" in printed
    clean = results(slowdust, "a")["hot-points.range100", "10.23"]["per_op"]
    assert clean["host_cpu_us"] == pytest.approx(0.40 * 8 * 1e6 / 1000.5)
    assert clean["host_cs"] == pytest.approx(4000 / 1000.5)
    assert (clean["writes"], clean["host_write_kb"]) == (
        pytest.approx(12 / 1000.5), pytest.approx(96 / 1000.5)
    )  # fmt: skip
    slowdust("import", "sysbench", archive, "--compat", "--name", "b")
    result = results(slowdust, "b")["hot-points.range100", "10.23"]
    published = 2411 / 64 / 1000.5
    assert result["qps"] == 1000
    assert result["per_op"]["host_cpu_us"] == pytest.approx(float(f"{published:.6f}") * 8 * 1e4)
    assert result["per_op"]["host_cs"] == float(f"{240_007 / 64 / 1000.5:.3f}")


def test_published_numbers_are_not_said_to_be_higher_than_these(
    tmp_path: Path, slowdust: Slowdust
) -> None:
    cold = Written(rate=1200.25, without=frozenset({"vm"}))
    archive = write_archive(tmp_path / "a", {RUN_A: [OLD], RUN_B: [cold]})
    printed = slowdust("import", "sysbench", archive)
    assert "higher than published" not in printed
    assert all(
        any(note.startswith("cpu/o and cs/o ") for note in result["notes"])
        for result in report(slowdust, "a")["results"]
    )
    both = {RUN_A: [Written(test="scan", rate=11.25)], RUN_B: [Written(test="scan", rate=13.75)]}
    printed = slowdust("import", "sysbench", write_archive(archive, both))
    assert "higher than published: cpu/o 6.2% (6.2% to 6.2%)" in printed
    assert " in 1 test, because" in printed
    printed = slowdust("import", "sysbench", archive, "--compat", "--name", "b")
    assert "clean numbers would be higher: cpu/o 6.2%" in printed
    assert " in 1 test, because" in printed


def test_published_numbers_of_a_table_are_not_compared_with_clean_ones(
    tmp_path: Path, slowdust: Slowdust
) -> None:
    archive = write_archive(tmp_path / "a", {RUN_A: [OLD, Written(test="scan", rate=11.25)]})
    row = f"0.037653\t3.748\t0\t0\t0.096\t1200\t{RUN_B}"
    table = TABLE.partition("\n\n")[0].splitlines()[:3]
    block = "\n".join([f"sb.met.{OLD.common}.dop8", *table[1:], row])
    (archive / "o.met").write_text(f"{block}\n")
    printed = slowdust("import", "sysbench", archive)
    assert " in 1 test, because" in printed
    actual = results(slowdust, "a")
    old, new = actual["hot-points.range100", "10.23"], actual["hot-points.range100", "17.4"]
    assert old["per_op"]["host_cpu_us"] == pytest.approx(new["per_op"]["host_cpu_us"])
    assert any("are as published" in note for note in old["notes"])
    scan = actual["scan.range100", "10.23"]
    assert not any("are as published" in note for note in scan["notes"])


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
    page = Path("page.html").read_text(encoding="utf-8")
    assert "Counters per query, relative" in page
    assert "down 25%" in page


def test_another_clock_rate_is_said(tmp_path: Path, slowdust: Slowdust) -> None:
    slower = {"perf.hw.1": Written.perf(90).replace("2.705 GHz", "2.405 GHz")}
    fast, slow = OLD, Written(rate=900.0, counters=(90,), extra=slower)
    slowdust("import", "sysbench", write_archive(tmp_path / "a", {RUN_A: [fast], RUN_B: [slow]}))
    notes = results(slowdust, "a")["hot-points.range100", "17.4"]["notes"]
    assert any(note.startswith("clock rate down 11%") for note in notes)


def test_a_rate_matches_sb_met_where_sb_o_is_missing(tmp_path: Path, slowdust: Slowdust) -> None:
    bare = Written(rate=1100.75, without=frozenset({"o", "vm", "io", "ps", "r.qps"}))
    archive = write_archive(tmp_path / "a", {RUN_A: [OLD], RUN_B: [bare]})
    printed = slowdust("import", "sysbench", archive)
    assert mentions(printed, "sb.o ", "sb.met: 1 result, hot-points.range100")
    actual = results(slowdust, "a")
    old, bare_one = actual["hot-points.range100", "10.23"], actual["hot-points.range100", "17.4"]
    assert bare_one["qps"] == 1100.75
    assert bare_one["latency_us"] == {"mean": 7990, "p95": 9100}
    assert "peak_rss_gb" not in bare_one
    # Its cpu/o is the published one, so the other's has to be, too.
    assert bare_one["per_op"]["host_cpu_us"] == pytest.approx(0.00038081 * 8 * 1e6)
    assert old["per_op"]["host_cs"] == float(f"{240_007 / 64 / 1000.5:.3f}")
    assert any("are as published" in note for note in old["notes"])


def test_a_rate_matches_the_rounded_one_where_there_is_no_other(
    tmp_path: Path, slowdust: Slowdust
) -> None:
    bare = Written(rate=1100.75, without=frozenset({"o", "vm", "io", "ps", "met"}))
    write_archive(tmp_path / "a", {RUN_A: [Written(test="point-query")], RUN_B: [bare]})
    printed = slowdust("import", "sysbench", tmp_path / "a")
    assert mentions(printed, "*.hot-points.range100.pk1: ", "number of clients")
    slowdust("import", "sysbench", tmp_path / "a", "--clients", "8")
    assert results(slowdust, "a")["hot-points.range100", "17.4"]["qps"] == 1101


def test_rates_of_scan_in_different_units_are_not_compared(
    tmp_path: Path, slowdust: Slowdust, snapshot: SnapshotAssertion
) -> None:
    raw = Written(test="scan", rate=11.25, extra={"r.qps": "125\tpgsql scan range=100\n"})
    bare = Written(test="scan", rate=125.0, without=frozenset({"o", "vm", "io", "ps"}))
    raw.extra["met"] = raw.met().replace("\t11.25", "\t125")
    archive = write_archive(tmp_path / "nov25", {RUN_A: [raw], RUN_B: [bare]})
    printed = slowdust("import", "sysbench", archive)
    assert mentions(printed, "published rates are for one thread", "reproduces")
    actual = results(slowdust, "nov25")
    old, new = actual["scan.range100", "10.23"], actual["scan.range100", "17.4"]
    assert (old["qps"], old["unit"]) == (pytest.approx(675 / 60.01), "thousand rows/s")
    assert (new["qps"], new["unit"]) == snapshot
    assert new.keys().isdisjoint({"rqps", "per_op_relative", "counters_relative"})
    assert any("thousand rows/s of one" in note for note in new["notes"])
    slowdust("import", "sysbench", archive, "--compat")
    assert results(slowdust, "nov25")["scan.range100", "17.4"]["rqps"] == 1
    printed = slowdust("import", "sysbench", archive, "--scan", "all-threads")
    assert "published rates are for all threads" in printed


def test_hardware_of_all_threads_is_not_divided_by_the_rate_of_one(
    tmp_path: Path, slowdust: Slowdust
) -> None:
    def bare(dop: int) -> Written:
        no_rate = frozenset({"o", "r.qps"})
        return Written(test="scan", rate=125.0, dop=dop, without=no_rate)

    raw = Written(rate=1000.5)
    archive = write_archive(tmp_path / "nov25", {RUN_A: [raw, bare(8), bare(1)]})
    (archive / "o.met").write_text(TABLE.replace("point-query.range100", "scan.range10"))
    actual: dict[bool, dict[tuple[str, int], bool]] = {}
    for compat in (False, True):
        mode = ["--compat"] if compat else []
        slowdust("import", "sysbench", archive, "--scan", "one-thread", *mode)
        several = report(slowdust, "nov25")["results"]
        actual[compat] = {
            (result["test"], result["clients"]): bool(result.get("per_op")) for result in several
        }
        notes = [note for result in several for note in result["notes"]]
        expected = sum("rate " in note and " one" in note for note in notes)
        assert expected == (0 if compat else 3)
    assert all(actual[True].values())
    assert {key for key, there in actual[False].items() if not there} == {
        ("scan.range100", 8), ("scan.range10", 64)
    }  # fmt: skip


def test_counters_of_all_threads_are_not_divided_by_the_rate_of_one(
    tmp_path: Path, slowdust: Slowdust
) -> None:
    no_rate = frozenset({"o", "vm", "io", "ps", "r.qps"})
    scans = [
        Written(test="scan", rate=rate, without=no_rate, counters=(100,)) for rate in (125.0, 250.0)
    ]
    of_all, of_one = ("x.my8044_rel.z.pk1", "x.my8407_rel.z.pk1"), (RUN_A, RUN_B)
    for name, runs in (("nov25-my", of_all), ("nov25-pg", of_one)):
        entry, other = ([scan] for scan in scans)
        archive = write_archive(tmp_path / name, dict(zip(runs, (entry, other), strict=True)))
        printed = slowdust("import", "sysbench", archive, "--scan", "one-thread")
        result = report(slowdust, name)["results"][1]
        left_out = mentions(printed, "counters per operation ", "all threads")
        # The server of MySQL is one process, which worked for all threads; of Postgres perf
        # watched the process of one.
        assert left_out is (runs == of_all)
        assert (result["counters_relative"].get("instructions") == 0.5) is (runs == of_one)
        assert result["counters_relative"]["ipc"] == 1


def test_two_processes_read_what_one_reads(
    tmp_path: Path, slowdust: Slowdust, monkeypatch: pytest.MonkeyPatch
) -> None:
    tests = [Written(test=f"test-{letter}", rate=1000.0 + n) for n, letter in enumerate("abcde")]
    archive = write_archive(tmp_path / "a", {RUN_A: tests, RUN_B: tests})
    slowdust("import", "sysbench", archive, "--name", "one")
    monkeypatch.setattr(files, "WORTH_A_PROCESS", 0)
    slowdust("import", "sysbench", archive, "--name", "two")
    result, two = (
        Path("results", name, "slices.ndjson").read_text(encoding="utf-8")
        for name in ("one", "two")
    )
    assert result == two
    assert len(result.splitlines()) == 10
    assert json.loads(result.splitlines()[0])["qps"] == 1000.0


def test_rates_of_several_numbers_of_clients_are_distinguished_by_their_order(
    tmp_path: Path, slowdust: Slowdust
) -> None:
    bare = frozenset({"o", "vm", "io", "ps"})
    few = Written(rate=100.25, dop=1, without=bare, counters=(5,))
    many = Written(rate=700.5, dop=8, without=bare)
    archive = write_archive(tmp_path / "a", {RUN_A: [few, many]})
    rates = archive / RUN_A / "sb.r.rtavg.hot-points.range100.pk1"
    rates.write_text("1.5\t9.5\tpgsql hot-points range=100\n")
    printed = slowdust("import", "sysbench", archive)
    expected = {
        result["clients"]: (result["qps"], result["latency_us"].get("mean"))
        for result in report(slowdust, "a")["results"]
    }
    assert expected == {1: (100.25, 1500), 8: (700.5, 9500)}
    # One rate for two numbers of clients, and counters of one of them, tell nothing.
    assert "1 rate for 2 numbers of clients" in printed
    assert mentions(printed, "perf.hw.hot-points.range100.pk1.1: ", "2 numbers of clients")


def test_tables_without_a_primary_key_are_another_test(tmp_path: Path, slowdust: Slowdust) -> None:
    runs = {
        run: [Written(rate=rate), Written(rate=rate * 3, pk=0)]
        for run, rate in ((RUN_A, 1000.5), (RUN_B, 1200.5))
    }
    archive = write_archive(tmp_path / "a", runs)
    slowdust("import", "sysbench", archive)
    actual = results(slowdust, "a")
    assert {key: result["qps"] for key, result in actual.items()} == {
        ("hot-points.range100", "10.23"): 1000.5,
        ("hot-points.range100", "17.4"): 1200.5,
        ("hot-points.range100.pk0", "10.23"): 3001.5,
        ("hot-points.range100.pk0", "17.4"): 3601.5,
    }
    slowdust("report", "a", "--classic", "classic")
    rates = (path.read_text() for path in sorted(Path("classic", RUN_A).glob("sb.r.qps*")))
    assert [text.partition("\t")[0] for text in rates] == ["3002", "1000"]
    assert (
        Path("classic/qps.abs.csv").read_text(encoding="utf-8")
        == "hot-points_range=100,1000,1200\n"
    )
    blocks = Path("classic/o.met").read_text(encoding="utf-8")
    assert [blocks.count(f"sb.met.hot-points.range100.pk{pk}.dop8") for pk in (0, 1)] == [1, 1]


def test_rates_of_a_run_without_primary_keys_are_of_those_tests(
    tmp_path: Path, slowdust: Slowdust
) -> None:
    keyless = [run.replace("pk1", "pk0") for run in (RUN_A, RUN_B)]
    archive = write_archive(
        tmp_path / "a", {keyless[0]: [Written(pk=0)], keyless[1]: [Written(test="scan", pk=0)]}
    )
    head = "".join(f"col-{n} : {run}\n" for n, run in enumerate(keyless, start=1))
    (archive / "qps.abs.x.tsv").write_text(f"{head}\n1000\t1300\thot-points_range=100\n")
    printed = slowdust("import", "sysbench", archive)
    assert "made of: qps" not in printed
    assert results(slowdust, "a")["hot-points.range100.pk0", "17.4"]["qps"] == 1300
    slowdust("report", "a", "--classic", "classic")
    table = Path("classic/qps.abs.x.tsv").read_text(encoding="utf-8").splitlines()
    assert table[-1] == "1000\t1300\thot-points_range=100"


def test_a_page_shows_only_what_an_archive_has(tmp_path: Path, slowdust: Slowdust) -> None:
    scan = Written(test="scan", rate=11.25)
    point = Written(rate=1000.5, without=frozenset({"ps"}))
    runs = {RUN_A: [point, scan], RUN_B: [point, scan]}
    slowdust("import", "sysbench", write_archive(tmp_path / "feb25", runs))
    slowdust("report", "feb25", "--html", "page.html")
    page = Path("page.html").read_text(encoding="utf-8").partition("<script>")[0]
    assert "Archived runs of sysbench" in page
    assert "<dt>CPUs</dt><dd>8</dd>" in page
    for there in ("of transactions", "Relative rates", "thousands of rows"):
        assert there in page, there
    for word in (
        "incarnation",
        "slice",
        "interval lies",
        "Striped",
        "SHA-256",
        "Idle ones",
        ">cs/o<",
    ):
        assert word not in page, word
    text = slowdust("report", "feb25", "--md")
    assert "of transactions" in text
    assert mentions(text, "(o)", "scan.range100 ", "thousand rows")
