"""Every benchmark of Slowdust itself runs at its smallest size."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from bench.baselines.figures import Baseline, Figure, Instructions, Right, Wrong, compare
from bench.clients.process import MissingProgramError
from bench.results.ratios import ratio
from bench.run import benchmark_names, load
from bench.run import main as run_all
from slowdust.builds import Build
from tests.tiers.selection import full, require

QUICK = "disk_shares"
"""A simulation of seconds: shows that benchmarks run."""
KILLS = "kills"
"""The benchmark that test_kills.py runs."""


def _measures(name: str, capsys: pytest.CaptureFixture[str]) -> bool:
    """Return whether a benchmark prints a number; 1, a goal that was not met, is no failure."""
    benchmark = load(name)
    try:
        code = benchmark.main(benchmark.SMALLEST)
    except MissingProgramError as missing:
        require(*missing.programs)
    return code in {0, 1} and re.search(r"\d\.\d", capsys.readouterr().out) is not None


def test_benchmark_measures_with_its_smallest_sizes(capsys: pytest.CaptureFixture[str]) -> None:
    assert _measures(QUICK, capsys)


@full
@pytest.mark.parametrize("name", sorted({*benchmark_names(), "run"} - {QUICK, KILLS}))
def test_every_benchmark_measures_with_its_smallest_sizes(
    name: str, postgres_build: Build, data_root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert postgres_build.version == "17.6"
    assert _measures(name, capsys)
    assert [path for path in data_root.rglob("*") if path.is_socket()] == []


def test_unknown_benchmark_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as error:
        run_all(["no_such_benchmark"])
    assert error.value.code == 2
    assert "no_such_benchmark" in capsys.readouterr().err


def test_few_pairs_have_no_interval() -> None:
    assert str(ratio([2.0, 3.0, 4.0], [1.0, 1.0, 1.0])) == "3.000 of 3 pairs"
    assert str(ratio([1, 2, 3, 4, 5, 6], [1] * 6)) == "3.500 [1.000, 6.000] of 6 pairs"


@pytest.mark.parametrize(
    ("recorded", "now", "expected"),
    [
        (Right(95, 100), Right(190, 200), "equal"),
        (Right(95, 100), Right(92, 100), "within chance"),
        (Right(95, 100), Right(80, 100), "worse"),
        (Right(80, 100), Right(95, 100), "better"),
        (Wrong(0, 20), Wrong(1, 20), "within chance"),
        (Wrong(0, 20), Wrong(8, 20), "worse"),
        (Wrong(8, 20), Wrong(0, 20), "better"),
        (Instructions(889.2), Instructions(889.7), "equal"),
        (Instructions(889.2), Instructions(900.0), "worse"),
        (Instructions(900.0), Instructions(889.2), "better"),
    ],
)
def test_figure_is_worse_only_beyond_chance(recorded: Figure, now: Figure, expected: str) -> None:
    assert compare({"figure": recorded}, {"figure": now}) == {"figure": expected}


def test_more_figures_need_larger_differences() -> None:
    recorded = {f"figure {number}": Right(95, 100) for number in range(100)}
    now = recorded | {"figure 0": Right(85, 100)}

    assert compare({"figure 0": recorded["figure 0"]}, {"figure 0": now["figure 0"]}) == {
        "figure 0": "worse"
    }
    assert compare(recorded, now)["figure 0"] == "within chance"


def test_baselines_may_have_different_figures() -> None:
    assert compare({"old": Right(1, 2)}, {"new": Right(1, 2)}) == {
        "old": "not measured",
        "new": "not recorded",
    }


def test_recorded_baseline_is_read_as_it_was_written(tmp_path: Path) -> None:
    figures: dict[str, Figure] = {"a": Right(1, 2), "b": Wrong(0, 3), "c": Instructions(889.2)}
    baseline = Baseline({"cores": "2"}, figures)
    baseline.write(tmp_path / "baseline.json")
    assert Baseline.read(tmp_path / "baseline.json") == baseline


@full
def test_baseline_reports_a_figure_that_got_worse(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    baseline = load("baseline")
    file = str(tmp_path / "baseline.json")
    arguments = ("--only", "simulated", "--experiments", "4", "--recorded", file)
    assert baseline.main([*arguments, "--record"]) == 0
    assert baseline.main(arguments) == 0, "simulations are the same at each run"

    good = Baseline.read(Path(file))
    figures: dict[str, Figure] = {**good.figures}
    for name, figure in good.figures.items():
        if isinstance(figure, Right) and name.endswith("`same` in A/A"):
            figures[name] = Right(figure.of, figure.of)
    Baseline(good.conditions, figures).write(Path(file))
    capsys.readouterr()
    assert baseline.main(arguments) == 1
    assert "worse" in capsys.readouterr().out
