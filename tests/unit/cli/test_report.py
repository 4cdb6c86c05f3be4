"""`slowdust report`: its formats, output files and options."""

from __future__ import annotations

import csv
import io
import json
from pathlib import Path
from typing import Any

import msgspec
import pytest
from syrupy.assertion import SnapshotAssertion

from tests.unit.cli.command import Slowdust, spoken
from tests.unit.synthetic_counts import synthetic_counts

CONTENDERS = ["postgres@15.8", "postgres@17.6", "mariadb@11.4.5"]


def report_of(text: str) -> dict[str, Any]:
    """Return the report that `--json` printed."""
    report: dict[str, Any] = json.loads(text)
    return report


def test_without_a_name_it_is_the_newest_with_its_page_next_to_the_results(
    slowdust: Slowdust, results: Path
) -> None:
    outcome = slowdust("report")
    assert (outcome.code, outcome.err) == (0, "")
    lines = outcome.out.splitlines()
    assert any("17.6" in line for line in lines)
    assert lines[-1] == "report: results/slap/report.html"
    assert (results / "slap/report.html").read_text().startswith("<!doctype html>")
    assert not (results / "micro/report.html").exists()


def test_a_named_experiment(slowdust: Slowdust, results: Path) -> None:
    assert slowdust("report", "micro").out.splitlines()[-1] == "report: results/micro/report.html"


def test_the_page_compared_with_another_base_has_a_name_of_its_own(
    slowdust: Slowdust, results: Path
) -> None:
    slowdust("report", "micro")
    first = (results / "micro/report.html").read_text()
    outcome = slowdust("report", "micro", "--base", "17.6")
    assert outcome.out.splitlines()[-1] == (
        "report: results/micro/report-beside-postgres-17.6.html"
    )
    assert (results / "micro/report.html").read_text() == first


def test_a_page_that_replaces_another_says_so(
    slowdust: Slowdust, results: Path, snapshot: SnapshotAssertion
) -> None:
    assert slowdust("report", "slap", "--html", "page.html").err == ""
    assert slowdust("report", "slap", "--html", "page.html").err == "", "the same page again"
    outcome = slowdust("report", "slap", "--base", "17.6", "--html", "page.html")
    assert outcome.err == snapshot
    outcome = slowdust("report", "micro", "--html", "page.html")
    assert outcome.err == snapshot


def test_a_file_that_is_no_page_is_not_replaced(
    slowdust: Slowdust, results: Path, snapshot: SnapshotAssertion
) -> None:
    Path("mine.html").write_text("<title>Mine</title>", encoding="utf-8")
    outcome = slowdust("report", "micro", "--html", "mine.html")
    assert outcome.code == 2
    assert outcome.complaint == snapshot
    assert Path("mine.html").read_text(encoding="utf-8") == "<title>Mine</title>"


@pytest.mark.parametrize("command", ["report", "history"])
def test_two_formats_to_print_are_wrong_use(
    slowdust: Slowdust, results: Path, command: str, snapshot: SnapshotAssertion
) -> None:
    outcome = slowdust(command, "--md", "--json")
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err == snapshot


def test_json_has_every_result_of_every_contender(slowdust: Slowdust, results: Path) -> None:
    outcome = slowdust("report", "micro", "--json")
    assert (outcome.code, outcome.err) == (0, "")
    report = report_of(outcome.out)
    assert report["experiment"] == "micro"
    assert report["contenders"] == CONTENDERS
    assert report["base"] == CONTENDERS[0]
    results_of_base = [r for r in report["results"] if r["contender"] == CONTENDERS[0]]
    assert len(report["results"]) == 3 * len(results_of_base) == 3 * 5 * 2, "tests x clients"
    assert {result["rqps"] for result in results_of_base} == {1.0}
    assert not (results / "micro/report.html").exists(), "only what was asked for is written"


def test_counts_of_the_experiment_become_work(slowdust: Slowdust, results: Path) -> None:
    counts = synthetic_counts(CONTENDERS, ["scan"], shifts={CONTENDERS[1]: 1.49})
    lines = [msgspec.json.encode(count) + b"\n" for count in counts]
    (results / "micro/counts.ndjson").write_bytes(b"".join(lines))

    report = report_of(slowdust("report", "micro", "--json").out)
    back = report_of(slowdust("report", "micro", "--json", "--base", CONTENDERS[1]).out)
    printed = slowdust("report", "micro").out.splitlines()

    work = {
        (r["contender"], r["clients"]): r["work"]["verdict"]
        for r in report["results"]
        if "verdict" in r.get("work", {})
    }
    assert work == {(CONTENDERS[1], 1): "more", (CONTENDERS[2], 1): "same"}
    assert {r["work"]["verdict"] for r in back["results"] if "verdict" in r.get("work", {})} == {
        "less"
    }
    assert any("more work" in line for line in printed)


def test_csv_has_a_row_for_each_result_of_the_json(slowdust: Slowdust, results: Path) -> None:
    rows = list(csv.DictReader(io.StringIO(slowdust("report", "micro", "--csv").out)))
    report = report_of(slowdust("report", "micro", "--json").out)
    keys = ("test", "clients", "contender", "qps")
    assert [[row[key] for key in keys] for row in rows] == [
        [str(result[key]) for key in keys] for result in report["results"]
    ]


def test_markdown_has_a_title_the_base_and_every_contender(
    slowdust: Slowdust, results: Path, snapshot: SnapshotAssertion
) -> None:
    outcome = slowdust("report", "micro", "--md")
    assert (outcome.code, outcome.err) == (0, "")
    assert outcome.out.startswith("# micro\n\n")
    assert outcome.out.partition("\n## ")[0] == snapshot
    assert all(contender in outcome.out for contender in CONTENDERS)


@pytest.mark.parametrize("base", ["17.6", "postgres@17.6"])
def test_base_is_a_contender_or_its_version(slowdust: Slowdust, results: Path, base: str) -> None:
    report = report_of(slowdust("report", "slap", "--json", "--base", base).out)
    assert report["base"] == "postgres@17.6"
    usual = report_of(slowdust("report", "slap", "--json").out)
    ratios, inverse = (
        {r["test"]: r["rqps"] for r in each["results"] if r["contender"] == other}
        for each, other in ((report, "postgres@15.8"), (usual, "postgres@17.6"))
    )
    assert ratios.keys() == inverse.keys()
    for test, ratio in ratios.items():
        assert ratio == pytest.approx(1 / inverse[test], rel=0.02), test


def test_base_that_is_no_contender_is_wrong_use(
    slowdust: Slowdust, results: Path, snapshot: SnapshotAssertion
) -> None:
    outcome = slowdust("report", "micro", "--base", "9.6")
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.complaint == snapshot


def test_page_goes_where_it_is_asked_for(slowdust: Slowdust, results: Path) -> None:
    outcome = slowdust("report", "insert", "--html", "page.html")
    assert outcome.out.splitlines()[-1] == "report: page.html"
    assert "insert" in Path("page.html").read_text(encoding="utf-8")
    assert not (results / "insert/report.html").exists()


def test_page_next_to_another_format_is_reported_on_standard_error(
    slowdust: Slowdust, results: Path
) -> None:
    outcome = slowdust("report", "slap", "--json", "--html", "page.html")
    assert (outcome.code, outcome.err) == (0, "report: page.html\n")
    assert report_of(outcome.out) == report_of(slowdust("report", "slap", "--json").out)
    assert Path("page.html").is_file()


def test_page_in_a_folder_that_is_not_there_fails(slowdust: Slowdust, results: Path) -> None:
    outcome = slowdust("report", "micro", "--html", "missing/page.html")
    assert outcome.code == 1
    assert "missing/page.html" in outcome.complaint


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("micro", {"o.met.c1", "qps.abs.c2.tsv", "qps.rel.c1.csv"}),
        ("insert", {"mrg.l.i0", "rel.qp100.L2", "o.sum.t.postgres@17.6", "summary_tables.html"}),
    ],
)
def test_classic_files(slowdust: Slowdust, results: Path, name: str, expected: set[str]) -> None:
    outcome = slowdust("report", name, "--classic", "classic")
    files = {path.name for path in Path("classic").iterdir()}
    assert expected <= files
    assert outcome == (0, "", f"{len(files)} classic files in classic\n")


def test_bands_add_a_sentence_for_each_group_of_tests(slowdust: Slowdust, results: Path) -> None:
    plain = slowdust("report", "slap").out.splitlines()
    banded = slowdust("report", "slap", "--bands", "5,15").out.splitlines()
    wider = slowdust("report", "slap", "--bands", "50%,60%").out.splitlines()

    more = [line for line in banded if line not in plain]
    assert len(more) > 0
    assert [line for line in wider if line not in plain] != more


@pytest.mark.parametrize(
    ("bands", "named"),
    [
        ("5", "'5'"),
        ("a,b", "'a'"),
        ("15,5", "CHANGE"),
        ("0,5", "CHANGE"),
        ("5,100", "CHANGE"),
    ],
    ids=spoken,
)
def test_wrong_bands_are_wrong_use(
    slowdust: Slowdust, results: Path, bands: str, named: str, snapshot: SnapshotAssertion
) -> None:
    outcome = slowdust("report", "--bands", bands)
    assert (outcome.code, outcome.out) == (2, "")
    assert named in outcome.err
    assert outcome.err == snapshot


def test_unknown_format_is_wrong_use(slowdust: Slowdust, results: Path) -> None:
    outcome = slowdust("report", "micro", "--xml")
    assert (outcome.code, outcome.out) == (2, "")
    assert "'--xml'" in outcome.err


def test_unknown_experiment_and_no_experiment_are_wrong_use(
    slowdust: Slowdust, tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    (tmp_path / "results").mkdir()
    assert slowdust("report", "macro").complaint == snapshot
    assert slowdust("report").complaint == snapshot


def test_damaged_results_fail_with_their_file(slowdust: Slowdust, results: Path) -> None:
    (results / "micro/manifest.json").write_text("{")
    outcome = slowdust("report", "micro", "--md")
    assert (outcome.code > 0, outcome.out) == (True, "")
    assert "micro" in outcome.complaint


def test_a_gate_that_catches_something_ends_with_3(
    slowdust: Slowdust, results: Path, snapshot: SnapshotAssertion
) -> None:
    slower = [
        result["test"]
        for result in report_of(slowdust("report", "micro", "--json").out)["results"]
        if result.get("verdict") == "slower"
    ]
    caught = slowdust("report", "micro", "--md", "--fail-on", "slower")
    passed = slowdust("report", "micro", "--md", "--fail-on", "slower:99%")
    wrong = slowdust("report", "slap", "--fail-on", "slowly")

    assert slower
    assert (caught.code, passed.code, wrong.code) == (3, 0, 2)
    assert caught.err == snapshot
    assert all(test in caught.err for test in slower[:2])
    assert caught.out == passed.out
    assert passed.err == ""


def test_a_comment_and_junit(
    slowdust: Slowdust, results: Path, tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    comment = slowdust("report", "slap", "--md", "--short")
    file = tmp_path / "micro.xml"
    outcome = slowdust("report", "slap", "--junit", str(file))

    assert comment.out.splitlines()[0] == snapshot
    assert len(comment.out) < len(slowdust("report", "slap", "--md").out)
    assert outcome.out == ""
    assert file.read_text().startswith("<?xml")
    assert slowdust("report", "slap", "--short").complaint == snapshot
