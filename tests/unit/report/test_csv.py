from __future__ import annotations

import csv as stdlib_csv
import io
import re
from pathlib import Path

from syrupy.assertion import SnapshotAssertion

from slowdust.analysis.model import Report
from slowdust.analysis.stored import analyse
from slowdust.report import csv
from tests.unit.report.sample import counted_experiment
from tests.unit.synthetic import synthetic_experiment
from tests.unit.synthetic_steps import Overload, insert_experiment


def rows(report: Report) -> list[dict[str, str]]:
    return list(stdlib_csv.DictReader(io.StringIO(csv.render(report))))


def test_the_page_about_columns_has_them_all_in_their_order() -> None:
    page = Path(__file__).parents[3] / "docs" / "csv.md"
    rows_of_table = re.findall(r"^\| `(\w+)` \| (.+) \|$", page.read_text(), re.MULTILINE)
    assert tuple(column for column, _ in rows_of_table) == csv.COLUMNS
    header = csv.render(analyse(*synthetic_experiment(["a", "b"], ["scan"]))).partition("\n")[0]
    assert header == ",".join(csv.COLUMNS)


def test_rows_say_when_where_and_what_was_measured(snapshot: SnapshotAssertion) -> None:
    report = analyse(*synthetic_experiment(["a", "b"], ["scan"], blocks=4))
    report.started = "2026-11-23T15:44:15+00:00"
    report.host = {
        "CPU": "Fast",
        "Cores": "8 logical, 4 physical",
        "Memory": "23.5 GiB, 1 GiB available",
    }
    report.contender_info[1].version, report.contender_info[1].config = "17.6", "durable"
    report.results[1].silent_incarnations = [2, 3]

    first, second = rows(report)

    assert second["date"] == first["date"] == "2026-11-23T15:44:15+00:00"
    assert second["host"] == snapshot
    assert (second["version"], second["config"]) == ("17.6", "durable")
    assert (first["silent_incarnations"], second["silent_incarnations"]) == ("", "2 3")
    report.host = {}
    assert rows(report)[0]["host"] == ""


def test_one_row_for_each_result_with_its_numbers() -> None:
    report = analyse(*synthetic_experiment(["a", "b"], ["scan", "insert"], blocks=4))

    table = rows(report)

    assert len(table) == len(report.results) == 4
    for row, result in zip(table, report.results, strict=True):
        assert (row["test"], row["contender"]) == (result.test, result.contender)
        assert float(row["qps"]) == result.qps
        assert result.latency_us is not None
        assert float(row["latency_us_p99"]) == result.latency_us.p99
        assert float(row["per_op_cs"]) == result.per_op["cs"]
        compared = result.compared.get("p75_us")
        assert row["compared_p75_us_verdict"] == (compared.verdict if compared else "")
        assert row["compared_p75_us_low"] == (str(compared.low) if compared else "")
    assert table[1]["compared_p75_us_verdict"] != ""
    assert table[0]["verdict"] == ""
    assert table[0]["per_op_relative_cs"] == ""
    assert float(table[1]["per_op_relative_cs"]) > 0


def test_notes_with_commas_stay_one_field(snapshot: SnapshotAssertion) -> None:
    report = analyse(*synthetic_experiment(["a", "b"], ["scan"], blocks=4))
    report.results[0].notes = ['one, "two"', "three"]

    assert rows(report)[0]["notes"] == snapshot


def test_unmeasured_cells_are_empty() -> None:
    manifest, slices = synthetic_experiment(["a", "b"], ["scan"], blocks=4)
    for record in slices:
        del record.measured.uses["server"]
        assert record.measured.latency is not None
        record.measured.latency.counts = [0] * len(record.measured.latency.counts)

    row = rows(analyse(manifest, slices))[0]

    assert row["per_op_server_cpu_us"] == ""
    assert row["latency_us_p50"] == ""


def test_writers_have_their_columns() -> None:
    missed = Overload("b", "qr100", inserts=0.5)
    report = analyse(*insert_experiment(["a", "b"], ["l.i0", "qr100"], overloaded=[missed]))

    load, _, met, missing = rows(report)

    assert load["writers_target"] == load["writers_sla_met"] == ""
    assert (met["unit"], met["writers_sla_met"]) == ("range queries/s", "True")
    assert (missing["writers_sla_met"], missing["rqps"], missing["verdict"]) == ("False", "", "")
    assert float(missing["writers_inserts"]) == 50
    assert missing["writers_insert_backlog"] == "1000"


def test_counted_events_have_their_columns() -> None:
    report, _ = counted_experiment()
    work = report.results[0].work
    assert work is not None
    work.events["simulated_ll_misses"] = 2.5

    first, second, *_ = rows(report)

    assert float(first["work_system_calls"]) == work.events["system_calls"]
    assert first["work_simulated_ll_misses"] == "2.5"
    assert second["work_simulated_ll_misses"] == ""
