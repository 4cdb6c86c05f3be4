"""Simulated servers with known capacities and random trials."""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist

from slowdust.store.trial import Trial
from slowdust.studies.capacity.curve import SHARE
from slowdust.studies.capacity.outcome import Outcome, summarize_search
from slowdust.studies.capacity.record import Question, Record
from slowdust.studies.capacity.search import BUDGET, Plan, Search
from slowdust.studies.capacity.sla import KEPT_UP, Sla, parse_sla
from slowdust.units import Second
from tests.unit.synthetic import synthetic_manifest

SLA = parse_sla("p99<5ms")
_P99 = math.log(100)
"""The percentile of exponential waits, in their mean."""


@dataclass(frozen=True)
class Machine:
    """How much a simulated machine disturbs its servers, in standard deviations of ln rate."""

    start: float = 0.02
    """A start of a server."""
    drift: float = 0.1
    """The machine's speed, as long as `memory`."""
    memory: Second = 20.0
    trend: float = 0.0
    """The machine's loss of speed from the first to the last second of 100."""
    noise: float = 0.15
    """The response times of a trial."""
    stalls: float = 0.02
    """Share of the trials with a stall of 100 ms."""


class SimulatedServers:
    """Servers with one queue each: p99 = service (1 + ln 100 load / (1 - load)), and noise."""

    def __init__(
        self,
        services: Mapping[str, Second],
        machine: Machine,
        *,
        seed: int = 0,
        length: Second = 0.5,
        sla: Sla = SLA,
    ) -> None:
        """`services` are the service times of the contenders at the machine's usual speed."""
        self._services = services
        self._machine = machine
        self._length = length
        self._limit = next(term.limit for term in sla.terms if term.name == "p99")
        self._random = random.Random(seed)
        self._drift = self._random.gauss(0, machine.drift)
        self._elapsed = 0.0
        self._starts: dict[str, float] = {}
        self.start_number = 0
        self.lowest = sla.fewest / length
        self.peaks = {name: 1 / service for name, service in services.items()}

    def start(self) -> None:
        """Start all servers once more."""
        self.start_number += 1
        self._starts = {name: self._random.gauss(0, self._machine.start) for name in self._services}

    def capacity(self, name: str) -> float:
        """Return the true capacity of a contender."""
        noise = NormalDist(0, self._machine.noise).inv_cdf(SHARE)
        service = self._services[name]
        waits = (self._limit / service - 1) / (_P99 * math.exp(noise))
        return waits / (1 + waits) / service

    def turn(self, number: int, rates: Mapping[str, float]) -> list[Trial]:
        """Run a trial of each contender."""
        order = list(rates) if number % 2 == 0 else [*rates][::-1]
        return [self._trial(name, number, rates[name]) for name in order]

    def _trial(self, name: str, turn: int, rate: float) -> Trial:
        machine = self._machine
        keeps = math.exp(-self._length / machine.memory)
        self._drift = keeps * self._drift + self._random.gauss(
            0, machine.drift * math.sqrt(1 - keeps**2)
        )
        self._elapsed += self._length
        trend = machine.trend * (0.5 - self._elapsed / 100)
        speed = math.exp(self._drift + trend + self._starts[name])
        service = self._services[name] / speed
        load = rate * service
        took = self._length * max(1.0, load)
        noise = math.exp(self._random.gauss(0, machine.noise))
        p99 = self._length if load >= 1 else service + service * _P99 * load / (1 - load) * noise
        if self._random.random() < machine.stalls:
            p99 += 0.1
        return Trial(
            contender=name,
            start=self.start_number,
            turn=turn,
            rate=rate,
            seconds=self._length,
            took=took,
            operations=round(rate * self._length),
            times={"p50": p99 / 5, "p99": p99},
            kept_up=min(1.0, max(KEPT_UP if load < 1 else 0.0, 1 / load)),
            wall=took + 0.02,
        )


def searched(servers: SimulatedServers, names: list[str], plan: Plan) -> tuple[Search, str]:
    """Search to the end; return the search, and why it ended."""
    search = Search(names, SLA, plan)
    while search.wants_start:
        servers.start()
        run_start(search, servers)
    return search, search.ended or BUDGET


def run_start(search: Search, servers: SimulatedServers) -> list[list[Trial]]:
    """Have the turns of a start that the servers are in; return the trials of each."""
    decided = search.turns(servers.start_number, servers.peaks, servers.lowest)
    had: list[list[Trial]] = []
    wanted = next(decided, None)
    while wanted is not None:
        had.append(servers.turn(*wanted))
        try:
            wanted = decided.send(had[-1])
        except StopIteration:
            wanted = None
    return had


def question_of(
    contenders: Sequence[str],
    *,
    test: str = "point-query",
    precision: float = 0.03,
    trial: Second | None = None,
    **options: object,
) -> Question:
    """Return a question, with the options of an experiment."""
    return Question(
        contenders=[*contenders],
        sla=SLA.written,
        test=test,
        precision=precision,
        arrivals="poisson",
        trial=trial,
        options=options,
    )


SHORT = Plan(20.0, 0.001, starts=1)


def outcome_of_test(
    servers: SimulatedServers, trials: list[Trial] | None = None, plan: Plan = SHORT
) -> Outcome:
    """Return the outcome of a search, a short one unless it has a plan, or of these trials."""
    names = list(servers.peaks)
    if trials is None:
        search, _ = searched(servers, names, plan)
    else:
        search = Search(names, SLA, plan, trials)
    record = Record(question=question_of(names), ended=BUDGET)
    return summarize_search(
        "search",
        record,
        search,
        synthetic_manifest(names, ["point-query"]),
        "slowdust capacity ...",
    )
