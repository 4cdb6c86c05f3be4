"""Long steps: each is carried out on every contender before the next begins.

Contenders take turns, after each chunk of the step or after all of it; while one has its turn in a
chunk, the others' servers stand still, but for those that ran already. Who begins alternates by
step and by incarnation. A contender that does not finish a step goes on with the next one, on a
server that is started again, unless the step made the tables that the next ones need.
"""

from __future__ import annotations

from dataclasses import replace

from slowdust.benchmarks.steps import Workload
from slowdust.experiment.contenders import Freezer, MakeFreezer
from slowdust.experiment.engine.long_step import Level, level_of
from slowdust.experiment.engine.loop import OpenExperiment, Pass, Starts
from slowdust.experiment.engine.schedule import Start, in_turn
from slowdust.experiment.engine.stepped import OpenStep, SteppedTests
from slowdust.experiment.judging import Judge
from slowdust.experiment.passes.companions import RoundTrips
from slowdust.experiment.passes.eta import Forecast
from slowdust.experiment.passes.step_turns import StepTurns
from slowdust.experiment.plan import PlannedStep
from slowdust.experiment.spec.spec import Spec
from slowdust.experiment.view import Status
from slowdust.ratios import Margins
from slowdust.store.manifest import Method
from slowdust.units import Second
from slowdust.wording import counted


def method_of_steps(spec: Spec, workload: Workload) -> Method:
    """Return how long steps are measured: without slices, until the steps end."""
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
        incarnations=spec.planned_incarnations(workload.incarnations),
    )
    workload.add_to(method, spec.clients)
    return method


class TimedChunks(Pass[OpenStep]):
    """Measures the rates of all steps."""

    def __init__(
        self, experiment: OpenExperiment, workload: Workload, freezer: MakeFreezer = Freezer
    ) -> None:
        """`freezer` makes what lets the servers of the others stand still during a chunk."""
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
        self._last = self.journal.last_incarnation + to_come
        """The number of the last incarnation that is planned."""
        self._begun = 0.0

    def missing(self) -> Starts:
        """Yield the planned incarnations that any step lacks; with a budget as many as are wanted.

        A budget ends early when every step that is chosen is settled: steps build on the tables of
        those before them, so that an incarnation has all of them.
        """
        round_number = 1
        while self._wanted(round_number) and self._has_time(round_number):
            levels = [level for level in self._levels if self._incomplete(level, round_number)]
            if levels:
                number = self.journal.last_incarnation + 1
                # Reports show levels side by side: drift should not always add to the same of them.
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
        if self._budget is None:
            return round_number <= self._planned
        done = self.journal.last_incarnation
        length = self._forecast.elapsed / done if done else 0.0
        if round_number == 2:  # the length of an incarnation is known
            self._warn_of_short_budget(self._budget, self._planned * length)
        if not self.contenders.comparable:
            return round_number <= self._planned
        room = round_number <= self._planned or self._forecast.elapsed + length <= self._budget
        return room and self._open_steps()

    def _has_time(self, round_number: int) -> bool:
        done = self.journal.last_incarnation
        length = self._forecast.elapsed / done if done and round_number > 1 else 0.0
        return self.announced.allows(length)

    def _open_steps(self) -> bool:
        settled = self._settled()
        return any(step.chosen and step.key not in settled for step in self.journal.steps)

    def _settled(self) -> set[str]:
        running = (contender.name for contender in self.contenders.running())
        others = [name for name in running if name != self.contenders.names[0]]
        return self._judge.settled(others)

    def _warn_of_short_budget(self, budget: Second, planned: Second) -> None:
        if planned > budget:
            what = f"{counted(self._planned, 'incarnation')} take about"
            self.experiment.warn_of_short_budget(budget, what, planned)

    def _incomplete(self, level: Level, round_number: int) -> bool:
        return any(step.turns_done < round_number for step in self.tests.steps(level))

    def _status(self, step: PlannedStep, number: int) -> Status:
        elapsed, budget = self._forecast.elapsed, self._budget
        following = self.announced.following.together
        if budget is None:
            left = self._forecast.left(self._planned, len(self.contenders.running()))
        else:
            left = max(0.0, budget - elapsed)
        status = self._judge.status(
            step,
            extent=f"start {number}" if budget else f"start {number} of {self._last}",
            measured=elapsed,
            budget=budget or elapsed + left,
            settled=len(self._settled()) if budget else None,
        )
        return replace(status, left=left + following, following=following)
