"""The contenders of an experiment: as its file writes them, and as its matrices plan them."""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Annotated

from pydantic import Field

from slowdust.benchmarks.options import AsShare, Table
from slowdust.builds.revisions import DIRECTORY
from slowdust.errors import UsageError
from slowdust.experiment.spec.contender_name import ContenderName, parse_contender
from slowdust.experiment.spec.errors import at
from slowdust.experiment.spec.matrix import (
    Combination,
    Matrix,
    Settings,
    check_number,
    combinations,
)


class ContenderTable(Table):
    """A contender of the file, with settings and a matrix of its own."""

    contender: str
    name: str | None = Field(None, pattern=r"^[^\s|/][^|]*$")
    set: Settings = Field(default_factory=dict)
    slowed: Annotated[float, Field(ge=0, lt=1), AsShare] | None = None
    matrix: Matrix = Field(default_factory=dict)


@dataclass(frozen=True)
class PlannedContender:
    """One contender that is to be run: one combination of its matrices."""

    name: ContenderName
    """The name with the parts that a matrix varies."""
    alias: str | None
    """The name that its user gave it."""
    label: str
    """The values that a matrix gave it: 'doublewrite=off sync_binlog=1'; empty without one."""
    set: Mapping[str, str]
    slowed: float | None = None
    """The share of its throughput that a known delay takes, for a calibration; 0 for a contender
    that has the delay's library alone, None for one without it."""
    place: int = field(default=0, compare=False)
    """The place of its table among the specification's contenders."""

    def title(self, version: str | None) -> str:
        """Return its name in reports, with the version that was found for the one in its name."""
        slowed = f"slowed={self.slowed * 100:g}%" if self.slowed else ""
        name = self.alias or self.name.at_version(version)
        return " ".join(filter(None, (name, self.label, slowed)))


def as_table(item: object) -> object:
    """Return a plain name as a table; a directory is kept where it is, whatever is current."""
    table = {"contender": item} if isinstance(item, str) else item
    if not isinstance(table, dict) or not isinstance(table.get("contender"), str):
        return table
    written = table["contender"]
    is_relative = written.startswith(("./", "../", "~")) or written in {".", ".."}
    if not is_relative and f"@{DIRECTORY}" not in written:
        return table
    try:
        name = parse_contender(written)
    except UsageError:
        return table  # refused with its place when all contenders are planned
    absolute = name.at_absolute_path()
    if absolute == name:
        return table
    alias = table.get("name") or written.lstrip("./~") or "build"
    return {**table, "contender": absolute.text, "name": alias}


def plan_contenders(
    tables: Sequence[ContenderTable], matrix: Matrix, fixed: Collection[str] = ()
) -> list[PlannedContender]:
    """Cross every contender with every combination of `matrix` and its own; the base comes first.

    An axis of a contender's own stands in place of one of `matrix` that has its name. `fixed` are
    the settings that are the same for all.

    Raises:
        AtKeysError: a matrix that cannot be crossed, or that varies a setting that is fixed; a
            malformed contender, or one that names a part which is to vary.
    """
    planned: list[PlannedContender] = []
    for place, table in enumerate(tables):
        with at("contenders", place) if table.matrix or not matrix else at("matrix"):
            crossed = combinations({**matrix, **table.matrix})
        with at("contenders", place):
            planned.extend(_crossed(table, crossed, fixed, place))
            check_number(len(planned))
    return planned


def check_calibration(planned: Sequence[PlannedContender]) -> None:
    """Refuse contenders that differ in more than the delays of a calibration.

    Raises:
        ValueError: some have no delay, the first has one, or they are not one build.
    """
    base = planned[0]
    if any(contender.slowed is None for contender in planned):
        raise ValueError("slowed: all contenders of a calibration have it, 0 for no delay")
    if base.slowed != 0:
        raise ValueError("slowed: the first contender, the base, has to have 0")
    if any((each.name, each.set) != (base.name, base.set) for each in planned):
        raise ValueError("slowed: the contenders of a calibration are one build with one config")


def _crossed(
    table: ContenderTable, crossed: Sequence[Combination], fixed: Collection[str], place: int
) -> Iterator[PlannedContender]:
    name = parse_contender(table.contender)
    for combination in crossed:
        if both := sorted({*fixed, *table.set} & combination.settings.keys()):
            raise ValueError(f"{table.contender}: `set` fixes {both[0]}, which a matrix varies")
        parts = combination.parts
        yield PlannedContender(
            name=name.with_parts(parts) if parts else name,
            alias=table.name,
            label=_label(combination, [] if table.name is None else parts.values()),
            set={**table.set, **combination.settings},
            slowed=table.slowed,
            place=place,
        )


def _label(combination: Combination, parts: Iterable[str]) -> str:
    """Name what varies, also the parts where a name of the user's own hides them."""
    points = [*filter(None, parts), *(f"{axis}={at}" for axis, at in combination.labels.items())]
    return " ".join(re.sub(r"[\s|]+", "_", point) for point in points)
