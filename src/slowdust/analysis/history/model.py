"""The data of a history. `slowdust history --json` writes it; see docs/history.schema.json."""

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
    """Names of the experiments with the counts."""
    through: list[str] = []
    """The versions through which ratios of different experiments are chained."""


class Point(msgspec.Struct, kw_only=True, omit_defaults=True):
    """The throughput of one version, relative to the line's base."""

    version: str
    ratio: Annotated[Ratio, Keys("rqps", "low", "high")]
    experiments: list[str]
    """Names of the experiments with the ratios."""
    through: list[str] = []
    """The versions through which ratios of different experiments are chained, from the base on;
    empty if one experiment measured it together with the base."""

    unsure: bool | None = None
    """True if this is the verdict of its only experiment, or if, combined from several, the 95%
    interval includes 1 and the 90% interval is not inside the margin; else absent."""
    work: PointWork | None = None
    """The counted work; absent if counts do not connect it with the base."""


class ChangePoint(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A version at which the level of throughput changes."""

    version: str
    """The first version of the new level."""
    before: str
    """The last version of the old level."""
    ratio: float
    """The new level / the old level."""
    words: str
    """'12% slower from 8.0.28 on'."""
    by_size_alone: bool = False
    """Whether it may be noise: there are too few single runs to estimate noise, and the change is
    large enough to matter. Otherwise it is significant."""


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
    """Points in the order of the line's versions; some versions may be missing."""
    change_points: list[ChangePoint] = []


class Version(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A version: one place on the x axis."""

    label: str
    """The version, made unique within the line by the directory's name, and by digits of the sha256
    if the directory was rebuilt. Points and changes refer to it."""
    version: str
    experiments: list[str]
    """Experiments that measured it."""
    configs: list[str] = []
    """Configs that it was measured with, including additions; absent if all share one."""


class LineHistory(msgspec.Struct, kw_only=True, omit_defaults=True):
    """The versions of a line, on one host, with one benchmark."""

    line: str
    """DBMS, engine, configuration and environment that its versions share."""
    benchmark: str
    host: dict[str, str] = {}
    """Facts that identify the host; empty if it was not recorded."""
    data: str = ""
    """Tables and rows, or the workload; absent if it was not recorded."""
    base: str
    """The version that all others are relative to."""
    versions: list[Version]
    experiments: list[str]
    groups: list[Series] = []
    tests: list[Series]
    changes: list[GroupChanges] = []
    """Numbers of changed tests in each group, in bands."""
    notes: list[str] = []
    """Sentences on skipped data and other limitations."""


class History(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Every line of the chosen experiments with at least two versions."""

    schema: int = SCHEMA
    lines: list[LineHistory]
    notes: list[str] = []
    """Sentences on data without a history, with reasons."""
