"""Reading single files, also torn and edited ones."""

import pytest

from slowdust.archive.files import Unusable
from slowdust.archive.sysbench.names import parse_file, parse_label
from slowdust.archive.sysbench.rates import (
    ScanRule,
    clean_scan_rate,
    published_rate,
    rule_in_name,
    rule_of_day,
    rule_that_reproduces,
)
from slowdust.archive.sysbench.run_directory import read_all
from slowdust.archive.sysbench.run_files import (
    Cpu,
    Peaks,
    Vmstat,
    busiest,
    read_iostat,
    read_load,
    read_met,
    read_output,
    read_ps,
    read_traffic,
    read_vmstat,
    write_met,
)
from slowdust.archive.sysbench.tables import read_met_table, read_tsv, relative_rates, write_block
from tests.unit.archive.sysbench_files import Written


def test_the_published_rule_counts_the_first_row_and_later_headers_as_samples() -> None:
    content = Written(seconds=60, switches=4000, cpu=40).vmstat().encode()
    # 61 rows and four headers; the first row, since boot, is dropped: 7 switches, 1 + 10%.
    published, clean = Vmstat(64, 240_007.0, 2411.0), Vmstat(60, 240_000.0, 2400.0)
    assert read_vmstat(content) == Cpu(published, clean)


@pytest.mark.parametrize("row", [" -2147483648 30", " 4000 -3", " 4000 30000"])
def test_samples_with_impossible_numbers_are_skipped_and_counted(row: str) -> None:
    content = Written(seconds=30, switches=4000, cpu=40).vmstat()
    assert " 4000 30" in content
    before, after = content.rsplit(" 4000 30", 1)
    actual = read_vmstat(f"{before}{row}{after}".encode())
    assert actual is not None
    assert actual.clean == Vmstat(29, 29 * 4000.0, 29 * 40.0, impossible=1)


@pytest.mark.parametrize("tail", ["", " 8  0 100 200", " 8  0 100 200 300 400 0 0 1 2 90"])
def test_torn_rows_of_vmstat_are_no_clean_samples(tail: str) -> None:
    content = Written(seconds=30).vmstat().encode()
    whole, torn = read_vmstat(content), read_vmstat(content + tail.encode())
    assert whole is not None
    assert torn is not None
    assert torn.clean == whole.clean


def test_rows_with_words_in_them_are_summed_without_these() -> None:
    content = Written(seconds=30, switches=4000, cpu=40).vmstat().replace(" 4000 30", " n/a 30", 1)
    actual = read_vmstat(content.encode())
    assert actual is not None
    assert actual.published == Vmstat(32, 29 * 4000.0 + 7, 30 * 40.0 + 11)


def test_storage_matches_the_lines_with_the_device() -> None:
    content = Written(seconds=10, writes=12.0).iostat().encode()
    actual = read_iostat(content, "md2")
    assert actual is not None
    assert (actual.samples, actual.reads, actual.writes, actual.written_kb) == (10, 10, 120, 960)
    assert (actual.kernel, actual.host, actual.day) == ("5.15.0-1-generic", "box", "2025-03-04")


def test_a_device_is_a_part_of_a_line_as_in_the_published_rule() -> None:
    content = Written(seconds=10, writes=12.0).iostat().encode()
    both = read_iostat(content, "md")
    assert both is not None
    assert (both.samples, both.writes) == (20, 120)
    assert read_iostat(content, "md9") is None
    assert read_iostat(b"Device r/s\nmd2 1\n", "md2") is None


def test_a_torn_line_of_iostat_is_skipped() -> None:
    content = Written(seconds=10).iostat().encode()
    assert read_iostat(content + b"md2 1.00 4.0", "md2") == read_iostat(content, "md2")


def test_an_array_is_the_busiest_device_before_its_members() -> None:
    assert busiest(read_traffic(Written().iostat().encode())) == "md2"
    assert busiest({"sda": 1.0, "sdb": 2.0, "md0": 0.0}) == "sdb"
    assert busiest({}) is None


def test_the_end_of_sysbench_is_found_after_plans_that_look_like_it() -> None:
    [actual] = read_output(Written(plans=5000, rate=1234.5).output().encode())
    assert (actual.queries, actual.table_size, actual.tables, actual.cpus) == (
        "1234.50",
        1000,
        4,
        8,
    )
    assert (actual.driver, actual.average_ms, actual.p95_ms) == ("pgsql", "8.00", "9.25")
    assert read_output(b"sysbench --tables=4\n    queries: 12\n") == []


def test_peaks_are_of_single_processes() -> None:
    actual = read_ps(Written(rss_kb=2_000_000, backends=4).processes().encode())
    assert actual == Peaks(9_000_003, 2_000_000, whole=True)
    assert read_ps(b"Tue Mar 4\n") is None


def test_numbers_per_operation_are_read_as_they_are_written() -> None:
    text = Written().met()
    actual = read_met(text.splitlines())
    assert actual is not None
    assert (actual["o/s"], actual["cpu/o"], actual["rKB/o"]) == ("1000.50", "0.038081", "0.004")
    assert write_met(actual) == text
    assert read_met(text.splitlines()[:-1]) is None
    assert read_met(text.replace("3.808", "3,8x8").splitlines()) is None


SCAN = Written(test="scan", rate=11.25).output().encode()


def test_there_are_two_rates_of_scan() -> None:
    [output] = read_output(SCAN)
    of_all, of_one = (published_rate("scan", output, rule) for rule in ScanRule)
    assert of_all is not None
    assert of_one is not None
    assert (of_all.text, of_all.unit.value) == ("11", "thousand rows/s")
    assert (of_one.text, of_one.unit.value) == ("125", "thousand rows/s of one thread")
    assert clean_scan_rate(output) == pytest.approx(1000 * 675 / 60.01 / 1000)
    assert rule_that_reproduces([(output, "125")]) is ScanRule.ONE_THREAD
    assert rule_that_reproduces([(output, "11")]) is ScanRule.ALL_THREADS
    assert rule_that_reproduces([(output, "12")]) is None


@pytest.mark.parametrize(
    ("name", "rule"),
    [
        ("mar25.pg.workmem", ScanRule.ALL_THREADS),
        ("nov25.sb.pg", ScanRule.ONE_THREAD),
        ("25apr.c48.conf", ScanRule.ALL_THREADS),
        *((name, None) for name in ("archive", "march25", "dec256", "dop40")),
    ],
)
def test_the_era_is_reported_by_a_name(name: str, rule: ScanRule | None) -> None:
    assert rule_in_name(name) is rule


@pytest.mark.parametrize(
    ("day", "rule"), [("2025-03-04", ScanRule.ALL_THREADS), ("2025-11-02", ScanRule.ONE_THREAD)]
)
def test_the_era_is_reported_by_a_day(day: str, rule: ScanRule) -> None:
    assert rule_of_day(day) is rule


def test_labels_of_tables_are_tests() -> None:
    assert parse_label("scan.warm_range=100") == "scan.warm.range100"
    assert parse_label("-> range queries, the others") is None


def test_edited_lines_of_a_table_of_rates_are_skipped() -> None:
    lines = ["col-1 : a", "col-2 : b", "", "col-1\tcol-2", "10\t\tx_range=1", "-> range"]
    lines += ["7\t8\ty", "col-1\tcol-2\t-> range queries"]
    table, strange = read_tsv(lines)
    assert dict(table.rows) == {"x_range=1": ("10", ""), "y": ("7", "8")}
    assert strange == ["-> range", "col-1\tcol-2\t-> range queries"]
    assert relative_rates(table).rows == {"x_range=1": ("",), "y": ("1.14",)}


def test_a_table_without_a_column_is_written_without_it() -> None:
    lines = [
        "sb.met.scan.range100.pk1.dop1", "--- absolute", "cpu/o\t\tr/o\trKB/o\twKB/o\to/s\tdbms",
        "0.1\t0\t0\t0\t10\ta", "0.2\t0\t0\tx\t20\tb", "--- relative to first result",
    ]  # fmt: skip
    table, strange = read_met_table(lines)
    [rows] = table.blocks.values()
    assert (rows[0]["cs/o"], strange) == ("", [lines[4]])
    assert write_block(lines[0], rows).splitlines()[2:4] == lines[2:4]


@pytest.mark.parametrize(
    ("name", "content", "reason"),
    [
        ("sb.o.scan.range100.pk1.dop8", b" \n", "empty"),
        ("sb.vm.scan.range100.pk1.dop8", b"nothing\n", "no samples"),
        ("sb.io.scan.range100.pk1.dop8.gz", b"no gzip", "cannot be read: Not a gzipped file"),
        ("sb.r.qps.scan.range100.pk1", b"1\tx\tpgsql scan range=100\n", "not a rate"),
        ("sb.r.qps.scan.range100.pk1", b"pgsql scan range=100\n", "not a rate"),
        ("sb.perf.hw.scan.range100.pk1.1", b"  1,2 cycles\n", "an iteration that was not"),
        ("sb.perf.last.scan.range100.pk1", b"two\n", "damaged"),
    ],
)
def test_empty_answers_have_a_reason(
    tmp_path_factory: pytest.TempPathFactory, name: str, content: bytes, reason: str
) -> None:
    path = tmp_path_factory.mktemp("run") / name
    path.write_bytes(content)
    file = parse_file(name)
    assert file is not None
    [actual] = read_all([(str(path), file, "md2")])
    assert isinstance(actual, Unusable)
    assert actual.reason.startswith(reason)


def test_numbers_that_are_none_are_not_taken_for_numbers() -> None:
    for rate in ("1.0.5", "-1000.50", "0.00", "nan"):
        output = Written(rate=1000.5).output().replace("1000.50", rate)
        with pytest.raises(ValueError, match=f"a rate of {rate}/s"):
            read_output(output.encode())
    with pytest.raises(ValueError, match="a rate of 0/s"):
        read_load(b"Load seconds is 596 for 8 tables, .000 Mips, 0 ips\n")
    assert read_iostat(Written().iostat().replace("96.00", "nan", 1).encode(), "md2") is None
    assert read_met(Written().met().replace("1000.50", "inf").splitlines()) is None
    words = Written(seconds=30).vmstat().replace(" 4000 30", " inf 30", 1).encode()
    actual = read_vmstat(words)
    assert actual is not None
    assert actual.clean.switches == 29 * 4000
