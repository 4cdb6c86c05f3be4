"""Call graphs of profiles, whose functions are merged as they are matched."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from typing import NamedTuple

Key = tuple[str, str]
"""Name and object of a function."""


class Counts(NamedTuple):
    """A profile as a call graph."""

    own: Mapping[Key, float]
    """Function -> own cost per operation."""
    calls: Mapping[tuple[Key, Key], float]
    """(Caller, callee) -> calls per operation."""


class Graph:
    """A call graph; a function that calls itself has no call in it."""

    def __init__(self, counts: Counts) -> None:
        self.own = dict(counts.own)
        self.callees: dict[Key, dict[Key, float]] = defaultdict(dict)
        self.callers: dict[Key, dict[Key, float]] = defaultdict(dict)
        for (caller, callee), count in counts.calls.items():
            self._add(caller, callee, count)

    def calls(self, caller: Key, callee: Key) -> float:
        """Return how often a function calls another per operation."""
        return self.callees[caller].get(callee, 0.0) if caller in self.callees else 0.0

    def entries(self, key: Key) -> float:
        """Return how often a function is called per operation."""
        return sum(self.callers[key].values()) if key in self.callers else 0.0

    def merge(self, key: Key, shares: Mapping[Key, float]) -> None:
        """Make a function part of others, whether they are there yet or not."""
        own, callees = self.own.pop(key), self.callees.pop(key, {})
        callers = self.callers.pop(key, {})
        for callee in callees:
            del self.callers[callee][key]
        for caller in callers:
            del self.callees[caller][key]
        for into, share in shares.items():
            self.own[into] = self.own.get(into, 0.0) + share * own
            for callee, count in callees.items():
                self._add(into, callee, share * count)
        if len(shares) == 1:
            [into] = shares
            for caller, count in callers.items():
                self._add(caller, into, count)

    def _add(self, caller: Key, callee: Key, count: float) -> None:
        if caller != callee and count:
            self.callees[caller][callee] = self.callees[caller].get(callee, 0.0) + count
            self.callers[callee][caller] = self.callers[callee].get(caller, 0.0) + count
