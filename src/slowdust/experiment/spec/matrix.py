"""Settings and matrices of an experiment file: the cross product of axes becomes contenders.

An axis is named after what it varies: a setting of the server, or a part of the contender
(`engine`, `config`, `flags`, `environment`). Its points are a list of values, or a table of named
points that vary several things at once:

    [matrix]
    innodb_doublewrite = ["OFF", "ON"]
    engine = ["innodb", "rocksdb"]
    fsync.off = { innodb_flush_log_at_trx_commit = 2, sync_binlog = 0 }
    fsync.on = { innodb_flush_log_at_trx_commit = 1, sync_binlog = 1 }
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated, TypeVar

from pydantic import AfterValidator, BeforeValidator

from slowdust.dbms import engine_names
from slowdust.dbms.settings import setting_name

MOST_COMBINATIONS = 64
"""Contenders from which on a matrix is taken for a mistake: all are up side by side."""

PARTS = ("engine", "config", "flags", "environment")
"""The parts of a contender that an axis can vary beside settings of its server."""


_Value = TypeVar("_Value")


def _setting_text(value: object) -> object:
    """Return a scalar as a server writes it: `on`, `off`, digits; anything else unchanged."""
    if isinstance(value, bool):
        return "on" if value else "off"
    return str(value) if isinstance(value, int | float) else value


_Setting = Annotated[str, BeforeValidator(_setting_text)]


def _distinct_names(items: Iterable[tuple[str, _Value]]) -> dict[str, _Value]:
    """Return the items by name; ValueError when a name is there twice."""
    result: dict[str, _Value] = {}
    for name, value in items:
        if name in result:
            raise ValueError(f"{name} is given twice")
        result[name] = value
    return result


def _one_spelling_of_settings(values: dict[str, str]) -> dict[str, str]:
    return _distinct_names((setting_name(name), value) for name, value in values.items())


Settings = Annotated[dict[str, _Setting], AfterValidator(_one_spelling_of_settings)]
"""Settings by name, each spelled in one way, so that what fixes and what varies it is compared."""


def _normal_axis(value: object) -> object:
    """Return a list of values as points that vary nothing but the axis, still without a key."""
    if isinstance(value, list):
        labels = [_setting_text(item) for item in value]
        if not all(isinstance(label, str) for label in labels):
            raise ValueError("values are true, false, numbers or strings")
        if len(set(labels)) < len(labels):
            raise ValueError("the same value is given twice")
        value = labels
    if isinstance(value, list | dict) and not value:
        raise ValueError("an axis needs at least one value")
    return value


Axis = Annotated[list[str] | dict[str, Settings], BeforeValidator(_normal_axis)]


def _one_spelling(matrix: dict[str, Axis]) -> dict[str, Axis]:
    """Spell axes that are settings in one way; the name of a table of points is its user's own."""
    return _distinct_names(
        (setting_name(name) if isinstance(axis, list) else name, axis)
        for name, axis in matrix.items()
    )


Matrix = Annotated[dict[str, Axis], AfterValidator(_one_spelling)]


@dataclass(frozen=True)
class Combination:
    """One point of every axis."""

    settings: Mapping[str, str] = field(default_factory=dict)
    parts: Mapping[str, str] = field(default_factory=dict)
    labels: Mapping[str, str] = field(default_factory=dict)
    """Axis -> the point as a name says it; an axis of a part has none: the part is in the name."""


def combinations(matrix: Matrix) -> list[Combination]:
    """Return the cross product, the last axis varying fastest; without axes one empty combination.

    Raises:
        ValueError: two axes vary the same, or there are more than `MOST_COMBINATIONS`.
    """
    count = 1
    for axis in matrix.values():
        count *= len(axis)
    check_number(count)
    names = short_axis_names(list(matrix))
    choices = [_points(key, axis, names[key]) for key, axis in matrix.items()]
    return [_together(points) for points in itertools.product(*choices)]


def check_number(count: int) -> None:
    """Raise ValueError for more contenders than anybody means, `MOST_COMBINATIONS`."""
    if count > MOST_COMBINATIONS:
        raise ValueError(
            f"the matrix makes {count:,} contenders, all of them up side by side: "
            f"at most {MOST_COMBINATIONS} can be"
        )


def short_axis_names(axes: Sequence[str]) -> dict[str, str]:
    """Return axis -> its name without the engine's prefix, where that leaves the names apart."""
    short = {axis: _without_prefix(axis) for axis in axes}
    taken = list(short.values())
    return {axis: name if taken.count(name) == 1 else axis for axis, name in short.items()}


def _without_prefix(axis: str) -> str:
    engine, _, rest = axis.partition("_")
    return rest if rest and engine in engine_names() else axis


def _points(key: str, axis: Axis, name: str) -> list[Combination]:
    if isinstance(axis, dict):
        return [_point(varied, {name: label}) for label, varied in axis.items()]
    if key in PARTS:
        return [_point({key: value}, {}) for value in axis]
    return [_point({key: value}, {name: _label(value, axis)}) for value in axis]


def _point(varied: Mapping[str, str], labels: Mapping[str, str]) -> Combination:
    return Combination(
        settings={key: value for key, value in varied.items() if key not in PARTS},
        parts={key: value for key, value in varied.items() if key in PARTS},
        labels=labels,
    )


def _label(value: str, axis: Iterable[str]) -> str:
    """Write a word in small letters, as most settings are, where all values stay apart.

    What has a digit may have a unit, whose letters say how large it is: it stays as it is.
    """
    if any(character.isdigit() for character in value):
        return value
    lowered = [other.lower() for other in axis]
    return value.lower() if lowered.count(value.lower()) == 1 else value


def _together(points: Sequence[Combination]) -> Combination:
    settings: dict[str, str] = {}
    parts: dict[str, str] = {}
    labels: dict[str, str] = {}
    for point in points:
        for whole, more in ((settings, point.settings), (parts, point.parts)):
            if twice := sorted(whole.keys() & more.keys()):
                raise ValueError(f"two axes vary {twice[0]}")
            whole.update(more)
        labels.update(point.labels)
    return Combination(settings, parts, labels)
