"""Profiles by samples of where the servers' CPU time goes, `perf record`.

They are taken in an incarnation of their own, after those that are timed: each step for a while on
one contender after the other, with the step's own clients. All that runs on the experiment's CPUs
is sampled, and what is not the server's is dropped: a clock that belongs to threads is set anew
whenever one of them wakes up, which doubled the time of a point query on a virtual machine.
"""

from __future__ import annotations

import subprocess
from collections.abc import Collection
from functools import partial
from pathlib import Path

from slowdust.experiment.contender import RunningContender
from slowdust.experiment.counting.method import Missing, check_sampling
from slowdust.experiment.counting.perf import PerfError, PerfWindow, counting, processes_of
from slowdust.experiment.driver.placement import usable_cpus
from slowdust.experiment.driver.protocol import Stop
from slowdust.experiment.engine.loop import OpenExperiment, Pass, Starts
from slowdust.experiment.engine.open_test import OpenTest, RunAtRate
from slowdust.experiment.engine.schedule import Start
from slowdust.experiment.engine.sliced import SlicedTests
from slowdust.experiment.plan import PlannedStep, with_lasting_sessions
from slowdust.formats.perf_script import FIELDS, read_profile
from slowdust.units import Second

_SECONDS: Second = 3.0
"""Time that is sampled of each step on each contender."""
_PERIOD_NS = 500_000
"""Time of a CPU between two samples."""
_STACK_BYTES = 32_768
"""Bytes of the stack that each sample keeps: with 16 KiB one stack in ten of MySQL had no root."""
_SCRIPT_LIMIT: Second = 300.0


class PerfSamples(Pass[OpenTest]):
    """Takes the profiles of all steps, unless all are there."""

    subject = "sampling the functions"

    def __init__(self, experiment: OpenExperiment) -> None:
        super().__init__(experiment)
        self.tests = SlicedTests(experiment)

    def missing(self) -> Starts:
        """Yield one start for all steps if any lacks a profile; where perf cannot, warn."""
        if not self.announced.allows(self.announced.following.profile):
            return
        missing = check_sampling()
        if isinstance(missing, Missing):
            self.contenders.warn(f"There are no sampled profiles. {missing}")
            return
        steps = with_lasting_sessions(self.journal.steps, "profiles", self.contenders.warn)
        names = [contender.name for contender in self.contenders.running()]
        wanted = {(step.test.name, step.clients, name) for step in steps for name in names}
        if not wanted <= self.journal.profiled("perf"):
            yield Start.of(self.journal.last_incarnation + 1, steps)

    def observe(self, test: OpenTest) -> None:
        self.view.phase(f"sampling {test.step.test.name}")
        seconds = test.window(_SECONDS)
        if seconds > 0:
            test.each(partial(self._sample, test.step, seconds))

    def _sample(
        self,
        step: PlannedStep,
        seconds: Second,
        contender: RunningContender,
        run: RunAtRate,
    ) -> None:
        """Run a contender under perf, and keep its profile; a failure of perf is a warning."""
        samples = contender.instance.directory / "perf.data"
        try:
            processes = _process_ids(contender)
            with PerfWindow(_record(samples)) as window:
                with counting(window):
                    ran = run(Stop(seconds=seconds))
                processes |= _process_ids(contender)
                window.end()
            text = _printed(samples, processes)
        except PerfError as error:
            self.contenders.warn(f"{contender.name}: {step.key} has no sampled profile: {error}")
            return
        finally:
            samples.unlink(missing_ok=True)
        if text and ran.operations:
            profile = read_profile(
                text,
                benchmark=step.test.benchmark,
                test=step.test.name,
                clients=step.clients,
                contender=contender.name,
                operations=ran.operations,
            )
            self.journal.keep_profile(profile)


def _process_ids(contender: RunningContender) -> set[int]:
    return {process.pid for process in processes_of(contender.instance.pid)}


def _record(path: Path) -> list[str]:
    """Return what perf is told to record, without copies of the binaries for later use (-B -N)."""
    cpus = ",".join(map(str, usable_cpus()))
    event = ["-e", "cpu-clock", "-c", str(_PERIOD_NS), "--call-graph", f"dwarf,{_STACK_BYTES}"]
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
