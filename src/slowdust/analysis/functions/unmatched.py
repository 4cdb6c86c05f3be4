"""Functions without counterpart, and the functions near them whose changes may be their code."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence, Set

from slowdust.analysis.functions.graph import Graph, Key

GOOD_CALLER = 0.1
"""Share of a function's calls from which its caller may have given code to it."""


def only(here: Graph, there: Graph, nameless: Set[str]) -> list[Key]:
    """Return the functions with names that only the first of two graphs has, sorted."""
    return sorted(key for key in here.own if key not in there.own and key[0] not in nameless)


def elsewhere(base: Graph, contender: Graph, nameless: Set[str]) -> dict[Key, float]:
    """Return function whose cost changed -> cost, on the other side, that may be its code.

    It is that of functions without counterpart near it in the call graph, and of `nameless` ones,
    which stand for many.
    """
    went = _Unmatched(base, only(base, contender, nameless))
    came = _Unmatched(contender, only(contender, base, nameless))
    costs = {}
    for key in base.own.keys() | contender.own.keys():
        change = contender.own.get(key, 0.0) - base.own.get(key, 0.0)
        here, unmatched = (contender, went) if change > 0 else (base, came)
        if change:
            suspects = {each for each in _neighbours(key, base, contender) if each[0] in nameless}
            callers = here.callers.get(key, {})
            if key not in base.own or key not in contender.own:
                # Its code was its callers', or it has no name there.
                suspects.update(callers, ((name, key[1]) for name in nameless))
            changes = (contender.own.get(each, 0.0) - base.own.get(each, 0.0) for each in suspects)
            against = math.fsum(abs(each) for each in changes if each * change < 0)
            costs[key] = unmatched.near(key, callers) + against
    return costs


def _neighbours(key: Key, *graphs: Graph) -> set[Key]:
    return {
        each
        for graph in graphs
        for neighbours in (graph.callers, graph.callees)
        for each in neighbours.get(key, {})
    }


class _Unmatched:
    """Functions of one profile without counterpart; those that call each other are together."""

    def __init__(self, graph: Graph, functions: Sequence[Key]) -> None:
        self._graph = graph
        self._groups = [*_connected(graph, set(functions))]
        self._by_neighbour: dict[Key, set[int]] = defaultdict(set)
        self._by_caller: dict[Key, set[int]] = defaultdict(set)
        for number, group in enumerate(self._groups):
            for function in group:
                for caller in graph.callers.get(function, {}):
                    self._by_neighbour[caller].add(number)
                    self._by_caller[caller].add(number)
                for callee, count in graph.callees.get(function, {}).items():
                    if count >= GOOD_CALLER * graph.entries(callee):
                        self._by_neighbour[callee].add(number)

    def near(self, key: Key, callers: Iterable[Key]) -> float:
        """Return the own costs of the groups near a function that has these callers."""
        near = self._by_neighbour.get(key, set()).union(
            *(self._by_caller.get(caller, set()) for caller in callers)
        )
        return math.fsum(self._graph.own[each] for number in near for each in self._groups[number])


def _connected(graph: Graph, functions: set[Key]) -> Iterator[list[Key]]:
    """Yield the functions in groups that are connected by calls among them."""
    left = set(functions)
    while left:
        group = [left.pop()]
        for function in group:
            neighbours = (
                graph.callers.get(function, {}).keys() | graph.callees.get(function, {}).keys()
            )
            found = neighbours & left
            left -= found
            group += found
        yield group
