"""Function names as profilers print them, and the call graphs of profiles."""

from __future__ import annotations

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from slowdust.store.profile import Calls, FunctionCost, calls_between

NO_SYMBOLS = "(no symbols)"
"""Name for all functions without a symbol in an object."""
SMALLEST_SHARE = 0.0001
"""Share of the whole cost below which a call stack is cut and its cost added to its caller's."""
_DIGITS = 5
"""Significant digits of numbers of calls; few digits make stored profiles smaller."""
LEAST_OF_OBJECT = 0.001
"""Share of the whole cost below which an object without symbols is not reported."""
_CLONE = re.compile(
    r"""(?:
        \s\[clone\s[^\]]*\]                                   # as a demangler prints the others
      | \.(?:part|constprop|isra|lto_priv|llvm|cold)(?:\.\d+)*
      | @@?[A-Za-z_][\w.]*                                    # version of a symbol: @@GLIBC_2.34
    )+$""",
    re.VERBOSE,
)
_QUALIFIERS = frozenset({"", " const", " &", " &&", " const &", " const &&", " volatile"})
_ADDRESS = re.compile(r"0x[0-9a-f]+$|\?\?\?$|\[unknown\]$")


def folded_name(name: str) -> str:
    """Return a function's name without the suffixes that compilers append to clones.

    `f.part.0`, `f.constprop.1.isra.0`, `f.cold` and `f() [clone .part.0]` become `f` or `f()`.
    """
    return _CLONE.sub("", name)


def plain_name(name: str) -> str:
    """Return a demangled C++ name without return type and parameters; other names unchanged.

    A function keeps this name if its parameters change, and overloaded functions share it: 'bool
    T::f<int>(int) const' becomes 'T::f<int>'.
    """
    end = name.rfind(")")
    if end < 0 or name[end + 1 :] not in _QUALIFIERS:
        return name
    depth, start = 1, end
    while depth and start >= 0:  # to the matching opening parenthesis
        start -= 1
        depth += (name[start : start + 1] == ")") - (name[start : start + 1] == "(")
    if start <= 0 or name[:start].endswith("operator"):
        return name
    inner = name[:start]
    if "operator" in inner:
        return inner
    depth, last = 0, -1
    for position, letter in enumerate(inner):
        depth += (letter in "<({[") - (letter in ">)}]")
        if letter == " " and depth == 0:
            last = position
    return inner[last + 1 :]


def has_name(name: str) -> bool:
    """Return whether a function has a name instead of an address or `???`."""
    return _ADDRESS.match(name) is None


def object_name(path: str) -> str:
    """Return the file name of an object, without directories: 'libc.so.6' for '/usr/lib/libc.so.6'.

    `???`, which stands for code outside of files, is unchanged.
    """
    return path.rsplit("/", 1)[-1] or "???"


class Function(NamedTuple):
    """A function at one level of recursion."""

    name: str
    """Name, including parameters if demangled; the address if there is no symbol."""
    object: str
    level: int
    """1, or 2 if the function is already running in an outer call."""

    @property
    def shown(self) -> tuple[str, str]:
        """The name and the object under which it is counted."""
        return (plain_name(self.name) if has_name(self.name) else NO_SYMBOLS), self.object

    @property
    def frame(self) -> str:
        """The function as a frame of a call stack; without a name, the object's name."""
        name = plain_name(self.name) if has_name(self.name) else f"[{self.object}]"
        return name.replace(";", ",")


@dataclass
class CallGraph:
    """Own costs of functions, and inclusive costs of calls by caller and callee."""

    own: dict[Function, int] = field(default_factory=lambda: defaultdict(int))
    calls: dict[Function, dict[Function, int]] = field(default_factory=lambda: defaultdict(dict))
    counts: Counter[tuple[Function, Function]] = field(default_factory=Counter)
    """(Caller, callee) -> number of calls."""
    hidden: set[Function] = field(default_factory=set)
    """Functions that are not shown; their callees are attributed to their callers."""

    def add_calls(self, caller: Function, callee: Function, count: int, cost: int) -> None:
        """Add calls of a callee by a caller, with their inclusive cost."""
        calls = self.calls[caller]
        calls[callee] = calls.get(callee, 0) + cost
        self.counts[caller, callee] += count

    def exclude(self, unwanted: Callable[[Function], bool]) -> None:
        """Hide functions and their own costs; their callees stay."""
        self.hidden = {function for function in self._all() if unwanted(function)}

    @property
    def total(self) -> int:
        """The cost of all functions that are not hidden."""
        return sum(cost for function, cost in self.own.items() if function not in self.hidden)

    def functions(self, operations: int) -> list[FunctionCost]:
        """Return all functions per operation, the largest own cost first.

        Levels of recursion are one function, with the inclusive cost of the outermost level, which
        contains the others. If several functions are counted under one name, it is the cost
        of the call stacks with any of them (see `stacks`).
        """
        shown: dict[tuple[str, str], list[Function]] = defaultdict(list)
        for function in self._all() - self.hidden:
            shown[function.shown].append(function)
        walk = self._walk()
        costs = []
        for key, functions in shown.items():
            own = sum(self.own.get(function, 0) for function in functions)
            outermost = min(function.level for function in functions)
            first, *others = (each for each in functions if each.level == outermost)
            inclusive = walk.inclusive[key] if others else self._inclusive(first)
            inclusive = min(max(inclusive, own), self.total)
            costs.append(FunctionCost(*key, own / operations, inclusive / operations))
        return sorted(costs, key=lambda cost: (-cost.own, cost.name, cost.object))

    def calls_of(self, functions: Sequence[FunctionCost], operations: int) -> list[Calls]:
        """Return the calls per operation between `functions`, which are all shown functions."""
        shown: Counter[tuple[tuple[str, str], tuple[str, str]]] = Counter()
        for (caller, callee), count in self.counts.items():
            if caller.shown != callee.shown and not self.hidden & {caller, callee}:
                shown[caller.shown, callee.shown] += count
        per_operation = {
            pair: float(f"{count / operations:.{_DIGITS}g}") for pair, count in shown.items()
        }
        return calls_between(functions, per_operation)

    def stacks(self, operations: int) -> dict[str, float]:
        """Return call stack -> own cost per operation; the costs add up to the total.

        The graph has callers and callees, but no whole stacks. If a function has several callers,
        each gets a share of its callees in proportion to the cost of its calls, which is exact only
        if every function has one caller. Calls of a function already in the stack are dropped, and
        their cost is divided among the function's other work. A stack with less than
        `SMALLEST_SHARE` of the total is cut, and its cost added to its caller's.
        """
        stacks = self._walk().own
        return {";".join(path): cost / operations for path, cost in stacks.items() if path and cost}

    def unnamed_objects(self) -> list[str]:
        """Return the objects with most of their own cost in functions without names, sorted.

        Objects with less than `LEAST_OF_OBJECT` of the total are skipped.
        """
        costs: dict[str, int] = defaultdict(int)
        unnamed: dict[str, int] = defaultdict(int)
        for function, cost in self.own.items():
            if function not in self.hidden:
                costs[function.object] += cost
                unnamed[function.object] += 0 if has_name(function.name) else cost
        least = self.total * LEAST_OF_OBJECT
        return sorted(name for name, cost in unnamed.items() if cost > max(costs[name] / 2, least))

    def _all(self) -> set[Function]:
        called = {callee for calls in self.calls.values() for callee in calls}
        return self.own.keys() | self.calls.keys() | called

    def _inclusive(self, function: Function) -> int:
        calls = self.calls.get(function, {})
        of_others = sum(cost for callee, cost in calls.items() if callee != function)
        return self.own.get(function, 0) + of_others

    def _walk(self) -> _Walk:
        """Walk all calls from the functions that were not called within the window."""
        rest = {function: self._inclusive(function) for function in self._all()}
        for caller, calls in self.calls.items():
            for callee, cost in calls.items():
                rest[callee] -= cost if callee != caller else 0
        roots = {function: cost for function, cost in rest.items() if cost > 0}
        scale = self.total / sum(roots.values()) if roots else 0.0
        walk = _Walk(self, self.total * SMALLEST_SHARE)
        for root, cost in sorted(roots.items()):
            walk.enter(root, cost * scale, ())
        return walk


@dataclass
class _Walk:
    graph: CallGraph
    smallest: float
    """Cost below which a call is not followed."""
    own: dict[tuple[str, ...], float] = field(default_factory=lambda: defaultdict(float))
    """Path of names, the outermost first -> own cost."""
    inclusive: dict[tuple[str, str], float] = field(default_factory=lambda: defaultdict(float))
    """Name and object -> cost of its calls outside of other calls of it."""
    _entered: Counter[Function | tuple[str, str]] = field(default_factory=Counter)

    def enter(self, function: Function, cost: float, path: tuple[str, ...]) -> None:
        """Divide `cost` between the function itself and its callees, and enter these."""
        hidden = function in self.graph.hidden
        inside = path if hidden else (*path, function.frame)
        calls = {
            callee: cost_of_calls
            for callee, cost_of_calls in self.graph.calls.get(function, {}).items()
            if callee != function and not self._entered[callee]
        }
        own = 0 if hidden else self.graph.own.get(function, 0)
        whole = own + sum(calls.values())
        scale = cost / whole if whole else 0.0
        rest = cost
        if not self._entered[function.shown]:
            self.inclusive[function.shown] += cost
        self._entered.update((function, function.shown))
        for callee, cost_of_calls in calls.items():
            if (share := cost_of_calls * scale) >= self.smallest:
                self.enter(callee, share, inside)
                rest -= share
        self._entered.subtract((function, function.shown))
        self.own[inside] += max(rest, 0.0)
