"""Shapes of a history, which `slowdust history --json` writes; see docs/history.schema.json."""

from __future__ import annotations

from typing import Annotated

import msgspec

from slowdust.analysis.model import GroupChanges
from slowdust.ratios import Keys, Ratio

SCHEMA = 1


class PointWork(msgspec.Struct, kw_only=True, omit_defaults=True):
    """The counted instructions per operation of one version, relative to the line's base."""

    ratio: Annotated[Ratio, Keys("ratio", "low", "high")]
    experiments: list[str]
    """Names of the experiments whose counts it is made of."""
    through: list[str] = []
    """The versions over which ratios of different experiments are chained."""


class Point(msgspec.Struct, kw_only=True, omit_defaults=True):
    """The throughput of one version, relative to the line's base."""

    version: str
    ratio: Annotated[Ratio, Keys("rqps", "low", "high")]
    experiments: list[str]
    """Names of the experiments whose ratios it is made of."""
    through: list[str] = []
    """The versions over which ratios of different experiments are chained, from the base on;
    empty if one experiment measured it beside the base."""

    unsure: bool | None = None
    """True if that is the verdict of its one experiment, or, made of several, its 95% interval
    does not exclude 1 and its 90% interval does not lie inside the margin; else absent."""
    work: PointWork | None = None
    """The counted work; absent where no counts lead to the base's."""


class ChangePoint(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A version from which throughput is at another level."""

    version: str
    """The first of the new level."""
    before: str
    """The last of the old one."""
    ratio: float
    """The new level / the old one."""
    words: str
    """'12% slower from 8.0.28 on'."""
    by_size_alone: bool = False
    """Whether it may be noise: single runs too few to say how large their noise is, and a change
    that is large enough to matter. Otherwise it is more than noise."""


class Series(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A test, or the geometric mean of a group of tests, over the versions of a line."""

    name: str
    """The test's name, or the group's."""
    group: str
    """point, range, range with aggregation, write, ..."""
    clients: int
    unit: str | None = None
    """The unit of the rate; absent for groups."""
    tests: list[str] = []
    """The tests of a group that every version has; empty for a test."""
    points: list[Point]
    """Points in the order of the line's versions, of which some may be missing."""
    change_points: list[ChangePoint] = []


class Version(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A version: one place on the x axis."""

    label: str
    """The version, with what tells it apart from others of the line: the directory's name, and
    digits of the sha256 if that was built again. Points and changes use it."""
    version: str
    experiments: list[str]
    """Experiments that measured it."""
    configs: list[str] = []
    """Configs with which it was measured, and what follows them; absent if all share one."""


class LineHistory(msgspec.Struct, kw_only=True, omit_defaults=True):
    """The versions of a line, on one host, with one benchmark."""

    line: str
    """DBMS, engine, configuration and environment that its versions share."""
    benchmark: str
    host: dict[str, str] = {}
    """Facts that identify the host; empty where it was not recorded."""
    data: str = ""
    """Tables and rows, or the workload; absent where it was not recorded."""
    base: str
    """The version that all are relative to."""
    versions: list[Version]
    experiments: list[str]
    groups: list[Series] = []
    tests: list[Series]
    changes: list[GroupChanges] = []
    """Counts of the tests of each group that changed, in bands."""
    notes: list[str] = []
    """Sentences on what was left out, and what limits the rest."""


class History(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Every line of the chosen experiments that has two versions or more."""

    schema: int = SCHEMA
    lines: list[LineHistory]
    notes: list[str] = []
    """Sentences on what has no history, and why."""
