"""Plans are the same where only what a version prints differs, and no other way is taken."""

from __future__ import annotations

import pytest

from slowdust.analysis.plans import compare_plans
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


@pytest.mark.parametrize(
    ("plan", "other"),
    [
        (PARTITION_OF_10, PARTITION_OF_14),
        (UPDATE_OF_10, UPDATE_OF_14),
        (INIT_PLAN_OF_16, INIT_PLAN_OF_17),
        (NOT_IN_OF_16, NOT_IN_OF_18),
        ("Seq Scan on a  (cost=0.00..1.05 rows=5 width=4)", "Seq Scan on a"),
        (
            "Index Scan using i on a x\n  Index Cond: (x.id = '5'::bigint)",
            "Index Scan using i on a\n  Index Cond: (id = '7'::bigint)",
        ),
        ("Append\n  Subplans Removed: 2\n  ->  Seq Scan on p", "Seq Scan on p"),
    ],
)
def test_what_only_a_version_prints_is_the_same_plan(plan: str, other: str) -> None:
    assert compare_plans(parse_plan(plan, "postgres"), parse_plan(other, "postgres")).is_same


@pytest.mark.parametrize(
    ("plan", "other"),
    [
        (NOT_IN_OF_16, NOT_IN_OF_16.replace("hashed ", "")),
        (PARTITION_OF_10, PARTITION_OF_10.replace("Index Scan using part_1_id_idx", "Seq Scan")),
        ("Append\n  ->  Seq Scan on p1\n  ->  Seq Scan on p2", "Seq Scan on p1"),
        ("Seq Scan on part_1", "Seq Scan on part_2"),
        ("Index Scan using i on a\n  Filter: (b = 1)", "Index Scan using i on a"),
    ],
)
def test_another_way_is_another_plan(plan: str, other: str) -> None:
    assert not compare_plans(parse_plan(plan, "postgres"), parse_plan(other, "postgres")).is_same
