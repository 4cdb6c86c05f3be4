"""Derived files are compared with their sources, and samples with their test."""

from __future__ import annotations

import gzip
import random
from dataclasses import replace
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from slowdust.archive.sysbench import counters as perf_stat
from slowdust.store.manifest import Fate
from tests.unit.archive.command import Slowdust, mentions, report, results, slowdust
from tests.unit.archive.damage import damage
from tests.unit.archive.sysbench_files import RUN_A, RUN_B, Written, write_archive

__all__ = ["slowdust"]

NO_TIMES = frozenset({"r.rtavg", "r.rt95"})
TEST = Written(counters=(100, 110), without=NO_TIMES)
SUFFIX = f"{TEST.common}.dop8"


@pytest.fixture
def archive(tmp_path: Path, slowdust: Slowdust) -> Path:
    """Two runs, and everything that is made of their files."""
    runs = {RUN_A: [TEST], RUN_B: [Written(rate=1200.25, counters=(90, 95), without=NO_TIMES)]}
    write_archive(tmp_path / "raw", runs)
    slowdust("import", "sysbench", "raw", "--compat")
    slowdust("report", "raw", "--classic", "made")
    write_archive(tmp_path / "made", runs)
    slowdust("report", "raw", "--classic", "made2")
    for path in (tmp_path / "made2").rglob("sb.met*"):
        path.replace(tmp_path / "made" / path.relative_to(tmp_path / "made2"))
    return tmp_path / "made"


def differing(printed: str) -> list[str]:
    begin = f"  {Fate.DIFFERS}: "
    return [line.removeprefix(begin) for line in printed.splitlines() if line.startswith(begin)]


def test_consistent_files_are_counted(archive: Path, slowdust: Slowdust) -> None:
    for mode in ([], ["--compat"]):
        printed = slowdust("import", "sysbench", archive, "--name", f"x{len(mode)}", *mode)
        assert differing(printed) == []
        assert mentions(printed, "  15 files ", ": join 4, qps.abs.csv 1, ")
        assert "sb.perf.hw.raw 4, sb.perf.hw.sorted 4" in printed


@pytest.mark.parametrize(
    ("file", "there", "edited"),
    [
        (
            "qps.rel.tsv", "1.20\t", "1.33\t",
        ),
        (
            "qps.rel.csv", "1.20", "1.33",
        ),
        (
            "qps.rel.tsv", "hot-points", "cold-points",
        ),
        (
            "qps.abs.csv", "1200", "1300",
        ),
        (
            "qps.abs.csv", ",1200", "",
        ),
        (
            "o.met", "0.037653", "0.04",
        ),
        (
            "o.met", "0.83", "0.84",
        ),
        (
            f"{RUN_A}/sb.met.{SUFFIX}", "1000.50", "1000.60",
        ),
        (
            f"{RUN_A}/sb.met.{SUFFIX}", "0.096", "0.097",
        ),
        (f"{RUN_A}/sb.r.qps.{TEST.common}", "1000", "1001"),
        (
            f"{RUN_A}/sb.perf.hw.{TEST.common}.2.raw", "instructions\t110", "instructions\t111",
        ),
        (
            f"{RUN_A}/sb.perf.hw.{TEST.common}.2.sorted", "faults\t110\n", "",
        ),
        (
            f"join2.abs.all.sb.perf.hw.{TEST.common}.2.sorted", "ipc 1.72 1.72", "ipc 1.72 1.75",
        ),
        (
            f"join2.rel.all.sb.perf.hw.{TEST.common}.2.sorted", "0.864\tcycles", "0.865\tcycles",
        ),
    ],
)  # fmt: skip
def test_an_edited_cell_is_one_line_and_does_not_count(
    *,
    archive: Path,
    slowdust: Slowdust,
    file: str,
    there: str,
    edited: str,
    snapshot: SnapshotAssertion,
) -> None:
    slowdust("import", "sysbench", archive, "--name", "before")
    text = (archive / file).read_text()
    assert there in text
    (archive / file).write_text(text.replace(there, edited, 1))
    printed = slowdust("import", "sysbench", archive, "--name", "after")
    lines = differing(printed)
    assert "; ".join(dict.fromkeys(line.partition(": ")[2] for line in lines)) == snapshot
    assert {line.partition(": ")[0] for line in lines} == {file}
    assert f"{Fate.DIFFERS}: {file}: " in slowdust("show", "after")
    assert report(slowdust, "after")["results"] == report(slowdust, "before")["results"]


def test_a_rounded_rate_is_compared_with_that_of_sb_met_where_sb_o_is_missing(
    archive: Path, slowdust: Slowdust
) -> None:
    (archive / RUN_A / f"sb.o.{SUFFIX}").unlink()
    assert differing(slowdust("import", "sysbench", archive)) == []
    path = archive / RUN_A / f"sb.r.qps.{TEST.common}"
    path.write_text(path.read_text().replace("1000", "1001"))
    [line] = differing(slowdust("import", "sysbench", archive))
    assert mentions(line, f"{RUN_A}/{path.name}: ", "1001", "1000", "sb.met")


def test_relative_rates_may_be_of_another_base_than_the_first_column(
    archive: Path, slowdust: Slowdust
) -> None:
    (archive / "qps.rel.csv").unlink()
    table = f"Relative to: {RUN_B}\ncol-1 : {RUN_A}\n\ncol-1\n0.83\thot-points_range=100\n"
    (archive / "qps.rel.tsv").write_text(table)
    assert differing(slowdust("import", "sysbench", archive)) == []
    (archive / "qps.rel.tsv").write_text(table.replace("0.83", "0.84"))
    [line] = differing(slowdust("import", "sysbench", archive))
    assert mentions(line, f"{RUN_A}, ", "0.84", "0.83", "qps.abs.tsv")


def test_more_than_a_few_cells_of_a_file_are_counted(archive: Path, slowdust: Slowdust) -> None:
    raw = archive / RUN_A / f"sb.perf.hw.{TEST.common}.1.raw"
    raw.write_text(raw.read_text().replace("\t100", "\t101"))
    [line] = differing(slowdust("import", "sysbench", archive))
    assert line.count(" from sb.perf.hw.") == 3
    assert "7 more" in line


def test_one_edited_rate_of_scan_does_not_change_the_rule(
    tmp_path: Path, slowdust: Slowdust
) -> None:
    runs = {}
    for run in (RUN_A, RUN_B, "x.pg184_o2.x10a_c8.pk1"):
        scan = Written(test="scan", rate=11.25, without=NO_TIMES | {"io", "vm", "r.qps"})
        scan.extra["met"] = scan.met().replace("\t11.25", "\t125" if run != RUN_B else "\t999")
        runs[run] = [scan]
    printed = slowdust("import", "sysbench", write_archive(tmp_path / "mar25", runs))
    assert mentions(printed, "for one thread", "reproduces")
    [line] = differing(printed)
    assert mentions(line, f"{RUN_B}/sb.met.scan.range100.pk1.dop8: o/s, ", "999", "125", "sb.o")


def cut(content: str, share: float) -> bytes:
    lines = content.splitlines(keepends=True)
    return gzip.compress("".join(lines[: int(share * len(lines))]).encode())


def test_where_sb_o_is_missing_the_published_samples_report_how_long_a_test_was(
    tmp_path: Path, slowdust: Slowdust
) -> None:
    bare = Written(without=frozenset({"o", "vm"}))
    archive = write_archive(tmp_path / "a", {RUN_A: [bare]})
    (archive / RUN_A / f"sb.vm.{SUFFIX}.gz").write_bytes(cut(TEST.vmstat(), 0.3))
    printed = slowdust("import", "sysbench", archive)
    assert mentions(printed, f"skipped: {RUN_A}/sb.vm.{SUFFIX}.gz: truncated: 17 ", "60 s")


def test_cut_samples_of_a_load_are_reported_where_its_output_is_missing(
    tmp_path: Path, slowdust: Slowdust
) -> None:
    archive = write_archive(tmp_path / "a", {RUN_A: [TEST]})
    load = archive / RUN_A / f"sb.prepare.met.{SUFFIX}"
    load.write_text((archive / RUN_A / f"sb.met.{SUFFIX}").read_text())
    samples = load.with_name(f"sb.prepare.vm.{SUFFIX}.gz")
    samples.write_bytes(cut(TEST.vmstat(), 0.3))
    printed = slowdust("import", "sysbench", archive)
    assert mentions(printed, f"skipped: {RUN_A}/{samples.name}: truncated: 17 ", "60 s")


@pytest.mark.parametrize(("kind", "field"), [("vm", "host_cs"), ("io", "writes")])
def test_samples_of_less_than_half_of_a_test_are_not_used(
    tmp_path: Path, slowdust: Slowdust, kind: str, field: str
) -> None:
    without = frozenset({kind, "met"})
    archive = write_archive(tmp_path / "a", {RUN_A: [TEST], RUN_B: [Written(without=without)]})
    content = {"vm": TEST.vmstat(), "io": TEST.iostat()}[kind]
    name = f"sb.{kind}.{SUFFIX}.gz"
    for share, fate, there in (
        (0.98, "", True),
        (0.7, "used in part", True),
        (0.3, "skipped", False),
    ):
        (archive / RUN_B / name).write_bytes(cut(content, share))
        printed = slowdust("import", "sysbench", archive)
        expected = [line for line in printed.splitlines() if "truncated: " in line]
        assert [line.split(": truncated")[0] for line in expected] == (
            [f"  {fate}: {RUN_B}/{name}"] if fate else []
        )
        assert all("60 s" in line for line in expected)
        use = results(slowdust, "a")["hot-points.range100", "17.4"]["per_op"]
        assert (field in use) == there


def test_a_line_that_is_no_counter_makes_an_extraction_useless() -> None:
    assert perf_stat.read_raw(["ipc\t1.5", "cycles\t7"]) == {"cycles": "7", "ipc": "1.5"}
    for line in ("ipc 1.5", "ipc\tx", "mood\t5", "\x00"):
        with pytest.raises(ValueError, match="not a counter"):
            perf_stat.read_raw(["cycles\t7", line])


@pytest.mark.parametrize("seed", range(8))
def test_damage_does_not_stop_an_import(archive: Path, slowdust: Slowdust, seed: int) -> None:
    rng = random.Random(seed)
    write_archive(archive, {RUN_A: [replace(TEST, load=95_000)], RUN_B: [Written(load=96_000)]})
    files = sorted(path for path in archive.rglob("*") if path.is_file())
    names = [path.name for path in files]
    for path in rng.sample(files, rng.choice([5, len(files)])):
        if path.exists():
            damage(path, rng, names)
    slowdust("import", "sysbench", archive, "--clients", "8")
    for line in slowdust("list").splitlines():
        name = line.split()[0]
        slowdust("report", name, "--md", "--html", "page.html", "--classic", f"classic-{name}")
