"""The Insert Benchmark: load, index, replace rows, and query beside writes at a rate.

Its steps are long, and each needs what those before it left in the tables: a step is one slice,
and an incarnation runs all of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from enum import Enum

from slowdust.benchmarks.model import (
    DEFAULT_SUITE,
    Benchmark,
    Group,
    Measuring,
    Phase,
    Test,
)

_NAME = "insert"
RATES = (100, 500, 1000)
"""Rows per second of each client that are inserted, and deleted, beside the queries."""
WORKLOADS = ("quick", "cached", "less-io-bound", "more-io-bound")
"""Sizes of the data; the first is the default."""
_QUERY_STEP = re.compile(r"q(?P<kind>[rp])(?P<rate>[1-9]\d*)")
_OLD_QUERY_STEP = re.compile(r"q(?P<rate>[1-9]\d*)\.\d+")
"""Of archived runs before there were point queries: rate, and which loop at it."""


class Kind(Enum):
    """What a step does."""

    LOAD = "load"
    INDEX = "index"
    REPLACE = "replace"
    RANGE_QUERY = "range queries"
    POINT_QUERY = "point queries"


_QUERIES = {"r": Kind.RANGE_QUERY, "p": Kind.POINT_QUERY}
_GROUPS = {
    Kind.LOAD: Group.WRITE,
    Kind.INDEX: Group.INDEX,
    Kind.REPLACE: Group.WRITE,
    Kind.RANGE_QUERY: Group.RANGE,
    Kind.POINT_QUERY: Group.POINT,
}


@dataclass(frozen=True)
class InsertStep(Test):
    """One step of the Insert Benchmark."""

    kind: Kind = Kind.LOAD
    rate: int | None = None
    """Rows per second of each client, of steps with queries."""

    @property
    def queries(self) -> bool:
        """Whether it is about queries, beside writes at a rate."""
        return self.rate is not None

    @property
    def unit(self) -> str:
        """What its rate counts."""
        match self.kind:
            case Kind.INDEX:
                return "indexed rows/s"
            case Kind.RANGE_QUERY | Kind.POINT_QUERY:
                return f"{self.kind.value}/s"
            case _:
                return "inserts/s"


def _step(name: str, kind: Kind, rate: int | None = None) -> InsertStep:
    return InsertStep(_NAME, name, _GROUPS[kind], Phase.WRITE, kind=kind, rate=rate)


LOAD_STEPS = (
    _step("l.i0", Kind.LOAD),
    _step("l.x", Kind.INDEX),
    _step("l.i1", Kind.REPLACE),
    _step("l.i2", Kind.REPLACE),
)


def query_steps(rates: Sequence[int]) -> tuple[InsertStep, ...]:
    """Range and point queries at each of the rates, in the order in which they run."""
    return tuple(
        _step(f"q{letter}{rate}", _QUERIES[letter], rate) for rate in rates for letter in "rp"
    )


@dataclass(frozen=True)
class InsertBenchmark(Benchmark):
    """Its steps with queries exist for every rate."""

    def test(self, name: str) -> InsertStep | None:
        """The step of that name: also those at rates that are not the usual ones."""
        if found := _QUERY_STEP.fullmatch(name):
            return _step(name, _QUERIES[found["kind"]], int(found["rate"]))
        if found := _OLD_QUERY_STEP.fullmatch(name):
            return _step(name, Kind.RANGE_QUERY, int(found["rate"]))
        return next((step for step in LOAD_STEPS if step.name == name), None)

    def matching(self, patterns: Iterable[str]) -> list[Test]:
        """The steps that match, and those without which no other can run."""
        return self._in_order({test.name for test in super().matching(patterns)} | _NEEDED)

    def at_rates(self, rates: Sequence[int]) -> InsertBenchmark:
        """The same with queries beside writes at these rates."""
        steps = (*LOAD_STEPS, *query_steps(rates))
        suites = {DEFAULT_SUITE: tuple(step.name for step in steps)}
        return replace(self, tests=steps, suites=suites)


_NEEDED = {step.name for step in LOAD_STEPS if step.kind in {Kind.LOAD, Kind.INDEX}}
_STEPS = (*LOAD_STEPS, *query_steps(RATES))

INSERT = InsertBenchmark(
    name=_NAME,
    tests=_STEPS,
    suites={DEFAULT_SUITE: tuple(step.name for step in _STEPS)},
    measuring=Measuring.STEPS,
    config=_NAME,
)
