"""The changed results as lines of the answer, the largest difference first.

A line is about one test, or about one contender where that makes fewer lines. Differences are
ranked by the bound of the 95% interval that is nearer 1: a noisy 20% comes after a certain 8%.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from slowdust.analysis.model import Report, Result, Work
from slowdust.analysis.story.reasons import NO_CAUSE, TOGETHER, exact_reason, reason_in_words
from slowdust.benchmarks import measured_in_steps
from slowdust.ratios import Verdict, bounded_speed, bounded_work, change, ratio
from slowdust.stats.blocks import Step
from slowdust.stats.verdict import DIFFERENT
from slowdust.units import grouped
from slowdust.wording import counted, listing, step_label

_BOTH: tuple[Verdict, Verdict] = ("slower", "faster")
MOST_CHANGES = 12
"""Changed results that are all named; of more, only the largest ones are."""
_MOST_LINES = 6
"""Lines of one kind where there are more changes."""
_MOST_IN_LINE = 3
"""Results that a line names where there are more changes; a single one if there are more lines."""


@dataclass(frozen=True)
class ChangeLine:
    """A line of the answer."""

    text: str
    results: Sequence[Result] = ()
    """The results that it names."""


@dataclass(frozen=True)
class Changes:
    """The lines about slower and faster tests, and about more or less work of the others."""

    slower: Sequence[ChangeLine] = ()
    faster: Sequence[ChangeLine] = ()
    work: Sequence[ChangeLine] = ()
    are_all_named: bool = True

    def named(self) -> set[tuple[Step, str]]:
        """Return the step and the contender of each result that is slower or faster in a line."""
        lines = (*self.slower, *self.faster)
        return {(Step.of(each), each.contender) for line in lines for each in line.results}


def changes_of(report: Report) -> Changes:
    """Return the changes of a report that has an answer."""
    compared = [result for result in report.results if result.contender != report.base]
    slower, faster = (
        sorted((r for r in compared if r.verdict == verdict), key=_size, reverse=True)
        for verdict in _BOTH
    )
    work = [
        result
        for result in compared
        if result.verdict not in DIFFERENT and _changed_work(result) is not None
    ]
    work.sort(key=_order_of_work)
    few = len(slower) + len(faster) <= MOST_CHANGES
    few_works = len(work) <= MOST_CHANGES
    return Changes(
        _lines(report, slower, _Speed(report), are_few=few),
        _lines(report, faster, _Speed(report), are_few=few),
        _lines(report, work, _WorkOnly(), are_few=few_works),
        are_all_named=few and few_works,
    )


def _size(result: Result) -> float:
    return abs(math.log(result.bound or 1.0))


def _changed_work(result: Result) -> Work | None:
    work = result.work
    return work if work is not None and work.verdict in ("more", "less") else None


def _order_of_work(result: Result) -> tuple[bool, float]:
    work = _changed_work(result)
    assert work is not None
    return work.verdict == "less", -abs(math.log(work.bound or 1.0))


class _Speed:
    """Words about slower and faster results."""

    def __init__(self, report: Report) -> None:
        self._bases = {Step.of(r): r for r in report.results if r.contender == report.base}

    def size(self, result: Result) -> tuple[str, str]:
        assert result.ratio is not None
        size, bounds = bounded_speed(result.ratio)
        return size + (f" in {result.unit}" if measured_in_steps(result.benchmark) else ""), bounds

    def about(self, result: Result) -> str:
        """Return what follows the size of a result that has a line of its own."""
        time = result.response_time and result.response_time.relative
        response = f"mean response time {change(time.value)}" if time else ""
        reason = _reason(result, self._bases[Step.of(result)])
        work = _changed_work(result)
        counts = ""
        if work is not None and work.ratio is not None and "instructions" not in reason:
            counts = "".join(bounded_work(work.ratio))
        return "; ".join(filter(None, (response, reason, counts)))


class _WorkOnly:
    """Words about results whose work changed, but not their speed."""

    def size(self, result: Result) -> tuple[str, str]:
        assert result.work is not None and result.work.ratio is not None
        return bounded_work(result.work.ratio)

    def about(self, result: Result) -> str:
        """Return nothing: only the size is known."""
        del result
        return ""


def _reason(result: Result, base: Result) -> str:
    """Return the most important clause of the reason; of stalls, the rate of typical slices too."""
    if (typical := result.typical_beside) is not None and result.ratio is not None:
        whose = "" if result.ratio.value < typical else "of the base "
        exact = exact_reason(result).partition("; ")[0]
        stalls = f"stalls {whose}(typical slices: rqps {ratio(typical)})"
        return "; ".join(filter(None, (stalls, exact)))
    words = result.explanation.words if result.explanation else ""
    clause = (words or reason_in_words(result, base)).partition("; ")[0].replace(TOGETHER, "")
    if not clause.endswith(NO_CAUSE):
        return clause
    return f"{clause.partition(', ')[0]}, no proven cause"


def _lines(
    report: Report, results: Sequence[Result], words: _Speed | _WorkOnly, *, are_few: bool
) -> list[ChangeLine]:
    levels = {result.clients for result in report.results}

    def test(result: Result) -> str:
        return step_label(result.test, result.clients, levels)

    if len(report.contenders) == 2:
        lines = [_whole(result, test(result), words) for result in results]
        shown = lines if are_few or len(lines) <= _MOST_LINES else lines[:_MOST_LINES]
        return [*shown, *_rest(len(lines) - len(shown), "test")]
    names = report.short_names

    def contender(result: Result) -> str:
        return names[result.contender]

    by_test, by_contender = grouped(results, test), grouped(results, contender)
    is_by_test = len(by_test) <= len(by_contender)
    groups = by_test if is_by_test else by_contender
    member = (lambda each: f"on {contender(each)}") if is_by_test else test
    most = len(results) if are_few else _MOST_IN_LINE if len(groups) <= _MOST_IN_LINE else 1
    line = partial(_line, words=words, member=member, is_by_test=is_by_test, most=most)
    lines = [line(head, group) for head, group in groups.items()]
    shown = lines if are_few or len(lines) <= _MOST_LINES else lines[:_MOST_LINES]
    return [*shown, *_rest(len(lines) - len(shown), "test" if is_by_test else "contender")]


def _whole(result: Result, head: str, words: _Speed | _WorkOnly) -> ChangeLine:
    about = words.about(result)
    text = f"{head}: {''.join(words.size(result))}{f'; {about}' if about else ''}"
    return ChangeLine(text, [result])


def _line(
    head: str,
    group: Sequence[Result],
    *,
    words: _Speed | _WorkOnly,
    member: Callable[[Result], str],
    is_by_test: bool,
    most: int,
) -> ChangeLine:
    """Return 'scan: 1.6X slower on 9.7.4 (1.4X to 1.8X) and 20% slower on 8.0.28 (18% to 23%)'."""
    named = group[:most]
    parts = []
    for result in named:
        size, bounds = words.size(result)
        who = member(result)
        parts.append(f"{size} {who}{bounds}" if is_by_test else f"{who} {size}{bounds}")
    if more := len(group) - len(named):
        parts.append(counted(more, "more " + ("contender" if is_by_test else "test")))
    about = words.about(group[0]) if len(group) == 1 else ""
    return ChangeLine(f"{head}: {listing(parts)}{f'; {about}' if about else ''}", named)


def _rest(count: int, what: str) -> list[ChangeLine]:
    return [ChangeLine(f"and {counted(count, f'more {what}')}")] if count else []
