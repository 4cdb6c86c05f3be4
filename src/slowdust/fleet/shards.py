"""Splitting an experiment into shards, each measured on one host.

A comparison never spans hosts: a shard has all contenders, and measures whole tests. Tests on aged
data stay together with the tests that age it, in order.
"""

from __future__ import annotations

import heapq
from collections.abc import Callable, Collection, Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

import msgspec

from slowdust.benchmarks.model import Measuring, Test
from slowdust.errors import UsageError
from slowdust.experiment.spec.spec import Spec
from slowdust.units import Second

_MOST_PER_HOST = 10
"""Maximum number of shards per host; each starts and loads its servers."""
_LATER = 1.03
"""Largest acceptable duration with more shards, relative to the shortest: small shards lose less
with a host, and leave work for hosts that join late."""


class Shard(msgspec.Struct, kw_only=True, frozen=True):
    """A part of an experiment that one host measures."""

    name: str = ""
    seconds: Second = 0.0
    """The expected duration."""
    tests: list[str]
    clients: list[int]
    only: list[str] = []
    """The tests to measure; other tests age the data. All if it is empty."""
    budget: Second | None = None
    """The share of the experiment's budget; None for long steps without a budget."""
    starts: int | None = None
    """Starts of the servers; None if the benchmark decides."""

    @property
    def what(self) -> str:
        """The tests and clients: 'scan and 2 more at 1, 8'."""
        others = len(self.tests) - 1
        tests = self.tests[0] + (f" and {others} more" if others else "")
        return f"{tests} at {', '.join(map(str, self.clients))}"


class _Unit(NamedTuple):
    """Tests that must be measured together."""

    tests: tuple[str, ...]
    clients: tuple[int, ...]
    steps: int
    """Measured tests times numbers of clients."""


def refuse(spec: Spec) -> None:
    """Refuse experiments that a fleet cannot measure.

    Raises:
        UsageError: a calibration, or a running server.
    """
    if spec.is_calibration:
        raise UsageError("--fleet: `slowdust fleet calibrate` calibrates the hosts of a fleet")
    if spec.has_running_servers:
        raise UsageError("--fleet: a running server can be measured from one host only")


def cut(
    spec: Spec,
    hosts: int,
    seconds_of: Callable[[Spec], Second],
    replicate: int = 1,
    first: int = 1,
) -> list[Shard]:
    """Return the shards of an experiment; `replicate` of the hosts measure each.

    Among the ways to split it, the one with the most shards is chosen that is expected to finish at
    most 3% later than the fastest. `seconds_of` returns the duration of a specification on a host,
    `first` is the number of the first shard.
    """
    known: dict[tuple[int, int], Second] = {}

    def timed(shard: Shard) -> Shard:
        shape = (len(shard.tests), len(shard.clients))
        if shape not in known:
            known[shape] = seconds_of(shard_spec(spec, shard, "shard"))
        return msgspec.structs.replace(shard, seconds=known[shape])

    units = _units(spec)
    most = min(len(units), _MOST_PER_HOST * hosts)
    rounds = (min(most, hosts * each) for each in range(1, _MOST_PER_HOST))
    ways = []
    for number in sorted({1, *rounds, most}):
        way = [timed(shard) for shard in _merged(spec, units, number)]
        end = time_to_end([shard.seconds for shard in way] * replicate, [0.0] * hosts)
        ways.append((end, way))
    soonest = min(end for end, _ in ways)
    chosen = max((way for end, way in ways if end <= soonest * _LATER), key=len)
    return [
        msgspec.structs.replace(shard, name=f"s{number:03}")
        for number, shard in enumerate(chosen, first)
    ]


def time_to_end(waiting: Collection[Second], busy: Sequence[Second]) -> Second:
    """Return the time until the last shard finishes, if each host takes the longest waiting one.

    `busy` is the time until each host is free.
    """
    free = list(busy)
    heapq.heapify(free)
    for seconds in sorted(waiting, reverse=True):
        heapq.heapreplace(free, free[0] + seconds)
    return max(free)


def _units(spec: Spec) -> list[_Unit]:
    """Return the tests that can be measured separately, at each number of clients if possible."""
    tests, levels = spec.chosen_tests(), tuple(spec.clients)
    measured = spec.tests_to_measure()

    def unit(of: Collection[Test], clients: tuple[int, ...]) -> _Unit:
        steps = sum(test in measured for test in of) * len(clients)
        return _Unit(tuple(test.name for test in of), clients, steps)

    if spec.configured_benchmark().measuring is Measuring.STEPS:
        return [unit(tests, levels)]
    first = next((place for place, test in enumerate(tests) if test.changes_data), len(tests))
    reading = [test for test in tests[:first] if test in measured]
    units = [
        unit(group, (clients,))
        for _, curve in groupby(reading, key=lambda test: test.curve or test.name)
        for group in [list(curve)]
        for clients in levels
        if any(test.most_clients is None or clients <= test.most_clients for test in group)
    ]
    aged = tests[first:]
    return [*units, unit(aged, levels)] if any(test in measured for test in aged) else units


def _merged(spec: Spec, units: Sequence[_Unit], number: int) -> Iterator[Shard]:
    """Yield about `number` shards of about equal size, each at one set of numbers of clients."""
    by_clients: dict[tuple[int, ...], list[_Unit]] = {}
    for unit in units:
        by_clients.setdefault(unit.clients, []).append(unit)
    total = sum(unit.steps for unit in units)
    measured = len(spec.tests_to_measure()) * len(spec.clients)
    has_budget = "budget" in spec.model_fields_set or spec.budget_of_steps is None
    for clients, alike in by_clients.items():
        share = sum(unit.steps for unit in alike) / total
        wanted = max(1, min(len(alike), round(number * share)))
        bins: list[list[_Unit]] = [[] for _ in range(wanted)]
        for unit in sorted(alike, key=lambda each: -each.steps):
            min(bins, key=lambda each: sum(unit.steps for unit in each)).append(unit)
        for each in bins:
            ordered = sorted(each, key=alike.index)
            tests = [name for unit in ordered for name in unit.tests]
            steps = sum(unit.steps for unit in ordered)
            yield Shard(
                tests=tests,
                clients=list(clients),
                only=[test for test in spec.only if test in tests],
                budget=spec.budget * (steps / measured) if has_budget else None,
                starts=spec.incarnations,
            )


def shard_spec(
    spec: Spec, shard: Shard, name: str, *, done: float = 0.0, starts: int | None = None
) -> Spec:
    """Return the specification of a shard, as an experiment with this name.

    `done` is the share of the shard that other hosts have measured, `starts` the number of
    remaining starts.
    """
    changes: dict[str, object] = {
        "name": name,
        "tests": shard.tests,
        "clients": shard.clients,
        "only": shard.only,
        "incarnations": starts or shard.starts,
    }
    if shard.budget is not None:
        changes["budget"] = shard.budget * (1 - done)
    return spec.model_copy(update=changes)
