"""This host as a lab."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager

from slowdust.experiment.announced import Announced
from slowdust.experiment.claims.claim import WhenBusy
from slowdust.experiment.claims.cpus import check_cpus
from slowdust.experiment.contender import ResolvedContender
from slowdust.experiment.contenders import Contenders
from slowdust.experiment.experiment import Experiment
from slowdust.experiment.live import watching
from slowdust.experiment.run import run_experiment, set_up
from slowdust.experiment.setup import named_as_before, resolve_contenders
from slowdust.experiment.spec.spec import Spec
from slowdust.experiment.view import View
from slowdust.store.folder import Writer

OpenView = Callable[[], AbstractContextManager[View]]


class LocalLab:
    """This host, whose CPUs and disk one experiment at a time has."""

    def __init__(
        self,
        when_busy: WhenBusy = WhenBusy.WAIT,
        open_view: OpenView = watching,
        announce: Callable[[View], Announced] = Announced,
    ) -> None:
        """`announce` returns what was announced of the time of an experiment."""
        self.when_busy = when_busy
        self.open_view = open_view
        self._announce = announce

    def prepare(self, spec: Spec) -> list[ResolvedContender]:
        """Fetch or compile the builds; see `Lab`."""
        with self.open_view() as view:
            return resolve_contenders(spec, view)

    def measure(self, experiment: Experiment) -> None:
        """Measure an experiment on this host; see `run_experiment`."""
        with self.open_view() as view:
            run_experiment(
                experiment.spec,
                experiment.results,
                experiment.mode,
                view,
                self.when_busy,
                announced=self._announce(view),
            )

    @contextmanager
    def servers(self, experiment: Experiment) -> Iterator[tuple[Writer, Contenders, View]]:
        """Hold the folder, the CPUs and the servers of an experiment; see `set_up`."""
        spec, folder = experiment.spec, experiment.folder
        check_cpus(spec.cpus or ())
        with self.open_view() as view:
            resolved = named_as_before(resolve_contenders(spec, view), folder)
            held = set_up(spec, folder, experiment.mode, resolved, view, when_busy=self.when_busy)
            with held as (writer, contenders):
                yield writer, contenders, view

    def phase(self, text: str) -> None:
        """Show what is done besides measuring."""
        with self.open_view() as view:
            view.phase(text)
