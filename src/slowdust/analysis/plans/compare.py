"""Two plans of one statement compared: what differs in words, and where in both texts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from slowdust.analysis.model import PlanDifference
from slowdust.analysis.plans.differences import differences_in_words, relations
from slowdust.analysis.plans.normalise import Node, normalise
from slowdust.formats.plans import PlanNode, parse_plan
from slowdust.store.manifest import Plan

_Key = tuple[object, ...]


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
    for key in (_own_key, _key_with_place):
        ours, theirs = _by_key(base, key), _by_key(other, key)
        lacking = _lacking(ours, theirs), _lacking(theirs, ours)
        if any(lacking):
            return lacking
    return [], []


def _by_key(plan: Node, key: Callable[[Node, Node | None], _Key]) -> list[tuple[_Key, PlanNode]]:
    def below(node: Node, above: Node | None) -> Iterator[tuple[_Key, PlanNode]]:
        yield key(node, above), node.origin
        for child in node.children:
            yield from below(child, node)

    return [*below(plan, None)]


def _own_key(node: Node, _above: Node | None) -> _Key:
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


def plan_differences(
    plans: Sequence[Plan], dbms: Mapping[str, str], base: str
) -> list[PlanDifference]:
    """Return the statements, in order, whose plan differs between contenders of a DBMS.

    `dbms` is contender -> DBMS: what different DBMS print as a plan cannot be compared. Contenders
    of another DBMS than the base's are compared with the first one of theirs.
    """
    differences = []
    for (test, statement, kind), texts in _by_statement(plans, dbms).items():
        first = base if base in texts else next(iter(texts))
        trees = {name: parse_plan(text, kind) for name, text in texts.items()}
        compared = {
            name: compare_plans(trees[first], tree) for name, tree in trees.items() if name != first
        }
        if not all(comparison.is_same for comparison in compared.values()):
            differences.append(_difference(test, statement, first, trees, compared))
    return differences


def same_plans(
    plans: Sequence[Plan],
    dbms: Mapping[str, str],
    base: str,
    differences: Sequence[PlanDifference],
) -> dict[str, list[str]]:
    """Return test -> the contenders that execute all its statements as the base does.

    Only those of which the plans were read.
    """
    read: dict[str, dict[str, set[str]]] = {}
    for plan in plans:
        if plan.plan and dbms.get(plan.contender) == dbms.get(base):
            by_contender = read.setdefault(plan.test, {})
            by_contender.setdefault(plan.contender, set()).add(plan.statement)
    differing = {
        (each.test, name) for each in differences if each.base == base for name in each.differences
    }
    found = {
        test: [
            name
            for name, statements in by_contender.items()
            if name != base
            and statements == by_contender.get(base)
            and (test, name) not in differing
        ]
        for test, by_contender in read.items()
    }
    return {test: names for test, names in found.items() if names}


def _by_statement(
    plans: Sequence[Plan], dbms: Mapping[str, str]
) -> dict[tuple[str, str, str], dict[str, str]]:
    """Return (test, statement, DBMS) -> contender -> its plan, in the order of `dbms`."""
    by_statement: dict[tuple[str, str, str], dict[str, str]] = {}
    for plan in plans:
        if plan.contender not in dbms or not plan.plan:
            continue  # of a contender that the experiment does not have, or work without a plan
        statement = (plan.test, plan.statement, dbms[plan.contender])
        by_statement.setdefault(statement, {})[plan.contender] = plan.plan
    return {
        statement: {name: texts[name] for name in dbms if name in texts}
        for statement, texts in by_statement.items()
    }


def _difference(
    test: str,
    statement: str,
    base: str,
    trees: Mapping[str, PlanNode],
    compared: Mapping[str, PlanComparison],
) -> PlanDifference:
    marked = {name: _marked(comparison.other) for name, comparison in compared.items()}
    of_base = {place for comparison in compared.values() for place in _marked(comparison.base)}
    marked[base] = sorted(of_base)
    return PlanDifference(
        test=test,
        statement=statement,
        base=base,
        plans={name: render_plan(tree) for name, tree in trees.items()},
        differences={
            name: list(comparison.differences)
            for name, comparison in compared.items()
            if not comparison.is_same
        },
        differing_lines={name: marked[name] for name in trees if marked[name]},
    )


def _marked(lines: Sequence[PlanLine]) -> list[int]:
    return [place for place, line in enumerate(lines) if line.differs]
