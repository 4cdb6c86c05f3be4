"""The windows of long steps, on a simulated server under callgrind."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from types import SimpleNamespace
from typing import Any

import pytest

from slowdust.benchmarks.insert import InsertWorkload
from slowdust.benchmarks.steps import CountedWork, Server, StepBenchmark
from slowdust.errors import SlowdustError
from slowdust.experiment.clock import MACHINE
from slowdust.experiment.driver.process import Patience, TargetError
from slowdust.experiment.driver.protocol import Failed, Prepare, UntilOperations
from slowdust.experiment.engine.loop import Go, Pass, Starts, Tests, measure
from slowdust.experiment.engine.schedule import Start
from slowdust.experiment.local_lab import choose_counting
from slowdust.experiment.passes.callgrind_counts import REPEATS, CountedServer, CountedTest, Repeat
from slowdust.experiment.passes.callgrind_steps import WINDOWS, StepCounts
from slowdust.experiment.spec.spec import Spec, parse_spec

TABLE: dict[str, object] = {"rows": [4000, 1000, 200], "rates": [100], "seconds": 2}
STEPS = ["l.i0", "l.x", "l.i1", "l.i2", "qr100", "qp100"]
PER_OPERATION = 10
"""Instructions of each operation of each session."""
THREADS = {"insert": 11, "delete": 12, "query": 13, "index": 14}


def spec_of(**more: object) -> Spec:
    base = {"name": "x", "contenders": ["postgres@17.6"], "benchmark": "insert", "insert": TABLE}
    return parse_spec(base | more)


@dataclass
class PretendedDriver:
    """A driver whose sessions do nothing but go forward."""

    refused: str | None = None
    """The kind of the work that the server refuses."""
    position: int = 0
    patience: Patience = field(default_factory=Patience)
    work: dict[str, Any] = field(default_factory=dict)
    carried_out: list[tuple[str, int]] = field(default_factory=list)
    """Kind of each work and the operations that were done of it."""
    create: Callable[[object], None] = field(default=lambda command: None)

    def prepare(self, command: Prepare) -> SimpleNamespace:
        assert command.clients == 1
        assert command.long_transaction is None
        self.work, self.position = dict(command.work), 0
        roles = {"load": ["insert"], "replace": ["insert", "delete"]}
        names = roles.get(self.work["kind"], [self.work["kind"]])
        seats = [SimpleNamespace(role=role, process=THREADS[role], cpu=1) for role in names]
        return SimpleNamespace(seats=seats)

    def perform(self, session: str, until: UntilOperations, *of: object) -> SimpleNamespace:
        assert until.operations >= self.position, "a session goes forward"
        if self.work["kind"] == self.refused:
            raise TargetError(Failed(kind="server", message="refused"))
        self.position = until.operations
        return SimpleNamespace(roles={})

    def close(self, session: str) -> None:
        self.carried_out.append((self.work["kind"], self.position))


@dataclass
class PretendedCallgrind:
    """Counts the operations between its orders, as operations of one thread."""

    driver: PretendedDriver
    thread: int = 0
    begun: int = 0

    def start(self, operation: Callable[[], object], thread: int) -> None:
        operation()
        self.thread, self.begun = thread, self.driver.position

    def start_before(self, operation: Callable[[], object], thread: int) -> None:
        self.thread, self.begun = thread, self.driver.position
        operation()

    def dump(self, operation: Callable[[], object], thread: int) -> str:
        operation()
        return self._text(thread)

    def finish(self, close: Callable[[], object], thread: int) -> str:
        close()
        return self._text(thread)

    def stop(self, operation: Callable[[], object], thread: int) -> None:
        assert thread == self.thread
        operation()
        self.thread = 0

    def _text(self, thread: int) -> str:
        assert thread == self.thread, "only one session is counted at once"
        done, self.begun = self.driver.position - self.begun, self.driver.position
        return f"version: 1\npid: 7\nthread: 1\nevents: Ir\nsummary: {PER_OPERATION * done}\n"


@pytest.fixture(autouse=True)
def _no_sleep(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("slowdust.experiment.passes.callgrind_steps.TO_THE_READ", 0.0)


def procedure_and_server(driver: PretendedDriver) -> tuple[StepCounts, CountedServer]:
    spec = spec_of()
    benchmark = spec.configured_benchmark()
    assert isinstance(benchmark, StepBenchmark)
    workload = benchmark.workload([Server(200, 1 << 30)])
    contenders = SimpleNamespace(maintain=lambda *of: None)
    experiment: Any = SimpleNamespace(
        spec=spec, contenders=contenders, journal=None, view=None, announced=None
    )
    nothing = SimpleNamespace(
        after_load=lambda *of: [], after_writes=lambda *of: [], after_step=lambda *of: []
    )
    contender: Any = SimpleNamespace(
        name="postgres@17.6",
        target=None,
        family=nothing,
        server=SimpleNamespace(site=None),
        refuse_fatal_errors=lambda errors, of_what: None,
    )
    procedure = StepCounts(experiment, workload)
    pretended: tuple[Any, Any] = (driver, PretendedCallgrind(driver))
    server = CountedServer(contender, *pretended, 1)
    return procedure, server


class OneServer(Tests[CountedTest]):
    """The lane of one server that runs."""

    def __init__(self, procedure: StepCounts, server: CountedServer) -> None:
        self._procedure = procedure
        self._server = server

    def run(self, start: Start, go: Go[CountedTest]) -> None:
        go(start, self._procedure.lane(self._server, start.turns))


class Counting(Pass[CountedTest]):
    """Counts chosen steps once."""

    def __init__(self, driver: PretendedDriver, chosen: Sequence[str]) -> None:
        self._procedure, server = procedure_and_server(driver)
        self.tests = OneServer(self._procedure, server)
        self._chosen = chosen
        self.reached: list[str] = []
        self.counted: dict[str, list[Repeat]] = {}

    def missing(self) -> Starts:
        steps = [step for step in self._procedure.steps if step.test.name in self._chosen]
        yield Start(1, self._procedure.turns(steps))

    def observe(self, test: CountedTest) -> None:
        self.reached.append(test.step.test.name)
        with suppress(TargetError):
            self.counted[test.step.test.name] = test.count()


def passed(driver: PretendedDriver, *chosen: str) -> Counting:
    counting = Counting(driver, chosen)
    experiment: Any = SimpleNamespace(clock=MACHINE, timed=0.0)
    measure(experiment, [counting])
    return counting


def counted(driver: PretendedDriver, *chosen: str) -> dict[str, list[Repeat]]:
    return passed(driver, *chosen).counted


def test_windows_are_exact_and_per_what_the_rate_counts() -> None:
    repeats = counted(PretendedDriver(), *STEPS)
    assert list(repeats) == STEPS
    for name, amount, operations in (
        ("l.i0", 100, 1),
        ("l.x", 4000, 3),
        # Inserts and deletes have a window each, of as many commits.
        ("l.i1", 100, 2 * 2),
        ("l.i2", 100, 2 * 20),
        ("qr100", 500, 500),
        ("qp100", 500, 500),
    ):
        windows = repeats[name]
        assert len(windows) == (1 if name == "l.x" else REPEATS)
        for window in windows:
            assert window.run.operations == amount
            assert window.run.own == {"instructions": PER_OPERATION * operations}


def test_writes_end_first_and_background_writes_before_their_queries() -> None:
    driver = PretendedDriver()
    counted(driver, *STEPS)
    windows = 1 + REPEATS
    queries = 500 * (16 + windows) + 2
    assert driver.carried_out == [
        ("load", 40), ("index", 3), ("replace", 4 * WINDOWS), ("replace", 40 * WINDOWS),
        *[("replace", 4), ("query", queries)] * 2,
    ]  # fmt: skip


def test_steps_that_are_not_counted_write_all_the_same() -> None:
    everything, some = PretendedDriver(), PretendedDriver()
    counted(everything, *STEPS)
    assert list(counted(some, "l.i2", "qp100")) == ["l.i2", "qp100"]
    writes = [work for work in everything.carried_out if work[0] != "query"]
    assert [work for work in some.carried_out if work[0] != "query"] == writes
    assert [work[0] for work in some.carried_out].count("query") == 1


def test_steps_after_a_failed_step_are_not_counted() -> None:
    counting = passed(PretendedDriver(refused="replace"), *STEPS)
    assert counting.reached == ["l.i0", "l.x", "l.i1"]
    assert list(counting.counted) == ["l.i0", "l.x"]


def test_a_session_whose_thread_is_unknown_is_not_counted(monkeypatch: pytest.MonkeyPatch) -> None:
    nobody = SimpleNamespace(seats=[])
    monkeypatch.setattr(PretendedDriver, "prepare", lambda driver, command: nobody)
    with pytest.raises(SlowdustError, match=r"thread.* insert"):
        counted(PretendedDriver(), "l.i0")


def work_of(step: str, **table: object) -> CountedWork:
    benchmark = spec_of(insert=TABLE | table).configured_benchmark()
    assert isinstance(benchmark, StepBenchmark)
    workload = benchmark.workload([Server(200, 1 << 30)])
    assert isinstance(workload, InsertWorkload)
    work = workload.counted(step, WINDOWS)
    assert isinstance(work, CountedWork)
    return work


def test_many_rows_are_scaled_and_few_rows_are_enough_for_the_windows() -> None:
    assert work_of("l.i0", rows=[400_000]).work.inserted == 40_000
    assert work_of("l.i0", rows=[400_000]).amount == 1000
    assert work_of("l.i0", rows=[200]).work.operations == WINDOWS
    beside = work_of("qr1000", rows=[400_000], rates=[1000], seconds=4).before
    assert beside is not None
    assert (beside.inserted, beside.deleted) == (400, 400)


def test_a_pmu_does_not_count_long_steps() -> None:
    with pytest.raises(SlowdustError, match=r"valgrind.* --count pmu"):
        choose_counting(spec_of(count="pmu"))
