"""Rows and pages of statements compared with the base's."""

from __future__ import annotations

import pytest

from slowdust.analysis.evidence import (
    AMOUNTS,
    amounts_per_operation,
    statement_work,
)
from slowdust.analysis.stored import analyse
from slowdust.store.manifest import Executed, Plan
from tests.unit.synthetic import synthetic_experiment

BASE, OTHER = "a@1", "a@2"


def executed(
    contender: str,
    statement: str = "SELECT",
    *,
    operations: int = 10,
    executions: int = 10,
    **amounts: float,
) -> Plan:
    return counted(
        contender, statement, Executed(operations=operations, executions=executions), amounts
    )


def counted(contender: str, statement: str, executed: Executed, amounts: dict[str, float]) -> Plan:
    executed.amounts = amounts
    return Plan(test="t", contender=contender, statement=statement, plan="", executed=executed)


def differing(*plans: Plan) -> list[tuple[str | None, str, float, float]]:
    return [
        (each.statement, each.amount, each.base, each.contender)
        for each in statement_work(plans, BASE, OTHER, "t")
    ]


def test_amounts_are_of_an_operation_and_of_each_statement() -> None:
    plans = [
        executed(BASE, "SELECT", rows_read=20.0),
        executed(BASE, "DELETE", executions=30, rows_read=30.0, rows_written=30.0),
        executed(OTHER, "SELECT", rows_read=20.0),
        executed(OTHER, "DELETE", executions=30, rows_read=996_340.0, rows_written=30.0),
    ]
    assert differing(*plans) == [
        (None, "rows_read", 5.0, 99_636.0),
        ("DELETE", "rows_read", 3.0, 99_634.0),
    ]
    assert amounts_per_operation(plans, BASE, "t") == {"rows_read": 5.0, "rows_written": 3.0}
    [first, *_] = statement_work(plans, BASE, OTHER, "t")
    assert first.ratio == pytest.approx(99_636 / 5)


def test_whether_pages_were_in_the_cache_is_no_difference() -> None:
    cold = executed(BASE, pages_hit=0.0, pages_read=1000.0)
    warm = executed(OTHER, pages_hit=1000.0, pages_read=0.0)
    assert differing(cold, warm) == []
    more = executed(OTHER, pages_hit=8450.0, pages_read=0.0)
    assert differing(cold, more) == [
        (None, "pages", 100.0, 845.0),
        ("SELECT", "pages", 100.0, 845.0),
    ]


def test_more_pages_than_another_server_had_at_most_are_a_difference() -> None:
    old = executed(BASE, pages_at_most=1200.0)
    fewer, more = (executed(OTHER, pages_hit=hit, pages_read=0.0) for hit in (900.0, 2169.0))
    assert differing(old, fewer) == []
    assert differing(old, more)[0] == (None, "pages", 120.0, 216.9)


@pytest.mark.parametrize("name", [name for name, each in AMOUNTS.items() if each.exact])
def test_floors_are_no_differences(name: str) -> None:
    floor = AMOUNTS[name].floor

    def total(contender: str, amount: float) -> Plan:
        return counted(contender, "SELECT", Executed(operations=10, executions=10), {name: amount})

    none = total(BASE, 0.0)
    assert differing(none, total(OTHER, 10 * floor)) == []
    assert len(differing(none, total(OTHER, 11 * floor))) == 2


def test_times_and_rounded_means_are_no_differences() -> None:
    slow = executed(BASE, execution_s=1.0, planning_s=1.0)
    assert differing(slow, executed(OTHER, execution_s=9.0, planning_s=0.1)) == []
    rounded = executed(BASE, loops=1000.0, rows_filtered=0.0)
    assert differing(rounded, executed(OTHER, loops=1000.0, rows_filtered=450.0)) == []
    assert differing(rounded, executed(OTHER, loops=1000.0, rows_filtered=1450.0)) != []


def test_an_amount_of_one_contender_alone_is_not_compared() -> None:
    plans = [
        executed(BASE, "SELECT", pages_hit=1000.0, pages_read=0.0),
        executed(BASE, "DELETE", pages_hit=1000.0, pages_read=0.0),
        executed(OTHER, "SELECT", pages_hit=1000.0, pages_read=0.0),
        executed(OTHER, "DELETE"),
    ]
    assert differing(*plans) == []


def test_other_operations_are_not_compared() -> None:
    one = executed(BASE, operations=1, executions=1, rows_read=1.0)
    assert differing(one, executed(OTHER, rows_read=1e6)) == []
    assert differing(executed(OTHER, rows_read=1e6)) == []


def test_results_have_their_amounts() -> None:
    manifest, slices = synthetic_experiment([BASE, OTHER, "b@1"], ["point-query"], blocks=2)
    dbms = {BASE: "a", OTHER: "a", "b@1": "b"}
    for facts in manifest.contenders:
        facts.dbms = dbms[facts.name]
    for plan in manifest.plans:
        rows = 10.0 if plan.contender == BASE else 1e4
        plan.executed = Executed(operations=10, executions=10, amounts={"rows_read": rows})

    results = {each.contender: each for each in analyse(manifest, slices).results}

    assert results[BASE].amounts == {"rows_read": 1.0}
    assert results[BASE].amount_differences == []
    of_all, of_one = results[OTHER].amount_differences
    assert (of_all.statement, of_one.statement) == (None, "SELECT point-query")
    assert (of_all.base, of_all.contender, of_all.ratio) == (1.0, 1000.0, 1000.0)
    assert results["b@1"].amounts == {"rows_read": 1000.0}
    assert results["b@1"].amount_differences == [], "DBMS count in ways of their own"
