"""Match functions of two profiles that are the same code under other names or in other places.

Functions with the same name and object are assumed to be the same. As in the comparison of two
binaries by their call graphs, such fixed points are found first, and other functions are matched by
their callers and callees (Dullien and Rolles 2005, Graph-based comparison of executable objects,
SSTIC). Calls and costs per operation, which a binary alone does not have, make the comparison more
precise (Zhang and Gupta 2005, Matching execution histories of program versions, ESEC/FSE).
"""

from __future__ import annotations

import math
import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from operator import itemgetter
from typing import NamedTuple

from slowdust.analysis.functions.model import MatchKind
from slowdust.units import grouped

Key = tuple[str, str]
"""Name and object of a function."""
REDIRECTED = 0.8
"""Smallest share of a function's calls that its callers make to its counterpart instead."""
TAKEN_OVER = 0.5
"""Smallest increase of its counterpart's own cost, and calls, as a share of the function's."""
ALL_CALLS = 0.8
"""Smallest share of a function's calls, taken over by its callers, that proves inlining at any
cost."""
KNOWN = 0.5
"""Smallest share of a function's calls that come from functions in both profiles."""
SAME_COST = 0.8
"""Smallest ratio of the costs of functions that are similar only in their callers."""
LIKE_NAMES = 0.6
"""Smallest similarity of two names that is as much evidence as a similar cost."""
_LAST = 0.1
"""Factor for the score of a match by names and callers only, as if one function replaced many: such
matches come last."""
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
GOOD_CALLER = 0.1
"""Smallest share of a function's calls by a caller that may have given code to it."""


class Counts(NamedTuple):
    """A profile as a call graph."""

    own: Mapping[Key, float]
    """Function -> own cost per operation."""
    calls: Mapping[tuple[Key, Key], float]
    """(Caller, callee) -> calls per operation."""


class Graph:
    """A call graph without calls of a function by itself."""

    def __init__(self, counts: Counts) -> None:
        self.own = dict(counts.own)
        self.callees: dict[Key, dict[Key, float]] = defaultdict(dict)
        self.callers: dict[Key, dict[Key, float]] = defaultdict(dict)
        for (caller, callee), count in counts.calls.items():
            self._add(caller, callee, count)

    def calls(self, caller: Key, callee: Key) -> float:
        """Return the number of calls per operation."""
        return self.callees[caller].get(callee, 0.0) if caller in self.callees else 0.0

    def entries(self, key: Key) -> float:
        """Return how often a function is called per operation."""
        return sum(self.callers[key].values()) if key in self.callers else 0.0

    def merge(self, key: Key, shares: Mapping[Key, float]) -> None:
        """Make a function part of others, which may be new."""
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


class Part(NamedTuple):
    """A function of one profile, or a share of it, that is counted with its counterpart."""

    function: Key
    kind: MatchKind
    is_base: bool
    own: float


class Matched(NamedTuple):
    """Two profiles whose matched functions are counted with their counterparts."""

    base: Mapping[Key, float]
    """Function -> own cost, including its parts."""
    contender: Mapping[Key, float]
    parts: Mapping[Key, Sequence[Part]]
    """Function -> the parts counted with it."""
    elsewhere: Mapping[Key, float]
    """Function whose cost changed -> own costs of functions without a counterpart that may have
    received code from it, or given code to it: its callers and callees, and functions with a common
    caller."""

    @property
    def functions(self) -> int:
        """Number of functions that are counted with others."""
        return len({(part.function, part.is_base) for each in self.parts.values() for part in each})


def match_functions(base: Counts, contender: Counts, nameless: Set[str]) -> Matched:
    """Match the functions that only one of two profiles has.

    A function with several callers that was inlined or split is divided among them in proportion to
    their calls. Functions with names in `nameless` stand for several, and are not matched.
    """
    matching = _Matching(Graph(base), Graph(contender), nameless)
    matching.run()
    return matching.result()


class _Candidate(NamedTuple):
    """A possible match of a function."""

    score: float
    kind: MatchKind
    shares: Mapping[Key, float]


class _Matching:
    def __init__(self, base: Graph, contender: Graph, nameless: Set[str]) -> None:
        self._base, self._contender = base, contender
        self._nameless = nameless
        self._names = _Names(base.own.keys() | contender.own.keys())
        self._parts: dict[Key, list[Part]] = defaultdict(list)

    def run(self) -> None:
        self._match_moved()
        while self._match_some():
            pass

    def result(self) -> Matched:
        return Matched(
            self._base.own,
            self._contender.own,
            self._parts,
            elsewhere(self._base, self._contender, self._nameless),
        )

    def _match_moved(self) -> None:
        went = grouped(only(self._base, self._contender, self._nameless), itemgetter(0))
        came = grouped(only(self._contender, self._base, self._nameless), itemgetter(0))
        for name in sorted(went.keys() & came.keys()):
            if len(went[name]) == len(came[name]) == 1:
                self._accept(self._base, went[name][0], "moved", {came[name][0]: 1.0})

    def _match_some(self) -> bool:
        """Match functions whose callers are known; return whether there were any.

        The best matches are made first; then the others are evaluated again.
        """
        pairs = (self._base, self._contender), (self._contender, self._base)
        found = [
            (candidate.score, function, here, there)
            for here, there in pairs
            for function in only(here, there, self._nameless)
            if (candidate := self._best(function, here, there)) is not None
        ]
        surest = max((score for score, *_ in found), default=0.0)
        matched = False
        for score, function, here, there in sorted(found, key=lambda each: (-each[0], each[1])):
            if score < surest / 2 or function in there.own or function not in here.own:
                continue  # postponed, or matched meanwhile
            candidate = self._best(function, here, there)
            if candidate is not None:
                self._accept(here, function, candidate.kind, candidate.shares)
                matched = True
        return matched

    def _accept(
        self, here: Graph, function: Key, kind: MatchKind, shares: Mapping[Key, float]
    ) -> None:
        if kind == "renamed" and here is self._contender:  # rows have the contender's names
            [old] = shares
            here, function, shares = self._base, old, {function: 1.0}
        own = here.own[function]
        inner = self._parts.pop(function, [])
        for into, share in shares.items():
            self._parts[into].append(Part(function, kind, here is self._base, share * own))
            for part in inner:
                self._parts[into].append(part._replace(own=share * part.own))
        here.merge(function, shares)

    def _best(self, function: Key, here: Graph, there: Graph) -> _Candidate | None:
        callers = {
            caller: count
            for caller, count in here.callers.get(function, {}).items()
            if caller in there.own and count
        }
        known, entries = sum(callers.values()), here.entries(function)
        if not known or known < KNOWN * entries or not here.own[function]:
            return None
        candidates = [
            *self._absorbed(function, callers, here, there),
            *self._taken_over(function, callers, here, there),
        ]
        return max(candidates, key=lambda each: each.score, default=None)

    def _absorbed(
        self, function: Key, callers: Mapping[Key, float], here: Graph, there: Graph
    ) -> Iterator[_Candidate]:
        """Yield the match that the function's callers contain its code in the other profile."""
        if any(caller[0] in self._nameless for caller in callers):
            return
        own, entries = here.own[function], sum(callers.values())
        shares = {caller: count / entries for caller, count in callers.items()}
        cost = sum(
            min(share * own, max(0.0, there.own[caller] - here.own.get(caller, 0.0)))
            for caller, share in shares.items()
        )
        likeness = _likeness_of_callees(function, callers, here, there)
        is_sure = (
            cost >= TAKEN_OVER * own
            if likeness is None
            else likeness >= ALL_CALLS or (likeness >= TAKEN_OVER and cost >= TAKEN_OVER * own)
        )
        if is_sure:
            kind: MatchKind = "inlined" if here is self._base else "split"
            score = 0.7 * max(cost / own, 0.3) * (0.7 if likeness is None else likeness)
            yield _Candidate(score, kind, shares)

    def _taken_over(
        self, function: Key, callers: Mapping[Key, float], here: Graph, there: Graph
    ) -> Iterator[_Candidate]:
        """Yield matches with functions that the callers call instead."""
        calls = sum(callers.values())
        known = calls / here.entries(function)
        others = {other for caller in callers for other in there.callees.get(caller, {})}
        for other in sorted(others - callers.keys() - {function}):
            if other[0] in self._nameless or other not in there.own:
                continue
            gained = sum(
                min(count, max(0.0, there.calls(caller, other) - here.calls(caller, other)))
                for caller, count in callers.items()
            )
            redirected = gained / calls
            callees = _likeness_of_callees(function, [other], here, there)
            if redirected < REDIRECTED or (callees is not None and callees < TAKEN_OVER):
                continue
            old_own = here.own.get(other, 0.0)
            cost = _ratio(here.own[function], max(0.0, there.own[other] - old_own))
            new_calls = known * (there.entries(other) - here.entries(other))
            is_only = gained >= REDIRECTED * new_calls and function[1] == other[1]
            is_both = other in here.own
            kind: MatchKind = "replaced" if is_both else "renamed"
            names = self._names.likeness(function, other)
            likeness = (0.7 if callees is None else callees) * (0.5 + names / 2)
            if self._may_be_nameless(function, here, there) and names < LIKE_NAMES:
                continue
            if (
                is_only and cost >= SAME_COST
                if callees is None
                else (is_only or is_both) and cost >= TAKEN_OVER
            ):
                yield _Candidate(redirected * cost * likeness, kind, {other: 1.0})
            elif names >= LIKE_NAMES and self._may_be_part(function, other, here, there):
                yield _Candidate(_LAST * redirected * likeness, kind, {other: 1.0})

    def _may_be_nameless(self, function: Key, here: Graph, there: Graph) -> bool:
        pools = ((name, function[1]) for name in self._nameless)
        gain = sum(there.own.get(each, 0.0) - here.own.get(each, 0.0) for each in pools)
        return gain >= here.own[function]

    def _may_be_part(self, function: Key, other: Key, here: Graph, there: Graph) -> bool:
        if other in here.own:
            return there.own[other] > here.own[other]
        old, new = here.own[function], there.own[other]
        if here is self._contender:
            old, new = new, old
        return old * TAKEN_OVER <= new


def _likeness_of_callees(
    function: Key, counterparts: Mapping[Key, float] | Sequence[Key], here: Graph, there: Graph
) -> float | None:
    """Return the increase of the counterparts' calls, as a share of a function's calls.

    None for a function without callees in both profiles.
    """
    callees = {
        callee: count
        for callee, count in here.callees.get(function, {}).items()
        if callee in there.own
    }
    if not callees:
        return None
    taken = sum(
        min(
            count,
            sum(
                max(0.0, there.calls(each, callee) - here.calls(each, callee))
                for each in counterparts
            ),
        )
        for callee, count in callees.items()
    )
    return taken / sum(callees.values())


class _Names:
    """Names as sets of words, weighted by rarity."""

    def __init__(self, functions: Set[Key]) -> None:
        self._words = {key: frozenset(map(str.lower, _WORD.findall(key[0]))) for key in functions}
        having = Counter(word for words in self._words.values() for word in words)
        self._weights = {word: math.log(len(functions) / count) for word, count in having.items()}

    def likeness(self, one: Key, other: Key) -> float:
        """Return the weight of common words relative to all words (Dice coefficient)."""
        words, others = self._words[one], self._words[other]
        whole = self._weight(words) + self._weight(others)
        return 2 * self._weight(words & others) / whole if whole else 0.0

    def _weight(self, words: Set[str]) -> float:
        return math.fsum(self._weights[word] for word in words)


def _ratio(one: float, other: float) -> float:
    return min(one, other) / max(one, other) if max(one, other) else 1.0


def only(here: Graph, there: Graph, nameless: Set[str]) -> list[Key]:
    """Return the named functions that only the first of two graphs has, sorted."""
    return sorted(key for key in here.own if key not in there.own and key[0] not in nameless)


def elsewhere(base: Graph, contender: Graph, nameless: Set[str]) -> dict[Key, float]:
    """Return function whose cost changed -> cost on the other side that may be its code.

    It is the cost of functions without a counterpart near it in the call graph, and of `nameless`
    functions, which stand for several.
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
                # Its code may have been its callers', or nameless.
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
    """Functions of one profile without a counterpart, grouped by calls among them."""

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
        """Return the own costs of the groups near a function with these callers."""
        near = self._by_neighbour.get(key, set()).union(
            *(self._by_caller.get(caller, set()) for caller in callers)
        )
        return math.fsum(self._graph.own[each] for number in near for each in self._groups[number])


def _connected(graph: Graph, functions: set[Key]) -> Iterator[list[Key]]:
    """Yield the functions in groups that are connected by calls."""
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
