"""The tests of a benchmark of slices: their tables are loaded, aged and maintained."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager

from slowdust.analysis.preparation import WRITES, Difference, differences
from slowdust.benchmarks.described import DRIVER_BENCHMARK
from slowdust.dbms.family import Shutdown
from slowdust.experiment.contender import RunningContender
from slowdust.experiment.contenders import Contenders
from slowdust.experiment.driver.process import Data, Driver, OnProgress
from slowdust.experiment.engine.loop import Allows, Go, Lane, OpenExperiment, Tests
from slowdust.experiment.engine.open_test import OpenTest, Pace
from slowdust.experiment.engine.schedule import (
    SHORTEST_WAIT,
    Start,
    Turn,
    is_tidied,
    longest_wait,
    maintenance_after,
)
from slowdust.experiment.plan import PlannedStep
from slowdust.experiment.spec.spec import Spec
from slowdust.experiment.view import View
from slowdust.store.manifest import ContenderFacts
from slowdust.store.preparation import Preparation
from slowdust.units import Second

_REPEATS = 2
"""Maximum number of repeated preparations: a difference that persists is reported."""


_FULL_RUN: Second = 3600.0
"""Smaller budgets scale down the waits for idle servers."""


def describe_data(spec: Spec) -> Data:
    benchmark = spec.configured_benchmark().choosing(spec.chosen_tests())
    described = benchmark.described(spec.rows, spec.tables, spec.seed)
    name = benchmark.driver_benchmark if described is None else DRIVER_BENCHMARK
    return Data(
        spec.tables,
        spec.rows,
        spec.seed,
        name,
        benchmark.table,
        described,
        incarnations_of_a_load=benchmark.incarnations_of_a_load,
        further=benchmark.further_tables(),
    )


class LoadedTables:
    """The tables of all contenders, with the same rows."""

    def __init__(
        self,
        contenders: Contenders,
        data: Data,
        view: View,
        facts: Sequence[ContenderFacts] = (),
        kept: list[Preparation] | None = None,
    ) -> None:
        """`facts` say which contenders should be alike; states of the tables go into `kept`."""
        self.data = data
        self._rows = data.all_rows
        self._contenders = contenders
        self._facts = facts
        self._kept = [] if kept is None else kept
        self._latest: list[Preparation] = []
        self._view = view
        self._unchanged = False
        self._start = 0
        self._loaded_in = 0
        self._loads = _count_loads(self._kept)

    def start(self, number: int) -> None:
        """Start all servers; load the tables if they were changed or have served long enough."""
        self._start = number
        self._loads = self._loads or number - 1  # without records: one load per earlier start
        self._contenders.start(number - 1)
        until = self._loaded_in + self.data.incarnations_of_a_load
        if not (self._unchanged and number < until and self._stay()):
            self.load()

    def load(self) -> None:
        def load_all() -> None:
            self._contenders.for_each(self._load, self._loads)
            self._loads += 1
            self._wait_until_idle("load", SHORTEST_WAIT)

        self._until_alike("load", load_all)
        self._unchanged = True
        self._loaded_in = self._start

    def _stay(self) -> bool:
        """Return whether the tables of the earlier load are still alike after the restart."""
        self._contenders.for_each(self._load_if_emptied)
        self._latest = self._read("restart")
        if self._differences():
            # Write the pages that the servers themselves change when they start.
            self._contenders.for_each(
                lambda contender: self._contenders.maintain(
                    contender, contender.family.write_out(contender.server.site), self._rows
                )
            )
            self._latest = self._read("restart")
        if differing := self._differences():
            self._view.warning(f"the tables are {_worst(differing)} (preparing again)")
            return False
        self._kept += self._latest
        return True

    def note_step(self, step: PlannedStep) -> None:
        """Record that a step is measured on the tables as prepared last."""
        for record in self._latest:
            if step.key not in record.steps:
                record.steps.append(step.key)

    def note_writes(self) -> None:
        self._unchanged = False

    def maintain(self, budget: Second) -> None:
        """Carry out post-write maintenance, then wait until the servers are idle and alike."""
        self._until_alike(WRITES, lambda: self.tidy(budget))

    def tidy(self, budget: Second) -> None:
        def maintain(contender: RunningContender) -> None:
            self._view.phase(f"maintenance of {contender.name} after the writes")
            self.maintain_one(contender, self._contenders.driver)

        self._contenders.for_each(maintain, self._loads - 1)
        self._wait_until_idle(WRITES, longest_wait(self._rows, budget / _FULL_RUN))

    def revive(self, contender: RunningContender) -> None:
        """Make a contender usable after a statement timed out.

        A server cancels the statement. The process of a library is killed and started again.
        """
        if not contender.runs_in_its_client:
            return
        contender.server.stop(Shutdown.AT_ONCE)
        contender.start()
        self._load_if_emptied(contender)

    def load_one(
        self, contender: RunningContender, driver: Driver, on_progress: OnProgress
    ) -> None:
        driver.load(contender.target, self.data, on_progress)
        stages = contender.family.after_load(contender.server.site, self._names(contender))
        self._contenders.maintain(contender, stages, self._rows, driver)

    def maintain_one(self, contender: RunningContender, driver: Driver) -> None:
        stages = contender.family.after_writes(contender.server.site, self._names(contender))
        self._contenders.maintain(contender, stages, self._rows, driver)

    def _names(self, contender: RunningContender) -> list[str]:
        further = self.data.further.items()
        return [
            *self.data.maintained(contender.resolved.dbms),
            *(name for name, test in further if contender.resolved.lacks(test) is None),
        ]

    def _wait_until_idle(self, after: str, limit: Second) -> None:
        self._view.phase("waiting until the servers are idle")
        if not self._contenders.wait_until_idle(self._contenders.running(), limit):
            self._contenders.warn(f"the servers were not idle {limit:.0f} s after {after}")

    def _load(self, contender: RunningContender) -> None:
        self._view.phase(f"loading {contender.name}")
        self.load_one(contender, self._contenders.driver, self._view.progress)
        self._contenders.measure_sizes(contender, self._names(contender), self._rows)
        self._contenders.measure_buffer_pool(contender)
        self._contenders.read_page_size(contender)

    def _load_if_emptied(self, contender: RunningContender) -> None:
        if not contender.keeps_tables:
            self._load(contender)

    def _until_alike(self, after: str, prepare: Callable[[], None]) -> None:
        """Prepare the tables, again if the contenders' tables differ afterwards."""
        for repeated in range(_REPEATS + 1):
            prepare()
            self._latest = self._read(after, repeated)
            differing = self._differences()
            if not differing:
                break
            consequence = "preparing again" if repeated < _REPEATS else "measured anyway"
            self._view.warning(f"the tables are {_worst(differing)} ({consequence})")
        self._kept += self._latest

    def _differences(self) -> list[Difference]:
        return differences(self._latest, self._facts)

    def _read(self, after: str, repeated: int = 0) -> list[Preparation]:
        moment = 1 + max((record.moment for record in self._kept), default=0)
        records: list[Preparation] = []

        def read(contender: RunningContender) -> None:
            facts = self._contenders.read_facts(contender, self._rows)
            records.append(
                Preparation(
                    contender=contender.name,
                    incarnation=self._start,
                    moment=moment,
                    after=after,
                    facts=facts,
                    repeated=repeated,
                )
            )

        self._contenders.for_each(read)
        return records


def _count_loads(preparations: Sequence[Preparation]) -> int:
    """Count the loads of earlier starts, so that a resumed experiment continues A B, B A."""
    loads = {each.moment: each.repeated + 1 for each in preparations if each.after == "load"}
    return sum(loads.values())


def _worst(differing: list[Difference]) -> str:
    worst = differing[0]
    what = "not fully prepared" if worst.beside is None else "not alike"
    return f"{what}: {worst.contender}: {worst.sentence()}"


class SlicedTests(Tests[OpenTest], Lane[OpenTest]):
    """The tests on tables that are loaded, aged by writes, maintained, and loaded again.

    All contenders have sessions, and do the same number of writes.
    """

    def __init__(
        self,
        experiment: OpenExperiment,
        pace: Pace | None = None,
        kept: list[Preparation] | None = None,
        equip: Callable[[OpenTest], None] = lambda _: None,
    ) -> None:
        """`pace` defaults to the specification's slices.

        States of the tables go into `kept`; None if no timed result depends on them. `equip` is
        called with each test before its sessions are opened.
        """
        spec, facts = experiment.spec, experiment.journal.manifest.contenders
        self._experiment = experiment
        self.tables = LoadedTables(
            experiment.contenders, describe_data(spec), experiment.view, facts, kept
        )
        self._pace = pace or Pace(spec.discard, spec.warmup, rate=None)
        self._equip = equip
        self._start = Start(0, [])
        self._maintained: Turn | None = None
        self._next_operation: dict[str, int] = {}
        """Writing test of the driver -> first operation of its next session, so that no row is
        inserted twice."""

    def run(self, start: Start, go: Go[OpenTest]) -> None:
        """Start the servers; load the tables unless the previous start's are alike."""
        self._start, self._maintained = start, maintenance_after(start.turns)
        self._next_operation.clear()
        self.tables.start(start.number)
        go(start, self)
        self._experiment.contenders.stop()

    def prepare(self, step: PlannedStep) -> None:
        """Reload the tables for a step whose rows are used up."""
        if step.test.consumes and step.test.driver_test in self._next_operation:
            self._load()
        self.tables.note_step(step)

    def age(self, step: PlannedStep) -> None:
        """Run the writes of a step up to the positions of its first start."""
        assert step.aged_to is not None
        self._experiment.view.phase(f"ageing the data with {step.test.name}")
        test = self.sessions(step)
        test.open()
        test.age(step.aged_to)
        self._close(test)

    @contextmanager
    def opened(self, step: PlannedStep, allows: Allows) -> Generator[OpenTest | None, None, None]:
        """Open a step's sessions on all contenders and warm them up; None if there is no time."""
        test = self.sessions(step)
        test.open()
        test.warm_up(allows)
        yield test if test.is_warm else None
        self._close(test)
        test.ended = self._experiment.clock.monotonic()

    def settle(self, turn: Turn) -> None:
        budget = self._experiment.spec.budget
        if turn.step.test.changes_data:
            self.tables.note_writes()
        if turn is self._maintained:
            self.tables.maintain(budget)
        elif is_tidied(self._start.turns, turn):
            self.tables.tidy(budget)

    def sessions(self, step: PlannedStep) -> OpenTest:
        test = OpenTest(
            self._experiment.contenders,
            step,
            self._start.number,
            self._pace,
            data=self.tables.data,
            first=self._next_operation,
            clock=self._experiment.clock,
        )
        self._equip(test)
        return test

    def _close(self, test: OpenTest) -> None:
        self._next_operation |= test.next_operations
        test.close()
        if test.has_timed_out and test.step.test.changes_data:
            self._load()  # an interrupted operation leaves unknown data

    def _load(self) -> None:
        self.tables.load()
        self._next_operation.clear()
