"""Long steps: each is executed on every contender before the next one begins.

Contenders take turns after each chunk of the step, or after the whole step. During a chunk the
servers of the other contenders are suspended, except running servers. The first contender
alternates by step and by start. A contender that fails in a step is restarted and continues with
the next step, unless the failed step creates tables that the next ones need.
"""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from functools import partial

from slowdust.benchmarks.steps import Maintenance, Workload
from slowdust.dbms.family import Shutdown
from slowdust.errors import SlowdustError
from slowdust.experiment.clock import MACHINE, Clock
from slowdust.experiment.contender import RunningContender, explain_failure
from slowdust.experiment.contenders import Freezer, MakeFreezer
from slowdust.experiment.driver.process import TargetError
from slowdust.experiment.driver.protocol import Until
from slowdust.experiment.engine.loop import OpenExperiment, Pass, Starts
from slowdust.experiment.engine.schedule import (
    Start,
    chunk_turns,
    counted_ends,
    in_turn,
    longest_wait,
    pilot_end,
    timed_ends,
)
from slowdust.experiment.engine.stepped import (
    ContenderTurn,
    Level,
    OpenStep,
    SteppedTests,
    choose_stages,
    level_of,
    maintenance_due,
)
from slowdust.experiment.judging import Judge
from slowdust.experiment.passes.companions import RoundTrips
from slowdust.experiment.passes.step_measurement import Measurement
from slowdust.experiment.plan import PlannedStep
from slowdust.experiment.spec.spec import Spec
from slowdust.experiment.view import Status
from slowdust.instances.programs import InstanceError
from slowdust.ratios import Margins
from slowdust.store.manifest import Method
from slowdust.store.measured import SERVER
from slowdust.store.slice import Slice
from slowdust.units import Second
from slowdust.wording import counted


class Forecast:
    """The duration of each step: measured if the step ran, else a guess."""

    def __init__(
        self,
        steps: Sequence[PlannedStep],
        guess: Second,
        spent: Second = 0.0,
        clock: Clock = MACHINE,
    ) -> None:
        """`spent` is the duration of the experiment before it was resumed."""
        self._clock = clock
        self._steps = steps
        self._guess = guess
        self._begun = self._clock.monotonic() - spent
        self._took: dict[str, Second] = {}
        self._turns_before = {step.key: step.turns_done for step in steps}

    @property
    def elapsed(self) -> Second:
        """Seconds of measuring since the first start, without interruptions."""
        return self._clock.monotonic() - self._begun

    def took(self, step: PlannedStep, seconds: Second) -> None:
        self._took[step.key] = seconds

    def left(self, starts: int, contenders: int) -> Second:
        """Return the seconds of all turns until every step has had one in each of the starts.

        If one step lacks a start, all steps of its level have turns in it.
        """

        def since(step: PlannedStep) -> int:
            return step.turns_done - self._turns_before[step.key]

        return contenders * sum(
            max(0, self.to_come(starts, level_of(step)) - since(step))
            * self._took.get(step.key, self._guess)
            for step in self._steps
        )

    def to_come(self, starts: int, level: Level) -> int:
        """Return the number of starts that the steps of a level lacked when the run began."""
        before = (self._turns_before[s.key] for s in self._steps if level_of(s) == level)
        return max(0, starts - min(before))


_BETWEEN_TURNS: Second = 10.0
"""Longest time for a contender to become idle after its turn, before the next turn begins."""
_FULL_STEP: Second = 1800.0
"""Steps of at least this length have the full wait after their writes."""


class StepTurns:
    """Executes steps on contenders; one that fails in a step is restarted for the next step."""

    def __init__(
        self, experiment: OpenExperiment, tests: SteppedTests, freezer: MakeFreezer = Freezer
    ) -> None:
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
                with self._failing(turn):
                    measurement = self._begin(turn)
                    self._view.phase(self._describe(turn))
                    measurement.perform(None, self._view.progress)
                    self._keep(measurement)

    def _in_chunks(self, turns: Sequence[ContenderTurn]) -> None:
        """Execute a step on all contenders, which take turns chunk by chunk.

        During a contender's turn the servers of the others are suspended.
        """
        under_way: dict[int, Measurement] = {}
        with self._freezer([turn.contender for turn in turns], self._contenders.warn) as freezer:
            for index, turn in enumerate(turns):
                with self._failing(turn):
                    freezer.run_only(turn.contender)
                    under_way[index] = self._begin(turn)
            ends = self._ends(under_way, freezer)
            places = list(chunk_turns(range(len(turns)), len(ends)))
            if places:
                self._view.phase(f"measuring {self._describe_step(turns[0])}, {len(ends)} chunks")
            for number, place in enumerate(places):
                measurement = under_way.pop(place.contender, None)
                if measurement is None:
                    continue
                turn = measurement.turn
                with self._failing(turn, measurement.seconds):
                    freezer.run_only(turn.contender)
                    on_progress = partial(self._show_progress, number, len(places))
                    measurement.perform_chunk(place, ends[place.chunk], on_progress)
                    under_way[place.contender] = measurement
            for _, measurement in sorted(under_way.items()):
                with self._failing(measurement.turn):
                    freezer.run_only(measurement.turn.contender)
                    self._keep(measurement)

    def _ends(self, under_way: dict[int, Measurement], freezer: Freezer) -> list[Until]:
        """Return the ends of the chunks of a step, by the speed of the first contender.

        A contender that fails is removed from `under_way`.
        """
        for index, measurement in list(under_way.items()):
            turn = measurement.turn
            work = self._tests.work(turn.step)
            if work.operations is None:
                return timed_ends(self._workload.seconds, self._workload.chunk)
            pilot = pilot_end(work.operations)
            with self._failing(turn):
                freezer.run_only(turn.contender)
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

    def _show_progress(self, chunks: int, of_chunks: int, done: int, total: int) -> None:
        """Show the progress of a step: `chunks` whole ones, and a part of the next one."""
        self._view.progress(chunks * total + done, of_chunks * total)

    def _describe(self, turn: ContenderTurn) -> str:
        return f"{self._describe_step(turn)} on {turn.contender.name}"

    def _describe_step(self, turn: ContenderTurn) -> str:
        steps = self._journal.steps
        clients = f" x{turn.step.clients}" if turn.step.clients > 1 else ""
        place = f"{steps.index(turn.step) + 1} of {len(steps)}"
        return f"{turn.test.name}{clients} (step {place}, start {turn.start})"

    def _keep(self, measurement: Measurement) -> None:
        """Store the record of a step, and prepare the contender for the next step."""
        turn, record = measurement.turn, measurement.finish()
        try:
            self._complete(turn, record)
        except (TargetError, InstanceError) as error:
            self._contenders.warn(
                f"{turn.contender.name} finished {turn.step.key} in start {turn.start}, "
                f"but failed afterwards: {explain_failure(turn.contender, error)}"
            )
            self._restart(turn, has_tables=True)
        finally:
            self._journal.add(turn.step, record)  # the measurement itself is valid

    @contextmanager
    def _failing(self, turn: ContenderTurn, before: Second = 0.0) -> Iterator[None]:
        """Record that a contender failed in a step, and restart its server for the next step.

        `before` is the duration of its step before this part.
        """
        begun = time.monotonic()
        with self._contenders.guard(turn.contender):
            try:
                yield
            except (TargetError, InstanceError) as error:
                after = before + time.monotonic() - begun
                step, number = turn.step, turn.start
                reason = explain_failure(turn.contender, error)
                self._journal.fail(step, turn.contender.name, number, reason, after)
                self._view.warning(f"{step.key} in start {number} failed: {reason}")
                self._restart(turn, has_tables=not turn.test.makes_tables)

    def _complete(self, turn: ContenderTurn, record: Slice) -> None:
        """Add row counts and sizes to the record, and carry out the pending maintenance."""
        detail, contender, tables = record.step, turn.contender, turn.tables
        assert detail is not None
        # Replaced rows that the server has not removed yet.
        facts = self._contenders.read_facts(contender, tables.rows)
        dead = [of["dead_rows"] for of in facts.values() if "dead_rows" in of]
        detail.dead_rows = round(sum(dead)) if dead else None
        undo_logs = facts.get(SERVER, {}).get("undo_logs")
        detail.history_length = None if undo_logs is None else round(undo_logs)
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

    def _check_rows(self, turn: ContenderTurn, counted: int) -> None:
        """Warn about row counts that differ from the step's or the driver's own count."""
        tables = turn.tables
        where = f"after {turn.step.key} in start {turn.start}"
        if counted != tables.written:
            self._contenders.warn(
                f"{turn.contender.name} has {counted:,} rows {where}, but should have "
                f"{tables.written:,} according to its inserts and deletes"
            )
        elif counted != tables.rows:
            self._contenders.warn(
                f"{turn.contender.name} has {counted:,} rows {where}, but should have "
                f"{tables.rows:,}"
            )
        tables.rows = counted

    def _settle(self, turn: ContenderTurn) -> Second:
        begun = time.monotonic()
        limit = _BETWEEN_TURNS
        contender, tables = turn.contender, turn.tables
        due = maintenance_due(turn.step, self._tests.steps(level_of(turn.step)))
        if due is Maintenance.AFTER_WRITES:
            limit = max(limit, longest_wait(tables.rows, self._workload.seconds / _FULL_STEP))
        if stages := choose_stages(due, contender, tables.names):
            self._view.phase(f"maintenance of {contender.name} after {turn.test.name}")
            self._contenders.maintain(contender, stages, tables.rows)
        self._wait_until_idle(contender, limit)
        if due is Maintenance.AFTER_LOAD:
            self._journal.record_servers(self._contenders)
        return time.monotonic() - begun

    def _wait_until_idle(self, contender: RunningContender, limit: Second) -> None:
        self._view.phase(f"waiting until {contender.name} is idle")
        self._contenders.wait_until_idle([contender], limit)

    def _restart(self, turn: ContenderTurn, *, has_tables: bool) -> None:
        """Restart the contender for the next step, or skip it for the rest of this start."""
        contender = turn.contender
        contender.server.stop(Shutdown.AT_ONCE)
        with suppress(SlowdustError):  # the session may have ended with the server
            self._contenders.driver.close(turn.session)
        if not has_tables or not contender.keeps_tables:
            self._tests.without_tables.add(contender.name)
            self._view.warning(
                f"{contender.name} is skipped for the rest of start {turn.start}: its tables "
                "are not complete"
            )
            return
        action = "reconnecting to" if contender.is_remote else "restarting"
        self._view.phase(f"{action} {contender.name}")
        contender.start()
        turn.tables.rows = self._tests.count_rows(turn)
        self._wait_until_idle(contender, _BETWEEN_TURNS)
        steps = self._tests.steps(level_of(turn.step))
        if later := [step.key for step in steps[steps.index(turn.step) + 1 :]]:
            event = "its clients reconnected" if contender.is_remote else "its server was restarted"
            self._contenders.warn(
                f"{contender.name} in start {turn.start}: {event} after {turn.step.key}, "
                f"before these steps: {', '.join(later)}"
            )


def make_step_method(spec: Spec, workload: Workload) -> Method:
    """Return the method for long steps: no slices, and as long as the steps take."""
    method = Method(
        seed=spec.seed,
        slice_s=0.0,
        discard_s=0.0,
        warmup_s=0.0,
        budget_s=spec.budget_of_steps or 0.0,
        margin=spec.margin,
        own_margins=spec.margins,
        memory_bytes=spec.memory,
        pool_bytes=spec.pool,
        incarnations=spec.planned_starts(workload.incarnations),
    )
    workload.add_to(method, spec.clients)
    return method


class TimedChunks(Pass[OpenStep]):
    """Measures the rates of all steps."""

    def __init__(
        self, experiment: OpenExperiment, workload: Workload, freezer: MakeFreezer = Freezer
    ) -> None:
        super().__init__(experiment)
        self.tests: SteppedTests = SteppedTests(experiment, workload)
        self._clock = experiment.clock
        self._levels = list(dict.fromkeys(map(level_of, self.journal.steps)))
        self._turns = StepTurns(experiment, self.tests, freezer)
        self._round_trips = RoundTrips(self.contenders, self.journal)
        self._judge = Judge(
            self.contenders.names,
            Margins(experiment.spec.margin, experiment.spec.margins),
            self.journal,
        )
        self._forecast = Forecast(
            self.journal.steps, workload.seconds, self.journal.spent, self._clock
        )
        self._budget = experiment.spec.budget_of_steps
        self._planned = self.journal.manifest.method.incarnations
        to_come = max(self._forecast.to_come(self._planned, level) for level in self._levels)
        self._last = self.journal.last_start + to_come
        """The number of the last planned start."""
        self._begun = 0.0

    def missing(self) -> Starts:
        """Yield the planned starts that any step lacks; with a budget, as many as are useful.

        A budget ends early when every chosen step is decided. Steps build on the tables of earlier
        steps, so a start has all steps of a level.
        """
        round_number = 1
        while self._wanted(round_number):
            levels = [
                level
                for level in self._levels
                if any(step.turns_done < round_number for step in self.tests.steps(level))
            ]
            if levels:
                number = self.journal.last_start + 1
                # Reports compare levels, so drift should not always affect the same level.
                order = in_turn(levels, number + 1)
                yield Start.of(number, [step for each in order for step in self.tests.steps(each)])
            round_number += 1

    def begin(self, start: Start) -> None:
        del start
        self.journal.record_servers(self.contenders)

    def begins(self, step: PlannedStep) -> bool:
        """Measure the round trips before a sequence of steps."""
        if step is self.tests.steps(level_of(step))[0]:
            self._round_trips.measure()
        return True

    def before(self, step: PlannedStep) -> bool:
        del step
        self._begun = self._clock.monotonic()
        return True

    def observe(self, test: OpenStep) -> None:
        self._turns.take(test.turns)

    def after(self, test: OpenStep) -> None:
        self._forecast.took(
            test.step, (self._clock.monotonic() - self._begun) / max(1, len(test.turns))
        )
        self.journal.end_turn(test.step, self._forecast.elapsed)
        status = self._status(test.step, test.start)
        self.view.step_done(status)
        if status.left is not None:
            self.announced.correct(status.left, f"{test.step.test.name} is done")

    def _wanted(self, round_number: int) -> bool:
        """Return whether another start is planned, or fits into the budget, and there is time."""
        done, planned = self.journal.last_start, round_number <= self._planned
        length = self._forecast.elapsed / done if done else 0.0
        if self._budget is not None:
            needed = self._planned * length
            if round_number == 2 and needed > self._budget:  # the first start has been measured
                what = f"{counted(self._planned, 'start')} take about"
                self.experiment.warn_of_short_budget(self._budget, what, needed)
            if self.contenders.comparable:
                planned = planned or self._forecast.elapsed + length <= self._budget
                settled = self._settled()
                steps = self.journal.steps
                planned = planned and any(s.chosen and s.key not in settled for s in steps)
        return planned and self.announced.allows(length if round_number > 1 else 0.0)

    def _settled(self) -> set[str]:
        return self._judge.settled(lambda step: self.contenders.compared(step.test))

    def _status(self, step: PlannedStep, number: int) -> Status:
        elapsed, budget = self._forecast.elapsed, self._budget
        following = self.announced.following.together
        # The planned starts are measured even if they take longer than the budget.
        left = self._forecast.left(self._planned, len(self.contenders.running()))
        if budget is not None:
            left = max(left, budget - elapsed)
        status = self._judge.status(
            step,
            extent=f"start {number}" if budget else f"start {number} of {self._last}",
            measured=elapsed,
            budget=elapsed + left,
            settled=len(self._settled()) if budget else None,
        )
        return replace(status, left=left + following, following=following)
