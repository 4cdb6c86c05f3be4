"""Experiments that count instructions under callgrind."""

from __future__ import annotations

import json
import os
import signal
from collections import defaultdict
from statistics import median
from typing import Any

import pytest

from slowdust.experiment.passes.callgrind_counts import REPEATS
from slowdust.experiment.passes.work_counts import STARTS
from tests.integration.conftest import GetBuildOf
from tests.integration.slowdust_command import Workplace
from tests.tiers.selection import full, needs
from tests.waiting import wait_until

LITE = "sqlite@3.50.2"
BROKEN_VALGRIND = """#!/bin/sh
case $1 in
  --version) echo valgrind-3.19.0 ;;
  -d) echo launching /bin/true >&2 ;;
  *) echo it does not work; exit 1 ;;
esac
"""


pytestmark = pytest.mark.builds(LITE)


def counted(workplace: Workplace, contenders: tuple[str, ...], test: str) -> str:
    """Write the file of an experiment that counts."""
    fields = {"incarnations": 1, "count": "valgrind"}
    return workplace.write_experiment("counted", contenders, test, **fields)


def lines(workplace: Workplace) -> list[str]:
    file = workplace.folder / "results" / "counted" / "counts.ndjson"
    return file.read_text().splitlines() if file.exists() else []


def counts(workplace: Workplace, test: str) -> list[dict[str, Any]]:
    """Return what was counted of a test."""
    every = [json.loads(line) for line in lines(workplace)]
    return [count for count in every if count["place"]["test"] == test]


def instructions(found: list[dict[str, Any]]) -> list[float]:
    """Return the instructions per operation of each count."""
    return [count["run"]["own"]["instructions"] / count["run"]["operations"] for count in found]


@needs("valgrind")
@pytest.mark.parametrize(
    ("contender", "test"),
    [
        ("postgres@17.6", "update-nonindex"),
        pytest.param("mysql@5.6.24", "point-query", marks=full),
    ],
)
def test_a_server_works_as_much_in_every_start(
    workplace: Workplace, builds: GetBuildOf, contender: str, test: str
) -> None:
    builds(*contender.split("@"))
    workplace.run("run", counted(workplace, (contender,), test))
    found = counts(workplace, test)
    by_start: defaultdict[int, list[float]] = defaultdict(list)
    for count in found:
        assert count["source"] == "valgrind"
        assert count["run"]["own"]["system_calls"] > count["run"]["operations"]
        by_start[count["place"]["incarnation"]] += instructions([count])
    assert len(by_start) >= STARTS
    assert min(map(len, by_start.values())) >= REPEATS
    medians = [*map(median, by_start.values())]
    assert min(medians) > 10_000
    assert max(medians) / min(medians) == pytest.approx(1, abs=0.01)
    assert workplace.manifest("counted")["counting"]["source"] == "valgrind"
    assert workplace.nothing_is_left()


@full
@needs("valgrind")
def test_a_count_that_was_killed_resumes(workplace: Workplace) -> None:
    process = workplace.start("run", counted(workplace, (LITE, LITE), "point-query"))
    wait_until(lambda: len(lines(workplace)) >= REPEATS, "a few counts are on disk")
    process.send_signal(signal.SIGKILL)
    process.communicate(timeout=60)
    wait_until(workplace.nothing_is_left, "the killed run's servers are gone")
    before = [line for line in lines(workplace) if line.endswith("}")]

    workplace.run("run", "counted", "--resume")
    after = lines(workplace)
    assert after[: len(before)] == before
    places = {json.dumps(json.loads(line)["place"]) for line in after}
    assert len(places) >= 2 * STARTS * REPEATS
    base, other = (
        [count for count in counts(workplace, "point-query") if count["place"]["contender"] == name]
        for name in (LITE, f"{LITE}#2")
    )
    ratio = median(instructions(other)) / median(instructions(base))
    assert ratio == pytest.approx(1, abs=0.01)
    assert workplace.nothing_is_left()


@full
@needs("valgrind")
def test_the_work_of_long_steps_matches_their_sessions(
    workplace: Workplace, builds: GetBuildOf
) -> None:
    """SQLite does not show which of its threads serves a session."""
    builds("postgres", "17.6")
    (workplace.folder / "counted.toml").write_text(STEPS)
    workplace.run("run", "counted.toml")
    expected = {
        "l.i0": (REPEATS, 100),
        "l.x": (1, 2000),
        "l.i1": (REPEATS, 50),
        "qr100": (REPEATS, 500),
    }
    for test, (repeats, amount) in expected.items():
        of_test = counts(workplace, test)
        assert len(of_test) == STARTS * repeats
        assert {count["run"]["operations"] for count in of_test} == {amount}
    per_index, per_query = (instructions(counts(workplace, test)) for test in ("l.x", "qr100"))
    # Three sorts of a row, ten rows of an index: a whole window more or less is far from it.
    assert min(per_index) > 3_000
    assert max(per_index) / min(per_index) == pytest.approx(1, abs=0.02)
    assert max(per_query) / min(per_query) == pytest.approx(1, abs=0.05)
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


@needs("valgrind")
def test_a_server_that_cannot_be_counted_is_a_warning(
    workplace: Workplace, monkeypatch: pytest.MonkeyPatch
) -> None:
    broken = workplace.folder / "bin" / "valgrind"
    broken.parent.mkdir()
    broken.write_text(BROKEN_VALGRIND)
    broken.chmod(0o755)
    monkeypatch.setenv("PATH", f"{broken.parent}:{os.environ['PATH']}")
    workplace.run("run", counted(workplace, (LITE, LITE), "point-query"))
    assert not lines(workplace)
    assert workplace.slice_lines("counted")
    warnings = workplace.manifest("counted")["warnings"]
    for contender in (LITE, f"{LITE}#2"):
        assert any(f": {contender} did not start" in warning for warning in warnings)
    assert workplace.nothing_is_left()
