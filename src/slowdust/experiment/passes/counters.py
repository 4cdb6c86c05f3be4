"""What the contenders' servers counted of their work for one step."""

from __future__ import annotations

from collections.abc import Mapping

from slowdust.benchmarks.model import Test
from slowdust.experiment.contender import RunningContender
from slowdust.experiment.contenders import Contenders
from slowdust.experiment.journal import Journal
from slowdust.experiment.plan import PlannedStep
from slowdust.store.preparation import WRITTEN_BYTES, ServerCounters

Totals = Mapping[str, Mapping[str, float]]
"""Contender -> quantity -> total since some moment of its server."""


class Counters:
    """Reads the servers' totals before a step's sessions are opened and after they are closed."""

    def __init__(self, contenders: Contenders, journal: Journal) -> None:
        self._contenders = contenders
        self._journal = journal

    def totals(self, test: Test) -> Totals:
        """Return every server's totals, when what the sessions before did is part of them.

        Those of a test beyond the page caches have what the servers wrote, with the pages that
        would be written later.
        """
        totals: dict[str, Mapping[str, float]] = {}
        counts_writes = test.beyond_pool and test.writes

        def read(contender: RunningContender) -> None:
            if counts_writes:
                stages = contender.family.write_out(contender.server.site)
                self._contenders.maintain(contender, stages, rows=0)
            totals[contender.name] = self._contenders.read_counters(contender)
            written = contender.written_bytes() if counts_writes else None
            if written is not None:
                totals[contender.name] = {**totals[contender.name], WRITTEN_BYTES: written}

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
        after = self.totals(step.test)
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
