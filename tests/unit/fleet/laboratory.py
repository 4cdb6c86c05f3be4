"""An experiment of a simulated fleet, and heads that are killed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from slowdust.experiment.journal import StartMode
from slowdust.experiment.spec.spec import Spec, parse_spec
from slowdust.fleet.model import HostFacts
from slowdust.fleet.record import Asked, Record, read_record
from slowdust.fleet.run import measure, prepare
from slowdust.joining.join import join
from slowdust.joining.parts import Part
from slowdust.store.folder import Folder
from slowdust.store.of_fleet import fleet_folder
from slowdust.store.slice import Slice
from tests.unit.synthetic_fleet import BLOCKS, Heard, SimulatedFleet, SimulatedHost

TESTS = ["point-query", "hot-points", "scan", "random-points.10"]
TURNS = 4
OLD, NEW = "postgres@15.8", "postgres@17.6"


def spec_of(**changes: object) -> Spec:
    return parse_spec(
        {
            "name": "night",
            "contenders": [OLD, NEW],
            "tests": TESTS,
            "incarnations": TURNS,
            "budget": "200s",
            "count": "off",
            **changes,
        }
    )


class Laboratory:
    """A results folder, the fleet, and the head of an experiment."""

    def __init__(self, results: Path, fleet: SimulatedFleet, wanted: Asked | None = None) -> None:
        self.results = results
        self.fleet = fleet
        self.wanted = wanted or Asked()
        self.spec = spec_of()
        self.view = Heard()
        self.facts: list[HostFacts] = []
        """What hosts say before the plan is made."""
        self.joins = 0

    def run(self, mode: StartMode = StartMode.FRESH) -> Folder:
        folder = fleet_folder(self.results, self.spec.name)
        folder.mkdir(exist_ok=True)
        hosts = len(self.fleet.hosts())
        record = prepare(self.spec, self.results, self.wanted, hosts, mode, facts=self.facts)
        return measure(
            self.spec, self.results, record, cluster=self.fleet, view=self.view, join=self._join
        )

    def _join(self, parts: Sequence[tuple[str, Folder]], target: Folder) -> None:
        self.joins += 1
        join([Part(folder, host=host) for host, folder in parts], target)

    @property
    def record(self) -> Record:
        return read_record(fleet_folder(self.results, self.spec.name))

    def slices(self) -> list[Slice]:
        return Folder(self.results / self.spec.name).read_slices()

    def check_complete(self, times: int = 1) -> None:
        """Check that every test has all of its turns so often, and that no slice is there twice."""
        slices = self.slices()
        assert len({id_of(record) for record in slices}) == len(slices)
        turns: Counter[str] = Counter()
        for test in TESTS:
            of_turn = Counter(r.place.incarnation for r in slices if r.place.test == test)
            turns[test] = sum(count == 2 * 2 * BLOCKS for count in of_turn.values())
        assert turns == dict.fromkeys(TESTS, TURNS * times)


def id_of(record: Slice) -> tuple[object, ...]:
    place = record.place
    return place.test, place.contender, place.incarnation, place.block, place.slot


def incarnations(results: Path, host: str) -> list[int]:
    manifest = Folder(results / "night").read_manifest()
    return next(each.incarnations for each in manifest.hosts if each.name == host)


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
