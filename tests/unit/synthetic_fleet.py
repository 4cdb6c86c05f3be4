"""A simulated fleet: hosts with a clock that moves when nothing else happens.

    fleet = SimulatedFleet({"a": SimulatedHost(), "b": SimulatedHost(dies=40.0)})

A host measures a start of a test in `START_S`, and sends all that it has after each start.
"""

from __future__ import annotations

import heapq
import tomllib
import zlib
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

from msgspec.structs import replace

from slowdust import __version__
from slowdust.builds.pushed import PushedBuild
from slowdust.fleet.cluster import (
    End,
    HostFacts,
    HostLost,
    Message,
    ShardBundle,
    ShardEnded,
    ShardOrder,
)
from slowdust.store.bundle import pack
from slowdust.store.finding import Finding
from slowdust.store.folder import Folder
from slowdust.store.manifest import Manifest
from slowdust.store.slice import Slice
from slowdust.temporary import temporary_folder
from slowdust.units import Second
from tests.unit.synthetic import synthetic_experiment
from tests.unit.synthetic_history import keep

START_S = 10.0
BLOCKS = 2


@dataclass
class _Shard:
    """A shard's results on the disk of a host."""

    started: str
    slices: list[Slice] = field(default_factory=list)
    starts: int = 0
    number: int = 0
    """The last start that began; one that was cut short is repeated with a new number."""
    finished: bool = False


@dataclass
class SimulatedHost:
    """The fate of a host."""

    cpu: str = "fast"
    slowness: float = 1.0
    joins: Second = 0.0
    dies: Second | None = None
    full: Second | None = None
    """The second when its disk is full."""
    fails: Mapping[str, str] = field(default_factory=dict)
    """Test -> why no shard with it can be measured there."""
    sends: Callable[[bytes], bytes] = bytes
    """Changes its bundles."""
    version: str = __version__
    findings: Sequence[Finding] = ()
    disk: dict[tuple[str, str], _Shard] = field(default_factory=dict)
    runs: int = 0
    """Messages of earlier runs are not delivered."""


Action = Callable[[], Sequence[Message]]


class SimulatedFleet:
    """A `Cluster` of simulated hosts."""

    def __init__(self, hosts: dict[str, SimulatedHost]) -> None:
        self.simulated = hosts
        self.clock = 0.0
        self.measured: Counter[tuple[str, int]] = Counter()
        """Test and number of each start that a host completed."""
        self.pushed: list[str] = []
        self.answers: Mapping[str, object] = {}
        """Host -> what it answers to any question."""
        self._events: list[tuple[Second, int, str, int, Action]] = []
        self._numbers = 0

    def hosts(self) -> Collection[str]:
        return [
            name
            for name, host in self.simulated.items()
            if host.joins <= self.clock and not self._is_dead(host)
        ]

    def examine(self, host: str) -> None:
        of = self.simulated[host]
        of.runs += 1
        facts = HostFacts(
            slowdust=of.version, cpu=of.cpu, cpus=2, free_bytes=1, findings=list(of.findings)
        )
        self._later(host, 2.0, lambda: [facts])

    def run(self, host: str, order: ShardOrder) -> None:
        of = self.simulated[host]
        place = order.experiment, order.folder
        kept = of.disk.get(place)
        if order.started is not None and (kept is None or kept.started != order.started):
            self._later(host, 1.0, lambda: [ShardEnded(end=End.GONE, reason="nothing is there")])
            return
        reasons = [
            of.fails[test] for test in tomllib.loads(order.spec)["tests"] if test in of.fails
        ]
        if reasons:
            self._later(host, 1.0, lambda: [ShardEnded(end=End.FAILED, reason=reasons[0])])
            return
        shard = of.disk.setdefault(place, _Shard(started=f"2026-01-02T03:{len(of.disk):02}:00Z"))
        self._measure(host, shard, order)

    def forget(self, host: str, experiment: str) -> bool:
        disk = self.simulated[host].disk
        for place in [each for each in disk if each[0] == experiment]:
            del disk[place]
        return True

    def push(self, folders: Sequence[str], builds: Sequence[PushedBuild]) -> None:
        del builds
        self.pushed += folders

    def ask(
        self,
        what: Callable[..., object],
        *arguments: object,
        hosts: Collection[str],
        **_: object,
    ) -> Mapping[str, object]:
        del what, arguments
        return {host: self.answers[host] for host in hosts}

    def messages(self, within: Second) -> Sequence[tuple[str, Message]]:
        """Return the next message; the clock stands at its moment then."""
        end = self.clock + within
        if not self._events or self._events[0][0] > end:
            self.clock = end
            return []
        self.clock, _, host, run, action = heapq.heappop(self._events)
        of = self.simulated[host]
        if of.runs != run:
            return []
        if self._is_dead(of):
            return [(host, HostLost(reason="it is dead"))]
        return [(host, message) for message in action()]

    def now(self) -> Second:
        return self.clock

    def forget_head(self) -> None:
        """Kill the head: hosts stop what they measure, and their messages are lost."""
        self._events.clear()
        for host in self.simulated.values():
            host.runs += 1

    def _is_dead(self, host: SimulatedHost) -> bool:
        return host.dies is not None and host.dies <= self.clock

    def _later(self, host: str, after: Second, action: Action) -> None:
        self._numbers += 1
        run = self.simulated[host].runs
        event = (self.clock + after, self._numbers, host, run, action)
        heapq.heappush(self._events, event)

    def _measure(self, host: str, shard: _Shard, order: ShardOrder) -> None:
        """Plan the halves of all starts that are left, and the end."""
        of = self.simulated[host]
        spec = tomllib.loads(order.spec)
        starts, tests = spec["incarnations"], spec["tests"]
        manifest, slices = synthetic_experiment(
            [each["contender"] for each in spec["contenders"]],
            tests,
            clients=spec["clients"],
            incarnations=starts,
            blocks=BLOCKS,
            seed=zlib.crc32(f"{host} {shard.started}".encode()),
        )
        manifest.experiment, manifest.started = spec["name"], shard.started
        manifest.host["CPU"] = of.cpu

        def bundle() -> list[Message]:
            manifest.turns_done = dict.fromkeys(order.steps, shard.starts)
            manifest.finished = "2026-01-02T04:00:00Z" if shard.finished else None
            return [ShardBundle(content=of.sends(packed(manifest, shard.slices)))]

        def half(start: int, *, second: bool) -> Sequence[Message]:
            if of.full is not None and of.full <= self.clock:
                return [ShardEnded(end=End.DISK_FULL, reason="No space left on device")]
            shard.number += not second
            for record in slices:
                place = record.place
                if place.incarnation == start and (place.block >= BLOCKS / 2) == second:
                    own = replace(record, place=replace(place, incarnation=shard.number))
                    shard.slices.append(own)
            if not second:
                return []
            shard.starts = start
            self.measured.update((test, start) for test in tests)
            return bundle()

        def end() -> Sequence[Message]:
            shard.finished = True
            return [*bundle(), ShardEnded(end=End.FINISHED)]

        at = 0.0
        length = START_S * len(order.steps) * of.slowness / 2
        for start in range(shard.starts + 1, starts + 1):
            for second in (False, True):
                at += length
                self._later(host, at, lambda s=start, h=second: half(s, second=h))  # type: ignore[misc]
        self._later(host, at + 1, end)


def packed(manifest: Manifest, slices: Sequence[Slice]) -> bytes:
    """The bundle of an experiment."""
    with temporary_folder() as folder:
        keep(folder, manifest, slices)
        pack(Folder(folder / manifest.experiment), folder / "bundle")
        return (folder / "bundle").read_bytes()


class Heard:
    """A view that keeps what it was shown."""

    def __init__(self) -> None:
        self.events: list[str] = []
        self.warnings: list[str] = []
        self.states: list[str] = []

    def event(self, text: str) -> None:
        self.events.append(text)

    def warning(self, text: str) -> None:
        self.warnings.append(text)

    def show(self, state: str) -> None:
        self.states.append(state)
