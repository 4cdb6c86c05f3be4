"""Derived files are read if their sources are missing."""

from __future__ import annotations

from pathlib import Path

import pytest

from slowdust.archive.sysbench.tables import read_csv, read_tsv
from slowdust.store.manifest import Fate
from tests.unit.archive.command import Slowdust, mentions, report, results, slowdust
from tests.unit.archive.sysbench_files import RUN_A, RUN_B, Written, write_archive

__all__ = ["slowdust"]

OLD, NEW = Written(counters=(100, 110)), Written(rate=1200.25, counters=(90, 95))
SCAN_OLD, SCAN_NEW = Written(test="scan", rate=11.25), Written(test="scan", rate=13.75)
BASE = "postgres@10.23:x10a_c8+o2"
RELATIVE = f"""\
Relative to: {RUN_A}
col-1 : {RUN_B}

col-1
1.20\thot-points_range=100
1.22\tscan_range=100
"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "a").mkdir()
    return tmp_path / "a"


@pytest.fixture
def written(tmp_path: Path, slowdust: Slowdust) -> Path:
    """Write all summaries of two runs, and nothing of the runs."""
    write_archive(tmp_path / "raw", {RUN_A: [OLD], RUN_B: [NEW]})
    slowdust("import", "sysbench", "raw", "--compat")
    slowdust("report", "raw", "--classic", "made")
    return tmp_path / "made"


def test_relative_rates_alone_are_compared_as_they_were_published(
    folder: Path, slowdust: Slowdust
) -> None:
    (folder / "qps.rel.x.tsv").write_text(RELATIVE)
    printed = slowdust("import", "sysbench", folder, "--clients", "8")
    assert mentions(printed, "relative rates", "4 results")
    assert "scan: published rates" not in printed
    actual = results(slowdust, "a")
    old, new = actual["hot-points.range100", "10.23"], actual["hot-points.range100", "17.4"]
    assert (old["qps"], new["qps"]) == (1, 1.20)
    assert old["unit"] == new["unit"] == f"relative to {RUN_A}"
    assert new["rqps"] == pytest.approx(1.20)
    assert actual["scan.range100", "17.4"]["rqps"] == pytest.approx(1.22)
    slowdust("report", "a", "--classic", "classic", "--md", "--html", "page.html")
    assert {path.name for path in Path("classic").iterdir()} == {"qps.rel.x.tsv", "qps.rel.x.csv"}
    assert Path("classic/qps.rel.x.tsv").read_text(encoding="utf-8") == RELATIVE


@pytest.mark.parametrize(("kind", "edited"), [("abs", "1200"), ("rel", "1.20")])
def test_tables_of_several_numbers_of_clients_are_compared_each_with_its_own(
    folder: Path, slowdust: Slowdust, kind: str, edited: str
) -> None:
    bare = frozenset({"r.qps", "r.rtavg", "r.rt95", "met"})
    for run, rates in ((RUN_A, (1000.0, 2000.0)), (RUN_B, (1200.0, 3000.0))):
        for clients, rate in zip((4, 8), rates, strict=True):
            Written(rate=rate, dop=clients, without=bare).write(folder / run)
    head = {
        "abs": f"col-1 : {RUN_A}\ncol-2 : {RUN_B}\n\n",
        "rel": f"Relative to: {RUN_A}\ncol-1 : {RUN_B}\n\n",
    }
    rows = {"abs": ("1000\t1200", "2000\t3000"), "rel": ("1.20", "1.50")}
    tables = [folder / f"qps.{kind}.dop{clients}.tsv" for clients in (4, 8)]
    for table, row in zip(tables, rows[kind], strict=True):
        table.write_text(f"{head[kind]}{row}\thot-points_range=100\n")
    printed = slowdust("import", "sysbench", folder)
    assert "differs" not in printed
    assert "not used" not in printed
    tables[1].write_text(tables[0].read_text())
    printed = slowdust("import", "sysbench", folder)
    assert mentions(
        printed, f"{Fate.DIFFERS}: {tables[1].name}: ", f"hot-points_range=100 of {RUN_B}", edited
    )


def test_rates_that_say_too_little_are_reported(folder: Path, slowdust: Slowdust) -> None:
    relative = RELATIVE.replace("1.20", "0.00")
    (folder / "qps.rel.x.tsv").write_text(relative)
    printed = slowdust("import", "sysbench", folder, "--clients", "8")
    assert "used in part: qps.rel.x.tsv: not used: 1 rate of 0" in printed
    actual = results(slowdust, "a")
    assert ("hot-points.range100", "17.4") not in actual
    assert ("scan.range100", "17.4") in actual


def test_a_rate_of_scan_that_no_rule_gives_has_no_unit(folder: Path, slowdust: Slowdust) -> None:
    rows = "0.349\t0.438\tscan_range=100\n5\t6\tscan.warm_range=100\n"
    (folder / "qps.abs.x.tsv").write_text(f"col-1 : {RUN_A}\ncol-2 : {RUN_B}\n\n{rows}")
    slowdust("import", "sysbench", folder, "--clients", "8")
    actual = results(slowdust, "a")
    assert actual["scan.range100", "17.4"]["unit"] == "unknown units"
    assert actual["scan.range100", "17.4"]["rqps"] == pytest.approx(0.438 / 0.349)
    assert actual["scan.warm.range100", "17.4"]["unit"] == "thousand rows/s"


def test_relative_rates_of_tests_with_absolute_ones_are_only_compared(
    folder: Path, slowdust: Slowdust
) -> None:
    write_archive(folder, {RUN_A: [OLD, SCAN_OLD], RUN_B: [NEW]})
    (folder / "qps.rel.x.tsv").write_text(RELATIVE.replace("1.20", "1.33"))
    printed = slowdust("import", "sysbench", folder)
    differing = f"{Fate.DIFFERS}: qps.rel.x.tsv: hot-points_range=100 of {RUN_B}"
    assert mentions(printed, differing, "1.33", "1.20")
    assert "qps.rel.x.tsv: not used: 1 row " in printed
    actual = results(slowdust, "a")
    assert actual["hot-points.range100", "17.4"]["rqps"] == pytest.approx(1200.25 / 1000.5)
    assert ("scan.range100", "17.4") not in actual


@pytest.mark.parametrize(("first", "second"), [("abs", "abs"), ("abs", "rel")])
def test_of_two_tables_of_the_same_runs_the_first_counts(
    folder: Path, slowdust: Slowdust, first: str, second: str
) -> None:
    tables = {
        "abs": f"col-1 : {RUN_A}\ncol-2 : {RUN_B}\n\n10\t12\thot-points_range=100\n",
        "rel": f"Relative to: {RUN_A}\ncol-1 : {RUN_B}\n\n1.20\thot-points_range=100\n",
    }
    (folder / f"qps.{first}.x.tsv").write_text(tables[first])
    other = tables[second].replace("12", "13").replace("1.20", "1.30")
    (folder / f"qps.{second}.y.tsv").write_text(other)
    printed = slowdust("import", "sysbench", folder, "--clients", "8")
    what = "rate" if second == "abs" else "row"
    assert f"used in part: qps.{second}.y.tsv: not used: 1 {what} " in printed
    assert results(slowdust, "a")["hot-points.range100", "17.4"]["rqps"] == pytest.approx(1.2)


@pytest.mark.parametrize("source", ["runs", "o.met"])
def test_a_table_of_relative_rates_keeps_its_tag_where_others_are_absolute(
    *, written: Path, folder: Path, slowdust: Slowdust, source: str
) -> None:
    """Rows without other sources stay as they are; the others are computed again."""
    table = RELATIVE.replace("1.20\thot", "7.77\thot")
    (folder / "qps.rel.wm1.tsv").write_text(table)
    if source == "runs":
        write_archive(folder, {RUN_A: [OLD], RUN_B: [NEW]})
    else:
        (folder / "o.met.dop1").write_text((written / "o.met").read_text())
    slowdust("import", "sysbench", folder, "--compat")
    slowdust("report", "a", "--classic", "classic")
    tags = {path.name.split(".")[2] for path in Path("classic").glob("qps.*")}
    assert tags == {"wm1"}
    assert Path("classic/qps.rel.wm1.tsv").read_text(encoding="utf-8") == RELATIVE
    assert Path("classic/qps.rel.wm1.csv").read_text(encoding="utf-8") == "".join(
        f"{label},{rate}\n"
        for rate, label in (("1.20", "hot-points_range=100"), ("1.22", "scan_range=100"))
    )
    assert (
        Path("classic/qps.abs.wm1.csv").read_text(encoding="utf-8")
        == "hot-points_range=100,1000,1200\n"
    )


@pytest.mark.parametrize(
    ("beside", "expected", "base"),
    [
        ((), "numbered", "col-1"),
        (("qps.rel.tsv",), "", BASE),
        (("o.met",), "o.met", BASE),
        ((RUN_A, RUN_B), "run directories", BASE),
    ],
)  # fmt: skip
def test_a_table_without_names_of_columns_says_what_they_are_taken_to_be(
    *,
    written: Path,
    folder: Path,
    slowdust: Slowdust,
    beside: tuple[str, ...],
    expected: str,
    base: str,
) -> None:
    for name in ("qps.abs.csv", *beside):
        if (written / name).is_file():
            (folder / name).write_text((written / name).read_text())
    for name in {RUN_A, RUN_B} & set(beside):
        Written(test="point-query").write(folder / name)
    printed = slowdust("import", "sysbench", folder, "--clients", "8")
    assert ("columns without names" in printed) == bool(expected)
    assert mentions(printed, "columns without names" if expected else "", expected)
    actual = report(slowdust, "a")
    assert actual["base"] == base
    rates = {
        result["contender"]: result["qps"]
        for result in actual["results"]
        if result["group"] == "point"
    }
    assert {1000, 1200} <= set(rates.values()) or beside == (RUN_A, RUN_B)
    assert not expected or any(
        mentions(warning, "columns without names", expected) for warning in actual["warnings"]
    )


def test_relative_rates_without_names_have_a_base_and_numbers(
    written: Path, folder: Path, slowdust: Slowdust
) -> None:
    (folder / "qps.rel.csv").write_text((written / "qps.rel.csv").read_text())
    slowdust("import", "sysbench", folder, "--clients", "8")
    actual = report(slowdust, "a")
    assert actual["contenders"] == ["base", "col-1"]
    assert [result.get("rqps") for result in actual["results"]] == [1, pytest.approx(1.20)]


def test_a_table_without_names_below_is_of_the_runs_above(
    written: Path, slowdust: Slowdust
) -> None:
    write_archive(written, {RUN_A: [OLD], RUN_B: [NEW]})
    (written / "tables").mkdir()
    (written / "tables" / "qps.abs.csv").write_text("point-query_range=100,10,20\n")
    slowdust("import", "sysbench", written)
    actual = results(slowdust, "made")
    assert actual["point-query.range100", "17.4"]["rqps"] == pytest.approx(2)


@pytest.mark.parametrize("form", ["raw", "sorted"])
def test_extracted_counters_match_the_run(written: Path, slowdust: Slowdust, form: str) -> None:
    runs = {RUN_A: [Written()], RUN_B: [Written(rate=1200.25)]}
    write_archive(written, runs)
    for path in [*written.glob("join*"), *written.rglob("sb.perf*")]:
        if not path.name.endswith(f".{form}") or path.name.startswith("join"):
            path.unlink()
    slowdust("import", "sysbench", written)
    expected, actual = (
        results(slowdust, name)["hot-points.range100", "17.4"]["counters_relative"]
        for name in ("raw", "made")
    )
    assert actual == pytest.approx(expected, rel=1e-3)
    slowdust("report", "made", "--classic", "again")
    texts = sorted(Path("again", RUN_A).glob("*.raw"))
    assert [path.name[-5:] for path in texts] == ["1.raw", "2.raw"]
    assert texts[0].read_text().startswith("cycles\t100\nGHz\t2.705\nbus-cycles\t-1\n")


@pytest.mark.parametrize("kind", ["abs", "rel"])
def test_joined_counters_are_divided_by_the_rates(
    written: Path, slowdust: Slowdust, kind: str
) -> None:
    for path in [*written.glob("join*"), *written.rglob("sb.perf*")]:
        if not path.name.startswith(f"join1.{kind}"):
            path.unlink()
    printed = slowdust("import", "sysbench", written)
    assert "join*: columns without names" in printed
    actual = results(slowdust, "made")["hot-points.range100", "17.4"]
    expected = results(slowdust, "raw")["hot-points.range100", "17.4"]["counters_relative"]
    assert actual["counters_relative"] == pytest.approx(expected, rel=1e-3)
    assert "bus-cycles" not in actual["counters_relative"]
    assert actual["counters"].get("relative_to") == (RUN_A if kind == "rel" else None)
    [note] = [note for note in actual["notes"] if note.startswith("counters are")]
    assert f"{note}: 2 results, hot-points.range100" in printed
    assert ("joined table" in note) == (kind == "abs")


def test_joined_counters_that_nothing_can_be_made_of_are_skipped(
    written: Path, slowdust: Slowdust
) -> None:
    join = next(written.glob("join1.abs*"))
    three = "\n".join(f"{line} 7" for line in join.read_text().splitlines())
    for path in written.rglob("sb.perf*"):
        path.unlink()
    join.with_name(join.name.replace("hot-points", "scan")).write_text(join.read_text())
    join.with_name(join.name.replace("hot-points", "gone.x")).write_text(join.read_text())
    join.with_name(join.name.replace(".all.", ".b.")).write_text(three)
    printed = slowdust("import", "sysbench", written)
    joined = "join1.abs.all.sb.perf.hw"
    assert mentions(printed, f"{joined}.scan.range100.pk1.1.sorted: ", "10 s")
    assert mentions(printed, f"{joined}.gone.x.range100.pk1.1.sorted: ", "unknown test")
    assert mentions(printed, ".b.", ": ", "2 runs")


def test_rows_that_are_none_are_distinguished_from_rows() -> None:
    table, strange = read_csv(["a_range=1,5,6", "", "b_range=1,5", "c_range=1,x,6"])
    assert (dict(table.rows), table.runs) == ({"a_range=1": ("5", "6")}, ("col-1", "col-2"))
    assert strange == ["b_range=1,5", "c_range=1,x,6"]
    lines = ["col-1 : a", "col-2 : \x00", "1\tx_range=1", "1\tx_range=1", "2\tx_range=1"]
    table, strange = read_tsv(lines)
    assert (table.runs, strange) == (("a",), [lines[1]])
    assert table.repeated == ["x_range=1", "x_range=1"]
