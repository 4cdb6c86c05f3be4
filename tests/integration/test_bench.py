"""Every benchmark of Slowdust itself runs, with its smallest sizes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from bench.clients.process import MissingProgramError
from bench.results.ratios import ratio
from bench.run import benchmark_names, load
from bench.run import main as run_all
from slowdust.builds import Build


@pytest.mark.parametrize("name", [*benchmark_names(), "run"])
def test_benchmark_measures_with_its_smallest_sizes(
    name: str, postgres_build: Build, data_root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert postgres_build.version == "17.6"
    benchmark = load(name)
    try:
        code = benchmark.main(benchmark.SMALLEST)
    except MissingProgramError as missing:
        pytest.skip(str(missing))

    assert code in {0, 1}, "1: a goal was not met"
    assert re.search(r"\d\.\d", capsys.readouterr().out), "it printed a number"
    assert [path for path in data_root.rglob("*") if path.is_socket()] == []


def test_unknown_benchmark_is_refused(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as error:
        run_all(["no_such_benchmark"])
    assert error.value.code == 2
    assert "no benchmark is called no_such_benchmark" in capsys.readouterr().err


def test_few_pairs_have_no_interval() -> None:
    assert str(ratio([2.0, 3.0, 4.0], [1.0, 1.0, 1.0])) == "3.000 of 3 pairs"
    assert str(ratio([1, 2, 3, 4, 5, 6], [1] * 6)) == "3.500 [1.000, 6.000] of 6 pairs"
