"""The series of a history: its tests, and the geometric means of their groups."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import fmean

from slowdust.analysis.comparison.relative import Step
from slowdust.analysis.history.chaining import Member, Ratio
from slowdust.analysis.history.model import Point, Series
from slowdust.analysis.versions import Release
from slowdust.wording import GROUP_TITLES


class Details:
    """Groups, units and order of the tests, as the experiments' reports have them."""

    def __init__(self, members: Sequence[Member]) -> None:
        self.groups: dict[Step, str] = {}
        self.units: dict[Step, str] = {}
        for experiment, _ in members:
            for step, measured in experiment.steps.items():
                self.groups.setdefault(step, measured.group)
                self.units.setdefault(step, measured.unit)

    @property
    def order(self) -> list[Step]:
        """Groups in the posts' order, within them that of the report."""
        titles = [*GROUP_TITLES, *dict.fromkeys(self.groups.values())]
        return sorted(self.groups, key=lambda step: titles.index(self.groups[step]))


def series_of(
    step: Step, found: Mapping[Release, Ratio], details: Details, labels: Mapping[Release, str]
) -> Series:
    """A test; `labels` is what each release is called."""
    return Series(
        name=step.test,
        group=details.groups[step],
        clients=step.clients,
        unit=details.units[step],
        points=[
            _point(labels[release], ratio, [labels[one] for one in ratio.through])
            for release, ratio in found.items()
        ],
    )


def groups_of(tests: Sequence[Series], versions: Sequence[str]) -> list[Series]:
    """A series for each group and number of clients, of the tests that all versions have."""
    members: dict[tuple[str, int], list[Series]] = {}
    for test in tests:
        if len(test.points) == len(versions):
            members.setdefault((test.group, test.clients), []).append(test)
    return [
        Series(
            name=group,
            group=group,
            clients=clients,
            tests=[test.name for test in series],
            points=[_mean_of(column) for column in zip(*(s.points for s in series), strict=True)],
        )
        for (group, clients), series in members.items()
    ]


def _mean_of(points: Sequence[Point]) -> Point:
    """The geometric mean; its half-width is the mean one, as if all tests erred together.

    They do in part, since they share restarts; as if each erred on its own would be too sure.
    """
    log = fmean(math.log(point.rqps) for point in points)
    reaches = [reach for point in points if (reach := point.reach) is not None]
    ratio = Ratio(
        log=log,
        reach=fmean(reaches) if len(reaches) == len(points) else None,
        experiments=tuple(dict.fromkeys(name for point in points for name in point.experiments)),
    )
    through = dict.fromkeys(version for point in points for version in point.through)
    return _point(points[0].version, ratio, list(through))


def _point(version: str, ratio: Ratio, through: list[str]) -> Point:
    known = ratio.reach is not None
    return Point(
        version=version,
        rqps=math.exp(ratio.log),
        low=math.exp(ratio.log - ratio.reach) if known and ratio.reach is not None else None,
        high=math.exp(ratio.log + ratio.reach) if known and ratio.reach is not None else None,
        experiments=list(ratio.experiments),
        through=through,
    )
