"""How much is counted in a budget, and what is skipped."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from slowdust.experiment.live import PlainView
from slowdust.experiment.passes import callgrind_slices
from slowdust.experiment.passes.callgrind_counts import REPEATS
from slowdust.experiment.passes.callgrind_slices import SliceCounts, choose_operations
from slowdust.experiment.passes.work_counts import LEAST, STARTS, CountBudget, advised, usual_budget
from slowdust.experiment.plan import PlannedStep, plan
from slowdust.experiment.spec.spec import parse_spec
from tests.unit.synthetic import synthetic_slice

NAMES = ["postgres@17.6", "postgres@18.4"]
TESTS = ["point-query", "scan"]
SPEC = parse_spec({"name": "x", "contenders": NAMES, "tests": TESTS})


class Clock:
    """A clock that only tests move."""

    now = 0.0

    def monotonic(self) -> float:
        return self.now

    def sleep(self, seconds: float, /) -> None:
        self.now += seconds


def procedure_of(
    monkeypatch: pytest.MonkeyPatch, cpu_s: dict[str, dict[str, float]]
) -> SliceCounts:
    """Return the procedure of tests whose operations took such CPU time: test -> contender."""
    steps = plan(SPEC)
    for step in steps:
        for name, seconds in cpu_s[step.test.name].items():
            record = synthetic_slice(contender=name, test=step.test.name)
            record.measured.operations = 10
            record.measured.uses = {"server": {"cpu_user_s": 10 * seconds}}
            step.slices.append(record)
    manifest = SimpleNamespace(contenders=[])
    experiment: Any = SimpleNamespace(
        spec=SPEC,
        contenders=SimpleNamespace(running=lambda: NAMES),
        journal=SimpleNamespace(steps=steps, counts=[], manifest=manifest),
        view=PlainView(),
        announced=None,
    )
    monkeypatch.setattr(callgrind_slices, "usable_cpus", lambda: [0, 1])
    return SliceCounts(experiment)


def step_of(procedure: SliceCounts, name: str) -> PlannedStep:
    return next(step for step in procedure.steps if step.test.name == name)


def test_the_slowest_contender_says_how_many_operations_there_are(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    fast, slow = 50e-6, 0.005
    both = {
        "point-query": dict.fromkeys(NAMES, fast),
        "scan": dict(zip(NAMES, (fast, slow), strict=True)),
    }
    procedure = procedure_of(monkeypatch, both)
    for name, seconds in (("point-query", fast), ("scan", slow)):
        windows = procedure.windows_of(step_of(procedure, name))
        assert windows.operations == choose_operations(1e6 * seconds)
    assert choose_operations(1e6 * slow) < choose_operations(1e6 * fast) / 10


@pytest.mark.parametrize(
    ("slow", "seconds", "operations", "repeats"),
    [(0.001, 30.0, choose_operations(1000.0), REPEATS), (0.1, 60.0, 1, REPEATS), (0.1, 20.0, 1, 1)],
)
def test_one_operation_is_counted_if_that_is_what_fits(
    monkeypatch: pytest.MonkeyPatch, slow: float, seconds: float, operations: int, repeats: int
) -> None:
    cpu_s = {name: dict(zip(NAMES, (50e-6, slow), strict=True)) for name in TESTS}
    procedure = procedure_of(monkeypatch, cpu_s)
    procedure.plan(seconds)
    step = step_of(procedure, "scan")
    windows = procedure.windows_of(step)
    assert (windows.operations, windows.repeats) == (operations, repeats)
    assert procedure.expected(step) <= seconds


def test_as_many_tests_as_fit_are_counted() -> None:
    clock = Clock()
    every = plan(SPEC)
    cost = {"point-query": 10.0, "scan": 40.0}

    def expected(step: PlannedStep) -> float:
        return cost[step.test.name]

    enough = CountBudget(STARTS * 50.0, clock)
    assert enough.fitting(every, expected) == every
    assert not enough.exceeded
    short = CountBudget(STARTS * 49.0, clock)
    assert [step.test.name for step in short.fitting(every, expected)] == ["point-query"]
    assert short.exceeded
    clock.now += 95.0
    assert short.fitting(every, expected) == []


def test_late_builds_are_expected_to_be_late_again() -> None:
    clock = Clock()
    given = CountBudget(100.0, clock)
    given.note(expected=10.0, took=30.0)
    assert given.allows(33.0)
    assert not given.allows(34.0)
    assert given.exceeded
    clock.now = 105.0
    assert not given.is_overdue, "what is nearly done may end"
    clock.now = 111.0
    assert given.is_overdue


def test_counting_has_as_long_as_the_timed_part() -> None:
    assert usual_budget(600.0) == 600.0
    assert usual_budget(5.0) == LEAST
    assert advised(100.0, had=60.0) % 60 == 0
    assert advised(100.0, had=60.0) > 100.0
    assert advised(100.0, had=600.0) >= 1200.0, "what was not enough is not advised"
