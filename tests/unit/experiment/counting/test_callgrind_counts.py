"""Counts under callgrind where servers fail, on simulated servers."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from slowdust.errors import SlowdustError
from slowdust.experiment.driver.process import TargetError
from slowdust.experiment.driver.protocol import Failed
from slowdust.experiment.engine.loop import measure
from slowdust.experiment.passes.callgrind_slices import SliceCounts
from slowdust.experiment.passes.slices import make_slice_method
from slowdust.experiment.passes.work_counts import MOST_STARTS, STARTS, counted_steps
from slowdust.experiment.spec.spec import parse_spec
from slowdust.instances.programs import InstanceError
from slowdust.store.folder import Folder
from slowdust.store.manifest import Counting, LeftOut
from slowdust.store.measured import Measured
from slowdust.store.slice import Place, Slice
from tests.unit.simulated_servers import Machine, simulated, simulated_contenders

TESTS = ("point-query", "delete", "insert")
BASE, OTHER = NAMES = ("sqlite@3.17.0", "sqlite@3.26.0")
REFUSED = TargetError(Failed(kind="server", message="the query is refused"))
GONE = TargetError(Failed(kind="connection", message="the server closed the connection"))
KEYS: dict[str, object] = {"name": "x", "contenders": [*NAMES], "tests": [*TESTS]}
ALL = ("point-query", "insert", "delete")
"""The tests in their order: what uses up rows comes last."""


def machine_of() -> Machine:
    return Machine(dict.fromkeys(NAMES, 1e-4))


@dataclass
class Outcome:
    """The results of a count."""

    counted: dict[str, list[tuple[str, int]]]
    """Contender -> its tests and starts, as they came."""
    warnings: list[str]
    profiles: set[tuple[str, int, str]]
    left_out: LeftOut | None


def count(
    tmp_path: Path, machine: Machine, budget: float = 600.0, timed: Sequence[Slice] = ()
) -> Outcome:
    spec = parse_spec({**KEYS, "count_budget": budget})
    with simulated(
        machine, spec, tmp_path, lambda _: make_slice_method(spec), kept=timed
    ) as experiment:
        journal = experiment.journal
        journal.manifest.counting = Counting(source="valgrind")
        experiment.contenders.on_failure(lambda each: pytest.fail(f"{each.name} has failed"))
        measure(experiment, [SliceCounts(experiment)])
        assert all(each.failed is None for each in experiment.contenders.all)
    counted: dict[str, list[tuple[str, int]]] = {name: [] for name in NAMES}
    for record in Folder(tmp_path / "x").read_counts():
        if record.place.repeat == 0:
            place = record.place.test, record.place.incarnation
            counted[record.place.contender].append(place)
    left_out = journal.manifest.counting.left_out
    profiles = journal.profiled("callgrind")
    return Outcome(counted, journal.manifest.warnings, profiles, left_out)


def after_each_start(*tests: str) -> list[tuple[str, int]]:
    return [(test, start) for start in range(1, STARTS + 1) for test in tests]


def test_tests_that_use_up_rows_are_counted_last(tmp_path: Path) -> None:
    steps = counted_steps(parse_spec(KEYS))
    assert tuple(step.test.name for step in steps) == ALL
    outcome = count(tmp_path, machine_of())
    assert outcome.counted == dict.fromkeys(NAMES, after_each_start(*ALL))
    assert outcome.profiles == {(test, 1, name) for test in TESTS for name in NAMES}
    assert not outcome.warnings


def test_stored_counts_are_not_repeated(tmp_path: Path) -> None:
    first = count(tmp_path, machine_of())
    again = machine_of()
    assert count(tmp_path, again).counted == first.counted
    assert not again.starts


def timed_slice(contender: str, test: str, failed: int = 0, cpu_s: float = 0.0) -> Slice:
    """A timed slice of a thousand executions."""
    return Slice(
        place=Place(benchmark="micro", test=test, clients=1, contender=contender),
        qps=1000.0,
        measured=Measured(
            operations=1000 - failed,
            errors={"22012": failed} if failed else {},
            uses={"server": {"cpu_user_s": cpu_s}} if cpu_s else {},
        ),
    )


def test_tests_without_time_are_skipped_and_named(tmp_path: Path) -> None:
    timed = [timed_slice(name, "delete", cpu_s=1e5) for name in NAMES]
    outcome = count(tmp_path, machine_of(), budget=60.0, timed=timed)
    assert set(outcome.counted[BASE]) == set(after_each_start("point-query", "insert"))
    assert outcome.left_out is not None
    assert outcome.left_out.tests == ["delete"]
    assert outcome.left_out.budget_s == 60.0
    assert outcome.left_out.advised_s > 60.0


def test_steps_longer_than_their_budget_are_cut_off(tmp_path: Path) -> None:
    machine = machine_of()
    ended = threading.Event()

    def slowly(contender: str, test: str, start: int) -> int:
        del contender, start
        if test == "insert":
            machine.now += 1000.0
            ended.wait(0.5)
        return 10

    machine.instructions = slowly
    outcome = count(tmp_path, machine, budget=50.0)
    assert outcome.counted[BASE]
    assert ("delete", 1) not in outcome.counted[BASE]
    assert outcome.left_out is not None
    assert not outcome.warnings, "no server has failed"


def restless(machine: Machine) -> Machine:
    """Make inserts of one contender 10% dearer or cheaper from start to start."""
    machine.instructions = lambda contender, test, start: (
        10 + (-1) ** start if (contender, test) == (OTHER, "insert") else 10
    )
    return machine


def test_undecided_tests_are_counted_in_more_starts(tmp_path: Path) -> None:
    outcome = count(tmp_path, restless(machine_of()))
    more = [("insert", start) for start in range(STARTS + 1, MOST_STARTS + 1)]
    expected = after_each_start(*ALL) + more
    assert outcome.counted == dict.fromkeys(NAMES, expected)


def test_more_starts_are_bounded_in_time(tmp_path: Path) -> None:
    machine = restless(machine_of())
    instructions = machine.instructions

    def later(contender: str, test: str, start: int) -> int:
        machine.now += 100.0 * (start > STARTS)
        return instructions(contender, test, start)

    machine.instructions = later
    outcome = count(tmp_path, machine, budget=5000.0)
    assert outcome.counted[OTHER][-1] == ("insert", STARTS + 1)


def test_a_test_that_is_refused_is_skipped_alone(tmp_path: Path) -> None:
    machine = machine_of()
    machine.errors[OTHER, "insert"] = [REFUSED]
    outcome = count(tmp_path, machine)
    assert outcome.counted[BASE] == after_each_start(*ALL)
    assert outcome.counted[OTHER] == after_each_start("point-query", "delete")
    [warning] = outcome.warnings
    assert f" insert of {OTHER} " in warning
    assert "the query is refused" in warning


def test_tests_that_the_base_refuses_are_not_counted(tmp_path: Path) -> None:
    machine = machine_of()
    machine.errors[BASE, "insert"] = [REFUSED]
    outcome = count(tmp_path, machine)
    assert outcome.counted[BASE] == after_each_start("point-query", "delete")
    assert outcome.counted[OTHER][-2:] == [("point-query", 2), ("delete", 2)]


@pytest.mark.parametrize("error", [GONE, InstanceError("it ended"), SlowdustError("no orders")])
def test_a_server_that_fails_ends_its_count(tmp_path: Path, error: Exception) -> None:
    machine = machine_of()
    machine.errors[OTHER, "insert"] = [error]
    outcome = count(tmp_path, machine)
    assert outcome.counted[BASE] == after_each_start(*ALL)
    assert outcome.counted[OTHER] == [("point-query", 1)]
    [warning] = outcome.warnings
    assert OTHER in warning
    assert str(error) in warning


def test_without_the_base_nothing_is_counted(tmp_path: Path) -> None:
    machine = machine_of()
    # Its first start, of a server as usual, prepares the tables.
    machine.errors[BASE, "start"] = [None, InstanceError("it does not start")]
    outcome = count(tmp_path, machine)
    assert machine.starts.get(OTHER, 0) <= 2, "no second start under callgrind"
    assert BASE in outcome.warnings[0]
    assert "it does not start" in outcome.warnings[0]


def test_a_failure_outside_of_the_servers_is_a_warning_too(
    tmp_path: Path, snapshot: SnapshotAssertion
) -> None:
    contenders = simulated_contenders(machine_of(), tmp_path)
    warnings: list[str] = []
    contenders.on_warning(warnings.append)
    with contenders.observing("sampling the functions"):
        raise SlowdustError("perf is gone")
    assert warnings == snapshot
    assert contenders.running() == contenders.all


@pytest.mark.parametrize(("failed", "counted"), [(9, ["insert"]), (10, []), (1000, [])])
def test_a_test_that_failed_in_the_timed_part_is_not_counted(
    tmp_path: Path, failed: int, counted: list[str]
) -> None:
    timed = [timed_slice(BASE, "insert", failed), timed_slice(OTHER, "insert")]
    outcome = count(tmp_path, machine_of(), timed=timed)
    expected = after_each_start("point-query", *counted, "delete")
    assert outcome.counted == dict.fromkeys(NAMES, expected)
    assert outcome.left_out is None, "that is for tests that time was lacking for"


def test_a_test_whose_work_still_changes_is_reported_once(tmp_path: Path) -> None:
    machine = machine_of()
    dumped = dict.fromkeys(NAMES, 0)

    def warming(contender: str, test: str, start: int) -> int:
        del start
        dumped[contender] += test == "point-query"
        return 20 if test == "point-query" and dumped[contender] % 2 else 10

    machine.instructions = warming
    outcome = count(tmp_path, machine)
    assert min(len(places) for places in outcome.counted.values()) >= STARTS
    [warning] = outcome.warnings
    assert "point-query" in warning
