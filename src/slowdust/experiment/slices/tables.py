"""The tables of a benchmark of slices on all contenders: loaded, aged by writes, maintained."""

from __future__ import annotations

from collections.abc import Sequence

from slowdust.experiment.contenders import Contenders, RunningContender
from slowdust.experiment.driver.process import Data
from slowdust.experiment.maintenance import longest_wait
from slowdust.experiment.view import View
from slowdust.units import Second

_FULL_RUN: Second = 3600.0
"""The budget from which on the waits for idle servers apply unscaled."""


class LoadedTables:
    """The tables of all contenders, with the same rows for each."""

    def __init__(
        self, contenders: Contenders, names: Sequence[str], data: Data, view: View
    ) -> None:
        self.data = data
        self.rows = data.tables * data.rows
        """Rows of all tables of one contender."""
        self._contenders = contenders
        self._names = names
        self._view = view
        self._unchanged = False

    def start(self) -> None:
        """Start all servers; load the tables that are not as they were loaded."""
        self._contenders.start()
        if self._unchanged:
            running = self._contenders.running()
            self._load([contender for contender in running if not contender.keeps_tables])
        else:
            self.load()

    def load(self) -> None:
        """Load the tables of all contenders anew."""
        self._load(self._contenders.running())
        self._unchanged = True

    def note_writes(self) -> None:
        """Note that the tables are no longer as they were loaded."""
        self._unchanged = False

    def maintain(self, budget: Second) -> None:
        """Carry out post-write maintenance, then wait until the servers are idle."""
        running = self._contenders.running()
        for contender in running:
            self._view.phase(f"maintenance of {contender.name} after the writes")
            with self._contenders.guard(contender):
                stages = contender.family.after_writes(contender.server.site, self._names)
                self._contenders.maintain(contender, stages, self.rows)
        self._view.phase("waiting until the servers are idle")
        limit = longest_wait(self.rows, budget / _FULL_RUN)
        self._contenders.wait_until_idle(self._contenders.running(), limit)

    def _load(self, contenders: list[RunningContender]) -> None:
        for contender in contenders:
            self._view.phase(f"loading {contender.name}")
            with self._contenders.guard(contender):
                driver = self._contenders.driver
                driver.load(contender.target, self.data, self._view.progress)
                stages = contender.family.after_load(contender.server.site, self._names)
                self._contenders.maintain(contender, stages, self.rows)
                self._contenders.measure_sizes(contender, self._names, self.rows)
                self._contenders.measure_buffer_pool(contender)
