"""The steps of the Insert Benchmark."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Any

from slowdust.benchmarks.model import Group, Phase
from slowdust.benchmarks.steps import Counted, LongStep, Maintenance
from slowdust.store.step import name_with_hold, split_hold
from slowdust.units import Second

NAME = "insert"
_QUERY_STEP = re.compile(r"q(?P<kind>[rp])(?P<rate>[1-9]\d*)")
_OLD_QUERY_STEP = re.compile(r"q(?P<rate>[1-9]\d*)\.\d+")
"""The names of steps in archived runs before there were point queries: rate, and number."""


class Kind(Enum):
    """The kind of work in a step."""

    LOAD = "load"
    INDEX = "index"
    REPLACE = "replace"
    RANGE_QUERY = "range queries"
    POINT_QUERY = "point queries"


_QUERIES = {"r": Kind.RANGE_QUERY, "p": Kind.POINT_QUERY}
_INSERTS: dict[str, Any] = {
    "group": Group.WRITE,
    "main_role": "insert",
    "counted": Counted.ROWS,
    "unit": "inserts/s",
}
_QUERY: dict[str, Any] = {"main_role": "query", "counted": Counted.STATEMENTS}
_TRAITS: dict[Kind, dict[str, Any]] = {
    Kind.LOAD: {**_INSERTS, "maintenance": Maintenance.AFTER_STEP, "makes_tables": True},
    Kind.INDEX: {
        "group": Group.INDEX,
        "main_role": "index",
        "counted": Counted.TABLE_ROWS,
        "unit": "indexed rows/s",
        "maintenance": Maintenance.AFTER_LOAD,
        "makes_tables": True,
    },
    Kind.REPLACE: {**_INSERTS, "maintenance": Maintenance.AFTER_WRITES},
    Kind.RANGE_QUERY: {**_QUERY, "group": Group.RANGE, "unit": "range queries/s"},
    Kind.POINT_QUERY: {**_QUERY, "group": Group.POINT, "unit": "point queries/s"},
}


@dataclass(frozen=True, kw_only=True)
class InsertStep(LongStep):
    """One step of the Insert Benchmark."""

    kind: Kind


def _step(name: str, kind: Kind, rate: int | None = None) -> InsertStep:
    return InsertStep(
        benchmark=NAME, name=name, phase=Phase.WRITE, kind=kind, rate=rate, **_TRAITS[kind]
    )


WRITE_STEPS = (
    _step("l.i0", Kind.LOAD),
    _step("l.x", Kind.INDEX),
    _step("l.i1", Kind.REPLACE),
    _step("l.i2", Kind.REPLACE),
)


def steps_at_rates(rates: Sequence[int], holds: Sequence[Second]) -> tuple[InsertStep, ...]:
    """Return all steps in their order, with range and point queries at each of the rates.

    All of them come once for each hold.
    """
    queries = (
        _step(f"q{letter}{rate}", _QUERIES[letter], rate) for rate in rates for letter in "rp"
    )
    sequence = (*WRITE_STEPS, *queries)
    return tuple(_with_hold(step, hold) for hold in holds for step in sequence)


def _with_hold(step: InsertStep, hold: Second) -> InsertStep:
    return replace(step, name=name_with_hold(step.name, hold), hold=hold)


def step_called(name: str) -> InsertStep | None:
    """Return the step of that name, also at an unusual rate or hold; None where there is none."""
    plain, hold = split_hold(name)
    step = _step_without_hold(plain)
    return None if step is None else _with_hold(step, hold)


def _step_without_hold(name: str) -> InsertStep | None:
    if match := _QUERY_STEP.fullmatch(name):
        return _step(name, _QUERIES[match["kind"]], int(match["rate"]))
    if match := _OLD_QUERY_STEP.fullmatch(name):
        return _step(name, Kind.RANGE_QUERY, int(match["rate"]))
    return next((step for step in WRITE_STEPS if step.name == name), None)
