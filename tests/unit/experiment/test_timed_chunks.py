"""Long steps on simulated servers: turns, budgets, and failures after a step."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from slowdust.benchmarks.steps import StepBenchmark, Workload
from slowdust.experiment.contenders import Contenders
from slowdust.experiment.driver.process import TargetError
from slowdust.experiment.driver.protocol import Failed
from slowdust.experiment.engine.loop import OpenExperiment, measure
from slowdust.experiment.engine.stepped import sized_workload
from slowdust.experiment.passes.chunks import TimedChunks, make_step_method
from slowdust.experiment.spec.spec import Spec, parse_spec
from slowdust.instances.programs import InstanceError
from slowdust.store.manifest import Method
from slowdust.store.slice import Slice
from tests.unit.simulated_servers import Machine, SimulatedServer, simulated

BASE, OTHER = NAMES = ["sqlite@3.17.0", "sqlite@3.26.0"]
GONE = "it went away"
STEPS = ["l.i0", "l.x", "l.i1"]


def spec_of(contenders: list[str] = NAMES, **keys: object) -> Spec:
    base = {"name": "x", "benchmark": "insert", "tests": ["l.i1"], "incarnations": 1}
    return parse_spec({**base, "contenders": contenders, "insert": {"rows": [1000, 100]}, **keys})


def machine_of(contenders: list[str] = NAMES) -> Machine:
    return Machine(dict.fromkeys(contenders, 0.01))


@contextmanager
def opened(machine: Machine, spec: Spec, folder: Path) -> Iterator[tuple[OpenExperiment, Workload]]:
    benchmark = spec.configured_benchmark()
    assert isinstance(benchmark, StepBenchmark)
    workload: Workload | None = None

    def method_of(contenders: Contenders) -> Method:
        nonlocal workload
        workload = sized_workload(spec, benchmark, contenders)
        return make_step_method(spec, workload)

    with simulated(machine, spec, folder, method_of) as experiment:
        assert workload is not None
        yield experiment, workload


def run(machine: Machine, spec: Spec, folder: Path) -> OpenExperiment:
    with opened(machine, spec, folder) as (experiment, workload):
        measure(experiment, [TimedChunks(experiment, workload)])
    return experiment


def slices_of(experiment: OpenExperiment) -> list[Slice]:
    return [record for step in experiment.journal.steps for record in step.slices]


def order_of(machine: Machine) -> list[tuple[str, str, int]]:
    """Return contender, step and start of each session, in their order."""
    sessions = [name.split("|") for name in machine.done]
    return [(name, step.partition("@")[0], int(start)) for name, step, start in sessions]


def test_contenders_take_turns_by_step_and_by_start(tmp_path: Path) -> None:
    machine = machine_of()
    experiment = run(machine, spec_of(incarnations=2), tmp_path)
    there, back = (BASE, OTHER), (OTHER, BASE)
    assert order_of(machine) == [
        (name, step, start)
        for start, turns in ((1, (there, back, there)), (2, (back, there, back)))
        for step, names in zip(STEPS, turns, strict=True)
        for name in names
    ]
    for record in slices_of(experiment):
        assert record.step is not None
        assert record.step.chunks[0].slot in (0, 1)
        if record.place.test != "l.x":  # whose chunks have indexes
            done = sum(chunk.amount for chunk in record.step.chunks)
            assert done == record.measured.operations
    first, *_ = slices_of(experiment)
    assert first.measured.operations == 1000


def test_the_others_are_suspended_in_a_chunk(tmp_path: Path) -> None:
    machine = machine_of()
    experiment = run(machine, spec_of(), tmp_path)
    for contender in experiment.contenders.all:
        assert isinstance(contender.server, SimulatedServer)
        events = contender.server.events
        assert "stands still" in events
        assert events[-1] == "goes on"


@pytest.mark.parametrize(
    "error",
    [TargetError(Failed(kind="server", message=GONE)), InstanceError(GONE)],
    ids=["an error of the driver", "a server that ended"],
)
def test_a_step_stays_measured_with_other_tables(tmp_path: Path, error: Exception) -> None:
    machine = machine_of([BASE])
    machine.errors[BASE, "sizes"] = [None, error, None]
    experiment = run(machine, spec_of([BASE]), tmp_path)
    kept = {record.place.test: record.step for record in slices_of(experiment)}
    assert list(kept) == STEPS
    index, after = kept["l.x"], kept["l.i1"]
    assert index is not None
    assert (index.rows_counted, index.table_bytes, index.settled_s) == (1000, None, None)
    assert after is not None
    assert after.table_bytes == 2000
    manifest = experiment.journal.manifest
    assert not manifest.failed_steps
    finished, restarted = manifest.warnings
    assert finished.startswith(f"{BASE} finished l.x@1 ")
    assert GONE in finished
    assert "after l.x@1" in restarted
    assert restarted.endswith(": l.i1@1")
    assert machine.starts[BASE] == 2


def test_a_contender_that_fails_in_a_load_sits_out_the_rest(tmp_path: Path) -> None:
    machine = machine_of()
    machine.errors[OTHER, "l.i0"] = [TargetError(Failed(kind="server", message=GONE))]
    experiment = run(machine, spec_of(), tmp_path)
    (failure,) = experiment.journal.manifest.failed_steps
    assert (failure.test, failure.contender) == ("l.i0", OTHER)
    assert [r.place.contender for r in slices_of(experiment)] == [BASE] * 3


def test_holds_change_their_order_from_start_to_start(tmp_path: Path) -> None:
    machine = machine_of([BASE])
    table = {"rows": [1000, 100], "hold": [0, 60]}
    run(machine, spec_of([BASE], incarnations=2, insert=table), tmp_path)
    beside = [f"{step}.hold60" for step in STEPS]
    assert [step for _, step, _ in order_of(machine)] == [*STEPS, *beside, *beside, *STEPS]


def test_stored_results_are_not_measured_again(tmp_path: Path) -> None:
    machine, spec = machine_of(), spec_of(incarnations=2)
    with opened(machine, spec, tmp_path) as (experiment, workload):
        for step in experiment.journal.steps:
            step.turns_done = 1
        measure(experiment, [TimedChunks(experiment, workload)])
    assert {start for *_, start in order_of(machine)} == {1}
    assert {step.turns_done for step in experiment.journal.steps} == {2}


class BudgetCase(NamedTuple):
    """Two starts are planned, and each takes about as long as the other."""

    budget: Callable[[float], float]
    """Returns a budget from the length of a start."""
    starts: int
    contenders: list[str] = NAMES
    warned: bool = False


@pytest.mark.parametrize(
    "case",
    [
        BudgetCase(lambda start: 3.7 * start, 3),
        BudgetCase(lambda start: 3.7 * start, 2, [BASE]),
        BudgetCase(lambda start: 1.5 * start, 2, warned=True),
    ],
    ids=["as many as fit", "one contender", "too little for the plan"],
)
def test_a_budget_has_whole_starts(tmp_path: Path, case: BudgetCase) -> None:
    alone = run(machine_of(case.contenders), spec_of(case.contenders), tmp_path / "one")
    budget = case.budget(alone.journal.manifest.spent_s)
    machine = machine_of(case.contenders)
    machine.restart = dict.fromkeys(STEPS, 0.3)  # nothing is settled
    spec = spec_of(case.contenders, incarnations=2, budget=f"{budget:.1f}s")
    experiment = run(machine, spec, tmp_path / "more")
    assert {step.turns_done for step in experiment.journal.steps} == {case.starts}
    assert bool(experiment.journal.manifest.warnings) == case.warned
