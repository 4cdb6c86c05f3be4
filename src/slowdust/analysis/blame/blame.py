"""What each release cost: the numbers of a history, told from each release to the next.

A step is the history relative to the release before it, so that its interval is that of the two
side by side, and not of two ratios to a release long ago.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace as with_changes
from itertools import pairwise

from msgspec.structs import replace

from slowdust.analysis.blame.functions import functions_of
from slowdust.analysis.blame.groups import group_blames
from slowdust.analysis.blame.model import Blame, LineBlame, Part, Step, StepRatio
from slowdust.analysis.history.chaining import Experiment
from slowdust.analysis.history.history import Choice, history_of
from slowdust.analysis.history.model import History, LineHistory, Point, PointWork, Series
from slowdust.analysis.history.series import verdict_of_interval
from slowdust.analysis.results.failures import sentences_about_failures
from slowdust.analysis.stored import Stored
from slowdust.analysis.story.answer import unfinished
from slowdust.analysis.work import WORK_MARGIN


def blame_of(stored: Sequence[Stored], choice: Choice) -> Blame:
    """Return what each release cost in these experiments; `choice.base` is not looked at."""
    experiments = [Experiment(each.manifest, each.slices, each.counts) for each in stored]
    relative: dict[str, History] = {}

    def beside(version: str) -> History:
        if version not in relative:
            relative[version] = history_of(experiments, with_changes(choice, base=version))
        return relative[version]

    first = history_of(experiments, with_changes(choice, base=None))
    lines = []
    for line in first.lines:
        versions = [version.label for version in line.versions]
        steps = [
            _step(_same(beside(before), line), before, after)
            for before, after in pairwise(versions)
        ]
        whole = _step(_same(beside(versions[0]), line), versions[0], versions[-1])
        groups = group_blames(steps, whole)
        lines.append(
            LineBlame(
                line=line.line,
                benchmark=line.benchmark,
                host=line.host,
                data=line.data,
                experiments=line.experiments,
                versions=versions,
                steps=steps,
                whole=whole,
                groups=groups,
                functions=functions_of(line, groups, stored),
                notes=line.notes,
            )
        )
    with_errors = [each for each in stored if any(r.measured.errors for r in each.slices)]
    failures = [text for each in with_errors for text in sentences_about_failures(each.report())]
    return Blame(unfinished=_unfinished(stored), lines=lines, notes=[*failures, *first.notes])


def _unfinished(stored: Sequence[Stored]) -> list[str]:
    """Return what is said of experiments that are not finished; of several with their names."""
    return [
        f"{each.name}: {text}" if len(stored) > 1 else text
        for each in stored
        if (text := unfinished(each.manifest, each.slices)) is not None
    ]


def _same(history: History, line: LineHistory) -> LineHistory | None:
    """Return the same line of another history, relative to another of its versions."""

    def key(each: LineHistory) -> tuple[object, ...]:
        return each.line, each.benchmark, each.data, each.host, each.experiments

    return next((each for each in history.lines if key(each) == key(line)), None)


def _step(line: LineHistory | None, before: str, after: str) -> Step:
    """Return the step to a version from the one that a line is relative to."""
    if line is None or line.base != before:
        return Step(before=before, after=after, groups=[], tests=[])
    groups, tests = (_parts(each, after) for each in (line.groups, line.tests))
    for group in groups:
        if len(group.tests) == 1:
            # What its only test is sure of was judged with all others of the experiment.
            group.rqps = next(
                each.rqps
                for each in tests
                if (each.name, each.clients) == (group.tests[0], group.clients)
            )
    return Step(before=before, after=after, groups=groups, tests=tests)


def _parts(all_series: Sequence[Series], version: str) -> list[Part]:
    return [
        Part(
            name=series.name,
            group=series.group,
            clients=series.clients,
            tests=series.tests,
            rqps=_throughput(point),
            work=None if point.work is None else _work(point.work),
        )
        for series in all_series
        for point in series.points
        if point.version == version
    ]


def _throughput(point: Point) -> StepRatio:
    margin = point.ratio.margin or 0.0
    verdict = "unsure" if point.unsure else verdict_of_interval(point.ratio, margin)
    return StepRatio(ratio=replace(point.ratio, verdict=verdict), chained=bool(point.through))


def _work(work: PointWork) -> StepRatio:
    verdict = verdict_of_interval(work.ratio, WORK_MARGIN)
    cost = {"faster": "slower", "slower": "faster"}
    ratio = replace(work.ratio, verdict=cost.get(verdict or "", verdict), margin=WORK_MARGIN)
    return StepRatio(ratio=ratio, chained=bool(work.through))
