"""What the contenders' servers counted of their work for one step."""

from __future__ import annotations

from collections.abc import Mapping

from slowdust.experiment.contenders import Contenders, RunningContender
from slowdust.experiment.journal import Journal
from slowdust.experiment.plan import PlannedStep
from slowdust.store.preparation import ServerCounters

Totals = Mapping[str, Mapping[str, float]]
"""Contender -> quantity -> total since some moment of its server."""


class Counters:
    """Reads the servers' totals before a step's sessions are opened and after they are closed."""

    def __init__(self, contenders: Contenders, journal: Journal) -> None:
        self._contenders = contenders
        self._journal = journal

    def totals(self) -> Totals:
        """Return every server's totals, when what the sessions before did is part of them."""
        totals: dict[str, Mapping[str, float]] = {}

        def read(contender: RunningContender) -> None:
            totals[contender.name] = self._contenders.read_counters(contender)

        self._contenders.for_each(read)
        return totals

    def keep(
        self,
        step: PlannedStep,
        incarnation: int,
        operations: Mapping[str, int],
        before: Totals,
    ) -> None:
        """Keep what was counted since the totals `before` for each contender's `operations`."""
        after = self.totals()
        for name in after.keys() & before.keys() & operations.keys():
            amounts = {
                quantity: total - before[name][quantity]
                for quantity, total in after[name].items()
                if quantity in before[name]
            }
            if amounts:
                self._journal.manifest.counters.append(
                    ServerCounters(
                        step=step.key,
                        contender=name,
                        incarnation=incarnation,
                        operations=operations[name],
                        amounts=amounts,
                    )
                )
