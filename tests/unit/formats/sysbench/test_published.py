"""The formulas turn the raw files into the published ones, byte for byte."""

import csv
from pathlib import Path

import pytest

from slowdust.formats.sysbench import (
    iostat,
    met,
    met_tables,
    perf_stat,
    ps,
    rate_tables,
    vmstat,
)
from slowdust.formats.sysbench import output as sysbench
from slowdust.formats.sysbench.names import parse_file
from slowdust.formats.sysbench.rates import Rate, ScanRule, published_rate
from tests.unit.archive.published import RUNS, content, lines, needs_archive, run_directories

pytestmark = needs_archive
DEVICE = "md2"
WORK_MEM = RUNS / "mar25.pg.workmem.c48"
COUNTERS = RUNS / "feb25.pg.perf"
MINOR = RUNS / "nov25.sb.pg" / "dop40"
MALLOC = RUNS / "apr25.c48.malloc"
VERSIONS = tuple(f"x.pg{version}_o2nofp.x10a_c32r128.pk1" for version in (1023, 110, 1110))


def rate_of(run: Path, suffix: str) -> Rate:
    file = parse_file(f"sb.o.{suffix}")
    [output] = sysbench.read(content(run / f"sb.o.{suffix}"))
    assert file is not None
    rate = published_rate(file.test, output, ScanRule.ALL_THREADS)
    assert rate is not None
    return rate


def test_hardware_per_operation() -> None:
    written = 0
    for run in run_directories():
        for raw in run.glob("sb.vm.*"):
            suffix = raw.name.removeprefix("sb.vm.")
            storage = iostat.read(content(run / f"sb.io.{suffix}"), DEVICE)
            cpu = vmstat.read_published(content(raw))
            assert storage is not None
            assert cpu is not None
            text = met.write(met.make(rate_of(run, suffix).text, storage, cpu))
            assert text == (run / f"sb.met.{suffix}").read_text(), raw
            written += 1
    assert written == 60


def test_clean_numbers_of_vmstat() -> None:
    with (RUNS / "EXPECTED" / "vmstat_clean.csv").open() as file:
        expected = list(csv.DictReader(file))
    for row in expected:
        run = RUNS / row["run"]
        clean = vmstat.read_clean(content(run / f"sb.vm.{row['test']}"))
        assert clean is not None
        rate = rate_of(run, row["test"]).value
        assert [
            str(clean.samples),
            f"{clean.switches_per_second:.0f}",
            f"{clean.cpu_percent:.1f}",
            f"{clean.switches_per_second / rate:.3f}",
            f"{clean.cpu_percent / rate:.6f}",
        ] == [row[f"clean_{name}"] for name in ("samp", "cs_s", "cpu_s", "cs_o", "cpu_o")]


def test_peaks_of_processes() -> None:
    with (RUNS / "EXPECTED" / "ps_peak.csv").open() as file:
        expected = list(csv.DictReader(file))
    for row in expected:
        peaks = ps.read(content(RUNS / row["run"] / f"sb.ps.{row['test']}"))
        assert peaks is not None
        assert (str(peaks.vsz_kb), str(peaks.rss_kb)) == (row["peak_vsz_kb"], row["peak_rss_kb"])


def test_counters() -> None:
    written = 0
    for raw in COUNTERS.glob("x.*/sb.perf.hw.*.raw"):
        values = perf_stat.extract(lines(raw.with_suffix("")))
        assert perf_stat.raw(values) == raw.read_text(), raw
        assert perf_stat.sorted_(values) == raw.with_suffix(".sorted").read_text(), raw
        written += 1
    assert written == 78


def test_joined_counters() -> None:
    for published in COUNTERS.glob("join1.abs.*"):
        name = published.name.removeprefix("join1.abs.pgcmp.").removesuffix(".sorted")
        values = [perf_stat.extract(lines(COUNTERS / run / name)) for run in VERSIONS]
        assert perf_stat.joined(values) == published.read_text()
        relative = published.with_name(published.name.replace(".abs.", ".rel."))
        assert perf_stat.joined_relative(values) == relative.read_text()


def rate_table(folder: Path) -> rate_tables.RateTable:
    runs = sorted(path.name for path in folder.glob("x.*"))
    files = {file.name: parse_file(file.name) for file in (folder / runs[0]).glob("sb.met.*")}
    rows = {}
    for test in rate_tables.order(file for file in files.values() if file is not None):
        names = [name for name, file in files.items() if file == test]
        rates = []
        for run in runs:
            actual = met.read(lines(folder / run / names[0]))
            assert actual is not None
            rates.append(f"{float(actual.rate):.0f}")
        rows[test.label] = tuple(rates)
    return rate_tables.RateTable(tuple(runs), rows)


@pytest.mark.parametrize(("folder", "tag"), [(WORK_MEM, "wm1"), (MINOR, "pg17")])
def test_tables_of_rates(folder: Path, tag: str) -> None:
    absolute = rate_table(folder)
    for kind, table in (("abs", absolute), ("rel", rate_tables.relative(absolute))):
        tsv, csv_ = (folder / f"qps.{kind}.{tag}.{form}" for form in ("tsv", "csv"))
        assert rate_tables.write_tsv(table) == tsv.read_text()
        assert rate_tables.write_csv(table) == csv_.read_text()
        assert rate_tables.read_tsv(lines(tsv)) == (table, [])


def test_tables_of_allocators() -> None:
    folder = MALLOC / "25apr.c48.inno.conf"
    absolute, strange = rate_tables.read_tsv(lines(folder / "qps.abs.in.tsv"))
    assert strange == []
    relative = rate_tables.relative(absolute)
    assert rate_tables.write_tsv(relative) == (folder / "qps.rel.in.tsv").read_text()


def test_tables_of_hardware_per_operation() -> None:
    runs = sorted(path.name for path in WORK_MEM.glob("x.*"))
    published = WORK_MEM / "o.met.dop1"
    table, strange = met_tables.read(lines(published))
    blocks = table.blocks
    assert (len(blocks), strange) == (39, [])
    written = []
    for name in blocks:
        mets = [met.read(lines(WORK_MEM / run / name)) for run in runs]
        rows = [
            met_tables.MetRow.of(result, run)
            for result, run in zip(mets, runs, strict=True)
            if result
        ]
        assert rows == blocks[name]
        written.append(met_tables.block(name, rows) + "\n")
    assert "".join(written) == published.read_text()


def test_relative_hardware_of_a_summary_alone() -> None:
    published = MALLOC / "o.met.inno80g"
    table, _ = met_tables.read(lines(published))
    written = [met_tables.block(name, rows) + "\n" for name, rows in table.blocks.items()]
    assert "".join(written) == published.read_text()
