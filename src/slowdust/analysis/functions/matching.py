"""Functions that are one code in two profiles though they have other names or places there.

Functions of one name and object are taken as the same, as in the comparison of two binaries by
their call graphs: such fixed points are found first, and from them the other functions by whom
they call and who calls them (Dullien and Rolles 2005, Graph-based comparison of executable objects,
SSTIC). Calls and costs per operation, which a binary alone does not show, make the comparison
sharper (Zhang and Gupta 2005, Matching execution histories of program versions, ESEC/FSE).
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Literal, NamedTuple

Key = tuple[str, str]
"""Name and object of a function."""
Kind = Literal["moved", "renamed", "replaced", "inlined", "split"]
"""What became of a function that one of two profiles lacks.

`moved`: it is in another object; `renamed`: another function has its callers, its callees and its
cost; `replaced`: a function that both have took over its calls; `inlined`: its callers took it in;
`split`: it was a part of its callers.
"""

REDIRECTED = 0.8
"""Least share of a function's calls that its callers make to its counterpart instead."""
TAKEN_OVER = 0.5
"""Least share of its own cost, and of its calls of others, that its counterpart has more."""
ALL_CALLS = 0.8
"""Least share of its calls of others that tells that its callers have its code, whatever it costs
them."""
KNOWN = 0.8
"""Least share of its calls that come from functions of both profiles."""
SAME_SIZE = 0.8
"""Least ratio of the costs per call of functions that have no other likeness than their callers."""
LIKE_NAMES = 0.6
"""Least likeness of two names that tells as much as a size."""
_WORD = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")


class Counts(NamedTuple):
    """A profile as a call graph."""

    own: Mapping[Key, float]
    """Function -> own cost per operation."""
    calls: Mapping[tuple[Key, Key], float]
    """(Caller, callee) -> calls per operation."""


class Part(NamedTuple):
    """A function, or a share of it, that is counted with its counterpart."""

    function: Key
    kind: Kind
    is_base: bool
    """Whether the base has the function, else the contender."""
    own: float


class Matched(NamedTuple):
    """Two profiles whose matched functions are counted with their counterparts."""

    base: Mapping[Key, float]
    """Function -> own cost, with the parts that the base has."""
    contender: Mapping[Key, float]
    parts: Mapping[Key, Sequence[Part]]
    """Function -> all that is counted with it."""
    near: Mapping[Key, float]
    """Function -> own costs of the functions of the other side that have no counterpart and share
    callers with it, or call it, or are called by it: its change may be theirs."""


def match_functions(base: Counts, contender: Counts, nameless: Set[str]) -> Matched:
    """Match the functions that only one of two profiles has.

    A function of several callers that was inlined or split is shared out among them in proportion
    to their calls. Functions whose names are in `nameless` stand for many, and are not matched.
    """
    matching = _Matching(_Graph(base), _Graph(contender), nameless)
    matching.run()
    return matching.result()


class _Graph:
    """A call graph whose functions are merged as they are matched."""

    def __init__(self, counts: Counts) -> None:
        self.own = dict(counts.own)
        self.callees: dict[Key, dict[Key, float]] = defaultdict(dict)
        self.callers: dict[Key, dict[Key, float]] = defaultdict(dict)
        for (caller, callee), count in counts.calls.items():
            self._add(caller, callee, count)

    def calls(self, caller: Key, callee: Key) -> float:
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
        if caller != callee:
            self.callees[caller][callee] = self.callees[caller].get(callee, 0.0) + count
            self.callers[callee][caller] = self.callers[callee].get(caller, 0.0) + count


class _Candidate(NamedTuple):
    """What may have become of a function."""

    score: float
    kind: Kind
    shares: Mapping[Key, float]


class _Matching:
    def __init__(self, base: _Graph, contender: _Graph, nameless: Set[str]) -> None:
        self._base, self._contender = base, contender
        self._nameless = nameless
        self._parts: dict[Key, list[Part]] = defaultdict(list)

    def run(self) -> None:
        self._match_moved()
        while self._match_some():
            pass

    def result(self) -> Matched:
        return Matched(self._base.own, self._contender.own, self._parts, self._near())

    def _only(self, here: _Graph, there: _Graph) -> list[Key]:
        return sorted(
            key for key in here.own if key not in there.own and key[0] not in self._nameless
        )

    def _match_moved(self) -> None:
        went = _by_name(self._only(self._base, self._contender))
        came = _by_name(self._only(self._contender, self._base))
        for name in sorted(went.keys() & came.keys()):
            if len(went[name]) == len(came[name]) == 1:
                self._accept(self._base, went[name][0], "moved", {came[name][0]: 1.0})

    def _match_some(self) -> bool:
        """Match functions whose callers are known by now; return whether there were any.

        The surest are matched first, and what they leave is looked at again.
        """
        pairs = (self._base, self._contender), (self._contender, self._base)
        found = [
            (candidate.score, function, here, there)
            for here, there in pairs
            for function in self._only(here, there)
            if (candidate := self._best(function, here, there)) is not None
        ]
        matched = False
        for _, function, here, there in sorted(found, key=lambda each: (-each[0], each[1])):
            if function in there.own or function not in here.own:
                continue  # it is the counterpart of one before it
            candidate = self._best(function, here, there)
            if candidate is not None:
                self._accept(here, function, candidate.kind, candidate.shares)
                matched = True
        return matched

    def _accept(
        self, here: _Graph, function: Key, kind: Kind, shares: Mapping[Key, float]
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

    def _best(self, function: Key, here: _Graph, there: _Graph) -> _Candidate | None:
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
        self, function: Key, callers: Mapping[Key, float], here: _Graph, there: _Graph
    ) -> Iterator[_Candidate]:
        """Yield that a function's callers have its code there."""
        if any(caller[0] in self._nameless for caller in callers):
            return
        own, entries = here.own[function], sum(callers.values())
        shares = {caller: count / entries for caller, count in callers.items()}
        cost = sum(
            min(share * own, max(0.0, there.own[caller] - here.own.get(caller, 0.0)))
            for caller, share in shares.items()
        )
        likeness = _likeness_of_callees(function, callers, here, there)
        is_sure = cost >= TAKEN_OVER * own if likeness is None else likeness >= ALL_CALLS or (
            likeness >= TAKEN_OVER and cost >= TAKEN_OVER * own)
        if is_sure:
            kind: Kind = "inlined" if here is self._base else "split"
            score = 0.7 * max(cost / own, 0.3) * (0.7 if likeness is None else likeness)
            yield _Candidate(score, kind, shares)

    def _taken_over(
        self, function: Key, callers: Mapping[Key, float], here: _Graph, there: _Graph
    ) -> Iterator[_Candidate]:
        """Yield the functions that the callers call instead."""
        others = {other for caller in callers for other in there.callees.get(caller, {})}
        for other in sorted(others - callers.keys() - {function}):
            if other[0] in self._nameless or other not in there.own:
                continue
            gained = sum(
                min(count, max(0.0, there.calls(caller, other) - here.calls(caller, other)))
                for caller, count in callers.items()
            )
            redirected = gained / sum(callers.values())
            callees = _likeness_of_callees(function, [other], here, there)
            if redirected < REDIRECTED or (callees is not None and callees < TAKEN_OVER):
                continue
            names = _likeness_of_names(function, other)
            if other in here.own:
                size = max(0.0, there.own[other] - here.own[other]) / here.own[function]
                is_sure = size >= TAKEN_OVER and (callees is not None or names >= LIKE_NAMES)
                kind: Kind = "replaced" if here is self._base else "split"
            else:
                size = _ratio(here.own[function], there.own[other])
                is_only = gained >= REDIRECTED * there.entries(other)
                is_sure = names >= LIKE_NAMES or (
                    is_only
                    and function[1] == other[1]
                    and size >= (SAME_SIZE if callees is None else TAKEN_OVER)
                )
                kind = "renamed"
            if is_sure:
                likeness = (0.7 if callees is None else callees) * (0.5 + names / 2)
                yield _Candidate(redirected * min(size, 1.0) * likeness, kind, {other: 1.0})

    def _near(self) -> dict[Key, float]:
        near: dict[Key, float] = {}
        return near


def _likeness_of_callees(
    function: Key, counterparts: Mapping[Key, float] | Sequence[Key], here: _Graph, there: _Graph
) -> float | None:
    """Return the share of a function's calls that its counterparts make more of there.

    None of a function that calls nothing that both profiles have.
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
            sum(max(0.0, there.calls(each, callee) - here.calls(each, callee)) for each in counterparts),
        )
        for callee, count in callees.items()
    )
    return taken / sum(callees.values())


def _likeness_of_names(one: Key, other: Key) -> float:
    """Return the share of words that two names have in common (Dice coefficient)."""
    words, others = _words(one[0]), _words(other[0])
    return 2 * len(words & others) / (len(words) + len(others)) if words and others else 0.0


def _words(name: str) -> set[str]:
    return {word.lower() for word in _WORD.findall(name)}


def _ratio(one: float, other: float) -> float:
    return min(one, other) / max(one, other) if max(one, other) else 1.0


def _by_name(keys: Sequence[Key]) -> dict[str, list[Key]]:
    by_name: dict[str, list[Key]] = defaultdict(list)
    for key in keys:
        by_name[key[0]].append(key)
    return by_name
