"""Concurrency: the number of clients at which a contender becomes faster or slower than the base.

Only the verdicts `faster` and `slower` place a contender on a side of the base at a level (a number
of clients). Each side is reported with the smallest of its bounds.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import groupby

from slowdust.analysis.model import (
    Course,
    CourseKind,
    Result,
    TestConcurrency,
)
from slowdust.ratios import Verdict, at_least
from slowdust.stats.verdict import DIFFERENT
from slowdust.wording import clients, listing, shortened

FEWEST_LEVELS = 2
"""The fewest levels of a course."""

Levels = Mapping[int, Verdict]
"""Clients -> verdict, in ascending order of clients."""
Bounds = Mapping[int, float]
"""Clients -> the bound nearer 1, if the interval excludes 1."""

_BY_KIND: dict[CourseKind, str] = {
    "always faster": "always faster in",
    "always slower": "always slower in",
    "overtakes": "overtakes in",
    "falls behind": "falls behind in",
    "sometimes faster": "faster at some levels, never slower, in",
    "sometimes slower": "slower at some levels, never faster, in",
    "changes more than once": "changes sides more than once in",
    "never differs": "the same or unsure in",
}
"""Words of a summary before the tests of each kind, in its order."""


def courses_of(results: Sequence[Result]) -> list[TestConcurrency]:
    """Return each test that has verdicts at two levels or more, in the order of `results`."""
    judged: dict[tuple[str, str], dict[str, dict[int, Result]]] = {}
    for result in results:
        if result.verdict is not None:
            by_contender = judged.setdefault((result.benchmark, result.test), {})
            by_contender.setdefault(result.contender, {})[result.clients] = result
    tests = []
    for (benchmark, test), by_contender in judged.items():
        courses = [
            _course(contender, [levels[clients] for clients in sorted(levels)])
            for contender, levels in by_contender.items()
            if len(levels) >= FEWEST_LEVELS
        ]
        if courses:
            tests.append(TestConcurrency(benchmark=benchmark, test=test, courses=courses))
    return tests


def _course(contender: str, results: Sequence[Result]) -> Course:
    levels = {result.clients: result.verdict for result in results if result.verdict is not None}
    bounds = {result.clients: result.bound for result in results if result.bound is not None}
    return course_of(contender, levels, bounds)


def course_of(contender: str, levels: Levels, bounds: Bounds) -> Course:
    """Return how `contender` compares with the base from the fewest clients to the most."""
    kind = _kind(levels)
    turn = _turn(kind, levels)
    words = _words(kind, turn, levels, bounds)
    return Course(contender=contender, kind=kind, at=turn, words=words)


def summary_of_courses(courses: Iterable[tuple[str, Course]]) -> str:
    """Return a clause for each kind that occurs, from (test, course) of one contender."""
    by_kind: dict[CourseKind, list[str]] = {kind: [] for kind in _BY_KIND}
    for test, course in courses:
        at = "" if course.at is None else f" (at {clients(course.at)})"
        by_kind[course.kind].append(test + at)
    return "; ".join(
        f"{_BY_KIND[kind]} {shortened(tests)}" for kind, tests in by_kind.items() if tests
    )


def _kind(levels: Levels) -> CourseKind:
    sides = [side for side, _ in groupby(v for v in levels.values() if v in DIFFERENT)]
    everywhere = all(verdict in DIFFERENT for verdict in levels.values())
    match sides:
        case []:
            return "never differs"
        case ["faster"]:
            return "always faster" if everywhere else "sometimes faster"
        case ["slower"]:
            return "always slower" if everywhere else "sometimes slower"
        case ["slower", "faster"]:
            return "overtakes"
        case ["faster", "slower"]:
            return "falls behind"
    return "changes more than once"


def _turn(kind: CourseKind, levels: Levels) -> int | None:
    """Return the first level on the new side; None unless there is exactly one crossing."""
    new: dict[CourseKind, Verdict] = {"overtakes": "faster", "falls behind": "slower"}
    if kind not in new:
        return None
    return next(level for level, verdict in levels.items() if verdict == new[kind])


def _words(kind: CourseKind, turn: int | None, levels: Levels, bounds: Bounds) -> str:
    by_side = {
        side: [level for level, verdict in levels.items() if verdict == side]
        for side in dict.fromkeys(verdict for verdict in levels.values() if verdict in DIFFERENT)
    }
    sides = [
        f"{side} {_range(chosen, list(levels))}{_least(chosen, bounds)}"
        for side, chosen in by_side.items()
    ]
    match kind:
        case "never differs" if all(verdict == "unsure" for verdict in levels.values()):
            return "unsure at every level"
        case "never differs":
            return f"no level differs{_unsure(levels)}"
        case "always faster" | "always slower":
            ends = f"from {clients(min(levels))} to {max(levels)}"
            return f"{kind}, {ends}{_least(list(levels), bounds)}"
        case "overtakes" | "falls behind" if turn is not None:
            return f"{kind} at {clients(turn)}: {listing(sides)}"
        case "changes more than once":
            return f"{kind}: {listing(sides)}"
    others = [verdict for verdict in levels.values() if verdict not in DIFFERENT]
    if all(verdict == "unsure" for verdict in others):
        return f"{sides[0]}, unsure at the other levels"
    return f"{sides[0]}, no difference at the other levels{_unsure(levels)}"


def _least(chosen: Sequence[int], bounds: Bounds) -> str:
    """Return ' (at least 3%)', from the bound nearest 1; empty unless all levels have one."""
    if not set(chosen) <= set(bounds):
        return ""
    nearest = min((bounds[level] for level in chosen), key=lambda bound: abs(math.log(bound)))
    return f" ({at_least(nearest)})"


def _range(chosen: Sequence[int], levels: Sequence[int]) -> str:
    """Return 'at 16 or more clients', 'up to 8 clients', 'at 2 and 8 clients'."""
    if len(chosen) > 1 and list(chosen) == list(levels[-len(chosen) :]):
        return f"at {chosen[0]} or more clients"
    if len(chosen) > 1 and list(chosen) == list(levels[: len(chosen)]):
        return f"up to {clients(chosen[-1])}"
    return f"at {_levels(chosen)}"


def _unsure(levels: Levels) -> str:
    unsure = [level for level, verdict in levels.items() if verdict == "unsure"]
    return f" (unsure at {_levels(unsure)})" if unsure else ""


def _levels(chosen: Sequence[int]) -> str:
    """Return '1 client', '2 and 8 clients'."""
    several = len(chosen) > 1
    return f"{listing([*map(str, chosen)])} clients" if several else clients(chosen[0])
