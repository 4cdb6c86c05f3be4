"""Timed slices on simulated servers: verdicts, lengths, budgets and resuming."""

from __future__ import annotations

import random
from collections.abc import Callable
from pathlib import Path

import pytest

from slowdust.experiment.engine.loop import measure
from slowdust.experiment.engine.schedule import block_order, following_order
from slowdust.experiment.journal import Journal
from slowdust.experiment.passes.slices import TimedSlices, make_slice_method
from slowdust.experiment.spec.spec import Spec, parse_spec
from slowdust.store.slice import Slice
from tests.unit.simulated_servers import Machine, simulated

NAMES = ["sqlite@3.17.0", "sqlite@3.26.0"]
Run = Callable[[Machine, Spec], Journal]


@pytest.fixture
def run(tmp_path: Path) -> Run:
    def run_spec(machine: Machine, spec: Spec, kept: list[Slice] | None = None) -> Journal:
        with simulated(
            machine, spec, tmp_path, lambda _: make_slice_method(spec), kept=kept or ()
        ) as experiment:
            measure(experiment, [TimedSlices(experiment)])
        return experiment.journal

    return run_spec


def machine_of(restart: dict[str, float]) -> Machine:
    return Machine(dict.fromkeys(NAMES, 1e-4), restart)


def spec_of(tests: list[str], **keys: object) -> Spec:
    return parse_spec({"name": "x", "contenders": NAMES, "tests": tests, "warmup": 0.02, **keys})


def test_settled_tests_leave_their_budget_to_the_others(run: Run) -> None:
    machine = machine_of({"point-query": 0.0, "random-points.100": 0.0, "hot-points": 0.2})
    journal = run(machine, spec_of([*machine.restart], budget="70s", slice="100ms"))
    slices = {step.test.name: len(step.slices) for step in journal.steps}
    settled = {step.test.name for step in journal.steps if step.settled}
    assert settled == {"point-query", "random-points.100"}
    assert slices["hot-points"] > slices["point-query"]
    assert journal.manifest.settled == [step.key for step in journal.steps if step.settled]
    assert {status.settled for status in machine.statuses} >= {0, 2}


def test_a_test_without_a_verdict_gets_turns_while_the_budget_lasts(run: Run) -> None:
    machine = machine_of(dict.fromkeys(["point-query", "scan", "hot-points"], 0.2))
    journal = run(machine, spec_of([*machine.restart], budget="90s", slice="100ms"))
    assert {step.turns_done for step in journal.steps} == {6}
    assert journal.manifest.spent_s == pytest.approx(90, abs=3)


def test_a_verdict_that_no_longer_holds_opens_its_test_again(tmp_path: Path) -> None:
    machine, spec = machine_of({}), spec_of(["scan"], budget="20s", slice="100ms")
    with simulated(machine, spec, tmp_path, lambda _: make_slice_method(spec)) as experiment:
        (step,) = experiment.journal.steps
        step.settled = True
        measure(experiment, [TimedSlices(experiment)])
    assert any(phase.startswith("scan ") for phase in machine.phases)
    assert step.slices


def test_each_test_has_one_length_in_all_starts(run: Run) -> None:
    machine = machine_of({"point-query": 0.05, "scan": 0.05, "random-points.10": 0.05})
    journal = run(machine, spec_of([*machine.restart], budget="60s"))
    lengths = journal.manifest.method.slice_lengths
    assert sorted(lengths) == sorted(step.key for step in journal.steps)
    for step in journal.steps:
        for record in step.slices:
            assert record.measured.seconds == pytest.approx(lengths[step.key], abs=0.001)
    assert {step.turns_done for step in journal.steps} >= {4}


def test_a_given_length_is_taken(run: Run) -> None:
    journal = run(machine_of({}), spec_of(["point-query"], budget="20s", slice="80ms"))
    (step,) = journal.steps
    assert {round(s.measured.seconds or 0, 2) for s in step.slices} == {0.08}
    assert journal.manifest.method.slice_lengths == {}


def test_a_small_budget_is_exceeded_with_a_warning_and_few_blocks(run: Run) -> None:
    machine = machine_of({"point-query": 0.05, "scan": 0.05})
    journal = run(machine, spec_of([*machine.restart], budget="1s"))
    (warning,) = machine.warnings
    assert "budget of 1s" in warning
    assert "2 tests" in warning
    assert journal.manifest.warnings == [warning]
    assert [step.turns_done for step in journal.steps] == [4, 4]
    assert [len(step.slices) for step in journal.steps] == [4 * 2 * 4] * 2


def test_seed_step_and_start_decide_the_order_of_slices(run: Run) -> None:
    journal = run(machine_of({}), spec_of(["scan"], budget="20s", slice="100ms", seed=7))
    (step,) = journal.steps
    for start in range(1, step.turns_done + 1):
        rng = random.Random(f"7/scan@1/{start}")
        places = [s.place for s in step.slices if s.place.incarnation == start]
        order: list[int] = []
        for block in range(1 + max(place.block for place in places)):
            order = following_order(order) if block % 2 else block_order(2, rng)
            own = sorted((p.slot, p.contender) for p in places if p.block == block)
            assert [name for _, name in own] == [NAMES[i] for i in order]


def test_an_experiment_that_ended_measures_nothing_again(run: Run) -> None:
    spec = spec_of(["scan"], budget="20s", slice="100ms")
    first = run(machine_of({}), spec)
    again = machine_of({})
    journal = run(again, spec)
    (step,) = journal.steps
    assert step.slices == first.steps[0].slices


def test_starts_of_a_resumed_experiment_have_new_numbers(run: Run) -> None:
    keys = {"budget": "20s", "slice": "100ms"}
    run(machine_of({}), spec_of(["scan"], incarnations=2, **keys))
    (step,) = run(machine_of({}), spec_of(["scan"], incarnations=4, **keys)).steps
    places = [(s.place.incarnation, s.place.block, s.place.slot) for s in step.slices]
    assert len({*places}) == len(places)
    assert {incarnation for incarnation, *_ in places} == {1, 2, 3, 4}


def test_every_other_start_and_load_has_the_reverse_order(run: Run) -> None:
    machine = machine_of({})
    run(machine, spec_of(["scan"], budget="20s", slice="100ms"))
    for what, turns in (("starting", 4), ("loading", 2)):
        order = [text.split()[1] for text in machine.phases if text.startswith(what)]
        assert order == [*NAMES, *reversed(NAMES)] * (turns // 2)
