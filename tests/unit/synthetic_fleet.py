"""A fleet that nobody has: hosts with a clock that moves when nothing else happens.

    fleet = SimulatedFleet({"a": SimulatedHost(), "b": SimulatedHost(dies=40.0)})

A host measures an incarnation of a test in `TURN_S`, and sends half of it at a time.
"""

from __future__ import annotations

import heapq
import tomllib
import zlib
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field

import msgspec
from msgspec.structs import replace

from slowdust import __version__
from slowdust.fleet.model import End, Ended, HostFacts, Lost, Message, Order, Part
from slowdust.fleet.view import Overview
from slowdust.store.finding import Finding
from slowdust.store.folder import MANIFEST_FILE, SLICES_FILE
from slowdust.units import Second
from tests.unit.synthetic import synthetic_experiment

TURN_S = 10.0
BLOCKS = 4


@dataclass
class _Folder:
    """What a host has of a shard on its disk."""

    started: str
    slices: bytes = b""
    turns: int = 0
    incarnation: int = 0
    """The last one that began; a turn that was cut short is done again in a new one."""
    finished: bool = False


@dataclass
class SimulatedHost:
    """What will become of a host."""

    cpu: str = "fast"
    slowness: float = 1.0
    joins: Second = 0.0
    dies: Second | None = None
    full: Second | None = None
    """The moment from which its disk is full."""
    fails: Mapping[str, str] = field(default_factory=dict)
    """Test -> why no shard with it can be measured there."""
    version: str = __version__
    findings: Sequence[Finding] = ()
    disk: dict[tuple[str, str], _Folder] = field(default_factory=dict)
    runs: int = 0
    """What still arrives of earlier runs is of none."""


Action = Callable[[], Sequence[Message]]


class SimulatedFleet:
    """A `Cluster` of simulated hosts."""

    def __init__(self, hosts: dict[str, SimulatedHost]) -> None:
        self.simulated = hosts
        self.clock = 0.0
        self.measured: Counter[tuple[str, int]] = Counter()
        """Test and incarnation of each turn that a host completed."""
        self.orders: list[Order] = []
        self.stopped: list[str] = []
        """Hosts whose shards were taken over, in turn."""
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

    def run(self, host: str, order: Order) -> None:
        self.orders.append(order)
        of = self.simulated[host]
        place = order.experiment, order.folder
        kept = of.disk.get(place)
        if order.started is not None and (kept is None or kept.started != order.started):
            self._later(host, 1.0, lambda: [Ended(end=End.GONE, reason="nothing is there")])
            return
        reasons = [
            of.fails[test] for test in tomllib.loads(order.spec)["tests"] if test in of.fails
        ]
        if reasons:
            self._later(host, 1.0, lambda: [Ended(end=End.FAILED, reason=reasons[0])])
            return
        folder = of.disk.setdefault(place, _Folder(started=f"{host} at {self.clock}"))
        self._measure(host, folder, order)

    def stop(self, host: str) -> None:
        self.stopped.append(host)
        self.examine(host)

    def forget(self, host: str, experiment: str) -> None:
        disk = self.simulated[host].disk
        for place in [each for each in disk if each[0] == experiment]:
            del disk[place]

    def messages(self, within: Second) -> Sequence[tuple[str, Message]]:
        """Return what is said next; the clock stands at that moment then."""
        end = self.clock + within
        if not self._events or self._events[0][0] > end:
            self.clock = end
            return []
        self.clock, _, host, run, action = heapq.heappop(self._events)
        of = self.simulated[host]
        if of.runs != run:
            return []
        if self._is_dead(of):
            return [(host, Lost(reason="it is dead"))]
        return [(host, message) for message in action()]

    def now(self) -> Second:
        return self.clock

    def forget_head(self) -> None:
        """The head is killed: what hosts do ends, and what they say is heard by nobody."""
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

    def _measure(self, host: str, folder: _Folder, order: Order) -> None:
        """Plan the halves of all turns that are left, and the end."""
        spec = tomllib.loads(order.spec)
        turns, tests = spec["incarnations"], spec["tests"]
        names = [each["contender"] for each in spec["contenders"]]
        manifest, slices = synthetic_experiment(
            names,
            tests,
            clients=spec["clients"],
            incarnations=turns,
            blocks=BLOCKS,
            seed=zlib.crc32(folder.started.encode()),
        )
        manifest.experiment, manifest.started, manifest.finished = (
            spec["name"],
            folder.started,
            None,
        )
        manifest.host["CPU"] = self.simulated[host].cpu
        sent = dict(order.have)
        steps = [f"{test}@{clients}" for test in tests for clients in spec["clients"]]

        def messages() -> list[Message]:
            manifest.turns_done = dict.fromkeys(steps, folder.turns)
            manifest.finished = "2026-01-02T04:00:00Z" if folder.finished else None
            parts: list[Message] = [Part(file=MANIFEST_FILE, content=msgspec.json.encode(manifest))]
            begin = sent.get(SLICES_FILE, 0)
            if new := folder.slices[begin:]:
                parts.append(Part(file=SLICES_FILE, content=new, offset=begin))
                sent[SLICES_FILE] = len(folder.slices)
            return parts

        def half(turn: int, *, second: bool) -> Sequence[Message]:
            if self._is_full(host):
                return [*messages(), Ended(end=End.UNFIT, reason="No space left on device")]
            folder.incarnation += not second
            for record in slices:
                place = record.place
                if place.incarnation == turn and (place.block >= BLOCKS / 2) == second:
                    own = replace(record, place=replace(place, incarnation=folder.incarnation))
                    folder.slices += msgspec.json.encode(own) + b"\n"
            if second:
                folder.turns = turn
                self.measured.update((test, turn) for test in tests)
            return messages()

        def end() -> Sequence[Message]:
            folder.finished = True
            return [*messages(), Ended(end=End.FINISHED)]

        at = 0.0
        length = TURN_S * len(steps) * self.simulated[host].slowness / 2
        for turn in range(folder.turns + 1, turns + 1):
            for second in (False, True):
                at += length
                self._later(host, at, lambda t=turn, s=second: half(t, second=s))  # type: ignore[misc]
        self._later(host, at + 1, end)

    def _is_full(self, host: str) -> bool:
        full = self.simulated[host].full
        return full is not None and full <= self.clock


class Heard:
    """A view that keeps what it was shown."""

    def __init__(self) -> None:
        self.events: list[str] = []
        self.warnings: list[str] = []
        self.overviews: list[Overview] = []

    def event(self, text: str) -> None:
        self.events.append(text)

    def warning(self, text: str) -> None:
        self.warnings.append(text)

    def show(self, overview: Overview) -> None:
        self.overviews.append(overview)
