"""Which release cost a group of tests the most, and which gained it the most, in sentences.

Time decides where all steps of the group have a verdict in time, since that is what users feel.
Where a step is unsure in time, work decides for the whole group, if the whole and all its steps
were counted, or if time is sure of no step and work is of one: so one sentence never adds up two
kinds of evidence.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

from slowdust.analysis.blame.model import Extreme, GroupBlame, Part, RatioKind, Step
from slowdust.analysis.comparison.verdict import DIFFERENT
from slowdust.analysis.story.bands import DEFAULT_BANDS
from slowdust.ratios import Ratio, Verdict, distance, speed, work_in_words
from slowdust.wording import clients, group_title, listing

SINGLE = DEFAULT_BANDS.change
"""Change from which single runs count, which have no verdicts."""


def group_blames(steps: Sequence[Step], whole: Step) -> list[GroupBlame]:
    """Return what the steps did to each group that the whole has."""
    several = len({part.clients for part in whole.groups}) > 1
    return [_group_blame(group, steps, whole, several=several) for group in whole.groups]


def _group_blame(group: Part, steps: Sequence[Step], whole: Step, *, several: bool) -> GroupBlame:
    parts = [_part_of(group, step) for step in steps]
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


def _part_of(group: Part, step: Step) -> Part | None:
    wanted = group.name, group.clients
    return next((part for part in step.groups if (part.name, part.clients) == wanted), None)


def _names_one(group: Part, steps: Sequence[Step], evidence: RatioKind) -> bool:
    """Return whether evidence is sure of a step that changed a group."""
    return any(_extreme(group, steps, evidence, side) for side in DIFFERENT)


def _extreme(
    group: Part, steps: Sequence[Step], evidence: RatioKind, verdict: Verdict
) -> Extreme | None:
    """Return the step that surely changed a group the most to one side; None without one."""
    sign = 1 if verdict == "slower" else -1
    size: Callable[[Part], float] = lambda part: sign * (part.cost(evidence) or 0.0)  # noqa: E731
    sure = [
        (step, part)
        for step in steps
        if (part := _part_of(group, step)) is not None
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
    assert ratio is not None and of_test is not None, "they were chosen for having them"
    return Extreme(
        before=step.before,
        after=step.after,
        ratio=ratio.ratio.value,
        test=most.name,
        test_ratio=of_test.ratio.value,
    )


def is_sure(ratio: Ratio, size: float, verdict: Verdict) -> bool:
    """Return whether a ratio has a verdict, or as one of single runs is a change to that side.

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
        of_some = f", which was not counted of {listing(blame.uncounted)}"
        why = f" Time is unsure of {steps or 'the whole'}, so work decides"
        why += f"{of_some if blame.uncounted else ''}."
    elif blame.unsure:
        why = f" Time is unsure of {steps}, and not all work was counted."
    return f"{title}: {listing(facts)} from {whole.label}.{why}"


def _most(blame: GroupBlame, group: Part, whole: Step, extreme: Extreme | None, verb: str) -> str:
    """Return a sentence on the step that cost or gained the most."""
    if extreme is None:
        return f"No release is sure to have {verb} {'it ' if verb == 'cost' else ''}anything."
    in_words = _in_words(extreme.ratio, blame.evidence)
    test = ""
    if len(group.tests) > 1:
        test = f", most in {extreme.test} ({_in_words(extreme.test_ratio, blame.evidence)})"
    total = group.by(blame.evidence)
    step = f"{extreme.after} {verb} the most: {in_words} beside {extreme.before}{test}."
    if total is None or total.ratio.verdict not in DIFFERENT:
        return step
    if (total.ratio.value > 1) != (extreme.ratio > 1):
        return step
    return f"Of the {_amount(total.ratio.value, blame.evidence, whole)}, {step}"


def _amount(ratio: float, evidence: RatioKind, whole: Step) -> str:
    """Return '12% that they got slower from 10.23 to 18.4', '24% less work from ...'."""
    if evidence == "time":
        side = "faster" if ratio > 1 else "slower"
        return f"{distance(ratio)} that they got {side} from {whole.label}"
    words = work_in_words(ratio)
    if "X" in words:
        amount = distance(ratio)
        side = "more" if ratio > 1 else "less"
        words = f"{amount} the work" if "X" in amount else f"{amount} {side} work"
    return f"{words} from {whole.label}"


def _in_words(ratio: float, evidence: RatioKind) -> str:
    return speed(ratio) if evidence == "time" else work_in_words(ratio)
