"""Contenders side by side without an experiment around them, for benchmarks of the method."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from slowdust.experiment.contenders import Contender, Field
from slowdust.experiment.driver.process import Data, Driver, Work
from slowdust.experiment.driver.protocol import ForSeconds
from slowdust.experiment.live import PlainView
from slowdust.experiment.setup import enter, field_of
from slowdust.experiment.spec.spec import parse_spec
from slowdust.probes.window import Window
from slowdust.store.folder import Folder
from slowdust.units import Second

ROWS = 100_000
"""Rows of the table, as in an experiment by default."""
WARM_UP: Second = 1.0


@dataclass(frozen=True)
class SideBySide:
    """Contenders with one open, warm session each, named like the contender."""

    driver: Driver
    field: Field

    @property
    def contenders(self) -> list[Contender]:
        """The running contenders in their order."""
        return self.field.running()

    def qps(self, contender: Contender, seconds: Second) -> float:
        """Measure the QPS of one run that nobody probes."""
        return self.driver.run(contender.name, ForSeconds(seconds)).qps

    def probed_qps(self, contender: Contender, seconds: Second) -> float:
        """Measure the QPS of one run between two readings of all probes, as in a slice."""
        idle = [other.idle_probe for other in self.contenders if other is not contender]
        window = Window([*idle, *contender.probes])
        window.open()
        qps = self.qps(contender, seconds)
        window.close()
        return qps


@contextmanager
def side_by_side(builds: list[str], test: str, rows: int) -> Iterator[SideBySide]:
    """Start the builds, load `rows` rows, and open one client of the test on each."""
    spec = parse_spec({"name": "bench", "contenders": builds, "tests": [test], "rows": rows})
    data = Data(spec.tables, spec.rows, spec.seed)
    view = PlainView()
    with tempfile.TemporaryDirectory() as path, Driver() as driver:
        folder = Folder(Path(path))
        folder.logs.mkdir()
        with field_of(enter(spec, view), folder, view) as field:
            field.start(driver, data)
            for contender in field.running():
                driver.open(contender.name, contender.target, Work(test, 1), data)
                driver.run(contender.name, ForSeconds(WARM_UP))
            yield SideBySide(driver, field)
