"""The turns of the contenders in one long step: chunk by chunk, or each to the end of the step."""

from __future__ import annotations

from collections.abc import Sequence

from slowdust.benchmarks.steps import Workload
from slowdust.experiment.contender import RunningContender
from slowdust.experiment.contenders import Contenders
from slowdust.experiment.driver.protocol import Until
from slowdust.experiment.freezer import Freezer, MakeFreezer
from slowdust.experiment.journal import Journal
from slowdust.experiment.steps.aftermath import Aftermath
from slowdust.experiment.steps.chunks import chunk_turns, counted_ends, pilot_end, timed_ends
from slowdust.experiment.steps.measurement import Measurement
from slowdust.experiment.steps.step import StepRunner
from slowdust.experiment.steps.turn import ContenderTurn
from slowdust.experiment.view import View


class Turns:
    """Carries out steps on contenders; one that fails in a step is started again for the next."""

    def __init__(
        self,
        contenders: Contenders,
        runner: StepRunner,
        workload: Workload,
        journal: Journal,
        view: View,
        *,
        freezer: MakeFreezer = Freezer,
    ) -> None:
        """`freezer` makes what lets the servers of the others stand still during a chunk."""
        self._contenders = contenders
        self._runner = runner
        self._freezer = freezer
        self._workload = workload
        self._journal = journal
        self._view = view
        self._aftermath = Aftermath(contenders, runner, workload, journal, view)

    def begin_incarnation(self) -> None:
        """Let all contenders take part again, in tables that are still to be made."""
        self._aftermath.without_tables.clear()

    def present(self) -> list[RunningContender]:
        """Return the contenders that have the tables for the next step."""
        missing = self._aftermath.without_tables
        return [one for one in self._contenders.running() if one.name not in missing]

    def take(self, turns: Sequence[ContenderTurn]) -> None:
        """Carry out a step on its contenders, in their order."""
        if self._workload.settings.turns == "chunks":
            self._in_chunks(turns)
        else:
            for turn in turns:
                self._whole(turn)

    def _whole(self, turn: ContenderTurn) -> None:
        """Carry out a step on one contender from its beginning to its end."""
        with self._aftermath.failing(turn):
            measurement = self._begin(turn)
            self._view.phase(self._describe(turn))
            measurement.perform(None, self._view.progress)
            self._aftermath.keep(measurement)

    def _in_chunks(self, turns: Sequence[ContenderTurn]) -> None:
        """Carry out a step on all contenders, which take turns chunk by chunk.

        While one has its turn, the servers of the others stand still.
        """
        under_way: dict[int, Measurement] = {}
        with self._freezer([turn.contender for turn in turns], self._aftermath.warn) as freezer:
            for index, turn in enumerate(turns):
                with self._aftermath.failing(turn):
                    freezer.let_run(turn.contender)
                    under_way[index] = self._begin(turn)
            ends = self._ends(under_way, freezer)
            for place in chunk_turns(range(len(turns)), len(ends)):
                measurement = under_way.pop(place.contender, None)
                if measurement is None:
                    continue
                turn = measurement.turn
                self._view.phase(f"{self._describe(turn)}, chunk {place.chunk + 1} of {len(ends)}")
                with self._aftermath.failing(turn, measurement.seconds):
                    freezer.let_run(turn.contender)
                    measurement.perform_chunk(place, ends[place.chunk], self._view.progress)
                    under_way[place.contender] = measurement
            for _, measurement in sorted(under_way.items()):
                with self._aftermath.failing(measurement.turn):
                    freezer.let_run(measurement.turn.contender)
                    self._aftermath.keep(measurement)

    def _ends(self, under_way: dict[int, Measurement], freezer: Freezer) -> list[Until]:
        """Return the ends of the chunks of a step, by how fast the first contender works.

        A contender that fails is no longer under way.
        """
        for index, measurement in list(under_way.items()):
            turn = measurement.turn
            work = self._runner.work(turn.step)
            if work.operations is None:
                return timed_ends(self._workload.seconds, self._workload.chunk)
            pilot = pilot_end(work.operations)
            with self._aftermath.failing(turn):
                freezer.let_run(turn.contender)
                seconds = measurement.perform(pilot, self._view.progress)
                return counted_ends(
                    work.operations, pilot.operations / seconds, self._workload.chunk
                )
            del under_way[index]
        return []

    def _begin(self, turn: ContenderTurn) -> Measurement:
        self._view.phase(f"preparing {self._describe(turn)}")
        self._runner.prepare(turn)
        name = turn.contender.name
        if not self._journal.has_plans(turn.step, name):
            self._journal.add_plans(turn.step, name, self._runner.read_plans(turn))
        return self._runner.begin(turn, self.present())

    def _describe(self, turn: ContenderTurn) -> str:
        steps = self._journal.steps
        clients = f" x{turn.step.clients}" if turn.step.clients > 1 else ""
        return (
            f"{turn.test.name}{clients} on {turn.contender.name} (step "
            f"{steps.index(turn.step) + 1} of {len(steps)}, incarnation {turn.incarnation})"
        )
