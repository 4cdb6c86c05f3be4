"""Summary tables that were cut, edited or compressed, with and without the runs."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest

from tests.unit.archive.command import Slowdust, mentions, report, results, slowdust
from tests.unit.archive.sysbench_files import RATES, RUN_A, RUN_B, TABLE, Written, write_archive

__all__ = ["slowdust"]

TESTS = ("hot-points", "point-query", "read-only", "scan.warm", "update-index")
BLOCKS = len(TESTS)


@pytest.fixture
def archive(tmp_path: Path, slowdust: Slowdust) -> Path:
    """Two runs of some tests, with the tables of tag `x` that were made of them."""
    runs = {
        run: [
            Written(test=test, rate=rate + number, without=frozenset({"r.rtavg", "r.rt95"}))
            for number, test in enumerate(TESTS)
        ]
        for run, rate in ((RUN_A, 1000.0), (RUN_B, 1200.0))
    }
    raw = write_archive(tmp_path / "raw", runs)
    for path in raw.rglob("sb.met*"):
        path.unlink()
    slowdust("import", "sysbench", raw, "--compat")
    slowdust("report", "raw", "--classic", "tables")
    for path in Path("tables").glob("*.*"):
        if path.is_file():
            parts = path.name.split(".")
            (raw / ".".join([*parts[:2], "x", *parts[2:]])).write_bytes(path.read_bytes())
    return raw


def complaints(printed: str, table: str) -> list[str]:
    return [
        line.partition(f"{table}: ")[2]
        for line in printed.splitlines()
        if f"used in part: {table}: " in line
    ]


def test_whole_tables_are_not_said_to_be_cut(archive: Path, slowdust: Slowdust) -> None:
    printed = slowdust("import", "sysbench", archive)
    assert "used in part" not in printed
    assert "differs" not in printed


@pytest.mark.parametrize("table", ["qps.abs.x.tsv", "qps.abs.x.csv", "o.met.x"])
@pytest.mark.parametrize("kept", [1, 3])
def test_a_table_with_fewer_tests_than_its_runs_is_reported_and_written_whole(
    *, archive: Path, slowdust: Slowdust, table: str, kept: int
) -> None:
    whole = (archive / table).read_text()
    for path in archive.glob("qps.*" if table.startswith("qps") else "o.met*"):
        if path.name != table:
            path.unlink()
    if table.startswith("o.met"):
        cut = "\n\n".join(whole.split("\n\n")[:kept]) + "\n"
    else:
        lines = whole.splitlines(keepends=True)
        head = len(lines) - BLOCKS
        cut = "".join(lines[: head + kept])
    (archive / table).write_text(cut)
    printed = slowdust("import", "sysbench", archive, "--compat")
    assert complaints(printed, table) == [f"truncated: {kept} of 5 tests"]
    slowdust("report", "raw", "--classic", "again")
    assert Path("again", table).read_text(encoding="utf-8") == whole


def test_a_table_of_chosen_tests_is_not_cut(archive: Path, slowdust: Slowdust) -> None:
    for path in archive.glob("qps.*"):
        path.unlink()
    rows = "1002\t1202\tread-only_range=100\n1004\t1204\tupdate-index_range=100\n"
    chosen = f"col-1 : {RUN_A}\ncol-2 : {RUN_B}\n\ncol-1\tcol-2\n{rows}"
    (archive / "qps.abs.rw.tsv").write_text(chosen)
    printed = slowdust("import", "sysbench", archive, "--compat")
    assert complaints(printed, "qps.abs.rw.tsv") == []
    slowdust("report", "raw", "--classic", "again")
    assert Path("again/qps.abs.rw.tsv").read_text(encoding="utf-8") == chosen


def test_a_cut_table_may_lack_tests_that_tables_of_rates_never_have(
    archive: Path, slowdust: Slowdust
) -> None:
    for run in (RUN_A, RUN_B):
        Written(test="point-query.pre").write(archive / run)
    printed = slowdust("import", "sysbench", archive)
    assert complaints(printed, "o.met.x") == ["truncated: 5 of 6 tests"]


def test_a_table_of_other_clients_is_not_cut(archive: Path, slowdust: Slowdust) -> None:
    Written(test="delete", dop=4).write(archive / RUN_A)
    Written(test="delete", dop=4).write(archive / RUN_B)
    printed = slowdust("import", "sysbench", archive)
    assert complaints(printed, "o.met.x") == []
    whole = (archive / "o.met.x").read_text()
    (archive / "o.met.x").write_text("\n\n".join(whole.split("\n\n")[:3]) + "\n")
    printed = slowdust("import", "sysbench", archive, "--compat")
    assert complaints(printed, "o.met.x") == ["truncated: 3 of 5 tests"]
    slowdust("report", "raw", "--classic", "again")
    assert Path("again/o.met.x").read_text(encoding="utf-8") == whole


@pytest.mark.parametrize("tags", [("dop4", "dop8"), ("few", "all")])
def test_a_table_has_the_tests_at_its_number_of_clients(
    tmp_path: Path, slowdust: Slowdust, tags: tuple[str, str]
) -> None:
    """Tests at another number are elsewhere; a table without one in its name has most."""
    few = [Written(test=test, dop=4) for test in TESTS[:2]]
    many = [Written(test=test) for test in TESTS[1:]]
    archive = write_archive(tmp_path / "a", {RUN_A: [*few, *many]})
    for tag, tests in zip(tags, (few, many), strict=True):
        rows = "".join(f"1000\t{result.test}_range=100\n" for result in tests)
        (archive / f"qps.abs.{tag}.tsv").write_text(f"col-1 : {RUN_A}\n\ncol-1\n{rows}")
    printed = slowdust("import", "sysbench", archive)
    expected = [] if tags[0] == "dop4" else ["truncated: 1 of 4 tests"]
    assert complaints(printed, f"qps.abs.{tags[0]}.tsv") == expected
    assert complaints(printed, f"qps.abs.{tags[1]}.tsv") == []


@pytest.mark.parametrize(
    ("lines", "expected"),
    [
        (4, "{}: 1 of 2 rows"),
        (6, "{}: 0 of 1 relative row"),
    ],
)  # fmt: skip
def test_a_block_that_ends_early_is_reported(
    *, archive: Path, slowdust: Slowdust, lines: int, expected: str
) -> None:
    """The archive has runs, or tables alone."""
    blocks = (archive / "o.met.x").read_text().split("\n\n")
    last = "\n".join(blocks[4].splitlines()[:lines])
    text = "\n\n".join([*blocks[:4], last]) + "\n"
    alone = archive.parent / "alone"
    alone.mkdir()
    for folder in (archive, alone):
        (folder / "o.met.x").write_text(text)
        printed = slowdust("import", "sysbench", folder)
        [complaint] = complaints(printed, "o.met.x")
        assert complaint == f"truncated: {expected.format(last.splitlines()[0])}"


def test_a_test_that_one_run_lacks_is_no_missing_row(archive: Path, slowdust: Slowdust) -> None:
    for path in (archive / RUN_B).glob("*.hot-points.*"):
        path.unlink()
    text = (archive / "o.met.x").read_text().split("\n\n")
    place = next(at for at, block in enumerate(text) if block.startswith("sb.met.hot"))
    text[place] = "\n".join([*text[place].splitlines()[:4], "--- relative to first result"])
    (archive / "o.met.x").write_text("\n\n".join(text))
    assert complaints(slowdust("import", "sysbench", archive), "o.met.x") == []


@pytest.mark.parametrize(
    ("table", "cut_behind", "left_out"),
    [
        ("qps.abs.y.tsv", "20\t30\tscan_range=1", "20\\t30\\tscan_range=1"),
        ("qps.abs.y.csv", "scan_range=100,20,3", "scan_range=100,20,3"),
        ("o.met.y", "0.000200\t1.5\t0\t0\t0\t13", "0.000200\\t1.5\\t0\\t0\\t0\\t13"),
    ],
)  # fmt: skip
@pytest.mark.parametrize("zipped", [False, True])
def test_a_last_line_without_an_end_is_skipped(
    *, tmp_path: Path, slowdust: Slowdust, table: str, cut_behind: str, left_out: str, zipped: bool
) -> None:
    rows = "point-query_range=100,1000,1300\nscan_range=100,20,30\ninsert_range=100,4,5\n"
    text = rows if table.endswith(".csv") else RATES if table.endswith(".tsv") else TABLE
    assert cut_behind in text
    content = (text.partition(cut_behind)[0] + cut_behind).encode()
    (tmp_path / "a").mkdir()
    if zipped:
        table += ".gz"
        content = gzip.compress(content)
    (tmp_path / "a" / table).write_bytes(content)
    printed = slowdust("import", "sysbench", tmp_path / "a", "--clients", "64")
    expected = complaints(printed, table)
    assert expected[0].startswith("its last line ")
    assert expected[0].endswith(f"'{left_out}'")
    actual = report(slowdust, "a")["results"]
    rates = {(result["test"], result["qps"]) for result in actual if result["test"] != "load"}
    assert rates == {("point-query.range100", 1000)} | (
        set() if table.startswith("o.met") else {("point-query.range100", 1300)}
    )


@pytest.mark.parametrize(
    ("table", "text", "again", "name"),
    [
        ("qps.abs.y.tsv", RATES, "1000\t1300\tpoint-query_range=100\n", "point-query_range=100"),
        ("qps.abs.y.tsv", RATES, "7\t7\tscan_range=100\n", "scan_range=100"),
        ("qps.abs.y.csv", "scan_range=100,2,3\n", "scan_range=100,2,3\n", "scan_range=100"),
        (
            "o.met.y", TABLE, TABLE.split("\n\n")[1],
            "sb.met.point-query.range100.pk1.dop64 of x.my8040_je.z_c8.pk1, "
            "sb.met.point-query.range100.pk1.dop64 of x.my8040_tc.z_c8.pk1",
        ),
    ],
)  # fmt: skip
def test_a_test_that_comes_twice_is_reported(
    *, tmp_path: Path, slowdust: Slowdust, table: str, text: str, again: str, name: str
) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / table).write_text(text)
    slowdust("import", "sysbench", tmp_path / "a", "--clients", "64")
    before = report(slowdust, "a")["results"]
    (tmp_path / "a" / table).write_text(text + again)
    printed = slowdust("import", "sysbench", tmp_path / "a", "--clients", "64")
    [complaint] = complaints(printed, table)
    assert mentions(complaint, "repeated lines", name)
    assert report(slowdust, "a")["results"] == before


def test_compressed_tables_are_read_and_written_plain(archive: Path, slowdust: Slowdust) -> None:
    for run in (RUN_A, RUN_B):
        for path in (archive / run).iterdir():
            path.unlink()
    slowdust("import", "sysbench", archive, "--name", "plain", "--clients", "8")
    expected = results(slowdust, "plain")
    assert expected
    names = [path.name for path in archive.iterdir() if path.is_file()]
    for name in names:
        (archive / f"{name}.gz").write_bytes(gzip.compress((archive / name).read_bytes()))
    printed = slowdust("import", "sysbench", archive, "--name", "both", "--clients", "8")
    first = ", ".join(f"{name}.gz" for name in sorted(names)[:3])
    assert mentions(printed, "  skipped 5 times: ", f": {first} and 2 more")
    assert len(names) == 5
    for name in names:
        (archive / name).unlink()
    printed = slowdust("import", "sysbench", archive, "--name", "zipped", "--clients", "8")
    assert "skipped" not in printed
    assert "qps.abs.csv 1, qps.rel.csv 1, qps.rel.tsv 1" in printed
    assert results(slowdust, "zipped") == expected
    slowdust("report", "zipped", "--classic", "again")
    assert {path.name for path in Path("again").iterdir()} >= set(names)


def test_joined_counters_and_configurations_may_be_compressed(
    tmp_path: Path, slowdust: Slowdust
) -> None:
    runs = {run: [Written(counters=(100,))] for run in (RUN_A, RUN_B)}
    archive = write_archive(tmp_path / "raw", runs)
    slowdust("import", "sysbench", archive, "--compat")
    slowdust("report", "raw", "--classic", "made")
    for path in Path("made").glob("join*"):
        (archive / f"{path.name}.gz").write_bytes(gzip.compress(path.read_bytes()))
    (archive / RUN_A / "conf.diff.gz").write_bytes(gzip.compress(b"> fsync = off\n"))
    printed = slowdust("import", "sysbench", archive)
    assert "join 2" in printed
    assert "configuration 1" in printed
    assert "skipped" not in printed


@pytest.mark.parametrize("table", ["qps.abs.x.tsv", "o.met.x"])
def test_an_empty_table_does_not_hide_its_compressed_twin(
    archive: Path, slowdust: Slowdust, table: str
) -> None:
    alone = archive.parent / "alone"
    alone.mkdir()
    (alone / f"{table}.gz").write_bytes(gzip.compress((archive / table).read_bytes()))
    (alone / table).write_text("")
    printed = slowdust("import", "sysbench", alone, "--clients", "8")
    assert f"skipped: {table}: empty" in printed
    assert "twice" not in printed
    assert len(results(slowdust, "alone")) == 2 * BLOCKS
