"""The time of a round trip to each server, where some were not started here.

Between a client and a server by URL lies a network, which is part of every response. A statement
that asks for nothing (`SELECT 1`, `ping`) tells how large that part is; METHOD's verdicts are about
all of the time.
"""

from __future__ import annotations

from statistics import median

from slowdust.analysis.results.latency import percentile_ns
from slowdust.experiment.contender import RunningContender
from slowdust.experiment.contenders import Contenders
from slowdust.experiment.driver.process import Data
from slowdust.experiment.driver.protocol import Stop
from slowdust.experiment.journal import Journal

_TEST = "round-trip"
_DATA = Data(tables=1, rows=1, seed=1)
"""Tables that the statement does not read, and that need not be there."""
_LOOK = Stop(seconds=0.1)
_NS = 1e-9


class RoundTrips:
    """Measures round trips before a test or a sequence of steps, in turn and back: A B B A."""

    def __init__(self, contenders: Contenders, journal: Journal) -> None:
        self._contenders = contenders
        self._journal = journal
        self._medians: dict[str, list[float]] = {}
        """Contender -> the median of each look, in seconds."""

    def measure(self) -> None:
        """Measure the round trips of all contenders with one client, if one is a running server."""
        running = self._contenders.running()
        if not any(contender.is_remote for contender in running):
            return
        for contender in [*running, *reversed(running)]:
            with self._contenders.guard(contender):
                self._look(contender)
        for contender in self._contenders.running():
            self._journal.facts(contender.name).round_trip_s = median(self._medians[contender.name])

    def _look(self, contender: RunningContender) -> None:
        driver = self._contenders.driver
        session = f"{contender.name} {_TEST}"
        driver.open(session, contender.target, _DATA, test=_TEST, clients=1)
        try:
            ran = driver.run(session, _LOOK)
        finally:
            driver.close(session)
        half = percentile_ns([ran.latency], 0.5)
        if half is not None:
            self._medians.setdefault(contender.name, []).append(half * _NS)
