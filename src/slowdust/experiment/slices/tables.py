"""The tables of a benchmark of slices on all contenders: loaded, aged by writes, maintained."""

from __future__ import annotations

from slowdust.experiment.contenders import Contenders, RunningContender
from slowdust.experiment.driver.process import Data
from slowdust.experiment.maintenance import longest_wait
from slowdust.experiment.view import View
from slowdust.units import Second

_FULL_RUN: Second = 3600.0
"""The budget from which on the waits for idle servers apply unscaled."""


class LoadedTables:
    """The tables of all contenders, with the same rows for each."""

    def __init__(self, contenders: Contenders, data: Data, view: View) -> None:
        self.data = data
        self._rows = data.tables * data.rows
        self._contenders = contenders
        self._view = view
        self._unchanged = False

    def start(self) -> None:
        """Start all servers; load the tables that are not as they were loaded."""
        self._contenders.start()
        if self._unchanged:
            self._contenders.for_each(self._load_if_emptied)
        else:
            self.load()

    def load(self) -> None:
        """Load the tables of all contenders anew."""
        self._contenders.for_each(self._load)
        self._unchanged = True

    def note_writes(self) -> None:
        """Note that the tables are no longer as they were loaded."""
        self._unchanged = False

    def maintain(self, budget: Second) -> None:
        """Carry out post-write maintenance, then wait until the servers are idle."""
        self._contenders.for_each(self._maintain)
        self._view.phase("waiting until the servers are idle")
        limit = longest_wait(self._rows, budget / _FULL_RUN)
        self._contenders.wait_until_idle(self._contenders.running(), limit)

    def _maintain(self, contender: RunningContender) -> None:
        self._view.phase(f"maintenance of {contender.name} after the writes")
        stages = contender.family.after_writes(contender.server.site, self.data.names)
        self._contenders.maintain(contender, stages, self._rows)

    def _load(self, contender: RunningContender) -> None:
        self._view.phase(f"loading {contender.name}")
        self._contenders.driver.load(contender.target, self.data, self._view.progress)
        stages = contender.family.after_load(contender.server.site, self.data.names)
        self._contenders.maintain(contender, stages, self._rows)
        self._contenders.measure_sizes(contender, self.data.names, self._rows)
        self._contenders.measure_buffer_pool(contender)

    def _load_if_emptied(self, contender: RunningContender) -> None:
        if not contender.keeps_tables:
            self._load(contender)
