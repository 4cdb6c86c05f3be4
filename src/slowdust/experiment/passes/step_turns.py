"""The turns of contenders in a long step, and what follows it on each of them."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress

from slowdust.benchmarks.steps import Maintenance
from slowdust.dbms.family import Shutdown
from slowdust.errors import SlowdustError
from slowdust.experiment.contender import RunningContender, explain_failure
from slowdust.experiment.contenders import Freezer, MakeFreezer
from slowdust.experiment.driver.process import TargetError
from slowdust.experiment.driver.protocol import Until, UntilOperations, UntilSeconds
from slowdust.experiment.engine.long_step import (
    ContenderTurn,
    level_of,
    maintenance_due,
    stages_of,
)
from slowdust.experiment.engine.loop import OpenExperiment
from slowdust.experiment.engine.maintenance import longest_wait
from slowdust.experiment.engine.schedule import in_turn
from slowdust.experiment.engine.stepped import SteppedTests
from slowdust.experiment.passes.step_measurement import ChunkPlace, Measurement
from slowdust.instances.programs import InstanceError
from slowdust.store.preparation import SERVER
from slowdust.store.slice import Slice
from slowdust.store.step import StepDetail
from slowdust.units import Second

_BETWEEN_TURNS: Second = 10.0
"""Longest time for a contender to become idle after its turn, before the next one's begins."""
_FULL_STEP: Second = 1800.0
"""Length of a timed step from which on the wait after the writes applies unscaled."""

_FEWEST = 4
"""Chunks of a step: two blocks at the least, so that their noise is known."""
_MOST = 1200
_WHOLE_OPERATIONS = 4
"""Up to so many operations, indexes of a table say, each is a chunk."""
_MOST_OF_PILOT = 1000


def pilot_end(operations: int) -> UntilOperations:
    """Return the end of the part of the first chunk that shows how fast a step's work goes."""
    return UntilOperations(max(1, min(operations // _MOST, _MOST_OF_PILOT)))


def timed_ends(seconds: Second, length: Second) -> list[Until]:
    """Return the ends of an even number of chunks of about `length`, in the step's own time."""
    count = _even(seconds / length)
    return [UntilSeconds(seconds * number / count) for number in range(1, count + 1)]


def counted_ends(operations: int, per_second: float, length: Second) -> list[Until]:
    """Return the ends of chunks of so many operations as take about `length`.

    `per_second` is the rate of one client. Chunks have as many operations, but for rounding.
    """
    if operations <= _WHOLE_OPERATIONS:
        return [UntilOperations(number) for number in range(1, operations + 1)]
    count = min(_even(operations / per_second / length), operations // 2 * 2)
    return [UntilOperations(operations * number // count) for number in range(1, count + 1)]


def chunk_turns(order: Sequence[int], chunks: int) -> Iterator[ChunkPlace]:
    """Yield the turns of the contenders of these indices: A B B A, then B A A B.

    An odd number of chunks has blocks of one chunk of each contender.
    """
    halves = 1 if chunks % 2 else 2
    for chunk in range(chunks):
        block, half = divmod(chunk, halves)
        for place, index in enumerate(in_turn(order, block + half)):
            yield ChunkPlace(index, chunk, block, half * len(order) + place)


def _even(count: float) -> int:
    return min(_MOST, max(_FEWEST, 2 * round(count / 2)))


class StepTurns:
    """Carries out steps on contenders; one that fails in a step is started again for the next."""

    def __init__(
        self, experiment: OpenExperiment, tests: SteppedTests, freezer: MakeFreezer = Freezer
    ) -> None:
        """`freezer` makes what lets the servers of the others stand still during a chunk."""
        self._experiment = experiment
        self._tests = tests
        self._freezer = freezer
        self._workload = tests.workload
        self._journal = experiment.journal
        self._contenders = experiment.contenders
        self._driver = experiment.contenders.driver
        self._view = experiment.view

    def take(self, turns: Sequence[ContenderTurn]) -> None:
        if self._workload.settings.turns == "chunks":
            self._in_chunks(turns)
        else:
            for turn in turns:
                self._whole(turn)

    def _whole(self, turn: ContenderTurn) -> None:
        with self._failing(turn):
            measurement = self._begin(turn)
            self._view.phase(self._describe(turn))
            measurement.perform(None, self._view.progress)
            self._keep(measurement)

    def _in_chunks(self, turns: Sequence[ContenderTurn]) -> None:
        """Carry out a step on all contenders, which take turns chunk by chunk.

        While one has its turn, the servers of the others stand still.
        """
        under_way: dict[int, Measurement] = {}
        with self._freezer([turn.contender for turn in turns], self._contenders.warn) as freezer:
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
                with self._failing(turn, measurement.seconds):
                    freezer.let_run(turn.contender)
                    measurement.perform_chunk(place, ends[place.chunk], self._view.progress)
                    under_way[place.contender] = measurement
            for _, measurement in sorted(under_way.items()):
                with self._failing(measurement.turn):
                    freezer.let_run(measurement.turn.contender)
                    self._keep(measurement)

    def _ends(self, under_way: dict[int, Measurement], freezer: Freezer) -> list[Until]:
        """Return the ends of the chunks of a step, by how fast the first contender works.

        A contender that fails is no longer under way.
        """
        for index, measurement in list(under_way.items()):
            turn = measurement.turn
            work = self._tests.work(turn.step)
            if work.operations is None:
                return timed_ends(self._workload.seconds, self._workload.chunk)
            pilot = pilot_end(work.operations)
            with self._failing(turn):
                freezer.let_run(turn.contender)
                seconds = measurement.perform(pilot, self._view.progress)
                return counted_ends(
                    work.operations, pilot.operations / seconds, self._workload.chunk
                )
            del under_way[index]
        return []

    def _begin(self, turn: ContenderTurn) -> Measurement:
        self._view.phase(f"preparing {self._describe(turn)}")
        self._tests.connect(turn)
        name = turn.contender.name
        if not self._journal.has_plans(turn.step, name):
            self._journal.add_plans(turn.step, name, self._driver.explain(turn.session, 1))
        work, idle = self._tests.work(turn.step), self._tests.present()
        return Measurement.of(self._driver, turn, work, idle, self._experiment.clock)

    def _describe(self, turn: ContenderTurn) -> str:
        steps = self._journal.steps
        clients = f" x{turn.step.clients}" if turn.step.clients > 1 else ""
        return (
            f"{turn.test.name}{clients} on {turn.contender.name} (step "
            f"{steps.index(turn.step) + 1} of {len(steps)}, incarnation {turn.incarnation})"
        )

    def _keep(self, measurement: Measurement) -> None:
        """Keep the record of a step, and bring the contender to where the next one begins."""
        turn, record = measurement.turn, measurement.finish()
        try:
            self._complete(turn, record)
        except (TargetError, InstanceError) as error:
            self._contenders.warn(
                f"{turn.contender.name} finished {turn.step.key} of incarnation "
                f"{turn.incarnation}, and failed in what follows it: "
                f"{explain_failure(turn.contender, error)}"
            )
            self._revive(turn, has_tables=True)
        finally:
            self._journal.add(turn.step, record)  # what was measured stays measured

    @contextmanager
    def _failing(self, turn: ContenderTurn, before: Second = 0.0) -> Iterator[None]:
        """Record that a contender failed in a step, and start its server again for the next one.

        `before` is the time of its step before this part of it.
        """
        begun = time.monotonic()
        with self._contenders.guard(turn.contender):
            try:
                yield
            except (TargetError, InstanceError) as error:
                after = before + time.monotonic() - begun
                self._fail(turn, explain_failure(turn.contender, error), after)
                self._revive(turn, has_tables=not turn.test.makes_tables)

    def _complete(self, turn: ContenderTurn, record: Slice) -> None:
        """Add the tables' rows and sizes to the record, and pay the step's debt."""
        detail, contender, tables = record.step, turn.contender, turn.tables
        assert detail is not None
        self._read_old_versions(turn, detail)  # first of all, since the server removes them
        self._view.phase(f"counting the rows of {contender.name}")
        detail.rows_counted = self._tests.count_rows(turn)
        self._check_rows(turn, detail.rows_counted)
        self._view.phase(f"measuring the size of {contender.name}")
        self._contenders.measure_sizes(contender, tables.names, tables.rows)
        sizes = contender.sizes
        assert sizes is not None
        detail.data_bytes = sizes.data_bytes
        detail.table_bytes = sizes.table_bytes
        detail.index_bytes = sizes.index_bytes
        detail.settled_s = self._settle(turn)

    def _read_old_versions(self, turn: ContenderTurn, detail: StepDetail) -> None:
        """Add what the server still keeps of rows that were replaced, where it tells."""
        facts = self._contenders.read_facts(turn.contender, turn.tables.rows)
        dead = [of["dead_rows"] for of in facts.values() if "dead_rows" in of]
        detail.dead_rows = round(sum(dead)) if dead else None
        undo_logs = facts.get(SERVER, {}).get("undo_logs")
        detail.history_length = None if undo_logs is None else round(undo_logs)

    def _check_rows(self, turn: ContenderTurn, counted: int) -> None:
        """Warn of rows that neither the step nor the driver's own count explains."""
        tables = turn.tables
        where = f"after {turn.step.key} of incarnation {turn.incarnation}"
        if counted != tables.written:
            self._contenders.warn(
                f"{turn.contender.name} has {counted:,} rows {where}, and by what was inserted and "
                f"deleted it should have {tables.written:,}"
            )
        elif counted != tables.rows:
            self._contenders.warn(
                f"{turn.contender.name} has {counted:,} rows {where}, and should have "
                f"{tables.rows:,}"
            )
        tables.rows = counted

    def _settle(self, turn: ContenderTurn) -> Second:
        """Pay the step's debt before another contender's turn; return how long that took."""
        begun = time.monotonic()
        limit = _BETWEEN_TURNS
        contender, tables = turn.contender, turn.tables
        due = maintenance_due(turn.step, self._tests.steps(level_of(turn.step)))
        if due is Maintenance.AFTER_WRITES:
            limit = max(limit, longest_wait(tables.rows, self._workload.seconds / _FULL_STEP))
        if stages := stages_of(due, contender, tables.names):
            self._view.phase(f"maintenance of {contender.name} after {turn.test.name}")
            self._contenders.maintain(contender, stages, tables.rows)
        self._wait_until_idle(contender, limit)
        if due is Maintenance.AFTER_LOAD:
            self._journal.record_servers(self._contenders)
        return time.monotonic() - begun

    def _wait_until_idle(self, contender: RunningContender, limit: Second) -> None:
        self._view.phase(f"waiting until {contender.name} is idle")
        self._contenders.wait_until_idle([contender], limit)

    def _fail(self, turn: ContenderTurn, reason: str, after: Second) -> None:
        self._journal.fail(turn.step, turn.contender.name, turn.incarnation, reason, after)
        self._view.warning(f"{turn.step.key} of incarnation {turn.incarnation} failed: {reason}")

    def _revive(self, turn: ContenderTurn, *, has_tables: bool) -> None:
        """Start the contender again for the next step, or let it sit out the rest."""
        contender = turn.contender
        contender.server.stop(Shutdown.AT_ONCE)
        with suppress(SlowdustError):  # its session may have ended with the server
            self._contenders.driver.close(turn.session)
        if not has_tables or not contender.keeps_tables:
            self._tests.without_tables.add(contender.name)
            self._view.warning(
                f"{contender.name} sits out the rest of incarnation {turn.incarnation}: its tables "
                f"are not complete"
            )
            return
        self._view.phase(f"{'using' if contender.is_remote else 'starting'} {contender.name} again")
        contender.start()
        turn.tables.rows = self._tests.count_rows(turn)
        self._wait_until_idle(contender, _BETWEEN_TURNS)
        steps = self._tests.steps(level_of(turn.step))
        if later := [step.key for step in steps[steps.index(turn.step) + 1 :]]:
            again = "clients connected" if contender.is_remote else "server was started"
            self._contenders.warn(
                f"{contender.name} in incarnation {turn.incarnation}: its {again} again "
                f"after {turn.step.key}, before these steps: {', '.join(later)}"
            )
