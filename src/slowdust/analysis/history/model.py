"""What `slowdust history --json` writes; docs/history.schema.json describes it."""

from __future__ import annotations

import math

import msgspec

from slowdust.analysis.story.group_changes import GroupChanges

SCHEMA = 1


class Point(msgspec.Struct, kw_only=True, omit_defaults=True):
    """The throughput of one version, relative to the line's base."""

    version: str
    rqps: float
    """1 for the base."""
    low: float | None = None
    high: float | None = None
    """95% interval of rqps; absent for the base, and for single runs."""
    experiments: list[str]
    """Whose ratios it is made of."""
    through: list[str] = []
    """The versions over which ratios of different experiments are chained, from the base on;
    empty where one experiment has measured it beside the base."""

    @property
    def reach(self) -> float | None:
        """Half-width of the interval, in ln rqps; None without one."""
        if self.low is None or self.high is None:
            return None
        return math.log(self.high / self.low) / 2


class ChangePoint(msgspec.Struct, kw_only=True, omit_defaults=True):
    """From a version on, throughput is at another level."""

    version: str
    """The first of the new level."""
    before: str
    """The last of the old one."""
    ratio: float
    """The new level / the old one."""
    words: str
    """'12% slower from 8.0.28 on'."""
    by_size_alone: bool = False
    """Of single runs too few to say how large their noise is: the change is large enough to
    matter, and may be noise. Otherwise it is more than noise."""


class Series(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A test, or the geometric mean of a group of tests, over the versions of a line."""

    name: str
    """Of the test, or of the group."""
    group: str
    """point, range, range with aggregation, write, ..."""
    clients: int
    unit: str | None = None
    """Absent for groups."""
    tests: list[str] = []
    """Of a group: those that every version has."""
    points: list[Point]
    """In the order of the line's versions, of which some may be missing."""
    change_points: list[ChangePoint] = []


class Version(msgspec.Struct, kw_only=True, omit_defaults=True):
    """One place on the x axis."""

    label: str
    """The version, with what tells it apart from others of the line: the directory's name, and
    digits of the sha256 where that was built anew. Points and changes call it so."""
    version: str
    experiments: list[str]
    """That measured it."""
    configs: list[str] = []
    """With which it was measured, and what follows them; absent where all versions have one."""


class LineHistory(msgspec.Struct, kw_only=True, omit_defaults=True):
    """The versions of a line, on one host, with one benchmark."""

    line: str
    """What its versions share: DBMS, engine, configuration, environment."""
    benchmark: str
    host: dict[str, str] = {}
    """What makes it one host; empty where it was not recorded."""
    data: str = ""
    """Tables and rows, or the workload; absent where it was not recorded."""
    base: str
    """The version that all are relative to."""
    versions: list[Version]
    experiments: list[str]
    groups: list[Series] = []
    tests: list[Series]
    changes: list[GroupChanges] = []
    """How many tests of each group changed, in bands."""
    notes: list[str] = []
    """Sentences: what was left out, and what limits the rest."""


class History(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Every line of the chosen experiments that has two versions or more."""

    schema: int = SCHEMA
    lines: list[LineHistory]
    notes: list[str] = []
    """Sentences: what has no history, and why."""
