"""Cutting an experiment into shards, each measured on one host.

What is compared never leaves its host: a shard has all contenders, and measures whole tests. Tests
on data that others have aged stay with these, in their order.
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
"""Most shards per host; each loads its servers anew."""
_LATER = 1.03
"""Most time of more shards / the shortest time: small shards lose less with a host, and leave work
for a host that joins late."""


class Shard(msgspec.Struct, kw_only=True, frozen=True):
    """A part of an experiment that one host measures."""

    name: str = ""
    seconds: Second = 0.0
    """The time that it is expected to take."""
    tests: list[str]
    clients: list[int]
    only: list[str] = []
    """The tests that are measured; the others age the data. All if it is empty."""
    budget: Second | None = None
    """The share of the experiment's budget; None for long steps without a budget."""
    starts: int | None = None
    """Starts of the servers; None where the benchmark decides."""

    @property
    def what(self) -> str:
        """What it measures: 'scan and 2 more at 1, 8'."""
        others = len(self.tests) - 1
        tests = self.tests[0] + (f" and {others} more" if others else "")
        return f"{tests} at {', '.join(map(str, self.clients))}"


class _Unit(NamedTuple):
    """Tests that must be measured together."""

    tests: tuple[str, ...]
    clients: tuple[int, ...]
    steps: int
    """Tests that are measured, times the numbers of clients."""


def refuse(spec: Spec) -> None:
    """Refuse what a fleet cannot measure.

    Raises:
        UsageError: a calibration, or a server that runs already.
    """
    if spec.is_calibration:
        raise UsageError("--fleet: `slowdust fleet calibrate` calibrates the hosts of a fleet")
    if spec.has_running_servers:
        raise UsageError("--fleet: a server that runs already is measured from one host alone")


def cut(
    spec: Spec,
    hosts: int,
    seconds_of: Callable[[Spec], Second],
    replicate: int = 1,
    first: int = 1,
) -> list[Shard]:
    """Return the shards of an experiment, each of which `replicate` of the hosts measure.

    Of the ways to cut it, the one with the most shards is taken that is expected to end at most 3%
    later than the first. `seconds_of` returns the time of a specification on a host, `first` is the
    number of the first shard.
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
    """Return when the last shard ends, if each host takes the longest that waits.

    `busy` is the time until each host is free.
    """
    free = list(busy)
    heapq.heapify(free)
    for seconds in sorted(waiting, reverse=True):
        heapq.heapreplace(free, free[0] + seconds)
    return max(free)


def _units(spec: Spec) -> list[_Unit]:
    """Return the tests that can be measured apart, at each number of clients where that can be."""
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
    """Yield about `number` shards, each at the same numbers of clients, of about equal size."""
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
    """Return the specification of a shard, as an experiment of a name.

    `done` is the share of the shard that other hosts have measured, `starts` the starts that are
    left then.
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
