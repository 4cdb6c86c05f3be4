"""An experiment that is being measured, as all passes get it."""

from __future__ import annotations

from dataclasses import dataclass

from slowdust.experiment.announced import Announced
from slowdust.experiment.clock import MACHINE, Clock
from slowdust.experiment.contenders import Contenders
from slowdust.experiment.journal import Journal
from slowdust.experiment.spec.spec import Spec
from slowdust.experiment.view import View
from slowdust.units import Second, format_duration


@dataclass
class OpenExperiment:
    """An experiment whose contenders are set up and whose journal is open."""

    spec: Spec
    contenders: Contenders
    journal: Journal
    view: View
    announced: Announced
    """The time that it may take."""
    clock: Clock = MACHINE
    timed: Second = 0.0
    """How long the passes went on whose results are times."""

    def warn_of_short_budget(self, budget: Second, what: str, needed: Second) -> None:
        """Warn where `what` takes longer than there is left of a budget; 'two tests take about'."""
        self.contenders.warn(
            f"the budget of {format_duration(budget)} will be exceeded: {what} "
            f"{format_duration(needed)}"
        )
