"""Announced times are kept on simulated servers with slow or fast operations."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

from slowdust.experiment import run_estimate
from slowdust.experiment.announced import MOST, Announced
from slowdust.experiment.engine.loop import measure
from slowdust.experiment.journal import Journal
from slowdust.experiment.passes.slices import TimedSlices, make_slice_method
from slowdust.experiment.spec.spec import Spec, parse_spec
from tests.unit.simulated_servers import Machine, simulated

NAMES = ["sqlite@3.17.0", "sqlite@3.26.0"]
KEPT = 1.25
"""Largest ratio between the end and the last announcement, in nine of ten."""


@dataclass
class Outcome:
    """An experiment that has ended."""

    world: Machine
    journal: Journal
    announced: Announced
    expected: float

    @property
    def missed(self) -> float:
        """How many times as long it took as was announced last.

        Of one that came to its end that is what stood when two thirds of the time had passed.
        """
        if self.announced.ended_early:
            return self.world.now / self.announced.end
        standing = [end for at, end in self.world.told if at <= self.world.now * 2 / 3]
        return self.world.now / (standing or [self.expected])[-1]


Run = Callable[[Machine, Spec], Outcome]


@pytest.fixture
def experiment(tmp_path: Path) -> Run:
    folders = iter(range(1000))

    def run(world: Machine, spec: Spec) -> Outcome:
        expected = run_estimate.estimate_run(spec, tmp_path / "none")
        wall = expected.wall - expected.builds
        world.announced = Announced(world, wall, MOST * wall, clock=world)
        folder = tmp_path / str(next(folders))
        with simulated(
            world, spec, folder, lambda _: make_slice_method(spec), world.announced
        ) as opened:
            measure(opened, [TimedSlices(opened)])
        return Outcome(world, opened.journal, world.announced, wall)

    return run


def world_of(
    operation: Mapping[str, float], *, loading: float = 1.0, agrees: bool = False
) -> Machine:
    return Machine(operation, noise=0.05, loading=loading, agrees=agrees)


def spec_of(budget: float, *tests: str) -> Spec:
    keys = {"name": "x", "contenders": NAMES, "tests": list(tests), "budget": budget}
    return parse_spec({**keys, "count": "off"})


def cases() -> Iterator[tuple[Machine, Spec]]:
    """Draw experiments: how far speeds differ, how slow operations are, how long loading takes."""
    draw = random.Random(7)
    for ratio in (1.0, 2.0, 30.0, 1000.0):
        for slow in (0.001, 0.3, 2.0, 30.0):
            loading = 10 ** draw.uniform(-0.5, 0.7)
            tests = draw.choice(
                [["scan"], ["update-index"], ["scan", "update-index", "hot-points"]]
            )
            budget = draw.choice([20.0, 60.0])
            operation = {NAMES[0]: slow / ratio, NAMES[1]: slow}
            yield world_of(operation, loading=loading), spec_of(budget, *tests)


def test_announced_times_are_kept(experiment: Run) -> None:
    outcomes = [experiment(*case) for case in cases()]
    assert not any(outcome.world.agrees for outcome in outcomes)
    assert all(outcome.world.now <= MOST * outcome.expected for outcome in outcomes)
    kept = [outcome.missed <= KEPT for outcome in outcomes]
    assert sum(kept) >= 0.9 * len(kept), [outcome.missed for outcome in outcomes]


def plan_turns(outcome: Outcome) -> list[tuple[int, int]]:
    """Return the starts and slices of each step."""
    return [(step.turns_done, len(step.slices)) for step in outcome.journal.steps]


@pytest.mark.parametrize("slow", [0.003, 0.3, 8.0])
@pytest.mark.parametrize("test", ["scan", "update-index"])
def test_far_differences_are_decided_by_few_operations(
    experiment: Run, test: str, slow: float
) -> None:
    world = world_of({NAMES[0]: slow / 500, NAMES[1]: slow})
    outcome = experiment(world, spec_of(120.0, test))
    assert outcome.journal.manifest.settled == [f"{test}@1"]
    assert outcome.world.now < outcome.expected
    [(starts, slices)] = plan_turns(outcome)
    assert starts == 3, "one with few tests has four, unless it is that far"
    assert slices <= 3 * 4 * 20
    if slow > 1:
        assert slices == 3 * 4, "one block of each start"


def test_equals_with_slow_operations_have_no_verdict_soon(
    experiment: Run,
) -> None:
    outcome = experiment(world_of(dict.fromkeys(NAMES, 1.0)), spec_of(20.0, "scan"))
    assert outcome.journal.manifest.settled == []
    assert plan_turns(outcome) == [(4, 4 * 4)]


def test_the_first_operation_corrects_what_was_announced(
    experiment: Run,
) -> None:
    world = world_of({NAMES[0]: 0.001, NAMES[1]: 3.0})
    outcome = experiment(world, spec_of(20.0, "scan"))
    line, *_ = [phase for phase in world.phases if phase.startswith("scan: ")]
    assert f" on {NAMES[1]}: about " in line
    assert not outcome.announced.ended_early


@pytest.mark.parametrize("agrees", [False, True])
def test_the_user_is_asked_before_it_takes_twice_as_long(experiment: Run, *, agrees: bool) -> None:
    world = world_of(dict.fromkeys(NAMES, 6.0), agrees=agrees)
    outcome = experiment(world, spec_of(20.0, "scan"))
    [question] = world.questions
    assert question.startswith("scan: ")
    assert " 6" in question
    assert outcome.announced.ended_early != agrees
    assert (outcome.world.now > MOST * outcome.expected) == agrees
    if not agrees:
        assert any("it stops within" in phase for phase in world.phases)


def test_time_of_others_and_of_builds_is_not_limited(experiment: object) -> None:
    del experiment
    world = world_of(dict.fromkeys(NAMES, 1.0))
    announced = Announced(world, 100.0, 200.0, builds=20.0)
    begun = announced.room
    announced.exclude(0.0)
    announced.got_builds()
    assert announced.room == pytest.approx(begun - MOST * 20.0, abs=1.0)
    assert announced.allows(150.0)
    assert not announced.allows(170.0)
    assert not announced.allows(1.0), "what follows it has no time either"
