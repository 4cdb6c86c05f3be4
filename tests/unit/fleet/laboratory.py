"""An experiment on a simulated fleet, with heads that are killed."""

from __future__ import annotations

from collections import Counter
from contextlib import nullcontext
from pathlib import Path

from slowdust.experiment.experiment import Experiment
from slowdust.experiment.spec.spec import Spec, parse_spec
from slowdust.fleet.lab import FleetLab
from slowdust.fleet.queue import Asked, Builds, Record, read_record
from slowdust.store.folder import Folder, fleet_folder
from slowdust.store.slice import Slice
from tests.unit.synthetic_fleet import BLOCKS, Heard, SimulatedFleet, SimulatedHost

TESTS = ["point-query", "hot-points", "scan", "random-points.10"]
STARTS = 4
OLD, NEW = "postgres@15.8", "postgres@17.6"


def spec_of(**changes: object) -> Spec:
    return parse_spec(
        {
            "name": "night",
            "contenders": [OLD, NEW],
            "tests": TESTS,
            "incarnations": STARTS,
            "budget": "200s",
            "count": "off",
            **changes,
        }
    )


class Laboratory:
    """A results folder, the fleet, and the experiment that it measures."""

    def __init__(self, results: Path, fleet: SimulatedFleet, **asked: object) -> None:
        self.results = results
        self.fleet = fleet
        self.asked = Asked(**{"builds": Builds.PULL, **asked})  # type: ignore[arg-type]
        self.spec = spec_of()
        self.view = Heard()

    def run(self) -> Folder:
        experiment = Experiment.create(self.spec, self.results)
        experiment.run(self.lab)
        return experiment.folder

    @property
    def lab(self) -> FleetLab:
        return FleetLab(self.fleet, self.asked, lambda: nullcontext(self.view))  # type: ignore[arg-type]

    @property
    def record(self) -> Record:
        return read_record(fleet_folder(self.results, self.spec.name))

    def slices(self) -> list[Slice]:
        return Folder(self.results / self.spec.name).read_slices()

    def starts_of(self, host: str) -> list[int]:
        """The numbers of the starts of a host in the merged experiment."""
        manifest = Folder(self.results / self.spec.name).read_manifest()
        return next(each.incarnations for each in manifest.hosts if each.name == host)

    def check_complete(self, times: int = 1) -> None:
        """Check that every test has all of its starts, and that no slice is there twice."""
        slices = self.slices()
        assert len({_id_of(record) for record in slices}) == len(slices)
        starts: Counter[str] = Counter()
        for test in TESTS:
            of_start = Counter(r.place.incarnation for r in slices if r.place.test == test)
            starts[test] = sum(count == 2 * 2 * BLOCKS for count in of_start.values())
        assert starts == dict.fromkeys(TESTS, STARTS * times)


def _id_of(record: Slice) -> tuple[object, ...]:
    place = record.place
    return place.test, place.contender, place.incarnation, place.block, place.slot


class KilledError(Exception):
    """The head is killed."""


class DyingHead(SimulatedFleet):
    """A fleet whose head is killed once, at a moment."""

    def __init__(self, hosts: dict[str, SimulatedHost], after: float) -> None:
        super().__init__(hosts)
        self._after: float | None = after

    def now(self) -> float:
        if self._after is not None and self.clock > self._after:
            self._after = None
            raise KilledError
        return super().now()
