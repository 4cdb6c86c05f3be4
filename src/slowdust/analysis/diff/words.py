"""Sentences about the difference of two experiments."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from slowdust.analysis.diff.model import (
    Condition,
    Diff,
    TestDifference,
    WorkDifference,
)
from slowdust.ratios import Rounding, Verdict, distance, ratio, with_bound, work_in_words
from slowdust.wording import counted, listing, shortened, step_label

_MOST_NAMED = 8
"""The most changed tests that have a sentence of their own."""


def summary_of(diff: Diff) -> list[str]:
    compared = [test for test in diff.tests if test.verdict is not None]
    if not compared:
        return [
            "No test of the one experiment can be compared with one of the other.",
            *_changed_conditions(diff.conditions),
        ]
    return [
        _tally(diff, compared),
        *_changed_tests(diff, compared),
        *_rest(compared),
        *_changed_verdicts(diff, compared),
        *_changed_work(diff),
        *_changed_conditions(diff.conditions),
    ]


def notes_about(diff: Diff) -> list[str]:
    before, after = diff.before, diff.after
    notes = [
        f"{side.experiment} is not finished: what it has is compared."
        for side in (before, after)
        if not side.finished
    ]
    if before.started is not None and before.started == after.started:
        notes.append("Both began at the same time: one may be a copy of the other.")
    for side, other in ((before, after), (after, before)):
        lone = [name for name in side.contenders if name not in other.contenders]
        if lone:
            notes.append(f"Only {side.experiment} has {shortened(lone)}.")
        lone = [test for test in side.tests if test not in other.tests]
        if lone and len(lone) < len(side.tests):
            what = "test" if len(lone) == 1 else "tests"
            notes.append(f"Only {side.experiment} has the {what} {shortened(lone)}.")
    if diff.base is None:
        notes.append(
            "The two have no contender of one name, so that no ratio of the one is comparable with "
            "one of the other: rates of two experiments never are."
        )
    elif {before.contenders[0], after.contenders[0]} != {diff.base}:
        notes.append(f"Both are taken relative to {diff.base}, which is not the base of both.")
    notes += _notes_about_tests(diff)
    return notes


def label_of(diff: Diff, test: TestDifference) -> str:
    levels = {each.clients for each in diff.tests}
    label = step_label(test.test, test.clients, levels)
    several = len({each.contender for each in diff.tests}) > 1
    return f"{label} of {test.contender}" if several else label


def _notes_about_tests(diff: Diff) -> list[str]:
    without = [label_of(diff, test) for test in diff.tests if test.verdict is None]
    if not without:
        return []
    return [f"Without a verdict in one of the two, and so not compared: {shortened(without)}."]


def _tally(diff: Diff, compared: Sequence[TestDifference]) -> str:
    counts = Counter(test.verdict for test in compared)
    words: dict[Verdict, str] = {
        "slower": "slower than before",
        "faster": "faster than before",
        "same": "the same as before",
        "unsure": "unsure",
    }
    parts = [f"{counts[verdict] or 'none'} {text}" for verdict, text in words.items()]
    contenders = list(dict.fromkeys(test.contender for test in compared))
    subject = contenders[0] if len(contenders) == 1 else counted(len(contenders), "contender")
    return (
        f"{subject} against {diff.base}, from {diff.before.experiment} to {diff.after.experiment}: "
        f"{listing(parts)} of {counted(len(compared), 'result')}."
    )


def _changed_tests(diff: Diff, compared: Sequence[TestDifference]) -> list[str]:
    changed = [test for test in compared if test.verdict in ("slower", "faster")]
    changed.sort(key=_rank)
    sentences = [_sentence(diff, test) for test in changed[:_MOST_NAMED]]
    if len(changed) > _MOST_NAMED:
        others = [label_of(diff, test) for test in changed[_MOST_NAMED:]]
        sentences.append(f"Changed by less: {shortened(others)}.")
    return sentences


def _rank(test: TestDifference) -> tuple[bool, float]:
    """Return a sort key: slower tests before faster ones, the surest change first."""
    bound = test.ratio and test.ratio.bound
    return test.verdict != "slower", -abs((bound or 1.0) - 1)


def _sentence(diff: Diff, test: TestDifference) -> str:
    """Write 'scan has lost 8% against postgres@15.8, at least 4.8%: rqps 0.99, then 0.91'.

    Not 'is slower': the base may have become faster.
    """
    assert test.ratio is not None
    verb = "lost" if test.ratio.value < 1 else "gained"
    words = f"has {verb} {distance(test.ratio.value)} against {diff.base}"
    change = with_bound(words, test.ratio.bound)
    return f"{label_of(diff, test)} {change}: {_ratios(test)}."


def _ratios(test: TestDifference) -> str:
    """Write 'rqps 0.99, then 0.92'."""
    assert test.before is not None
    assert test.after is not None
    return f"rqps {ratio(test.before.value)}, then {ratio(test.after.value)}"


def _rest(compared: Sequence[TestDifference]) -> list[str]:
    rest = [test for test in compared if test.verdict in ("same", "unsure")]
    bounds = [test.ratio.low for test in rest if test.ratio and test.ratio.low is not None]
    if not bounds or len(bounds) < len(rest) or min(bounds) >= 1:
        return []
    others = "Nothing else" if len(rest) < len(compared) else "Nothing"
    return [f"{others} can have lost more than {distance(min(bounds), Rounding.UP)}."]


def _changed_verdicts(diff: Diff, compared: Sequence[TestDifference]) -> list[str]:
    only_words = [
        f"{label_of(diff, test)} ({test.before.verdict}, then {test.after.verdict})"
        for test in compared
        if test.verdict in ("same", "unsure")
        and test.verdict_changed
        and test.before is not None
        and test.after is not None
    ]
    if not only_words:
        return []
    return [
        f"Another verdict without a sure change of the ratio, as noise alone gives now and then: "
        f"{shortened(only_words)}."
    ]


def _changed_work(diff: Diff) -> list[str]:
    with_work = [(test, test.work) for test in diff.tests if test.work is not None]
    changed = [(test, work) for test, work in with_work if work.ratio.verdict in ("more", "less")]
    if not with_work:
        return []
    if not changed:
        return [f"Work: no change is sure in {counted(len(with_work), 'counted result')}."]
    parts = [f"{label_of(diff, test)} {_work(work)}" for test, work in changed]
    return [
        f"Work beside the base changed in {len(changed)} of {len(with_work)}: {shortened(parts)}."
    ]


def _work(work: WorkDifference) -> str:
    return f"({with_bound(work_in_words(work.ratio.value), work.ratio.bound)})"


def _changed_conditions(conditions: Sequence[Condition]) -> list[str]:
    if not conditions:
        return ["The conditions on record are the same: method, host, builds and settings."]
    by_subject: dict[str, list[str]] = {}
    for condition in conditions:
        by_subject.setdefault(condition.subject, []).append(condition.label)
    parts = [f"{subject}: {shortened(labels)}" for subject, labels in by_subject.items()]
    return [f"These conditions are not the same ({'; '.join(parts)}), and may be the cause."]
