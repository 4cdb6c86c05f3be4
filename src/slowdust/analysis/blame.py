"""The cost of each release: a history from each release to the next.

A step is the history relative to the preceding release, so its interval is from the direct
comparison of the two, and not from two ratios to an old release.

If all steps of a group of tests have a verdict on time, time determines the release that cost the
group the most. If a step is unsure in time, work is used for the whole group, provided that the
whole and all its steps were counted, or that no step has a verdict on time and one has a verdict
on work. So a sentence never mixes two kinds of evidence.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import replace as with_changes
from itertools import pairwise
from typing import Annotated, Literal

import msgspec
from msgspec.structs import replace

from slowdust.analysis.functions.model import FunctionChanges
from slowdust.analysis.history.history import Choice, history_of
from slowdust.analysis.history.model import History, LineHistory, Point, PointWork, Series
from slowdust.analysis.history.series import Experiment, verdict_of_interval
from slowdust.analysis.results.failures import sentences_about_failures
from slowdust.analysis.stored import Stored
from slowdust.analysis.story.answer import unfinished
from slowdust.analysis.story.bands import DEFAULT_BANDS
from slowdust.analysis.versions import lines_of
from slowdust.analysis.work import WORK_MARGIN
from slowdust.ratios import Keys, Ratio, Verdict, distance, speed, work_in_words
from slowdust.stats.verdict import DIFFERENT
from slowdust.store.count import INSTRUCTIONS
from slowdust.wording import clients, group_title, listing

SCHEMA = 1

RatioKind = Literal["time", "work"]


class StepRatio(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A release relative to an earlier one, as in a history."""

    ratio: Annotated[Ratio, Keys("ratio", "low", "high", "verdict")]
    """Throughput (above 1 if faster), or instructions per operation (above 1 if more). `slower` if
    it cost something, in throughput or in work; no verdict for single runs."""
    chained: bool = False
    """Whether it is chained over releases that experiments share, as no experiment has both."""


class Part(msgspec.Struct, kw_only=True, omit_defaults=True):
    """The effect of one step on a test, or on a group of tests."""

    name: str
    """The test's name, or the group's."""
    group: str
    clients: int
    tests: list[str] = []
    """The tests of a group; empty for a test."""
    rqps: StepRatio | None = None
    """Relative throughput; for a group the geometric mean; absent if it was not measured."""
    work: StepRatio | None = None
    """Relative instructions per operation; absent if they were not counted."""

    def by(self, evidence: RatioKind) -> StepRatio | None:
        """Return the ratio of one kind of evidence."""
        return self.rqps if evidence == "time" else self.work

    def cost(self, evidence: RatioKind) -> float | None:
        """Return ln(time or work per operation / before); above 0 if it cost more."""
        step = self.by(evidence)
        if step is None:
            return None
        return math.log(step.ratio.value) * (-1 if evidence == "time" else 1)

    def cost_interval(self, evidence: RatioKind) -> tuple[float | None, float | None]:
        """Return the 95% interval of `cost`."""
        step = self.by(evidence)
        if step is None or step.ratio.interval is None:
            return None, None
        low, high = map(math.log, step.ratio.interval)
        return (-high, -low) if evidence == "time" else (low, high)


class Step(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A release compared with the preceding one, or the last with the first."""

    before: str
    after: str
    groups: list[Part]
    tests: list[Part]

    @property
    def label(self) -> str:
        """'10.23 to 12.22'."""
        return f"{self.before} to {self.after}"

    def change_of(self, group: Part) -> Part | None:
        """Return the change of a group in this step."""
        wanted = group.name, group.clients
        return next((part for part in self.groups if (part.name, part.clients) == wanted), None)


class Extreme(msgspec.Struct, kw_only=True):
    """The step with the largest significant cost, or gain, of a group."""

    before: str
    after: str
    ratio: float
    """The group's ratio, in the evidence used."""
    test: str
    """The test of the group with the largest change."""
    test_ratio: float


class GroupBlame(msgspec.Struct, kw_only=True, omit_defaults=True):
    """The releases that cost a group the most, and gained it the most."""

    name: str
    group: str
    clients: int
    tests: list[str]
    evidence: RatioKind
    """`time`; or `work`, if a step has no verdict on time and work was counted for all steps, or
    if steps have verdicts on work and none on time."""
    unsure: list[str] = []
    """The releases whose effect on time is unsure."""
    uncounted: list[str] = []
    """The releases whose work was not counted together with the preceding release."""
    cost: Extreme | None = None
    """The costliest step; absent, like the next, without a significant one."""
    gain: Extreme | None = None
    sentences: list[str] = []


class StepFunctions(msgspec.Struct, kw_only=True):
    """Functions of the test that cost the most, for one of the worst steps."""

    before: str
    after: str
    group: str
    experiment: str
    """The experiment that profiled both."""
    changes: FunctionChanges


class LineBlame(msgspec.Struct, kw_only=True, omit_defaults=True):
    """The cost of each release of a line, on one host, with one benchmark."""

    line: str
    """DBMS, engine, configuration and environment that its releases share."""
    benchmark: str
    host: dict[str, str] = {}
    data: str = ""
    experiments: list[str]
    versions: list[str]
    """The releases, the oldest first."""
    steps: list[Step]
    whole: Step
    """The last release compared with the first: measured, not multiplied."""
    groups: list[GroupBlame] = []
    functions: list[StepFunctions] = []
    notes: list[str] = []


class Blame(msgspec.Struct, kw_only=True, omit_defaults=True):
    """The cost of releases, for every line with two or more."""

    schema: int = SCHEMA
    unfinished: list[str] = []
    """'NOT FINISHED: 6 of 33 tests, 1 start of the servers.', for each unfinished experiment."""
    lines: list[LineBlame]
    notes: list[str] = []


def blame_of(stored: Sequence[Stored], choice: Choice) -> Blame:
    """Return the cost of each release in these experiments; `choice.base` is ignored."""
    experiments = [Experiment(each.manifest, each.slices, each.counts) for each in stored]
    relative: dict[str, History] = {}

    def relative_to(version: str) -> History:
        if version not in relative:
            relative[version] = history_of(experiments, with_changes(choice, base=version))
        return relative[version]

    first = history_of(experiments, with_changes(choice, base=None))
    lines = []
    for line in first.lines:
        versions = [version.label for version in line.versions]
        steps = [
            _step(_same(relative_to(before), line), before, after)
            for before, after in pairwise(versions)
        ]
        whole = _step(_same(relative_to(versions[0]), line), versions[0], versions[-1])
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
                functions=find_functions(line, groups, stored),
                notes=line.notes,
            )
        )
    with_errors = [each for each in stored if any(r.measured.errors for r in each.slices)]
    failures = [text for each in with_errors for text in sentences_about_failures(each.report())]
    return Blame(
        unfinished=[
            f"{each.name}: {text}" if len(stored) > 1 else text
            for each in stored
            if (text := unfinished(each.manifest, each.slices)) is not None
        ],
        lines=lines,
        notes=[*failures, *first.notes],
    )


def _same(history: History, line: LineHistory) -> LineHistory | None:
    """Return the same line of another history, relative to another version."""

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
            # The verdict of its only test was judged with all others of the experiment.
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


SINGLE = DEFAULT_BANDS.change
"""Smallest change for single runs, which have no verdicts."""


def group_blames(steps: Sequence[Step], whole: Step) -> list[GroupBlame]:
    """Return the effects of the steps on each group that the whole has."""
    several = len({part.clients for part in whole.groups}) > 1
    return [_group_blame(group, steps, whole, several=several) for group in whole.groups]


def _group_blame(group: Part, steps: Sequence[Step], whole: Step, *, several: bool) -> GroupBlame:
    parts = [step.change_of(group) for step in steps]
    unsure = [
        step.after
        for step, part in zip(steps, parts, strict=True)
        if part is None or part.rqps is None or part.rqps.ratio.verdict == "unsure"
    ]
    whole_is_unsure = group.rqps is None or group.rqps.ratio.verdict == "unsure"
    uncounted = [
        step.after
        for step, part in zip(steps, parts, strict=True)
        if part is None or part.work is None
    ]
    evidence: RatioKind = "time"
    if unsure or whole_is_unsure:
        of_all = group.work is not None and not uncounted
        if of_all or (_names_one(group, steps, "work") and not _names_one(group, steps, "time")):
            evidence = "work"
    blame = GroupBlame(
        name=group.name,
        group=group.group,
        clients=group.clients,
        tests=group.tests,
        evidence=evidence,
        unsure=unsure,
        uncounted=uncounted,
        cost=_extreme(group, steps, evidence, "slower"),
        gain=_extreme(group, steps, evidence, "faster"),
    )
    title = group_title(group.group, len(group.tests))
    title += f" at {clients(group.clients)}" if several else ""
    blame.sentences = [
        _whole(blame, title, group, whole, len(steps)),
        _most(blame, group, whole, blame.cost, "cost"),
        _most(blame, group, whole, blame.gain, "gained"),
    ]
    return blame


def _names_one(group: Part, steps: Sequence[Step], evidence: RatioKind) -> bool:
    """Return whether there is a step that significantly changed a group."""
    return any(_extreme(group, steps, evidence, side) for side in DIFFERENT)


def _extreme(
    group: Part, steps: Sequence[Step], evidence: RatioKind, verdict: Verdict
) -> Extreme | None:
    """Return the step with the largest significant change to one side; None without one."""
    sign = 1 if verdict == "slower" else -1
    size: Callable[[Part], float] = lambda part: sign * (part.cost(evidence) or 0.0)  # noqa: E731
    sure = [
        (step, part)
        for step in steps
        if (part := step.change_of(group)) is not None
        and (ratio := part.by(evidence)) is not None
        and is_sure(ratio.ratio, size(part), verdict)
    ]
    if not sure:
        return None
    step, part = max(sure, key=lambda pair: size(pair[1]))
    tests = [
        each
        for each in step.tests
        if each.name in group.tests and each.clients == group.clients and each.by(evidence)
    ]
    most = max(tests, key=size)
    ratio, of_test = part.by(evidence), most.by(evidence)
    assert ratio is not None and of_test is not None, "they were selected by having them"
    return Extreme(
        before=step.before,
        after=step.after,
        ratio=ratio.ratio.value,
        test=most.name,
        test_ratio=of_test.ratio.value,
    )


def is_sure(ratio: Ratio, size: float, verdict: Verdict) -> bool:
    """Return whether a ratio has a verdict or, for single runs, is a change to that side.

    `size` is the change to that side, as a logarithm.
    """
    return size >= math.log1p(SINGLE) if ratio.verdict is None else ratio.verdict == verdict


def _whole(blame: GroupBlame, title: str, group: Part, whole: Step, count: int) -> str:
    """Return 'Writes (3 tests): 4% slower and 2% more work from 10.23 to 18.4.'

    `count` is the number of steps.
    """
    facts = []
    if group.rqps is not None:
        verdict = group.rqps.ratio.verdict
        sure = {"unsure": " (unsure)", "same": " (the same)"}.get(verdict or "", "")
        facts.append(f"{speed(group.rqps.ratio.value)}{sure}")
    if group.work is not None:
        facts.append(work_in_words(group.work.ratio.value))
    steps = "every step" if len(blame.unsure) == count else listing(blame.unsure)
    why = ""
    if blame.evidence == "work":
        of_some = f" (not counted for {listing(blame.uncounted)})" if blame.uncounted else ""
        why = f" Time is unsure for {steps or 'the whole'}, so work is used{of_some}."
    elif blame.unsure:
        why = f" Time is unsure for {steps}, and work was not counted for every step."
    return f"{title}: {listing(facts)} from {whole.label}.{why}"


def _most(blame: GroupBlame, group: Part, whole: Step, extreme: Extreme | None, verb: str) -> str:
    """Return a sentence on the step that cost or gained the most."""
    if extreme is None:
        return f"No release has a significant {'cost' if verb == 'cost' else 'gain'}."
    in_words = _in_words(extreme.ratio, blame.evidence)
    test = ""
    if len(group.tests) > 1:
        test = f", most in {extreme.test} ({_in_words(extreme.test_ratio, blame.evidence)})"
    total = group.by(blame.evidence)
    step = f"{extreme.after} {verb} the most: {in_words} than {extreme.before}{test}."
    if total is None or total.ratio.verdict not in DIFFERENT:
        return step
    if (total.ratio.value > 1) != (extreme.ratio > 1):
        return step
    return f"Of the {_amount(total.ratio.value, blame.evidence, whole)}, {step}"


def _amount(ratio: float, evidence: RatioKind, whole: Step) -> str:
    """Return '12% slowdown from 10.23 to 18.4', '24% less work from ...'."""
    if evidence == "time":
        noun = "speedup" if ratio > 1 else "slowdown"
        return f"{distance(ratio)} {noun} from {whole.label}"
    words = work_in_words(ratio)
    if "X" in words:
        amount = distance(ratio)
        side = "more" if ratio > 1 else "less"
        words = f"{amount} the work" if "X" in amount else f"{amount} {side} work"
    return f"{words} from {whole.label}"


def _in_words(ratio: float, evidence: RatioKind) -> str:
    return speed(ratio) if evidence == "time" else work_in_words(ratio)


def find_functions(
    line: LineHistory, groups: Sequence[GroupBlame], stored: Sequence[Stored]
) -> list[StepFunctions]:
    """Return the functions of the test with the largest cost, for the costliest step of each group.

    Only counted profiles of an experiment with both releases are used.
    """
    found: dict[tuple[str, str, str], StepFunctions] = {}
    for group in groups:
        cost = group.cost
        if cost is None or (cost.before, cost.after, cost.test) in found:
            continue
        for each in stored:
            if each.name in line.experiments and each.profiles:
                functions = _functions(line, group, cost, each)
                if functions is not None:
                    found[cost.before, cost.after, cost.test] = functions
                    break
    return list(found.values())


def _functions(
    line: LineHistory, group: GroupBlame, cost: Extreme, stored: Stored
) -> StepFunctions | None:
    names = {
        release.title: name
        for release, name in lines_of(stored.manifest.contenders).get(line.line, {}).items()
    }
    if not {cost.before, cost.after} <= names.keys():
        return None
    report = stored.report(base=names[cost.before])
    for changes in report.function_changes:
        named = (changes.test, changes.contender, changes.benchmark)
        if named == (cost.test, names[cost.after], line.benchmark) and (
            changes.unit == INSTRUCTIONS
        ):
            return StepFunctions(
                before=cost.before,
                after=cost.after,
                group=group.name,
                experiment=stored.name,
                changes=changes,
            )
    return None
