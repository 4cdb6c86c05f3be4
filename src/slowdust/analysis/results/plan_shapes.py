"""Shapes of plans: what two plans have to share to be the same plan.

Versions of Postgres print one plan in several ways: with other aliases of partitions ('part_1
part_2'), below an Append of one child that later versions leave out, and with other numbers and
names of subplans. None of these is another way to execute the statement.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

_VALUE = re.compile(r"'-?\d+'")
"""A value as a plan prints it: '351501'::bigint."""
_ESTIMATES = re.compile(r" *\(cost=[^)]*\)")
_APPEND = re.compile(r" *(?P<arrow>->  )?(Merge )?Append")
_PRUNED = re.compile(r" *Subplans Removed: \d+")
_STEP = 6
"""Columns by which a child is indented: '->  ' and two blanks."""
_ON = re.compile(
    r"(?P<head>(?:Scan|Update|Delete|Insert|Merge)\b.* on )(?P<names>\S+(?: \S+)?)$", re.M
)
"""A node that works on a table: the table's name, then its alias where that is another one."""
_SUBPLANS = (
    (re.compile(r"ANY \(\S+ = \((hashed SubPlan \d+|SubPlan \d+)\)\.col\d+\)"), r"\1"),
    (re.compile(r"\(InitPlan \d+\)\.col\d+"), "$?"),
    (re.compile(r"\b(InitPlan|SubPlan) \d+(?: \(returns [^)]*\))?"), r"\1 ?"),
    (re.compile(r"\$\d+"), "$?"),
)
"""Names of subplans, and what stands for all of them; 17 and 18 write them otherwise."""


def shape_of(plan: str) -> str:
    """Return a plan without values, estimates, aliases, and nodes that do nothing."""
    text = _ESTIMATES.sub("", _VALUE.sub("?", plan))
    text = "\n".join(_without_lone_appends(text.splitlines()))
    for pattern, written in _SUBPLANS:
        text = pattern.sub(written, text)
    names = {name for match in _ON.finditer(text) for name in match["names"].split(" ")}
    text = _ON.sub(lambda match: match["head"] + match["names"].split(" ")[0], text)
    if names:
        qualified = "|".join(map(re.escape, sorted(names, key=len, reverse=True)))
        text = re.sub(rf"(?<![\w.])(?:{qualified})\.(?=\w)", "", text)
    return text


def _without_lone_appends(lines: Sequence[str]) -> list[str]:
    """Return the lines of a plan in which the only child of an Append stands in its place."""
    kept: list[str] = []
    for place, line in enumerate(lines):
        append = _APPEND.fullmatch(line)
        if append is None:
            kept.append(line)
            continue
        indent = _indent(line)
        end = next(
            (at for at in range(place + 1, len(lines)) if _indent(lines[at]) <= indent), len(lines)
        )
        below = [each for each in lines[place + 1 : end] if not _PRUNED.fullmatch(each)]
        child = indent + (_STEP if append["arrow"] else 2)
        nodes = [each for each in below if _indent(each) <= child]
        if len(nodes) != 1 or below[0] is not nodes[0]:
            kept.append(line)
            continue
        arrow = append["arrow"] or ""
        first = " " * indent + arrow + nodes[0].strip().removeprefix("->  ")
        rest = [first, *(each[_STEP:] for each in below[1:]), *lines[end:]]
        return kept + _without_lone_appends(rest)
    return kept


def _indent(line: str) -> int:
    return len(line) - len(line.lstrip())
