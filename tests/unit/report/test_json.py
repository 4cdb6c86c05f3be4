from __future__ import annotations

import json as stdlib_json
from pathlib import Path
from typing import Any

import jsonschema

from slowdust.analysis.model import Report
from slowdust.analysis.stored import analyse
from slowdust.report import json
from tests.unit.synthetic import synthetic_experiment
from tests.unit.synthetic_steps import Break, Overload, Standstill, insert_experiment

SCHEMA = Path(__file__).parents[3] / "docs" / "report.schema.json"


def a_report() -> Report:
    return analyse(*synthetic_experiment(["a@1", "a@2"], ["scan", "point-query"], blocks=4))


def rendered(report: Report) -> dict[str, Any]:
    report_data: dict[str, Any] = stdlib_json.loads(json.render(report))
    return report_data


def contains_null(value: object) -> bool:
    if isinstance(value, dict):
        return any(contains_null(item) for item in value.values())
    if isinstance(value, list):
        return any(contains_null(item) for item in value)
    return value is None


def test_the_published_schema_is_current() -> None:
    remedy = """python -c 'from slowdust.report import json; print(json.report_schema(), end="")'"""

    assert SCHEMA.read_text() == json.report_schema(), f"{remedy} > docs/report.schema.json"


def test_the_schema_allows_no_null() -> None:
    assert '"null"' not in json.report_schema()
    broken = rendered(a_report())
    broken["results"][0]["rqps"] = None
    validator = jsonschema.Draft202012Validator(stdlib_json.loads(json.report_schema()))

    assert [list(error.path) for error in validator.iter_errors(broken)] == [["results", 0, "rqps"]]


def test_a_report_is_valid() -> None:
    schema = stdlib_json.loads(SCHEMA.read_text())
    jsonschema.Draft202012Validator.check_schema(schema)

    jsonschema.validate(rendered(a_report()), schema)


def test_the_shape_of_a_result() -> None:
    report = rendered(a_report())

    assert report["schema"] == 2
    assert report["base"] == "a@1"
    [result] = [r for r in report["results"] if r["test"] == "scan" and r["contender"] == "a@2"]
    assert {
        "benchmark",
        "test",
        "clients",
        "contender",
        "qps",
        "rqps",
        "low",
        "high",
        "verdict",
        "slices",
        "incarnations",
        "errors",
        "latency_us",
        "per_op",
    } <= set(result)
    assert set(result["latency_us"]) == {"p50", "p75", "p95", "p99", "max"}
    assert set(result["compared"]["server_cpu_us"]) == {"ratio", "low", "high", "verdict"}


def test_unmeasured_values_are_absent_and_zero_is_zero() -> None:
    manifest, slices = synthetic_experiment(["a", "b"], ["scan"], blocks=4)
    for record in slices:
        record.measured.uses.pop("server", None)

    report = rendered(analyse(manifest, slices))

    assert not contains_null(report)
    first = report["results"][0]
    assert "server_cpu_us" not in first["per_op"]
    assert "peak_rss_gb" not in first
    assert first["retries"] == 0
    assert first["rqps"] == 1.0
    assert "verdict" not in first


def test_it_is_stable() -> None:
    assert json.render(a_report()) == json.render(a_report())
    assert json.render(a_report()).endswith("}\n")


def test_a_report_of_long_steps_is_valid_and_has_nothing_that_was_not_measured() -> None:
    report = analyse(
        *insert_experiment(
            ["a", "b"],
            ["l.i0", "l.i1", "qr100"],
            overloaded=[Overload("b", "qr100", inserts=0.5)],
            standstills=[Standstill("a", "l.i1", "insert", 3)],
            broken=[Break("b", "l.i1", 2)],
        )
    )

    report_data = rendered(report)

    jsonschema.validate(report_data, stdlib_json.loads(SCHEMA.read_text()))
    assert not contains_null(report_data)
    load = report_data["step_runs"][0]
    assert (load["test"], load["unit"], load["roles"][0]["role"]) == ("l.i0", "inserts/s", "insert")
    assert "target" not in load["roles"][0]
    [stalled, *_] = [run for run in report_data["step_runs"] if run["stalls"]]
    assert stalled["stalls"][0]["second"] == 3
    assert [failed["incarnation"] for failed in report_data["failed_steps"]] == [2]
    assert report_data["results"][-1]["writers"]["sla_met"] is False
    assert "rqps" not in report_data["results"][-1]
