"""Rates of scan of two dates in one directory: of all threads, and of one thread."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.archive.command import Slowdust, mentions, results, slowdust
from tests.unit.archive.sysbench_files import RUN_A, RUN_B, Written, write_archive

__all__ = ["slowdust"]

RUN_C = "x.pg175_o2.x10a_c8.pk1"
OF_ALL, OF_ONE = "for all threads", "for one thread"
NO_RAW = frozenset({"o", "vm", "io", "ps", "r.rtavg", "r.rt95"})
RAW = NO_RAW - {"o", "vm", "io", "ps"}
SCAN, WARM = "scan.range100", "scan.warm.range100"
KILO, KILO_OF_ONE, UNKNOWN = (
    "thousand rows/s", "thousand rows/s of one thread", "unknown units"
)  # fmt: skip


def scan(rate: float, published: str, *, test: str = "scan", without: frozenset[str]) -> Written:
    """A scan of 1,000 rows at a rate, published as another."""
    written = Written(test=test, rate=rate, without=without)
    written.extra["met"] = written.met().replace(f"\t{rate:.2f}\n", f"\t{published}\n")
    written.extra["r.qps"] = f"{published}\tpgsql {test} range=100\n"
    return written


def dated(day: str) -> Written:
    """Another test, at a day."""
    return Written(extra={"io": Written().iostat().replace("03/04/2025", day)}, without=RAW)


def units(slowdust: Slowdust, test: str = SCAN) -> dict[str, str]:
    actual = results(slowdust, "mix")
    return {version: result["unit"] for (name, version), result in actual.items() if name == test}


def compared(slowdust: Slowdust, test: str = SCAN) -> set[str]:
    actual = results(slowdust, "mix").items()
    return {version for (name, version), result in actual if name == test and "rqps" in result}


def test_the_rule_is_that_which_gives_the_rates_of_the_run(
    tmp_path: Path, slowdust: Slowdust
) -> None:
    tests = {RUN_A: [scan(800.0, "800", without=RAW)], RUN_B: [scan(800.0, "125", without=RAW)]}
    archive = write_archive(tmp_path / "mix", tests)
    for path in archive.rglob("sb.met*"):
        path.unlink()
    printed = slowdust("import", "sysbench", archive, "--compat")
    assert "differs" not in printed
    assert mentions(printed, RUN_A, OF_ALL, "reproduces")
    assert mentions(printed, RUN_B, OF_ONE, "reproduces")
    assert units(slowdust) == {"10.23": KILO, "17.4": KILO_OF_ONE}
    assert compared(slowdust) == {"10.23"}
    slowdust("report", "mix", "--classic", "classic")
    for run, rate in ((RUN_A, "800"), (RUN_B, "125")):
        text = Path("classic", run, "sb.r.qps.scan.range100.pk1").read_text(encoding="utf-8")
        assert text == f"{rate}\tpgsql scan range=100\n"
    slowdust("import", "sysbench", archive)
    assert units(slowdust) == {"10.23": KILO, "17.4": KILO}
    assert compared(slowdust) == {"10.23", "17.4"}


def test_else_that_of_the_day_of_the_run(tmp_path: Path, slowdust: Slowdust) -> None:
    tests = {
        RUN_A: [scan(0.5, "800", without=NO_RAW), dated("03/04/2025")],
        RUN_B: [scan(0.5, "125", without=NO_RAW), dated("11/04/2025")],
    }
    archive = write_archive(tmp_path / "mix", tests)
    printed = slowdust("import", "sysbench", archive)
    assert mentions(printed, RUN_A, OF_ALL, "date of the run")
    assert mentions(printed, RUN_B, OF_ONE, "date of the run")
    assert units(slowdust) == {"10.23": KILO, "17.4": KILO_OF_ONE}
    assert compared(slowdust) == {"10.23"}


@pytest.mark.parametrize(("published", "unit"), [("700", KILO), ("80", KILO), ("79", UNKNOWN)])
def test_a_run_that_says_nothing_goes_with_the_others_unless_it_is_far_from_them(
    *, tmp_path: Path, slowdust: Slowdust, published: str, unit: str
) -> None:
    tests = {
        RUN_A: [scan(0.5, "800", without=NO_RAW), dated("03/04/2025")],
        RUN_B: [
            scan(0.5, published, without=NO_RAW),
            scan(0.5, published, test="scan.warm", without=NO_RAW),
        ],
    }
    archive = write_archive(tmp_path / "nov25", tests)
    printed = slowdust("import", "sysbench", archive, "--name", "mix")
    assert mentions(printed, "scan: ", OF_ALL, "date of the run")
    assert units(slowdust) == {"10.23": KILO, "17.4": unit}
    assert units(slowdust, WARM) == {"17.4": unit}
    rates = (f"{SCAN}: {published} of {RUN_B}", f"800 of {RUN_A}", KILO, "--scan")
    assert mentions(printed, *rates) is (unit == UNKNOWN)
    assert ("17.4" in compared(slowdust)) is (unit != UNKNOWN)
    if unit == UNKNOWN:
        notes = results(slowdust, "mix")[SCAN, "17.4"]["notes"]
        assert any(mentions(note, UNKNOWN, KILO) for note in notes)
    slowdust("import", "sysbench", archive, "--name", "mix", "--scan", "all-threads")
    assert "17.4" in compared(slowdust)


def test_where_no_run_reports_they_are_compared_with_the_base(
    tmp_path: Path, slowdust: Slowdust
) -> None:
    tests = {
        run: [scan(0.5, published, without=NO_RAW)]
        for run, published in ((RUN_A, "112500"), (RUN_B, "2512"), (RUN_C, "97600"))
    }
    printed = slowdust("import", "sysbench", write_archive(tmp_path / "mix", tests))
    assert printed.count("--scan") == 1
    assert units(slowdust) == {"10.23": KILO, "17.4": UNKNOWN, "17.5": KILO}
    assert compared(slowdust) == {"10.23", "17.5"}


def test_columns_of_a_table_are_no_other(tmp_path: Path, slowdust: Slowdust) -> None:
    (tmp_path / "mix").mkdir()
    (tmp_path / "mix" / "qps.abs.tsv").write_text(
        f"col-1 : {RUN_A}\ncol-2 : {RUN_B}\n\ncol-1\tcol-2\n112500\t2512\tscan_range=100\n"
    )
    slowdust("import", "sysbench", tmp_path / "mix", "--clients", "40")
    assert compared(slowdust) == {"10.23"}


def test_relative_rates_of_two_times_are_kept_and_not_compared(
    tmp_path: Path, slowdust: Slowdust
) -> None:
    text = f"Relative to: {RUN_A}\ncol-1 : {RUN_B}\n\ncol-1\n0.02\tscan_range=100\n"
    (tmp_path / "mix").mkdir()
    (tmp_path / "mix" / "qps.rel.tsv").write_text(text)
    printed = slowdust("import", "sysbench", tmp_path / "mix", "--clients", "40")
    assert mentions(printed, f"{SCAN}: 0.02 of {RUN_B}", f"1 of {RUN_A}", "relative to")
    assert compared(slowdust) == {"10.23"}
    slowdust("report", "mix", "--classic", "classic")
    assert Path("classic/qps.rel.tsv").read_text(encoding="utf-8") == text
