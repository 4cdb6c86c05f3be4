"""A new pass is one module with its missing starts and its observation of open tests."""

from __future__ import annotations

from pathlib import Path

import pytest

from slowdust.errors import SlowdustError
from slowdust.experiment.contender import RunningContender
from slowdust.experiment.driver.process import TargetError
from slowdust.experiment.driver.protocol import Failed, Stop
from slowdust.experiment.engine.loop import OpenExperiment, Pass, Starts, measure
from slowdust.experiment.engine.open_test import OpenTest, RunAtRate
from slowdust.experiment.engine.schedule import Start, plan_turns
from slowdust.experiment.engine.sliced import SlicedTests
from slowdust.experiment.passes.slices import TimedSlices, make_slice_method
from slowdust.experiment.spec.spec import parse_spec
from tests.unit.simulated_servers import Machine, simulated

BASE, OTHER = NAMES = ["sqlite@3.17.0", "sqlite@3.26.0"]
TESTS = ["point-query.pre", "update-index", "point-query", "delete"]
SPEC = parse_spec(
    {"name": "x", "contenders": NAMES, "tests": TESTS, "budget": "8s", "slice": "100ms"}
)


class SlowestOf(Pass[OpenTest]):
    """Finds out how long the slowest of ten operations takes of each test."""

    subject: str | None = "finding the slowest operations"

    def __init__(self, experiment: OpenExperiment) -> None:
        super().__init__(experiment)
        self.tests = SlicedTests(experiment)
        self.seen: dict[tuple[str, str], float] = {}
        self.order: list[str] = []

    def missing(self) -> Starts:
        seen = {test for test, _ in self.seen}
        due = [step.key for step in self.journal.steps if step.test.name not in seen]
        if due:
            yield Start(1, plan_turns(self.journal.steps, due))

    def observe(self, test: OpenTest) -> None:
        def slowest(contender: RunningContender, run: RunAtRate) -> None:
            times = [run(Stop(seconds=1e-4)).seconds for _ in range(10)]
            self.seen[test.step.test.name, contender.name] = max(times)
            self.order.append(contender.name)

        test.each(slowest, turn=len(self.order) // 2)


def test_a_pass_sees_every_test_on_every_contender_and_lacks_nothing_then(tmp_path: Path) -> None:
    machine = Machine({BASE: 0.001, OTHER: 0.004}, noise=0.0)
    with simulated(machine, SPEC, tmp_path, lambda _: make_slice_method(SPEC)) as experiment:
        slowest = SlowestOf(experiment)
        measure(experiment, [slowest])
        starts = dict(machine.starts)
        measure(experiment, [slowest])
    assert {test for test, _ in slowest.seen} == set(TESTS)
    assert {seconds for (_, name), seconds in slowest.seen.items() if name == OTHER} == {0.004}
    assert slowest.order == [BASE, OTHER, OTHER, BASE] * 2
    assert machine.starts == starts == dict.fromkeys(NAMES, 1)


def test_data_are_aged_for_it_as_the_timed_part_aged_them(tmp_path: Path) -> None:
    machine = Machine(dict.fromkeys(NAMES, 0.001))
    with simulated(machine, SPEC, tmp_path, lambda _: make_slice_method(SPEC)) as experiment:
        slowest = SlowestOf(experiment)
        slowest.seen = {(name, BASE): 0.0 for name in TESTS if name != "point-query"}
        measure(experiment, [TimedSlices(experiment)])
        machine.phases.clear()
        measure(experiment, [slowest])
    assert "ageing the data with update-index" in machine.phases
    assert any(phase.startswith("maintenance of") for phase in machine.phases)
    assert ("point-query", OTHER) in slowest.seen


@pytest.mark.parametrize("subject", [SlowestOf.subject, None])
def test_a_failure_is_a_warning_where_results_stand_without_it(
    tmp_path: Path, subject: str | None
) -> None:
    machine = Machine(dict.fromkeys(NAMES, 0.001))
    gone = TargetError(Failed(kind="connection", message="gone"))
    machine.errors = {(name, "update-index"): [gone] for name in NAMES}
    with simulated(machine, SPEC, tmp_path, lambda _: make_slice_method(SPEC)) as experiment:
        slowest = SlowestOf(experiment)
        slowest.subject = subject
        if subject is None:
            with pytest.raises(SlowdustError, match="contender"):
                measure(experiment, [slowest])
        else:
            measure(experiment, [slowest])
            assert all(each.failed is None for each in experiment.contenders.all)
            assert any(w.startswith(f"{subject} of {BASE} failed") for w in machine.warnings)
