"""Plans are the same if only the versions' output differs, and different otherwise."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from syrupy.assertion import SnapshotAssertion

from slowdust.analysis.plans.compare import PlanComparison, compare_plans, render_plan
from slowdust.formats.plans import parse_plan

PARTITION_OF_10 = """\
Append
  ->  Index Scan using part_1_id_idx on part_1
        Index Cond: (id = 4706)
        Filter: (provider = 1)"""
PARTITION_OF_14 = """\
Index Scan using part_1_id_idx on part_1 part
  Index Cond: (id = 4706)
  Filter: (provider = 1)"""
UPDATE_OF_10 = """\
Update on part
  Update on part_1
  ->  Append
        ->  Index Scan using part_1_id_idx on part_1 part_2
              Index Cond: (part_2.id = 17)"""
UPDATE_OF_14 = """\
Update on part
  Update on part_1
  ->  Index Scan using part_1_id_idx on part_1
        Index Cond: (id = 17)"""
INIT_PLAN_OF_16 = """\
Seq Scan on t
  Filter: (id = $0)
  InitPlan 1 (returns $0)
    ->  Index Scan using d_name on d"""
INIT_PLAN_OF_17 = """\
Seq Scan on t
  Filter: (id = (InitPlan 1).col1)
  InitPlan 1
    ->  Index Scan using d_name on d"""
NOT_IN_OF_16 = (
    "Seq Scan on t1\n  Filter: (NOT (hashed SubPlan 1))\n  SubPlan 1\n    ->  Seq Scan on t2"
)
NOT_IN_OF_18 = (
    "Seq Scan on t1\n  Filter: (NOT (ANY (id = (hashed SubPlan 1).col1)))\n"
    "  SubPlan 1\n    ->  Seq Scan on t2"
)
TWO_OF_13 = """\
Seq Scan on c
  Filter: ((parent = 1) OR (alternatives: SubPlan 1 or hashed SubPlan 2))
  SubPlan 1
    ->  Index Scan using o_c on o
          Index Cond: (c = c.id)
  SubPlan 2
    ->  Seq Scan on o o_1"""
HASHED_OF_14 = """\
Seq Scan on c
  Filter: ((parent = 1) OR (hashed SubPlan 2))
  SubPlan 2
    ->  Seq Scan on o"""
SELF_JOIN = """\
Nested Loop
  ->  Index Scan using t_pkey on t a
        Index Cond: (id = 5)
  ->  Index Scan using t_parent on t b
        Index Cond: (parent = a.id)"""
JOIN = """\
Hash Join
  Hash Cond: (o.customer = c.id)
  ->  Seq Scan on orders o
  ->  Hash
        ->  Seq Scan on customers c"""
NESTED = """\
Nested Loop
  ->  Seq Scan on orders o
  ->  Index Scan using customers_pkey on customers c
        Index Cond: (id = o.customer)"""
PARALLEL = """\
Finalize Aggregate
  ->  Gather
        Workers Planned: 2
        ->  Partial Aggregate
              ->  Parallel Seq Scan on orders"""
SORTED = "Sort\n  Sort Key: t.a, lower(b)\n  ->  Index Scan using i on t"
SERIAL = "Aggregate\n  ->  Seq Scan on orders"
TREE = """\
CO-ROUTINE tree
  SETUP
    SCAN CONSTANT ROW
  RECURSIVE STEP
    SCAN tree
    SEARCH m USING COVERING INDEX m_parent (room=? AND parent=?)
SCAN tree
SEARCH m USING INDEX m_id (room=? AND id=?)"""
LEFT_JOIN = "a: range PRIMARY; Using where\nb: ref fk_id (a.id)"
RECORDED: dict[str, dict[str, Any]] = json.loads(
    (Path(__file__).parent / "recorded" / "postgres.json").read_text()
)


def compared(plan: str, other: str, dbms: str = "postgres") -> PlanComparison:
    return compare_plans(parse_plan(plan, dbms), parse_plan(other, dbms))


def document(plan: Mapping[str, Any], **more: object) -> str:
    return json.dumps([{"Plan": plan, **more}])


@pytest.mark.parametrize(
    ("plan", "other"),
    [
        (PARTITION_OF_10, PARTITION_OF_14),
        (UPDATE_OF_10, UPDATE_OF_14),
        (INIT_PLAN_OF_16, INIT_PLAN_OF_17),
        (NOT_IN_OF_16, NOT_IN_OF_18),
        (TWO_OF_13, HASHED_OF_14),
        ("Seq Scan on a  (cost=0.00..1.05 rows=5 width=4)", "Seq Scan on a"),
        (
            "Index Scan using i on a x\n  Index Cond: (x.id = '5'::bigint)",
            "Index Scan using i on a\n  Index Cond: (id = '7'::bigint)",
        ),
        ("Append\n  Subplans Removed: 2\n  ->  Seq Scan on p", "Seq Scan on p"),
        (SELF_JOIN, SELF_JOIN.replace(" a", " x").replace("a.id", "x.id").replace(" b", " y")),
        (
            "Index Scan using i on a\n  Index Cond: (id IS NOT NULL)",
            "Index Scan using i on a",
        ),
        (
            "Index Scan using i on a\n  Index Cond: ((b > 1) AND (c = $1))",
            "Index Scan using i on a\n  Index Cond: ((c = 'x'::character varying(9)) AND (1 < b))",
        ),
        (
            "WindowAgg\n  Run Condition: (row_number() OVER (?) <= 3)\n  ->  Seq Scan on a",
            "WindowAgg\n  Window: w1 AS (ORDER BY b)\n"
            "  Run Condition: (row_number() OVER w1 <= 3)\n  ->  Seq Scan on a",
        ),
    ],
)
def test_details_that_one_version_prints_are_the_same_plan(plan: str, other: str) -> None:
    for first, second in ((plan, other), (other, plan)):
        comparison = compared(first, second)
        assert comparison.is_same, comparison.differences
        assert not (comparison.base or comparison.other)


@pytest.mark.parametrize(
    ("plan", "other"),
    [
        (NOT_IN_OF_16, NOT_IN_OF_16.replace("hashed ", "")),
        (PARTITION_OF_10, PARTITION_OF_10.replace("Index Scan using part_1_id_idx", "Seq Scan")),
        ("Append\n  ->  Seq Scan on p1\n  ->  Seq Scan on p2", "Seq Scan on p1"),
        ("Seq Scan on part_1", "Seq Scan on part_2"),
        ("Index Scan using i on a\n  Filter: (b = 1)", "Index Scan using i on a"),
        (
            "Index Scan using i on a\n  Index Cond: ((b = 1) AND (c = 2))",
            "Index Scan using i on a\n  Index Cond: (b = 1)\n  Filter: (c = 2)",
        ),
        (SELF_JOIN, SELF_JOIN.replace("t_parent", "t_other")),
        (JOIN, JOIN.replace("Hash Join", "Hash Left Join")),
        (JOIN, NESTED),
        (
            JOIN,
            JOIN.replace("orders o", "?").replace("customers c", "orders o").replace(
                "?", "customers c"
            ),
        ),
        (SERIAL, PARALLEL),
        (PARALLEL, PARALLEL.replace("Workers Planned: 2", "Workers Planned: 4")),
        ("Sort\n  Sort Key: a\n  ->  Seq Scan on t", "Sort\n  Sort Key: b\n  ->  Seq Scan on t"),
        (
            "Limit\n  ->  Sort\n        ->  Seq Scan on t",
            "Sort\n  ->  Limit\n        ->  Seq Scan on t",
        ),
        ("Seq Scan on t", "Seq Scan on t\nJIT:\n  Functions: 2"),
        (SORTED, SORTED.replace("lower(b)", "lower(b) DESC NULLS LAST")),
        (SORTED, SORTED.replace("t.a, lower(b)", "lower(b), a")),
        (
            "GroupAggregate\n  Group Key: a\n  ->  Seq Scan on t",
            "GroupAggregate\n  Group Key: a, b\n  ->  Seq Scan on t",
        ),
        (SORTED, SORTED.replace("Sort\n", "Incremental Sort\n")),
        (
            "HashAggregate\n  ->  Seq Scan on t",
            "Unique\n  ->  Sort\n        ->  Seq Scan on t",
        ),
        (
            "Gather\n  Workers Planned: 1\n  ->  Parallel Seq Scan on t",
            "Seq Scan on t",
        ),
        (
            "Seq Scan on t\nJIT:\n  Options: Inlining false",
            "Seq Scan on t\nJIT:\n  Options: Inlining true",
        ),
        (
            "Index Scan using i on t\n  Index Cond: (a = 1)",
            "Index Scan Backward using j on t\n  Index Cond: (a = 1)",
        ),
        ("CTE Scan on c\n  CTE c\n    ->  Seq Scan on t", "Seq Scan on t"),
        (JOIN, JOIN.replace("Hash Join", "Merge Join").replace("Hash Cond", "Merge Cond")),
        ("Seq Scan on t", "Result\n  One-Time Filter: (a = 1)\n  ->  Seq Scan on t"),
    ],
    ids=[
        *("subplan", "access", "append", "partition", "no-filter", "placement", "index"),
        *("join-kind", "join", "join-order", "parallel", "workers", "sort-key", "nested", "jit"),
        *("descending", "sort-order", "group-key", "incremental", "sorted-groups", "one-worker"),
        *("jit-options", "backward", "cte", "merge-join", "one-time-filter"),
    ],
)  # fmt: skip
def test_another_way_is_another_plan(plan: str, other: str, snapshot: SnapshotAssertion) -> None:
    comparison = compared(plan, other)
    assert not comparison.is_same
    assert comparison.base or comparison.other
    assert not compared(other, plan).is_same
    assert "\n".join(comparison.differences) == snapshot


@pytest.mark.parametrize(
    ("dbms", "plan", "other"),
    [
        (
            "mariadb",
            LEFT_JOIN,
            LEFT_JOIN.replace(
                "ref fk_id (a.id)", "ALL; Using where; Using join buffer (flat, BNL join)"
            ),
        ),
        ("mysql", "t: ref k_1 (const, const)", "t: ref k_1 (const)"),
        ("mysql", "t: range k_1", "t: range k_1; Using filesort"),
        ("mysql", "t: ref k_1; Using where", "t: ref k_1; Using index condition"),
        ("mysql", "t: range k_1; partitions: 1", "t: range k_1; partitions: 300"),
        (
            "mysql",
            "a: ALL\nb: ALL; Using join buffer",
            "a: ALL\nb: ALL; Using join buffer (hash join)",
        ),
        (
            "mysql",
            "t: ALL\nu: ref k_1 (func); dependent subquery 2",
            "t: ALL\nu: ref k_1 (func); materialized 2",
        ),
        ("mysql", "a: ALL\nb: ref k_1 (a.id)", "b: ALL\na: ref k_1 (b.id)"),
        ("mysql", "t: range k_1", "t: index_merge k_1,k_2"),
        ("mysql", "a: ALL\nb: ALL; Using join buffer (Block Nested Loop)", "a: ALL\nb: ref k_1"),
        (
            "mysql",
            "t: ALL\nu: ref k_1",
            "t: ALL\n<subquery2>: eq_ref <auto_key>\nu: ref k_1; materialized 2",
        ),
        ("sqlite", "SEARCH t USING INDEX k_1 (k>? AND k<?)", "SCAN t"),
        ("sqlite", "SEARCH t USING INDEX i (a=? AND b=?)", "SEARCH t USING INDEX i (a=?)"),
        ("sqlite", "SCAN t USING INDEX i", "SCAN t USING COVERING INDEX i"),
        (
            "sqlite",
            "SCAN a\nSEARCH b USING INDEX i (x=?)",
            "SCAN a\nSEARCH b USING AUTOMATIC COVERING INDEX (x=?)",
        ),
        ("sqlite", TREE, TREE.replace("(room=? AND parent=?)", "(room=?)")),
        ("sqlite", "SCAN t", "SCAN t\nUSE TEMP B-TREE FOR ORDER BY"),
        ("mongodb", "FETCH\n  IXSCAN k_1 forward", "COLLSCAN forward"),
    ],
    ids=[
        *("mariadb-access", "mysql-key-parts", "mysql-sort", "mysql-place"),
        *("mysql-partitions", "mysql-buffer"),
        *("mysql-subquery", "mysql-order", "mysql-merge", "mysql-unbuffered", "mysql-generated"),
        *("sqlite-scan", "sqlite-columns", "sqlite-covering"),
        *("sqlite-automatic", "sqlite-tree", "sqlite-sort", "mongodb-scan"),
    ],
)  # fmt: skip
def test_other_servers_take_other_ways(
    dbms: str, plan: str, other: str, snapshot: SnapshotAssertion
) -> None:
    comparison = compared(plan, other, dbms)
    assert comparison.base or comparison.other
    assert "\n".join(comparison.differences) == snapshot


@pytest.mark.parametrize(
    ("dbms", "plan", "other"),
    [
        ("mysql", LEFT_JOIN, LEFT_JOIN.replace("a:", "x:").replace("b:", "y:").replace("a.", "x.")),
        ("mysql", "t: ALL; primary\n<derived2>: ALL", "t: ALL; primary\n<derived3>: ALL"),
        ("mysql", "t: range k_1; Backward index scan", "t: range k_1"),
        (
            "mysql",
            "t: ref k_1 (const); Using where; Using index",
            "t: ref k_1 (const); Using index",
        ),
        (
            "mariadb",
            "a: ALL\nb: ALL; Using join buffer (flat, BNL join)",
            "a: ALL\nb: ALL; Using join buffer (Block Nested Loop)",
        ),
        ("sqlite", TREE, TREE.replace("tree", "branches").replace(" m ", " n ")),
        ("sqlite", "SEARCH b LEFT-JOIN", "SEARCH b"),
        (
            "sqlite",
            "CO-ROUTINE (subquery-1)\n  SCAN t\nSCAN (subquery-1)",
            "SCAN t\nSCAN SUBQUERY 1",
        ),
        (
            "sqlite",
            "SCAN t\nUSE TEMP B-TREE FOR RIGHT PART OF ORDER BY",
            "SCAN t\nUSE TEMP B-TREE FOR LAST 2 TERMS OF ORDER BY",
        ),
        ("sqlite", "SCAN t AS a", "SCAN a"),
        ("sqlite", "SCAN t\nEXECUTE LIST SUBQUERY 1", "SCAN t"),
        (
            "mysql",
            "t: ALL; primary\n<union1,2>: ALL; union result; Using temporary",
            "t: ALL; primary\n<union1,3>: ALL; union result",
        ),
        (
            "sqlite",
            TREE.replace("INE tree", "INE 2").replace("\nSCAN tree", "\nSCAN SUBQUERY 2"),
            TREE,
        ),
        ("sqlite", "MATERIALIZE 0x5F\n  SCAN t\nSEARCH 0x5F", "MATERIALIZE x\n  SCAN t\nSEARCH x"),
    ],
)
def test_other_words_of_other_servers_are_the_same_plan(dbms: str, plan: str, other: str) -> None:
    for first, second in ((plan, other), (other, plan)):
        assert compared(first, second, dbms).differences == ()


@pytest.mark.parametrize("statement", RECORDED)
def test_recorded_documents_of_three_versions(statement: str, snapshot: SnapshotAssertion) -> None:
    """Real documents of Postgres 10, 14 and 18: only what was planned in another way differs."""
    texts = {version: json.dumps(plan) for version, plan in RECORDED[statement].items()}
    told = {
        f"{before} to {after}": list(compared(texts[before], texts[after]).differences)
        for before, after in (("10", "14"), ("14", "18"))
    }
    told["as 18 prints it"] = render_plan(parse_plan(texts["18"], "postgres")).splitlines()
    assert json.dumps(told, indent=2) == snapshot


@pytest.mark.parametrize("statement", RECORDED)
def test_a_document_and_its_text_are_the_same_plan(statement: str) -> None:
    for plan in RECORDED[statement].values():
        text = json.dumps(plan)
        assert compared(text, render_plan(parse_plan(text, "postgres"))).is_same


def test_jit_and_costs_of_documents() -> None:
    scan = {"Node Type": "Seq Scan", "Relation Name": "t", "Alias": "t", "Total Cost": 7.0}
    jit = {"Functions": 3, "Options": {"Inlining": False, "Expressions": True}}
    inlined = {"Functions": 9, "Options": {"Inlining": True, "Expressions": True}}
    assert compared(document(scan), document(scan | {"Total Cost": 9.0})).is_same
    assert compared(document(scan, JIT=jit), document(scan, JIT=jit | {"Functions": 5})).is_same
    assert not compared(document(scan), document(scan, JIT=jit)).is_same
    assert not compared(document(scan, JIT=jit), document(scan, JIT=inlined)).is_same


def test_a_partition_more_is_counted() -> None:
    scans = "".join(f"\n  ->  Seq Scan on part_{number}" for number in range(1, 301))
    [sentence] = compared("Seq Scan on part_1", f"Append{scans}").differences
    assert "297" in sentence
    became = f"Append{scans}".replace("Seq Scan", "Index Scan using i")
    [sentence] = compared(f"Append{scans}", became).differences
    assert "299" in sentence


@pytest.mark.parametrize(
    "text", ["", "[", '[{"Plan": 5}]', "[]", '[{"Plan": {}}]', "what\n  is it"]
)
@pytest.mark.parametrize("dbms", ["postgres", "mysql", "sqlite", "mongodb", "unknown"])
def test_texts_without_a_plan_are_read_as_lines(text: str, dbms: str) -> None:
    assert render_plan(parse_plan(text, dbms)) == text
    assert compared(text, text, dbms).is_same
