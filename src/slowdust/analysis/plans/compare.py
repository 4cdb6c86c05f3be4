"""Two plans of one statement compared: what differs in words, and where in both texts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from slowdust.analysis.plans.differences import differences_in_words, relations
from slowdust.analysis.plans.normalise import Node, normalise
from slowdust.formats.plans import PlanNode


@dataclass(frozen=True)
class PlanLine:
    """A line of a plan's text."""

    text: str
    differs: bool = False


@dataclass(frozen=True)
class PlanComparison:
    """What differs between two plans; nothing if they execute the statement in the same way."""

    differences: tuple[str, ...]
    """The differences in words, the most important first, at most a few."""
    base: tuple[PlanLine, ...]
    other: tuple[PlanLine, ...]

    @property
    def is_same(self) -> bool:
        """Return whether the statement is executed in the same way."""
        return not self.differences


def compare_plans(base: PlanNode, other: PlanNode) -> PlanComparison:
    """Return what differs between the plans of one statement on two servers of a DBMS.

    Aliases, values, costs and estimates, the numbers of subplans, nodes that only pass rows on, and
    what versions call by other names are no difference.
    """
    ours, theirs = normalise(base, other)
    if ours == theirs:
        return PlanComparison((), _lines(base, ()), _lines(other, ()))
    differing = _differing(ours, theirs)
    told = differences_in_words(ours, theirs)
    return PlanComparison(told, _lines(base, differing[0]), _lines(other, differing[1]))


def render_plan(plan: PlanNode) -> str:
    """Return a plan as its server prints it, without costs."""
    return "\n".join(line for node in plan.walk() for line in node.lines)


def _lines(plan: PlanNode, differing: Sequence[PlanNode]) -> tuple[PlanLine, ...]:
    marked = set(map(_first_line, differing))
    lines: list[PlanLine] = []
    for node in plan.walk():
        differs = bool(node.lines) and _first_line(node) in marked
        lines += (PlanLine(line, differs) for line in node.lines)
    return tuple(lines)


def _first_line(node: PlanNode) -> tuple[int, tuple[str, ...]]:
    return id(node.lines), node.lines


def _differing(base: Node, other: Node) -> tuple[list[PlanNode], list[PlanNode]]:
    """Return the nodes of each plan that the other does not have."""
    for key in (_own_key, _key_with_place):
        ours, theirs = _by_key(base, key), _by_key(other, key)
        lacking = _lacking(ours, theirs), _lacking(theirs, ours)
        if any(lacking):
            return lacking
    return [], []


_Key = tuple[object, ...]


def _by_key(plan: Node, key: Callable[[Node, Node | None], _Key]) -> list[tuple[_Key, PlanNode]]:
    def below(node: Node, above: Node | None) -> Iterator[tuple[_Key, PlanNode]]:
        yield key(node, above), node.origin
        for child in node.children:
            yield from below(child, node)

    return [*below(plan, None)]


def _own_key(node: Node, _above: Node | None) -> _Key:
    """Return what makes a node another one: its own fields, and the relations below it."""
    own = (node.operator, node.name, node.index, node.join, node.role, node.conditions)
    return (*own, node.remarks, node.workers, tuple(relations(node)))


def _key_with_place(node: Node, above: Node | None) -> _Key:
    return (*_own_key(node, above), above and (above.operator, above.name))


def _lacking(
    nodes: Sequence[tuple[_Key, PlanNode]], others: Sequence[tuple[_Key, PlanNode]]
) -> list[PlanNode]:
    left = Counter(key for key, _ in others)
    lacking = []
    for key, node in nodes:
        if left[key] > 0:
            left[key] -= 1
        else:
            lacking.append(node)
    return lacking
