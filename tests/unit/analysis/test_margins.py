"""Margins of single tests and metrics: verdicts, and the keys of an experiment's file."""

from __future__ import annotations

from pathlib import Path

import pytest

from slowdust.analysis.model import Report
from slowdust.analysis.stored import analyse
from slowdust.errors import UsageError
from slowdust.experiment.spec.spec import parse_spec, read_spec
from slowdust.ratios import Margins
from tests.unit.synthetic import QUIET, synthetic_experiment

A, B = "postgres@16", "postgres@17"
TESTS = ("point-query", "scan")


def judged(**margins: float) -> Report:
    """An experiment with both tests 5% slower."""
    manifest, slices = synthetic_experiment(
        [A, B], list(TESTS), shifts={B: 0.95}, noise=QUIET, blocks=6
    )
    manifest.method.own_margins = {name.replace("_", "-"): each for name, each in margins.items()}
    return analyse(manifest, slices)


def verdicts(report: Report) -> dict[str, tuple[str | None, float | None]]:
    return {
        result.test: (result.verdict, result.ratio.margin)
        for result in report.results
        if result.contender == B and result.ratio is not None
    }


def test_a_test_may_have_a_margin_of_its_own() -> None:
    report = judged(point_query=0.2)
    assert verdicts(report) == {"point-query": ("same", 0.2), "scan": ("slower", 0.03)}
    assert report.margins == {"point-query": 0.2}
    assert "point-query 20.0%" in report.method["margin"]


def test_without_margins_of_their_own_all_tests_have_the_usual_one() -> None:
    report = judged()
    assert verdicts(report) == dict.fromkeys(TESTS, ("slower", 0.03))
    assert report.margins is None


def test_a_metric_may_have_a_margin_of_its_own() -> None:
    assert Margins(0.03).of("p99_us", 0.25) == 0.25
    assert Margins(0.03, {"p99_us": 0.5}).of("p99_us", 0.25) == 0.5
    manifest, slices = synthetic_experiment([A, B], ["scan"], shifts={B: 0.95}, noise=QUIET)
    manifest.method.own_margins = {"server_cpu_us": 0.2}
    [_, result] = analyse(manifest, slices).results
    assert (result.verdict, result.compared["server_cpu_us"].verdict) == ("slower", "same")
    assert result.compared["server_cpu_us"].margin == 0.2


def test_the_experiment_file_has_a_table_of_margins(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text(
        f'contenders = ["{A}", "{B}"]\n[margins]\npoint-query = 0.02\nscan = "10%"\np99_us = 0.5\n'
    )
    spec = read_spec(file)
    assert spec.margins == {"point-query": 0.02, "scan": 0.1, "p99_us": 0.5}
    again = tmp_path / "again.toml"
    again.write_text(spec.to_toml())
    assert read_spec(again) == spec
    assert "margins" not in spec.model_copy(update={"margins": {}}).to_toml()


@pytest.mark.parametrize("margins", [{"point-qury": 0.1}, {"scan": 0.0}, {"scan": 2}])
def test_a_margin_of_nothing_and_one_beyond_all_are_refused(margins: dict[str, float]) -> None:
    with pytest.raises(UsageError, match="margins"):
        parse_spec({"name": "x", "contenders": [A, B], "margins": margins})
