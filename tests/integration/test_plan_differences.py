"""Plan differences that users have reported in public, found in real servers' plans."""

from __future__ import annotations

import json
from typing import Any

import pytest

from tests.integration.conftest import GetBuildOf
from tests.integration.slowdust_command import Workplace
from tests.integration.test_public_regressions import TREE, Case, measured
from tests.tiers.selection import full

PG_10_TO_14 = ("postgres@10.23", "postgres@14.20")
NULL_INDEX = Case(
    "maria-null-index", "mariadb@10.11.18", "mariadb@11.8.9", "left", "", 1.0,
    changes=(("100_000", "20_000"), ("count = 100", "count = 5"), ("rows = 100 }", "rows = 5 }")),
)  # fmt: skip
NOT_IN = Case(
    "pg-not-in", "postgres@14.20", "postgres@15.8", "not-in", "", 1.0,
    changes=(("200_000", "2_000"),),
)  # fmt: skip
ALIAS = Case("alias-plan", *PG_10_TO_14, "look", "", 1.0)
PARTITIONS = Case("pg-partitions", *PG_10_TO_14, "*", "", 1.0)


def difference_of(workplace: Workplace, case: Case, builds: GetBuildOf) -> dict[str, Any]:
    """The one statement of a case that its two versions execute in different ways."""
    measured(workplace, case, builds)
    report = workplace.report(case.file)
    [difference] = report["plan_differences"]
    assert report["same_plans"] == {}
    assert difference["differing_lines"].keys() == {case.base, case.other}
    shown = " ".join(workplace.run("explain", case.file, case.test).split())
    assert all(words in shown for words in difference["differences"][case.other])
    assert "<mark>" in workplace.page(case.file)
    found: dict[str, Any] = difference
    return found


def test_a_plan_of_sqlite_is_a_tree(workplace: Workplace, builds: GetBuildOf) -> None:
    difference = difference_of(workplace, TREE, builds)
    tree, table = difference["differences"][TREE.other]
    assert tree.startswith("tree: full scan ")
    assert "automatic covering index (" in tree
    assert table.startswith("euph_msgs: search by euph_msgs_2 (")
    lines = difference["plans"][TREE.other].splitlines()
    place = lines.index("  RECURSIVE STEP")
    assert lines[place + 1] == "    SCAN tree"
    assert all("    " not in lines[each] for each in difference["differing_lines"][TREE.other])


@full
def test_the_table_whose_access_changed_is_named(workplace: Workplace, builds: GetBuildOf) -> None:
    difference = difference_of(workplace, NULL_INDEX, builds)
    [words] = difference["differences"][NULL_INDEX.other]
    assert words.startswith("b: ref access on table_b_1 ")
    assert "(ALL)" in words
    assert "block nested loop" in words
    assert difference["differing_lines"] == {NULL_INDEX.base: [1], NULL_INDEX.other: [1]}


@full
def test_a_hashed_subplan_is_reported(workplace: Workplace, builds: GetBuildOf) -> None:
    difference = difference_of(workplace, NOT_IN, builds)
    words, *others = difference["differences"][NOT_IN.other]
    assert words.startswith("t2: ")
    assert "hashed subplan" in words
    assert others in ([], ["Materialize is gone"])


@full
@pytest.mark.parametrize(
    ("case", "tests"),
    [(ALIAS, ["look"]), (PARTITIONS, ["select-prepared", "update-one"])],
    ids=["alias", "partitions"],
)
def test_plans_in_other_words_are_the_same(
    workplace: Workplace, builds: GetBuildOf, case: Case, tests: list[str]
) -> None:
    measured(workplace, case, builds)
    plans = {plan["plan"] for plan in workplace.manifest(case.file)["plans"]}
    assert len(plans) == 2 * len(tests), "they are printed in two ways"
    report = workplace.report(case.file)
    assert report["plan_differences"] == []
    assert report["same_plans"] == {test: [case.other] for test in tests}
    [explained] = json.loads(workplace.run("explain", case.file, tests[0], "--json"))["explained"]
    assert explained["same_plan"]
    assert f"unchanged on {case.other}" in workplace.page(case.file)
