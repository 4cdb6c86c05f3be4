"""This host as a lab."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager

from slowdust.experiment.announced import Announced
from slowdust.experiment.claims.claim import WhenBusy
from slowdust.experiment.contender import ResolvedContender
from slowdust.experiment.experiment import Experiment
from slowdust.experiment.live import watching
from slowdust.experiment.passes.trials import Decide
from slowdust.experiment.run import run_experiment
from slowdust.experiment.setup import resolve_contenders
from slowdust.experiment.spec.spec import Spec
from slowdust.experiment.view import View

OpenView = Callable[[], AbstractContextManager[View]]


class LocalLab:
    """This host, whose CPUs and disk one experiment at a time has."""

    def __init__(
        self,
        when_busy: WhenBusy = WhenBusy.WAIT,
        open_view: OpenView = watching,
        announce: Callable[[View], Announced] = Announced,
        decide: Decide | None = None,
    ) -> None:
        """`announce` returns what was announced of the time of an experiment.

        `decide` returns who decides on its trials, if its specification asks for some.
        """
        self.when_busy = when_busy
        self.open_view = open_view
        self._announce = announce
        self._decide = decide

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
                decide=self._decide,
            )

    def phase(self, text: str) -> None:
        """Show what is done besides measuring."""
        with self.open_view() as view:
            view.phase(text)
