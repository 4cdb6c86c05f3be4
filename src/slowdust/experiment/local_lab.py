"""This host as a lab: runs an experiment from its specification to its last slice."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from slowdust.benchmarks.model import Measuring
from slowdust.benchmarks.steps import StepBenchmark, Workload
from slowdust.dbms import family
from slowdust.errors import UsageError
from slowdust.experiment.announced import Announced
from slowdust.experiment.contender import ResolvedContender
from slowdust.experiment.contenders import Contenders
from slowdust.experiment.count_method import choose_method
from slowdust.experiment.cpus import check_cpus
from slowdust.experiment.driver.process import Driver, Patience
from slowdust.experiment.engine.loop import OpenExperiment, Pass, measure
from slowdust.experiment.engine.stepped import sized_workload
from slowdust.experiment.experiment import Experiment
from slowdust.experiment.host_locks import WhenBusy, locked
from slowdust.experiment.journal import (
    StartMode,
    check_same_source,
    check_same_workload,
    check_start,
    open_journal,
)
from slowdust.experiment.live import open_view
from slowdust.experiment.passes.callgrind_slices import SliceCounts
from slowdust.experiment.passes.callgrind_steps import StepCounts
from slowdust.experiment.passes.chunks import TimedChunks, make_step_method
from slowdust.experiment.passes.perf import PerfSamples, PmuCounts
from slowdust.experiment.passes.slices import TimedSlices, make_slice_method
from slowdust.experiment.passes.trials import USUAL_OF_STEPS, Decide, SliceTrials, StepTrials
from slowdust.experiment.passes.waits import Waits
from slowdust.experiment.setup import (
    Keep,
    RefusedError,
    create_contenders,
    resolve_contenders,
    with_stored_names,
)
from slowdust.experiment.spec.spec import Spec
from slowdust.experiment.view import View
from slowdust.instances.callgrind import SIMULATION
from slowdust.located_errors import AtKeysError
from slowdust.store.folder import Folder, Writer, writing
from slowdust.store.manifest import Counting
from slowdust.units import known


def run_experiment(
    spec: Spec,
    results: Path,
    mode: StartMode,
    view: View,
    when_busy: WhenBusy = WhenBusy.WAIT,
    *,
    announced: Announced | None = None,
    decide: Decide | None = None,
) -> Folder:
    """Run an experiment to its end, once its CPUs and disk are free; return its folder.

    It stops earlier, unfinished, if it would take far longer than was announced. `decide` returns
    the decision maker for trials, if the specification asks for them.

    Raises:
        UsageError: the specification cannot be run, or its name is taken.
        SlowdustError: no contender is left, Slowdust itself failed, or another experiment
            measures on its CPUs or disk and `when_busy` says fail.
    """
    folder = Folder.of(results, spec.name)
    folder.refuse_if_running()
    check_start(folder, mode)
    check_same_workload(folder, None if spec.workload is None else spec.workload.facts)
    check_cpus(spec.cpus or ())
    counting = choose_counting(spec)
    check_same_source(folder, counting)
    resolved = with_stored_names(resolve_contenders(spec, view), folder)
    counting = confirm_counting(resolved, counting, spec)
    announced = announced or Announced(view)
    announced.got_builds()
    if counting.source is None:
        announced.following.counting = 0.0
    with set_up(spec, folder, mode, resolved, view, when_busy=when_busy, announced=announced) as (
        writer,
        contenders,
    ):
        workload = _workload_of(spec, contenders)
        method = make_slice_method(spec) if workload is None else make_step_method(spec, workload)
        journal = open_journal(spec, writer, contenders, view, method)
        journal.manifest.counting = counting
        experiment = OpenExperiment(spec, contenders, journal, view, announced)
        if spec.trials is None:
            measure(experiment, _passes(experiment, counting, workload))
        else:
            assert decide is not None, "callers that read [trials] pass `decide`"
            trials = SliceTrials if workload is None else partial(StepTrials, workload=workload)
            measure(experiment, [trials(experiment, decide=decide)])
        if announced.ended_early:
            announced.report_early_end(f"slowdust run {folder.path} --resume --yes")
        else:
            journal.finish()
    return folder


@contextmanager
def set_up(
    spec: Spec,
    folder: Folder,
    mode: StartMode,
    resolved: list[ResolvedContender],
    view: View,
    *,
    when_busy: WhenBusy,
    announced: Announced | None = None,
) -> Iterator[tuple[Writer, Contenders]]:
    """Hold a folder, its CPUs and the contenders with their data directories; then free them.

    Waiting for other experiments does not count as time of the experiment.

    Raises:
        UsageError: the folder does not suit the mode, or a setting is wrong.
        SlowdustError: as `run_experiment` does.
    """
    with ExitStack() as stack:
        writer = stack.enter_context(writing(folder))
        check_start(folder, mode)  # another process may have run it meanwhile
        begun = time.monotonic()
        locks = stack.enter_context(locked(spec, when_busy, view))
        if announced is not None:
            announced.exclude(time.monotonic() - begun)
        patience = Patience.of(spec.budget, spec.patience)
        driver = stack.enter_context(Driver(patience=patience, waiting=view.waiting))
        with _locating_settings(spec):
            keep = Keep.SCHEMAS if spec.keep else Keep.NOTHING
            created = create_contenders(resolved, driver, folder, view, locks, keep=keep)
            contenders = stack.enter_context(created)
        yield writer, contenders


@contextmanager
def _locating_settings(spec: Spec) -> Iterator[None]:
    """Add the keys that set it to the error about an unknown setting."""
    try:
        yield
    except RefusedError as error:
        keys = None if error.setting is None else spec.keys_of_setting(error.setting)
        if keys is None:  # a configuration sets it
            raise
        raise AtKeysError(str(error), keys) from error


def choose_counting(spec: Spec) -> Counting:
    """Return how the work of a specification's tests is counted, or why it is not.

    Raises:
        UsageError: the options contradict each other.
        SlowdustError: this machine does not support the requested method.
    """
    if spec.is_calibration:
        return Counting(reason="A calibration counts no work.")
    if spec.simulate and spec.count in ("pmu", "off"):
        raise UsageError(f"--simulate needs valgrind; it excludes --count {spec.count}")
    if spec.has_running_servers:
        if spec.simulate or spec.count in ("pmu", "valgrind"):
            raise UsageError("the work of a running server cannot be counted: remove count")
        return Counting(reason="The work of a running server cannot be counted from outside.")
    wanted = "valgrind" if spec.simulate else spec.count
    if spec.configured_benchmark().measuring is Measuring.SLICES:
        return choose_method(wanted)
    if wanted == "pmu":
        raise UsageError("the work of long steps is counted with valgrind, not with --count pmu")
    return choose_method(wanted, ["valgrind"])


def confirm_counting(
    resolved: Sequence[ResolvedContender], counting: Counting, spec: Spec
) -> Counting:
    """Return how the work of these contenders is counted: valgrind must be able to count all.

    Raises:
        UsageError: valgrind was requested, and cannot count one of them.
    """
    reasons = known(family(contender.dbms).not_counted for contender in resolved)
    if counting.source != "valgrind" or not reasons:
        return counting
    if spec.simulate or spec.count == "valgrind":
        raise UsageError(reasons[0].removesuffix("."))
    return Counting(reason=reasons[0])


def _workload_of(spec: Spec, contenders: Contenders) -> Workload | None:
    """Return the workload of a benchmark of long steps on these servers; None for any other."""
    benchmark = spec.configured_benchmark()
    if not isinstance(benchmark, StepBenchmark):
        return None
    workload = sized_workload(spec, benchmark, contenders)
    if spec.trials is None:
        return workload
    return replace(workload, seconds=spec.trials.length or USUAL_OF_STEPS)


def _passes(
    experiment: OpenExperiment, counting: Counting, workload: Workload | None
) -> Iterator[Pass[Any]]:
    """Yield the passes of an experiment in order."""
    spec = experiment.spec
    yield TimedSlices(experiment) if workload is None else TimedChunks(experiment, workload)
    if spec.profile:
        yield PerfSamples(experiment)
    if counting.source == "pmu":
        yield PmuCounts(experiment)
    elif counting.source == "valgrind":
        options = SIMULATION if spec.simulate else ()
        if workload is None:
            yield SliceCounts(experiment, options)
        else:
            counting.rows = workload.counted_rows(spec.clients)
            yield StepCounts(experiment, workload, options)
    if spec.waits:
        yield Waits(experiment)


OpenView = Callable[[], AbstractContextManager[View]]


class LocalLab:
    """This host. One experiment at a time has its CPUs and disk."""

    def __init__(
        self,
        when_busy: WhenBusy = WhenBusy.WAIT,
        open_view: OpenView = open_view,
        announce: Callable[[View], Announced] = Announced,
        decide: Decide | None = None,
    ) -> None:
        """`announce` returns the announcement of an experiment's duration.

        `decide` returns the decision maker for its trials, if its specification asks for them.
        """
        self.when_busy = when_busy
        self.open_view = open_view
        self._announce = announce
        self._decide = decide

    def prepare(self, spec: Spec) -> list[ResolvedContender]:
        with self.open_view() as view:
            return resolve_contenders(spec, view)

    def measure(self, experiment: Experiment) -> None:
        with self.open_view() as view:
            run_experiment(
                experiment.spec,
                experiment.results,
                experiment.mode,
                view,
                self.when_busy,
                announced=self._announce(view),
                decide=self._decide,
            )

    @contextmanager
    def servers(self, experiment: Experiment) -> Iterator[tuple[Writer, Contenders, View]]:
        spec, folder = experiment.spec, experiment.folder
        check_cpus(spec.cpus or ())
        with self.open_view() as view:
            resolved = with_stored_names(resolve_contenders(spec, view), folder)
            held = set_up(spec, folder, experiment.mode, resolved, view, when_busy=self.when_busy)
            with held as (writer, contenders):
                yield writer, contenders, view

    def phase(self, text: str) -> None:
        with self.open_view() as view:
            view.phase(text)
