"""Cutting an experiment into shards.

A pair never leaves its host: a shard has the base and a group of other contenders, and measures
whole tests. Tests on data that others have aged stay with these, in their order. Contenders share
the memory of a host, so that all groups of an experiment have as many.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from itertools import product

import msgspec

from slowdust.benchmarks.model import Measuring, Test
from slowdust.errors import UsageError
from slowdust.experiment.spec.contenders import ContenderTable, PlannedContender
from slowdust.experiment.spec.spec import Spec
from slowdust.fleet.planning.queue import Shard, makespan
from slowdust.fleet.planning.sizing import EQUAL, Sizing
from slowdust.units import Second

_MOST_PER_HOST = 10
"""Shards of a host at most; each loads its servers anew."""
_LATER = 1.03
"""The end of more shards / the earliest end at which they are preferred: with more of them less is
lost with a host, and a slow one or one that joins late gets its share."""


@dataclass(frozen=True)
class _Unit:
    """Tests that cannot be measured apart from each other."""

    tests: tuple[str, ...]
    clients: tuple[int, ...]
    size: float
    """The share that it has of the budget: 1 is an equal one of a test at one number of clients."""


class Cut(msgspec.Struct, kw_only=True, frozen=True):
    """What a shard measures of an experiment."""

    contenders: list[int]
    """Places among the planned contenders, the base first; empty for all."""
    tests: list[str]
    clients: list[int]

    def words(self) -> str:
        """Return what it measures, briefly: 'scan, 2 other tests; 1, 8 clients'."""
        others = len(self.tests) - 1
        tests = self.tests[0] + (f" and {others} more" if others else "")
        return f"{tests} at {', '.join(map(str, self.clients))}"


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
    sizing: Sizing = EQUAL,
    replicate: int = 1,
) -> tuple[list[Shard], dict[str, Cut]]:
    """Return the shards of an experiment, each of which `replicate` of the hosts measure.

    The most shards are taken that are expected to end hardly later than the best number of them.
    `seconds_of` says what a specification takes on a host.
    """
    seconds: dict[tuple[int, int, int], Second] = {}

    def expected(part: Cut) -> Second:
        shape = (len(part.contenders), len(part.tests), len(part.clients))
        if shape not in seconds:
            seconds[shape] = seconds_of(shard_spec(spec, part, "shard", EQUAL))
        # What is beside the measuring hardly depends on a part's share.
        more = _share(spec, part, sizing) - _share(spec, part, EQUAL)
        return seconds[shape] + spec.budget * more

    ways = [[(part, expected(part)) for part in parts] for parts in _cuts(spec, hosts, sizing)]
    ends = [makespan([size for _, size in way] * replicate, hosts) for way in ways]
    soon = [way for way, end in zip(ways, ends, strict=True) if end <= min(ends) * _LATER]
    most = max(map(len, soon))
    chosen = next(way for way in soon if len(way) == most)
    named = [(f"s{number:03}", *each) for number, each in enumerate(chosen, start=1)]
    shards = [Shard(name=name, seconds=size) for name, _, size in named]
    return shards, {name: part for name, part, _ in named}


def _cuts(spec: Spec, hosts: int, sizing: Sizing) -> list[list[Cut]]:
    """Return ways to cut, from the fewest shards on."""
    units = _units(spec, sizing)
    found = []
    for groups in _groups(spec, 1 if len(units) >= hosts else hosts):
        most = min(len(units), max(1, _MOST_PER_HOST * hosts // len(groups)))
        rounds = (min(most, hosts * each) for each in range(1, _MOST_PER_HOST))
        for number in sorted({1, *rounds, most}):
            merged = _merged(units, number)
            found.append(
                [
                    Cut(contenders=list(g), tests=t, clients=c)
                    for g, (t, c) in product(groups, merged)
                ]
            )
    return found


def _units(spec: Spec, sizing: Sizing) -> list[_Unit]:
    """Return the tests that can be measured apart, at each number of clients where that can be."""
    benchmark = spec.configured_benchmark()
    tests, levels = spec.chosen_tests(), tuple(spec.clients)
    measured = spec.tests_to_measure()

    def unit(of: Sequence[Test], clients: tuple[int, ...]) -> _Unit:
        names = tuple(test.name for test in of)
        return _Unit(names, clients, _size(spec, names, sizing) * len(clients))

    if benchmark.measuring is Measuring.STEPS:
        return [unit(tests, levels)]
    first = next((place for place, test in enumerate(tests) if test.changes_data), len(tests))
    together: list[list[Test]] = []
    for test in tests[:first]:
        if test not in measured:
            continue
        if together and test.curve is not None and together[-1][0].curve == test.curve:
            together[-1].append(test)
        else:
            together.append([test])
    units = [
        unit(group, (clients,))
        for group in together
        for clients in levels
        if any(test.most_clients is None or clients <= test.most_clients for test in group)
    ]
    aged = tests[first:]
    if any(test in measured for test in aged):
        units.append(unit(aged, levels))
    return units


def _size(spec: Spec, tests: Collection[str], sizing: Sizing) -> float:
    """Return the share of those of some tests that are measured, as `Sizing.size`."""
    return sizing.size([test.name for test in spec.tests_to_measure() if test.name in tests])


def _groups(spec: Spec, hosts: int) -> list[list[list[int]]]:
    """Return ways to group the contenders, all in one group first; the base is in each."""
    others = list(range(1, len(spec.planned_contenders())))
    ways: list[list[list[int]]] = [[[]]]
    for number in range(2, len(others) + 1):
        if len(others) % number == 0 and len(ways[-1]) < hosts:
            size = len(others) // number
            ways.append([[0, *others[at : at + size]] for at in range(0, len(others), size)])
    return ways


def _merged(units: Sequence[_Unit], number: int) -> list[tuple[list[str], list[int]]]:
    """Return so many sets of tests at the same numbers of clients, of about equal size.

    Only units at the same numbers of clients are merged, so that there may be more sets.
    """
    by_clients: dict[tuple[int, ...], list[_Unit]] = {}
    for unit in units:
        by_clients.setdefault(unit.clients, []).append(unit)
    total = sum(unit.size for unit in units)
    sets: list[tuple[list[str], list[int]]] = []
    for clients, alike in by_clients.items():
        share = sum(unit.size for unit in alike) / total
        bins: list[list[_Unit]] = [
            [] for _ in range(max(1, min(len(alike), round(number * share))))
        ]
        for unit in sorted(alike, key=lambda each: -each.size):
            min(bins, key=lambda each: sum(unit.size for unit in each)).append(unit)
        order = {name: place for place, unit in enumerate(alike) for name in unit.tests}
        for each in bins:
            names = sorted((name for unit in each for name in unit.tests), key=order.__getitem__)
            sets.append((names, list(clients)))
    return sets


def _share(spec: Spec, part: Cut, sizing: Sizing) -> float:
    """Return the share that a part has of the experiment's budget."""
    planned = len(spec.planned_contenders())
    everything = sizing.size([test.name for test in spec.tests_to_measure()]) * len(spec.clients)
    contenders = len(part.contenders) or planned
    steps = _size(spec, part.tests, sizing) * len(part.clients)
    return steps / everything * contenders / planned


def shard_spec(
    spec: Spec, part: Cut, name: str, sizing: Sizing, *, done: float = 0.0, turns: int = 0
) -> Spec:
    """Return the specification of a shard, whose budget is its share of the experiment's.

    `done` is the share of it that was done elsewhere, `turns` the incarnations that are left then.
    """
    planned = spec.planned_contenders()
    changes: dict[str, object] = {
        "name": name,
        "tests": part.tests,
        "clients": part.clients,
        "only": [test for test in spec.only if test in part.tests],
    }
    if "budget" in spec.model_fields_set or spec.budget_of_steps is None:
        changes["budget"] = spec.budget * _share(spec, part, sizing) * (1 - done)
    if turns:
        changes["incarnations"] = turns
    if part.contenders:
        tables = _tables(planned)
        changes |= {"contenders": [tables[place] for place in part.contenders], "matrix": {}}
    return spec.model_copy(update=changes)


def _tables(planned: Sequence[PlannedContender]) -> list[ContenderTable]:
    """Return planned contenders as tables of their own, with the names that they have together."""
    titles = [contender.title(None) for contender in planned]
    tables = []
    for place, contender in enumerate(planned):
        title, before = titles[place], titles[:place].count(titles[place])
        is_plain = title == contender.name.text and titles.count(title) == 1
        tables.append(
            ContenderTable(
                contender=contender.name.text,
                name=None if is_plain else f"{title}#{before + 1}" if before else title,
                set=dict(contender.set),
            )
        )
    return tables
