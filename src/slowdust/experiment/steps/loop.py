"""The loop of benchmarks that are measured in long steps.

An incarnation starts the servers, makes the tables, and goes through the steps: each is carried
out on every contender before the next begins. Contenders take turns, after each chunk of the step
or after all of it; while one has its turn in a chunk, the others' servers stand still. Who begins
alternates by step and by incarnation. A contender that does not finish a step goes on with the next
one, on a server that is started again, unless the step made the tables that the next ones need.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from slowdust.benchmarks.steps import Maintenance, Server, StepBenchmark, Workload
from slowdust.dbms.family import Shutdown, Stage
from slowdust.errors import SlowdustError
from slowdust.experiment.contenders import Contenders, RunningContender, explain_failure
from slowdust.experiment.driver.process import TargetError
from slowdust.experiment.driver.protocol import Create, Partitions, Until
from slowdust.experiment.journal import OpenJournal
from slowdust.experiment.judging import Judge
from slowdust.experiment.maintenance import longest_wait
from slowdust.experiment.plan import PlannedStep
from slowdust.experiment.spec.spec import Spec
from slowdust.experiment.steps.chunks import CHUNK, counted_ends, pilot_end, timed_ends
from slowdust.experiment.steps.chunks import turns as chunk_turns
from slowdust.experiment.steps.forecast import Forecast
from slowdust.experiment.steps.freezer import Freezer
from slowdust.experiment.steps.measurement import Measurement
from slowdust.experiment.steps.step import StepRunner
from slowdust.experiment.steps.turn import ContenderTurn, Tables, long_step
from slowdust.experiment.view import Status, View
from slowdust.instances.instance import InstanceError
from slowdust.store.manifest import Method, StepFailure
from slowdust.store.slice import Slice
from slowdust.units import Second

_BETWEEN_TURNS: Second = 10.0
"""Longest time for a contender to become idle after its turn, before the next one's begins."""
_FULL_STEP: Second = 1800.0
"""Length of a timed step from which on the wait after the writes applies unscaled."""


def sized_workload(spec: Spec, benchmark: StepBenchmark, contenders: Contenders) -> Workload:
    """Start the servers, and size the benchmark to them.

    Raises:
        UsageError: the size depends on what the servers do not have, or the disk has no room.
    """
    contenders.start()
    contenders.for_each(contenders.measure_buffer_pool)
    workload = benchmark.workload(
        [
            Server(
                contender.family.bytes_per_row(contender.resolved.engine),
                contender.buffer_pool_bytes,
            )
            for contender in contenders.running()
        ]
    )
    workload.check_room(spec.clients, shutil.disk_usage(contenders.data_dir).free)
    return workload


def method_of_steps(spec: Spec, workload: Workload) -> Method:
    """Return how long steps are measured: without slices, until the steps end."""
    method = Method(
        seed=spec.seed,
        slice_s=0.0,
        discard_s=0.0,
        warmup_s=0.0,
        budget_s=0.0,
        margin=spec.margin,
        incarnations=spec.incarnations or workload.incarnations,
    )
    workload.add_to(method, spec.clients)
    return method


def partitions_of(workload: Workload, steps: Sequence[str], clients: int) -> Partitions | None:
    """Return equal ranges of all keys that a table will ever have; None without partitions."""
    count = workload.settings.partitions
    if not count:
        return None
    inserted = sum(workload.work(step, clients).inserted for step in steps)
    keys = inserted * clients // workload.settings.tables(clients)
    return Partitions(count=count, rows_each=max(1, -(-keys // count)))


def turn_order(contenders: int, place: int, incarnation: int) -> list[int]:
    """Return the indices of the contenders for the step at `place`: A B, then B A."""
    order = list(range(contenders))
    return order if (place + incarnation) % 2 else order[::-1]


class StepLoop:
    """Measures a specification's tests in long steps, on contenders that are set up."""

    def __init__(
        self,
        spec: Spec,
        workload: Workload,
        contenders: Contenders,
        journal_of: OpenJournal,
        view: View,
    ) -> None:
        self.journal = journal_of(method_of_steps(spec, workload))
        self._benchmark = spec.configured_benchmark()
        self._contenders = contenders
        self._workload = workload
        self._view = view
        self._levels = spec.clients
        self._runner = StepRunner(contenders, self._benchmark.driver_benchmark, workload, spec.seed)
        self._judge = Judge(contenders.names, spec.margin, self.journal)
        self._forecast = Forecast(self.journal.steps, workload.seconds)
        self._planned = self.journal.manifest.method.incarnations
        to_come = max(self._forecast.to_come(self._planned, level) for level in self._levels)
        self._last = self.journal.last_incarnation + to_come
        """The number of the last incarnation that there will be."""
        self._without_tables: set[str] = set()
        """Contenders that sit out the rest of an incarnation."""

    def run(self) -> None:
        """Run the incarnations that any step still lacks."""
        for round_number in range(1, self._planned + 1):
            levels = [level for level in self._levels if self._incomplete(level, round_number)]
            if levels:
                self._incarnation(levels)

    def _incomplete(self, level: int, round_number: int) -> bool:
        return any(step.turns_done < round_number for step in self._steps(level))

    def _steps(self, level: int) -> list[PlannedStep]:
        return [step for step in self.journal.steps if step.clients == level]

    def _incarnation(self, levels: list[int]) -> None:
        number = self.journal.last_incarnation + 1
        self._contenders.start()
        self.journal.record_servers(self._contenders)
        self._without_tables.clear()
        for level in levels:
            self._sequence(level, number)
        self._contenders.stop()

    def _present(self) -> list[RunningContender]:
        running = self._contenders.running()
        return [contender for contender in running if contender.name not in self._without_tables]

    def _sequence(self, level: int, number: int) -> None:
        """Run all steps with so many clients."""
        steps = self._steps(level)
        tables = self._make_tables(steps, level)
        for place, step in enumerate(steps):
            order = turn_order(len(self._contenders.all), place, number)
            turns = [
                ContenderTurn(step, number, contender, slot, tables[contender.name])
                for slot, index in enumerate(order)
                if (contender := self._contenders.all[index]) in self._present()
            ]
            begun = time.monotonic()
            if self._workload.settings.turns == "chunks":
                self._in_chunks(turns)
            else:
                for turn in turns:
                    self._whole(turn)
            self._forecast.took(step, (time.monotonic() - begun) / max(1, len(turns)))
            self.journal.end_turn(step, self._forecast.elapsed)
            self._view.step_done(self._status(step, number))

    def _make_tables(self, steps: list[PlannedStep], level: int) -> dict[str, Tables]:
        count = self._workload.settings.tables(level)
        names = [f"{self._benchmark.table}{number}" for number in range(1, count + 1)]
        partitions = partitions_of(self._workload, [step.test.name for step in steps], level)
        for contender in self._present():
            with self._contenders.guard(contender):
                command = Create(
                    target=contender.target,
                    benchmark=self._benchmark.driver_benchmark,
                    tables=count,
                    partitions=partitions,
                )
                self._contenders.driver.create(command)
        return {contender.name: Tables(names) for contender in self._contenders.all}

    def _whole(self, turn: ContenderTurn) -> None:
        """Carry out a step on one contender from its beginning to its end."""
        with self._failing(turn):
            measurement = self._begin(turn)
            self._view.phase(self._describe(turn))
            measurement.perform(None, self._view.progress)
            self._end(measurement)

    def _in_chunks(self, turns: Sequence[ContenderTurn]) -> None:
        """Carry out a step on all contenders, which take turns chunk by chunk.

        While one has its turn, the servers of the others stand still.
        """
        under_way: dict[int, Measurement] = {}
        with Freezer([turn.contender for turn in turns], self._warn) as freezer:
            for index, turn in enumerate(turns):
                with self._failing(turn):
                    freezer.let_run(turn.contender)
                    under_way[index] = self._begin(turn)
            ends = self._ends(under_way, freezer)
            for place in chunk_turns(range(len(turns)), len(ends)):
                measurement = under_way.pop(place.contender, None)
                if measurement is None:
                    continue
                turn = measurement.turn
                self._view.phase(f"{self._describe(turn)}, chunk {place.chunk + 1} of {len(ends)}")
                with self._failing(turn):
                    freezer.let_run(turn.contender)
                    measurement.perform_chunk(place, ends[place.chunk], self._view.progress)
                    under_way[place.contender] = measurement
            for _, measurement in sorted(under_way.items()):
                with self._failing(measurement.turn):
                    freezer.let_run(measurement.turn.contender)
                    self._end(measurement)

    def _ends(self, under_way: dict[int, Measurement], freezer: Freezer) -> list[Until]:
        """Return the ends of the chunks of a step, by how fast the first contender works.

        A contender that fails is no longer under way.
        """
        for index, measurement in list(under_way.items()):
            turn = measurement.turn
            work = self._runner.work(turn.step)
            if work.operations is None:
                return timed_ends(self._workload.seconds, CHUNK)
            pilot = pilot_end(work.operations)
            with self._failing(turn):
                freezer.let_run(turn.contender)
                seconds = measurement.perform(pilot, self._view.progress)
                return counted_ends(work.operations, pilot.operations / seconds, CHUNK)
            del under_way[index]
        return []

    def _begin(self, turn: ContenderTurn) -> Measurement:
        self._view.phase(f"preparing {self._describe(turn)}")
        plans = self._runner.prepare(turn)
        self.journal.add_plans(turn.step, turn.contender.name, plans)
        return self._runner.begin(turn, self._present())

    def _end(self, measurement: Measurement) -> None:
        """Keep the record of a step, and bring the contender to where the next one begins."""
        turn, record = measurement.turn, measurement.finish()
        try:
            self._complete(turn, record)
        except (TargetError, InstanceError) as error:
            self._warn(
                f"{turn.contender.name} finished {turn.step.key} of incarnation "
                f"{turn.incarnation}, and failed in what follows it: "
                f"{explain_failure(turn.contender, error)}"
            )
            self._revive(turn, has_tables=True)
        finally:
            self.journal.add(turn.step, record)  # what was measured stays measured

    @contextmanager
    def _failing(self, turn: ContenderTurn) -> Iterator[None]:
        """Record that a contender failed in a step, and start its server again for the next one."""
        begun = time.monotonic()
        with self._contenders.guard(turn.contender):
            try:
                yield
            except (TargetError, InstanceError) as error:
                self._fail(turn, explain_failure(turn.contender, error), time.monotonic() - begun)
                self._revive(turn, has_tables=not turn.test.makes_tables)

    def _complete(self, turn: ContenderTurn, record: Slice) -> None:
        """Add the tables' rows and sizes to the record, and pay the step's debt."""
        detail, contender, tables = record.step, turn.contender, turn.tables
        assert detail is not None
        self._view.phase(f"counting the rows of {contender.name}")
        detail.rows_counted = self._runner.count_rows(turn)
        self._check_rows(turn, detail.rows_counted)
        self._view.phase(f"measuring the size of {contender.name}")
        self._contenders.measure_sizes(contender, tables.names, tables.rows)
        sizes = contender.sizes
        assert sizes is not None
        detail.data_bytes = sizes.data_bytes
        detail.table_bytes = sizes.table_bytes
        detail.index_bytes = sizes.index_bytes
        detail.settled_s = self._settle(turn)

    def _check_rows(self, turn: ContenderTurn, counted: int) -> None:
        """Warn of rows that neither the step nor the driver's own count explains."""
        tables = turn.tables
        where = f"after {turn.step.key} of incarnation {turn.incarnation}"
        if counted != tables.written:
            self._warn(
                f"{turn.contender.name} has {counted:,} rows {where}, and by what was inserted and "
                f"deleted it should have {tables.written:,}"
            )
        elif counted != tables.rows:
            self._warn(
                f"{turn.contender.name} has {counted:,} rows {where}, and should have "
                f"{tables.rows:,}"
            )
        tables.rows = counted

    def _warn(self, text: str) -> None:
        self.journal.warn(text)
        self._view.warning(text)

    def _settle(self, turn: ContenderTurn) -> Second:
        """Pay the step's debt before another contender's turn; return how long that took."""
        begun = time.monotonic()
        limit = _BETWEEN_TURNS
        stages: list[Stage] = []
        contender, tables = turn.contender, turn.tables
        due = self._maintenance(turn.step)
        match due:
            case Maintenance.AFTER_LOAD:
                stages = contender.family.after_load(contender.server.site, tables.names)
            case Maintenance.AFTER_WRITES:
                stages = contender.family.after_writes(contender.server.site, tables.names)
                limit = max(limit, longest_wait(tables.rows, self._workload.seconds / _FULL_STEP))
            case Maintenance.AFTER_STEP:
                stages = contender.family.after_step(contender.server.site, tables.names)
        if stages:
            self._view.phase(f"maintenance of {contender.name} after {turn.test.name}")
            self._contenders.maintain(contender, stages, tables.rows)
        self._wait_until_idle(contender, limit)
        if due is Maintenance.AFTER_LOAD:
            self.journal.record_servers(self._contenders)
        return time.monotonic() - begun

    def _maintenance(self, step: PlannedStep) -> Maintenance:
        """Return the maintenance that follows a step: after the writes only behind the last."""
        due = long_step(step).maintenance
        steps = self._steps(step.clients)
        later = steps[steps.index(step) + 1 :]
        if due is Maintenance.AFTER_WRITES and any(long_step(s).maintenance is due for s in later):
            return Maintenance.AFTER_STEP
        return due

    def _wait_until_idle(self, contender: RunningContender, limit: Second) -> None:
        self._view.phase(f"waiting until {contender.name} is idle")
        self._contenders.wait_until_idle([contender], limit)

    def _fail(self, turn: ContenderTurn, reason: str, after: Second) -> None:
        failure = StepFailure(
            test=turn.test.name,
            clients=turn.step.clients,
            contender=turn.contender.name,
            incarnation=turn.incarnation,
            reason=reason,
            after_s=after,
        )
        self.journal.fail(failure)
        self._view.warning(f"{turn.step.key} of incarnation {turn.incarnation} failed: {reason}")

    def _revive(self, turn: ContenderTurn, *, has_tables: bool) -> None:
        """Start the contender again for the next step, or let it sit out the rest."""
        contender = turn.contender
        contender.server.stop(Shutdown.AT_ONCE)
        with suppress(SlowdustError):  # its session may have ended with the server
            self._contenders.driver.close(turn.session)
        if not has_tables or not contender.keeps_tables:
            self._without_tables.add(contender.name)
            self._view.warning(
                f"{contender.name} sits out the rest of incarnation {turn.incarnation}: its tables "
                f"are not complete"
            )
            return
        self._view.phase(f"starting {contender.name} again")
        contender.start()
        turn.tables.rows = self._runner.count_rows(turn)
        self._wait_until_idle(contender, _BETWEEN_TURNS)
        steps = self._steps(turn.step.clients)
        if later := [step.key for step in steps[steps.index(turn.step) + 1 :]]:
            self._warn(
                f"{contender.name} in incarnation {turn.incarnation}: its server was started again "
                f"after {turn.step.key}, before these steps: {', '.join(later)}"
            )

    def _describe(self, turn: ContenderTurn) -> str:
        steps = self.journal.steps
        clients = f" x{turn.step.clients}" if turn.step.clients > 1 else ""
        return (
            f"{turn.test.name}{clients} on {turn.contender.name} (step "
            f"{steps.index(turn.step) + 1} of {len(steps)}, incarnation {turn.incarnation})"
        )

    def _status(self, step: PlannedStep, number: int) -> Status:
        left = self._forecast.left(self._planned, len(self._contenders.running()))
        return self._judge.status(
            step,
            extent=f"incarnation {number} of {self._last}",
            measured=self._forecast.elapsed,
            budget=self._forecast.elapsed + left,
            settled=None,
        )
