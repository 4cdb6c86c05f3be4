"""Tables of different conditions in one directory never share a ratio."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.unit.archive.command import Slowdust, mentions, report, results, slowdust
from tests.unit.archive.sysbench_files import RUN_A, RUN_B, Written, write_archive

__all__ = ["slowdust"]
RUN_C = "x.pg180_o2.x10a_c8.pk1"


def table(runs: list[str], rows: Mapping[str, str]) -> str:
    columns = "".join(f"col-{place} : {run}\n" for place, run in enumerate(runs, 1))
    return f"{columns}\ncol-1\n" + "".join(
        f"{row}\t{test}_range=100\n" for test, row in rows.items()
    )


def ratios(slowdust: Slowdust, name: str) -> dict[tuple[str, str], float | None]:
    return {key: result.get("rqps") for key, result in results(slowdust, name).items()}


def test_tables_of_two_conditions_are_two_experiments(tmp_path: Path, slowdust: Slowdust) -> None:
    folder = tmp_path / "a"
    folder.mkdir()
    io = table([RUN_A, RUN_B], {"hot-points": "1000\t0", "insert": "1000\t1100"})
    mem = table([RUN_A, RUN_B], {"hot-points": "9000\t9900", "insert": "9000\t9900"})
    (folder / "qps.abs.io.dop8.tsv").write_text(io)
    (folder / "qps.abs.mem.dop8.tsv").write_text(mem)
    printed = slowdust("import", "sysbench", folder)
    assert mentions(printed, "qps.abs.mem.dop8.tsv: ", "'-mem'")
    assert ratios(slowdust, "a-io")["insert.range100", "17.4"] == pytest.approx(1.1)
    assert ("hot-points.range100", "17.4") not in ratios(slowdust, "a-io")
    assert ratios(slowdust, "a-mem")["hot-points.range100", "17.4"] == pytest.approx(1.1)
    again = slowdust("import", "sysbench", folder)
    assert again == printed
    named = slowdust("import", "sysbench", folder, "--name", "n")
    assert "n-a-io: " in named
    assert "n-a-mem: " in named


def test_other_tables_go_with_the_condition_that_they_are_of(
    tmp_path: Path, slowdust: Slowdust
) -> None:
    folder = tmp_path / "a"
    folder.mkdir()
    for condition, factor in (("io", 1), ("mem", 9)):
        for clients in (1, 40):
            row = f"{1000 * factor * clients}\t{1100 * factor * clients}"
            text = table([RUN_A, RUN_B], {"insert": row})
            (folder / f"qps.abs.{condition}.dop{clients}.tsv").write_text(text)
        (folder / f"qps.rel.{condition}.dop1.tsv").write_text(
            f"Relative to: {RUN_A}\ncol-1 : {RUN_B}\n\ncol-1\n1.10\tinsert_range=100\n"
        )
    (folder / "o.met.x").write_text(
        "".join(
            f"sb.met.insert.range100.pk1.dop{clients}\n--- absolute\n"
            "cpu/o\t\tcs/o\tr/o\trKB/o\twKB/o\to/s\tdbms\n"
            f"0.001\t3.8\t0\t0\t0.1\t{9000 * clients}\t{RUN_A}\n"
            f"0.001\t3.8\t0\t0\t0.1\t{9900 * clients}\t{RUN_B}\n"
            for clients in (1, 40)
        )
    )
    printed = slowdust("import", "sysbench", folder)
    assert "a-io: 2 contenders, 1 test, 4 results" in printed
    assert "a-mem: 2 contenders, 1 test, 4 results" in printed
    for name, files, factor in (("a-io", 2, 1), ("a-mem", 3, 9)):
        by_clients = {each["clients"]: each["qps"] for each in report(slowdust, name)["results"]}
        assert by_clients == pytest.approx({1: 1100 * factor, 40: 44_000 * factor})
        shown = slowdust("show", name)
        assert f"{files} files used" in shown
        assert mentions(shown, "1 file compared with ", ": qps.rel.tsv 1")


def test_a_contender_of_a_table_of_another_condition_is_not_next_to_the_runs(
    tmp_path: Path, slowdust: Slowdust
) -> None:
    tests = [Written(rate=1000.0), Written(test="insert", rate=2000.0)]
    folder = write_archive(tmp_path / "a", {RUN_A: tests, RUN_B: tests})
    rows = {"hot-points": "9000\t9900\t9950", "insert": "18000\t18100\t19900"}
    (folder / "qps.abs.mem.tsv").write_text(table([RUN_A, RUN_B, RUN_C], rows))
    printed = slowdust("import", "sysbench", folder, "--clients", "8")
    assert "qps.abs.mem.tsv: rates of the same tests differ" in printed
    assert {version for _, version in results(slowdust, "a")} == {"10.23", "17.4"}
    assert ratios(slowdust, "a-mem")["hot-points.range100", "18.0"] == pytest.approx(9950 / 9000)


def test_tables_of_the_runs_stay_and_give_what_the_runs_lack(
    tmp_path: Path, slowdust: Slowdust
) -> None:
    folder = write_archive(tmp_path / "a", {RUN_A: [Written(rate=1000.0)]})
    (folder / "qps.abs.x.tsv").write_text(table([RUN_A, RUN_B], {"hot-points": "1000\t1100"}))
    printed = slowdust("import", "sysbench", folder)
    assert "condition" not in printed
    assert ratios(slowdust, "a")["hot-points.range100", "17.4"] == pytest.approx(1.1)


def test_relative_tables_of_two_conditions(tmp_path: Path, slowdust: Slowdust) -> None:
    folder = tmp_path / "a"
    folder.mkdir()
    for name, ratio in (("x", "1.20"), ("y", "0.60")):
        (folder / f"qps.rel.{name}.tsv").write_text(
            f"Relative to: {RUN_A}\ncol-1 : {RUN_B}\n\ncol-1\n{ratio}\thot-points_range=100\n"
        )
    slowdust("import", "sysbench", folder, "--clients", "8")
    assert ratios(slowdust, "a-x")["hot-points.range100", "17.4"] == pytest.approx(1.2)
    assert ratios(slowdust, "a-y")["hot-points.range100", "17.4"] == pytest.approx(0.6)


def test_tables_in_directories_of_their_conditions(tmp_path: Path, slowdust: Slowdust) -> None:
    """Runs of the directory above have the one of them that is theirs."""
    tests = [Written(rate=1000.0)]
    folder = write_archive(tmp_path / "a", {RUN_A: tests, RUN_B: tests, RUN_C: tests})
    for condition, factor in (("io", 1), ("mem", 9)):
        (folder / condition).mkdir()
        rows = {
            "hot-points": "\t".join([str(1000 * factor)] * 3),
            "insert": f"{500 * factor}\t{550 * factor}\t{400 * factor}",
        }
        (folder / condition / "qps.abs.tsv").write_text(table([RUN_A, RUN_B, RUN_C], rows))
    printed = slowdust("import", "sysbench", folder, "--clients", "8")
    assert "a-mem: 3 contenders, 2 tests, 6 results" in printed
    assert results(slowdust, "a")["insert.range100", "17.4"]["qps"] == 550
    assert results(slowdust, "a-mem")["insert.range100", "17.4"]["qps"] == 4950
