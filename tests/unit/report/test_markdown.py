from __future__ import annotations

import math

import pytest
from markdown_it import MarkdownIt
from syrupy.assertion import SnapshotAssertion

from slowdust.analysis.metrics import PerOperation
from slowdust.analysis.model import Report
from slowdust.analysis.stored import analyse
from slowdust.ratios import Ratio
from slowdust.report.markdown import report as markdown
from tests.unit.report.sample import (
    SWEEP,
    matrix_experiment,
    slap_experiment,
    sweep_experiment,
)
from tests.unit.synthetic import QUIET, synthetic_experiment


def a_report() -> Report:
    manifest, slices = synthetic_experiment(
        ["a@1", "a@2"],
        ["scan", "point-query"],
        shifts={"a@2": {"scan": 0.5}},
        noise=QUIET,
        blocks=6,
    )
    manifest.plans[-1].plan = "Seq Scan\n  Filter: a|b"
    return analyse(manifest, slices)


def section(text: str, title: str) -> list[str]:
    return text.split(f"## {title}\n\n", 1)[1].split("\n\n## ", maxsplit=1)[0].splitlines()


def table_rows(lines: list[str]) -> list[list[str]]:
    cells = [line.strip("| ").split("|") for line in lines if line.startswith("|")]
    return [[cell.strip() for cell in row] for row in cells]


def test_throughput_has_tests_by_contenders() -> None:
    header, _, scan, point = table_rows(section(markdown.render(a_report()), "Throughput"))

    assert header == ["test", "clients", "a@1", "a@2"]
    assert scan[:2] == ["scan", "1"]
    assert scan[2].endswith(" rows/s")
    assert scan[3] == "0.50 [0.49, 0.51] slower"
    assert point[3].endswith("same")


def test_hardware_is_the_bases_values_and_the_others_multiples() -> None:
    rows = table_rows(section(markdown.render(a_report()), "Hardware per operation"))

    assert rows[3][:4] == ["scan", "1", "a@2", "2.00x [2.00, 2.00] more"]
    assert "x" not in "".join(rows[2][3:])


def test_response_times_have_the_multiple_of_the_bases_after_them(
    snapshot: SnapshotAssertion,
) -> None:
    report = a_report()
    slower = next(r for r in report.results if (r.test, r.contender) == ("scan", "a@2"))
    assert slower.latency_us is not None
    slower.compared["p75_us"] = Ratio(2.0, low=1.9, high=2.1, verdict="more")
    slower.compared["p95_us"] = Ratio(1.2, low=0.9, high=1.6, verdict="unsure")
    slower.compared["p99_us"] = Ratio(1.3, verdict="unsure")

    lines = section(markdown.render(report), "Response time, microseconds")

    header, _, base, row, *_ = table_rows(lines)
    assert header[3:] == ["p50", "p75", "p95", "p99", "max"]
    assert row[4] == f"{slower.latency_us.p75:,.0f} 2.00x [1.90, 2.10] more"
    assert row[5] == f"{slower.latency_us.p95:,.0f} (1.20x [0.90, 1.60]) unsure"
    assert row[6] == f"{slower.latency_us.p99:,.0f} (1.30x) unsure"
    assert row[7] == f"{slower.latency_us.max:,.0f}"
    assert "x" not in "".join(base[3:])
    assert lines[0] == snapshot


def test_tiny_values_keep_their_digits() -> None:
    report = a_report()
    scan = {result.contender: result for result in report.results if result.test == "scan"}
    scan["a@1"].qps, scan["a@1"].per_op["cs"] = 0.0517, 0.0000000531729
    scan["a@2"].ratio = Ratio(0.00123, 0.00119, 0.0131, "slower")
    scan["a@2"].per_op_relative = PerOperation(cs=0.0000000531729)
    del scan["a@2"].compared["cs"]

    text = markdown.render(report)

    assert table_rows(section(text, "Throughput"))[2][2:] == [
        "0.0517 rows/s",
        "0.0012 [0.0012, 0.013] slower",
    ]
    hardware = table_rows(section(text, "Hardware per operation"))
    assert (hardware[2][5], hardware[3][5]) == ("5.32e-08", "5.3e-08x")


def test_parts_of_a_change_multiply_to_the_time() -> None:
    header, _, *rows = table_rows(section(markdown.render(a_report()), "Parts of the change"))

    assert header[3:] == ["time", "user CPU", "system CPU", "client CPU", "waiting"]
    [scan] = rows
    time, *parts = (float(cell.partition("x")[0]) for cell in scan[3:])
    assert scan[0] == "scan"
    assert time == pytest.approx(2.0, abs=0.05)
    assert math.prod(parts) == pytest.approx(time, abs=0.05)


def test_tables_are_aligned_and_markdown_reads_them() -> None:
    text = markdown.render(a_report())

    for block in text.split("\n\n"):
        lines = block.splitlines()
        if lines[0].startswith("|"):
            assert len({len(line) for line in lines}) == 1, block
    html = MarkdownIt("commonmark").enable("table").render(text)
    assert html.count("<table>") == 8
    assert "| scan" not in html


def test_differing_plans_are_shown_whole() -> None:
    text = "\n".join(section(markdown.render(a_report()), "Plans that differ"))

    assert "point-query: `SELECT point-query`" in text
    assert "    > Seq Scan\n    >   Filter: a|b" in text
    assert "index scan became a sequential scan" in text


def test_a_failed_contender_is_listed_with_its_reason(snapshot: SnapshotAssertion) -> None:
    manifest, slices = synthetic_experiment(["a@1", "a@2"], ["scan"], blocks=3)
    manifest.contenders[1].failed = "did not start:\nFATAL: out of shared memory"

    report = analyse(manifest, [p for p in slices if p.place.contender == "a@1"])
    text = markdown.render(report)

    assert "a@2 failed:" in text
    assert text.split("\n## ")[0] == snapshot
    assert table_rows(section(text, "Throughput"))[2][3] == "-"


def test_an_experiment_without_slices_still_renders() -> None:
    manifest, _ = synthetic_experiment(["a"], ["scan"], blocks=1)

    assert "## Contenders" in markdown.render(analyse(manifest, []))


def test_without_particulars_there_are_no_sections_for_them() -> None:
    text = markdown.render(a_report())

    for absent in ("By number of clients", "Memory", "Mean response time", "engine", "\n> "):
        assert absent not in text


def test_levels_of_clients_have_sentences_and_a_table(snapshot: SnapshotAssertion) -> None:
    report, _ = sweep_experiment()
    point = "\n".join(section(markdown.render(report), "By number of clients")).split("### ")[3]

    assert point.splitlines()[0] == "point-query"
    assert point == snapshot
    rows = table_rows(point.splitlines())
    assert rows[0] == ["clients", "postgres@17.6"]
    assert [row[0] for row in rows[2:]] == [str(level) for level in SWEEP]
    assert rows[-1][1].endswith("faster")


def test_response_times_are_next_to_the_rates_of_slap() -> None:
    report, _ = slap_experiment()
    text = markdown.render(report)

    update = table_rows(section(text, "Mean response time"))[3]
    assert update[:2] == ["update-same-indexed", "8"]
    assert update[2].endswith(" us")
    assert update[3].startswith("1.6")
    assert [line for line in text.splitlines() if line.startswith("> Different DBMS")]
    assert [line for line in text.splitlines() if line.startswith("> Allocators differ")]


def test_settings_that_a_version_does_not_know_are_reported(snapshot: SnapshotAssertion) -> None:
    manifest, slices = synthetic_experiment(["mysql@5.6.24", "mysql@9.7.4"], ["scan"], blocks=2)
    manifest.contenders[1].skipped_settings = ["query_cache_type", "query_cache_size"]
    manifest.contenders[1].build.version = "9.7.4"

    assert section(markdown.render(analyse(manifest, slices)), "Contenders") == snapshot


def test_memory_engines_and_allocators_are_tables() -> None:
    report, _ = matrix_experiment()
    text = markdown.render(report)

    memory = table_rows(section(text, "Memory"))
    assert len(memory) == 2 + 12
    assert memory[2][1:] == ["-", "0.41", "0.176", "1.41"]
    contenders = table_rows(section(text, "Contenders"))
    assert contenders[0][4:7] == ["engine", "environment", "allocator"]
    assert contenders[3][4:7] == ["innodb", "tcmalloc", "tcmalloc"]
