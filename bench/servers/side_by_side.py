"""Contenders side by side without an experiment, for benchmarks of the method."""

from __future__ import annotations

import tempfile
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from slowdust.experiment.contender import RunningContender
from slowdust.experiment.contenders import Contenders
from slowdust.experiment.driver.process import Data, Driver
from slowdust.experiment.driver.protocol import Ran, Stop
from slowdust.experiment.engine.sliced import LoadedTables
from slowdust.experiment.host_locks import WhenBusy, locked
from slowdust.experiment.live import PlainView
from slowdust.experiment.setup import create_contenders, resolve_contenders
from slowdust.experiment.spec.spec import parse_spec
from slowdust.store.folder import Folder
from slowdust.units import Second

ROWS = 100_000
"""Rows of the table, the default of experiments."""
WARM_UP: Second = 1.0


@dataclass(frozen=True)
class SideBySide:
    """Contenders with one open, warm session each, named like the contender."""

    driver: Driver
    all: Contenders
    serving: Mapping[str, Sequence[int]]
    """Contender -> processes or threads of its server that serve its client."""

    @property
    def contenders(self) -> list[RunningContender]:
        """The running contenders in their order."""
        return self.all.running()

    def qps(self, contender: RunningContender, seconds: Second) -> float:
        """Measure the QPS of one run without probes."""
        return self.run(contender, seconds).qps

    def probed_qps(self, contender: RunningContender, seconds: Second) -> float:
        """Measure the QPS of one run between two readings of all probes, as in a slice."""
        return self.probed_run(contender, seconds).qps

    def run(self, contender: RunningContender, seconds: Second) -> Ran:
        """Run once without probes."""
        return self.driver.run(contender.name, Stop(seconds=seconds))

    def probed_run(self, contender: RunningContender, seconds: Second) -> Ran:
        """Run once between two readings of all probes, as in a slice."""
        window = contender.window(self.contenders)
        window.open()
        ran = self.run(contender, seconds)
        window.close()
        return ran


@contextmanager
def side_by_side(
    builds: list[str], test: str, rows: int, observed: Collection[int] = ()
) -> Iterator[SideBySide]:
    """Start the builds, load `rows` rows, and open one client of the test on each.

    Servers with an index in `observed` report the waits of their sessions.
    """
    spec = parse_spec({"name": "bench", "contenders": builds, "tests": [test], "rows": rows})
    data = Data(spec.tables, spec.rows, spec.seed)
    view = PlainView()
    with (
        tempfile.TemporaryDirectory() as path,
        locked(spec, WhenBusy.WAIT, view),
        Driver() as driver,
    ):
        folder = Folder(Path(path))
        folder.logs.mkdir()
        resolved = resolve_contenders(spec, view)
        with create_contenders(resolved, driver, folder, view) as contenders:
            for place in observed:
                contenders.all[place].instance.observe_waits()
            LoadedTables(contenders, data, view).start(1)
            serving = {}
            for contender in contenders.running():
                opened = driver.open(contender.name, contender.target, data, test=test, clients=1)
                serving[contender.name] = opened.server_processes
                driver.run(contender.name, Stop(seconds=WARM_UP))
            yield SideBySide(driver, contenders, serving)
