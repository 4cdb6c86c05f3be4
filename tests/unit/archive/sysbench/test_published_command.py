"""The command line reproduces the classic files of the archive byte for byte."""

import csv
from pathlib import Path

import pytest

from tests.unit.archive.command import Slowdust, report, results, slowdust
from tests.unit.archive.published import RUNS, needs_archive

__all__ = ["slowdust"]
pytestmark = needs_archive

WRITTEN = (
    "**/sb.met.*", "**/sb.prepare.met.*", "**/sb.r.qps.*", "**/*.raw", "**/*.sorted", "**/qps.*",
    "**/o.met*",
)  # fmt: skip
"""Files that `report --classic` writes for everything in a directory."""


@pytest.mark.parametrize(
    ("directory", "experiment", "files"),
    [
        ("mar25.pg.workmem.c48", "mar25.pg.workmem.c48", 242),
        ("feb25.pg.perf", "feb25.pg.perf", 236),
        ("nov25.sb.pg/dop40", "nov25.sb.pg-dop40", 80),
        ("apr25.c48.malloc", "apr25.c48.malloc", 5),
    ],
)
def test_classic_files(slowdust: Slowdust, directory: str, experiment: str, files: int) -> None:
    archive = RUNS / directory
    slowdust("import", "sysbench", archive, "--compat")
    slowdust("report", experiment, "--classic", "classic")
    names = {path.relative_to(archive) for form in WRITTEN for path in archive.glob(form)}
    names = {name for name in names if (archive / name).is_file()}
    assert len(names) == files
    for name in names:
        assert (Path("classic") / name).read_bytes() == (archive / name).read_bytes(), name


def expected(name: str) -> list[dict[str, str]]:
    with (RUNS / "EXPECTED" / name).open() as file:
        return list(csv.DictReader(file))


VERSIONS = {
    "pg1023": "10.23",
    "pg110": "11.0",
    "pg1110": "11.10",
    "pg1122": "11.22",
    "pg174": "17.4",
}


def place(row: dict[str, str]) -> tuple[str, tuple[str, str]]:
    """Return the experiment, and test and version, of a row of the expected values."""
    experiment, _, run = row["run"].partition("/")
    version = VERSIONS[run.removeprefix("x.").partition("_")[0]]
    return experiment, (row["test"].partition(".pk1")[0], version)


@pytest.fixture
def imported(slowdust: Slowdust) -> dict[str, dict[tuple[str, str], dict[str, object]]]:
    """Return the results of clean imports by experiment."""
    names = ("feb25.pg.perf", "mar25.pg.workmem.c48")
    slowdust("import", "sysbench", *(RUNS / name for name in names))
    return {name: results(slowdust, name) for name in names}


def test_clean_hardware_per_operation(
    imported: dict[str, dict[tuple[str, str], dict[str, dict[str, float]]]],
) -> None:
    rows = expected("vmstat_clean.csv")
    assert len(rows) == 60
    for row in rows:
        experiment, key = place(row)
        use = imported[experiment][key]["per_op"]
        assert f"{use['host_cs']:.3f}" == row["clean_cs_o"]
        cpu = use["host_cpu_us"] / 48 / 1e6 * 100
        if row["test"].startswith("scan"):  # divided there by queries/s of two decimals
            assert cpu == pytest.approx(float(row["clean_cpu_o"]), rel=2e-3)
        else:
            assert f"{cpu:.6f}" == row["clean_cpu_o"]


def test_peaks(imported: dict[str, dict[tuple[str, str], dict[str, float]]]) -> None:
    for row in expected("ps_peak.csv"):
        experiment, key = place(row)
        result = imported[experiment][key]
        assert f"{result['peak_vsz_gb']:.1f}" == row["peak_vsz_gib"]
        assert f"{result['peak_rss_gb']:.1f}" == row["peak_rss_gib"]


def test_counters_per_query(slowdust: Slowdust) -> None:
    slowdust("import", "sysbench", RUNS / "feb25.pg.perf", "--compat")
    actual = results(slowdust, "feb25.pg.perf")
    rows = expected("hw_per_query_rel.csv")
    assert len(rows) == 394
    for row in rows:
        relative = actual[row["test"], VERSIONS[row["version_vs_pg1023"]]]["counters_relative"]
        assert f"{relative[row['counter']]:.3f}" == row["computed_rel_counter_per_query"]


def test_relative_rates_match_the_posts(slowdust: Slowdust) -> None:
    slowdust("import", "sysbench", RUNS / "apr25.c48.malloc", "--compat")
    actual = results_by_contender(slowdust, "apr25.c48.malloc")
    tests = (RUNS / "apr25.c48.malloc/25apr.c48.inno.conf/qps.rel.in.csv").read_text().split()
    for row in tests:
        label, *ratios = row.split(",")
        test = label.replace("_range=", ".range")
        for contender, ratio in zip(("tcmalloc", "jemalloc"), ratios, strict=True):
            assert f"{actual[contender, test]:.2f}" == ratio


def results_by_contender(slowdust: Slowdust, name: str) -> dict[tuple[str, str], float]:
    """Return rqps by allocator and test."""
    return {
        (allocator, result["test"]): result["rqps"]
        for result in report(slowdust, name)["results"]
        for allocator in ("tcmalloc", "jemalloc")
        if allocator in result["contender"]
    }
