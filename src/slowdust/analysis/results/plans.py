"""The plans of an experiment: where contenders execute a statement in different ways."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from slowdust.analysis.model import PlanDifference
from slowdust.analysis.plans import PlanComparison, PlanLine, compare_plans, render_plan
from slowdust.formats.plans import PlanNode, parse_plan
from slowdust.store.manifest import Plan


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
