"""Experiments that count instructions under callgrind."""

from __future__ import annotations

import json
import os
import shutil
import signal
from pathlib import Path
from statistics import median
from typing import Any

import pytest

from slowdust.experiment.counting.session import REPEATS
from slowdust.experiment.counting.starts import STARTS
from tests.integration.conftest import GetBuildOf
from tests.integration.slowdust_command import Workplace, wait_until

SPEC = """
contenders = ["{contender}", "{contender}"]
tests = [{tests}]
rows = 1000
slice = "25ms"
warmup = "20ms"
budget = "1s"
incarnations = 1
count = "valgrind"
"""
COUNTS = 2 * STARTS * REPEATS
"""Counts of a test on two contenders, at least."""


needs_valgrind = pytest.mark.skipif(
    shutil.which("valgrind") is None, reason="valgrind is not installed"
)
BROKEN_VALGRIND = """#!/bin/sh
case $1 in
  --version) echo valgrind-3.19.0 ;;
  -d) echo launching /bin/true >&2 ;;
  *) echo it does not work; exit 1 ;;
esac
"""


@pytest.fixture
def workplace(open_dir: Path) -> Workplace:
    return Workplace(open_dir)


def write_spec(workplace: Workplace, contender: str, *tests: str) -> None:
    listed = ", ".join(f'"{test}"' for test in tests)
    text = SPEC.format(contender=contender, tests=listed)
    (workplace.folder / "counted.toml").write_text(text)


def lines(workplace: Workplace) -> list[str]:
    file = workplace.folder / "results" / "counted" / "counts.ndjson"
    return file.read_text().splitlines() if file.exists() else []


def instructions(workplace: Workplace, test: str) -> dict[str, list[float]]:
    """Return the instructions per operation of each count of a test, by contender."""
    counts = [json.loads(line) for line in lines(workplace)]
    by_contender: dict[str, list[float]] = {}
    for count in counts:
        if count["place"]["test"] == test:
            run = count["run"]
            assert count["source"] == "valgrind"
            assert run["own"]["system_calls"] > run["operations"]
            of_contender = by_contender.setdefault(count["place"]["contender"], [])
            of_contender.append(run["own"]["instructions"] / run["operations"])
    return by_contender


def check_alike(workplace: Workplace, test: str) -> None:
    base, contender = instructions(workplace, test).values()
    assert len(base) >= STARTS * REPEATS
    assert len(contender) >= STARTS * REPEATS
    assert min(base) > 10_000
    assert median(contender) / median(base) == pytest.approx(1, abs=0.01)


@needs_valgrind
def test_a_postgres_beside_itself_works_as_much_after_a_kill_too(
    workplace: Workplace, builds: GetBuildOf
) -> None:
    builds("postgres", "17.6")
    write_spec(workplace, "postgres@17.6", "update-nonindex", "point-query")
    process = workplace.start("run", "counted.toml")
    wait_until(lambda: len(lines(workplace)) >= REPEATS, "a few counts are on disk")
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=60)
    wait_until(workplace.nothing_is_left, "the killed run's servers are gone")
    before = [line for line in lines(workplace) if line.endswith("}")]

    workplace.run("run", "results/counted/experiment.toml", "--resume")
    after = lines(workplace)
    assert after[: len(before)] == before
    places = {json.dumps(json.loads(line)["place"]) for line in after}
    assert len(places) >= 2 * COUNTS, "more where two starts decide nothing"
    check_alike(workplace, "point-query")
    check_alike(workplace, "update-nonindex")
    assert workplace.manifest("counted")["counting"]["source"] == "valgrind"
    assert workplace.nothing_is_left()


@needs_valgrind
def test_a_mysql_beside_itself_works_as_much(workplace: Workplace, builds: GetBuildOf) -> None:
    builds("mysql", "5.6.24")
    write_spec(workplace, "mysql@5.6.24", "point-query")
    workplace.run("run", "counted.toml")
    check_alike(workplace, "point-query")
    assert workplace.nothing_is_left()


STEPS = """
contenders = ["postgres@17.6"]
benchmark = "insert"
tests = ["l.i1", "qr100"]
incarnations = 1
count = "valgrind"
[insert]
rows = [2000, 100, 100]
seconds = "100ms"
rates = [100]
"""


def per_amount(counts: list[dict[str, Any]], test: str) -> list[float]:
    runs = [count["run"] for count in counts if count["place"]["test"] == test]
    return [run["own"]["instructions"] / run["operations"] for run in runs]


@needs_valgrind
def test_the_work_of_long_steps_is_that_of_their_sessions(
    workplace: Workplace, builds: GetBuildOf
) -> None:
    builds("postgres", "17.6")
    (workplace.folder / "counted.toml").write_text(STEPS)
    workplace.run("run", "counted.toml")
    expected = {
        "l.i0": (REPEATS, 100),
        "l.x": (1, 2000),
        "l.i1": (REPEATS, 50),
        "qr100": (REPEATS, 500),
    }
    counts = [json.loads(line) for line in lines(workplace)]
    for test, (repeats, amount) in expected.items():
        of_test = [count for count in counts if count["place"]["test"] == test]
        assert len(of_test) == STARTS * repeats
        assert {count["run"]["operations"] for count in of_test} == {amount}
    per_index, per_query = (per_amount(counts, test) for test in ("l.x", "qr100"))
    # Three sorts of a row, ten rows of an index: a whole window more or less is far from it.
    assert min(per_index) > 3_000
    assert max(per_index) / min(per_index) == pytest.approx(1, abs=0.02)
    assert max(per_query) / min(per_query) == pytest.approx(1, abs=0.05)
    assert workplace.nothing_is_left()


@needs_valgrind
def test_a_server_that_cannot_be_counted_is_a_warning(
    workplace: Workplace, builds: GetBuildOf, monkeypatch: pytest.MonkeyPatch
) -> None:
    builds("postgres", "17.6")
    broken = workplace.folder / "bin" / "valgrind"
    broken.parent.mkdir()
    broken.write_text(BROKEN_VALGRIND)
    broken.chmod(0o755)
    monkeypatch.setenv("PATH", f"{broken.parent}:{os.environ['PATH']}")
    write_spec(workplace, "postgres@17.6", "point-query")
    workplace.run("run", "counted.toml")
    assert not lines(workplace)
    assert workplace.slice_lines("counted")
    warnings = workplace.manifest("counted")["warnings"]
    for contender in ("postgres@17.6", "postgres@17.6#2"):
        start = f"counting the work of {contender} failed: {contender} did not start"
        assert any(warning.startswith(start) for warning in warnings)
    assert workplace.nothing_is_left()
