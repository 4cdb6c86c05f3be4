"""Profiles by samples of where the servers' CPU time goes, `perf record`.

They are taken in an incarnation of their own, after those that are timed: each step for a while on
one contender after the other, with the step's own clients. All that runs on the experiment's CPUs
is sampled, and what is not the server's is dropped: a clock that belongs to threads is set anew
whenever one of them wakes up, which doubled the time of a point query on a virtual machine.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Collection, Iterable
from functools import partial
from pathlib import Path

from slowdust.experiment.contenders import Contenders, RunningContender
from slowdust.experiment.counting.method import Missing, check_sampling
from slowdust.experiment.counting.perf import PerfError, PerfWindow, counting, processes_of
from slowdust.experiment.driver.placement import usable_cpus
from slowdust.experiment.driver.process import Data
from slowdust.experiment.driver.protocol import Ran
from slowdust.experiment.journal import Journal, ProfilePlace
from slowdust.experiment.plan import PlannedStep
from slowdust.experiment.slices import schedule
from slowdust.experiment.slices.blocks import Pace, StepSessions
from slowdust.experiment.slices.preparation import Preparations
from slowdust.experiment.slices.tables import LoadedTables
from slowdust.experiment.spec.spec import Spec
from slowdust.experiment.view import View
from slowdust.formats.perf_script import FIELDS, read_profile
from slowdust.units import Second

_SECONDS: Second = 3.0
"""Time that is sampled of each step on each contender."""
_PERIOD_NS = 500_000
"""Time of a CPU between two samples."""
_STACK_BYTES = 32_768
"""Bytes of the stack that each sample keeps: with 16 KiB one stack in ten of MySQL had no root."""
_SCRIPT_LIMIT: Second = 300.0
_FASTEST = 2.0
"""How much faster than in its warm-up a test that consumes rows may be, so that rows are left."""


class Sampling:
    """Takes the profiles of a specification's steps, on contenders that are set up."""

    def __init__(self, spec: Spec, contenders: Contenders, journal: Journal, view: View) -> None:
        self._contenders = contenders
        self._journal = journal
        self._view = view
        self._data = Data(spec.tables, spec.rows, spec.seed, spec.configured_benchmark().table)
        preparations = Preparations(contenders, journal.manifest.contenders, [], view)
        self._tables = LoadedTables(contenders, self._data, preparations, view)
        self._pace = Pace(spec.discard, spec.warmup, rate=None)
        self._budget = spec.budget
        self._next_operation: dict[str, int] = {}

    def run(self) -> None:
        """Take the profiles of all steps, unless all are there; where perf cannot, warn."""
        missing = check_sampling()
        if isinstance(missing, Missing):
            self._contenders.warn(f"There are no sampled profiles. {missing}")
            return
        steps = self._journal.steps
        if self._expected(steps) <= self._journal.profiled("perf"):
            return
        number = self._journal.last_incarnation + 1
        todo = [schedule.Turn(step, schedule.Action.MEASURE) for step in steps]
        maintained = schedule.maintenance_after(todo)
        self._tables.start(number)
        for turn in todo:
            self._sample_step(turn.step, number)
            if turn.step.test.writes:
                self._tables.note_writes()
            if turn is maintained:
                self._tables.maintain(self._budget)
        self._contenders.stop()

    def _expected(self, steps: Iterable[PlannedStep]) -> set[ProfilePlace]:
        names = [contender.name for contender in self._contenders.running()]
        return {(step.test.name, step.clients, name) for step in steps for name in names}

    def _sample_step(self, step: PlannedStep, incarnation: int) -> None:
        if step.test.consumes and step.test.name in self._next_operation:
            self._tables.load()
            self._next_operation.clear()
        first = self._next_operation.get(step.test.name, 0)
        run = StepSessions(
            self._contenders, step, incarnation, self._pace, data=self._data, first=first
        )
        run.open()
        per_second = run.warm_up()
        self._view.phase(f"sampling {step.test.name}")
        seconds = _SECONDS
        if step.test.consumes:
            rows = self._data.tables * self._data.rows
            seconds = min(seconds, (rows - run.next_operation) / (_FASTEST * max(per_second, 1.0)))
        if seconds > 0:
            run.each_for(seconds, partial(self._sample, step))
        if step.test.writes:
            self._next_operation[step.test.name] = run.next_operation
        run.close()

    def _sample(
        self, step: PlannedStep, contender: RunningContender, run: Callable[[], Ran]
    ) -> None:
        """Run a contender under perf, and keep its profile; a failure of perf is a warning."""
        samples = contender.server.directory / "perf.data"
        try:
            processes = _process_ids(contender)
            with PerfWindow(_record(samples)) as window:
                with counting(window):
                    ran = run()
                processes |= _process_ids(contender)
                window.end()
            profile = read_profile(
                _printed(samples, processes),
                benchmark=step.test.benchmark,
                test=step.test.name,
                clients=step.clients,
                contender=contender.name,
                operations=ran.operations,
            )
        except PerfError as error:
            self._contenders.warn(f"{contender.name}: {step.key} has no sampled profile: {error}")
            return
        finally:
            samples.unlink(missing_ok=True)
        if profile.samples and ran.operations:
            self._journal.add_profile(profile)


def _process_ids(contender: RunningContender) -> set[int]:
    return {process.pid for process in processes_of(contender.server.pid)}


def _record(path: Path) -> list[str]:
    """Return what perf is told to record, without copies of the binaries for later use (-B -N)."""
    call_graph = f"dwarf,{_STACK_BYTES}"
    event = ["-e", "cpu-clock", "-c", str(_PERIOD_NS), "--call-graph", call_graph]
    cpus = ",".join(map(str, usable_cpus()))
    return ["record", "-a", "-C", cpus, "-B", "-N", *event, "-o", str(path)]


def _printed(path: Path, processes: Collection[int]) -> str:
    """Return the samples of some processes in a file as text.

    Raises:
        PerfError: perf cannot read it.
    """
    listed = ",".join(map(str, processes))
    command = ["perf", "script", "--no-inline", "--pid", listed, "-F", FIELDS, "-i", str(path)]
    try:
        done = subprocess.run(command, capture_output=True, timeout=_SCRIPT_LIMIT, check=False)
    except subprocess.TimeoutExpired:
        raise PerfError("perf script does not end") from None
    if done.returncode != 0:
        raise PerfError(f"perf script failed: {done.stderr.decode(errors='replace')[-300:]}")
    return done.stdout.decode(errors="replace")
