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

WARM_UP: Second = 1.0


@dataclass(frozen=True)
class Contest:
    """Contenders with one open, warm session each, named like the contender."""

    driver: Driver
    field: Field

    @property
    def contenders(self) -> list[Contender]:
        """In their order."""
        return self.field.running()

    def qps(self, contender: Contender, seconds: Second) -> float:
        """Of one run that nobody probes."""
        return self.driver.run(contender.name, ForSeconds(seconds)).qps

    def probed_qps(self, contender: Contender, seconds: Second) -> float:
        """Of one run between two readings of all probes, as a slice is measured."""
        idle = [other.idle_probe for other in self.contenders if other is not contender]
        window = Window([*idle, *contender.probes])
        window.open()
        qps = self.qps(contender, seconds)
        window.close()
        return qps


@contextmanager
def contest(builds: list[str], test: str) -> Iterator[Contest]:
    """Start the builds, load them, and open one client of the test on each."""
    spec = parse_spec({"name": "contest", "contenders": builds, "tests": [test]})
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
            yield Contest(driver, field)
