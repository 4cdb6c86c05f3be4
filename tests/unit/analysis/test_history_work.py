"""Work from version to version."""

from __future__ import annotations

import pytest

from slowdust.analysis.history.history import history_of
from slowdust.analysis.history.model import LineHistory, PointWork, Series
from slowdust.analysis.history.series import Experiment
from slowdust.report.formats import HISTORIES, render_as
from tests.unit.ratios import interval_of
from tests.unit.synthetic_counts import CountNoise, synthetic_counts
from tests.unit.synthetic_history import choice, measured

STILL = CountNoise(repeat=0.0, restart=0.0)


def counted(name: str, work: dict[str, float], *, clients: int = 1) -> Experiment:
    """An experiment of equally fast versions, whose point queries do that much work."""
    manifest, slices = measured(name, dict.fromkeys(work, 1.0), tests=["point-query", "scan"])
    counts = synthetic_counts(
        [f"mysql@{version}" for version in work],
        ["point-query"],
        shifts={f"mysql@{version}": shift for version, shift in work.items()},
        noise=STILL,
        clients=clients,
    )
    return Experiment(manifest, slices, counts)


def line_of(*experiments: Experiment) -> LineHistory:
    [line] = history_of(list(experiments), choice()).lines
    return line


def work_of(line: LineHistory, test: str) -> dict[str, PointWork | None]:
    [series] = [each for each in line.tests if each.name == test]
    return {point.version: point.work for point in series.points}


def ratios_of(series: Series) -> list[float]:
    return [point.work.ratio.value for point in series.points if point.work is not None]


def test_work_is_next_to_throughput() -> None:
    line = line_of(counted("one", {"8.0": 1.0, "8.4": 1.2}))

    work = work_of(line, "point-query")
    assert work["8.0"] is not None
    assert work["8.0"].ratio.value == 1
    assert work["8.4"] is not None
    assert work["8.4"].ratio.value == pytest.approx(1.2, rel=1e-3)
    low, high = interval_of(work["8.4"].ratio)
    assert low < 1.2 < high
    assert work_of(line, "scan") == {"8.0": None, "8.4": None}


@pytest.mark.parametrize("clients", [1, 4])
def test_counts_of_other_clients_belong_to_the_fewest_that_were_timed(clients: int) -> None:
    line = line_of(counted("one", {"8.0": 1.0, "8.4": 1.2}, clients=clients))

    [series] = [each for each in line.tests if each.name == "point-query"]
    assert ratios_of(series) == pytest.approx([1, 1.2], rel=1e-3)


def test_work_is_chained_over_versions_that_experiments_share() -> None:
    line = line_of(
        counted("one", {"8.0": 1.0, "8.4": 1.2}), counted("two", {"8.4": 1.0, "9.7": 0.5})
    )

    newest = work_of(line, "point-query")["9.7"]
    assert newest is not None
    assert newest.ratio.value == pytest.approx(0.6, rel=1e-3)
    assert (newest.through, newest.experiments) == (["8.4"], ["one", "two"])


def test_a_group_has_the_mean_work_only_where_all_its_tests_were_counted() -> None:
    line = line_of(counted("one", {"8.0": 1.0, "8.4": 1.2}))

    works = {series.name: ratios_of(series) for series in line.groups}
    assert works["point"] == pytest.approx([1, 1.2], rel=1e-3)
    assert works["range"] == []


def test_formats_show_work_where_it_was_counted() -> None:
    with_work = history_of([counted("one", {"8.0": 1.0, "8.4": 1.2})], choice())
    without = history_of([Experiment(*measured("one", {"8.0": 1.0, "8.4": 0.8}))], choice())

    text = render_as("md", HISTORIES, with_work)
    tables = text.split("Work: instructions per operation relative to 8.0.")
    assert len(tables) == 3
    assert "1.200" in tables[1]
    assert '<td class="number">1.200</td>' in render_as("html", HISTORIES, with_work)
    assert "Work" not in render_as("md", HISTORIES, without)
    assert "Work" not in render_as("html", HISTORIES, without)
