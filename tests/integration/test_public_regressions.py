"""Regressions and improvements that users have reported in public: each is found and explained.

The files of `cases/` are measured between the two versions where the change shows, with fewer rows
where that keeps it. The differences are far larger than what a busy machine does to a ratio.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.integration.conftest import GetBuildOf
from tests.integration.slowdust_command import Workplace
from tests.tiers.selection import full

CASES = Path(__file__).parent / "cases"
SMALLEST = ("--incarnations", "2", "--budget", "4s", "--count", "off", "--yes")
WRONG_WORDS = re.compile(
    r"99% (?:slower|faster)|0\.00 \[0\.00|cannot tell more|stalls|dropped out|proves no cause"
)
"""Words that no report of a change by a factor has."""


@dataclass(frozen=True)
class Case:
    """A workload, the versions between which a test of it changes, and by how much at least."""

    file: str
    base: str
    other: str
    test: str
    verdict: str
    factor: float
    changes: tuple[tuple[str, str], ...] = ()
    """Texts of the file, and what stands in their place for a smaller run."""
    amounts: tuple[str, ...] = ()
    """Exact amounts of an operation that differ."""
    reason: tuple[str, ...] = ()
    """The kinds of evidence that lead the reason, in their order; others may follow."""

    def __str__(self) -> str:
        return self.file


QUICK = (
    Case(
        "sqlite-left-join", "sqlite@3.17.0", "sqlite@3.50.2", "of-right", "faster", 10.0,
        amounts=("vm_steps",),
        reason=("plan",),
    ),
)  # fmt: skip
TREE = Case(
    "lite-tree", "sqlite@3.45.0", "sqlite@3.51.3", "tree", "slower", 5.0,
    changes=(("rows = 100_000", "rows = 2_000"), ("high = 100_000", "high = 2_000")),
    amounts=("full_scan_steps", "vm_steps"),
    reason=("plan", "rows"),
)  # fmt: skip
OTHERS = (
    Case(
        "pg-cte", "postgres@11.20", "postgres@12.22", "cte", "slower", 1.3,
        changes=(("rows = 50_000", "rows = 10_000"),),
        reason=("plan",),
    ),
    Case(
        "maria-null-index", "mariadb@10.11.18", "mariadb@11.8.9", "left", "slower", 20.0,
        changes=(
            ("100_000", "20_000"), ("count = 100", "count = 5"), ("rows = 100 }", "rows = 5 }"),
        ),
        amounts=("rows_read",),
        reason=("plan",),
    ),
    Case(
        "pg-skip-scan", "postgres@17.6", "postgres@18.4", "few-leading", "faster", 2.0,
        changes=(("1_000_000", "400_000"), ("each = 100_000", "each = 40_000")),
        amounts=("index_searches", "pages"),
        reason=("pages",),
    ),
    Case(
        "pg-partitions", "postgres@10.23", "postgres@14.20", "update-one", "faster", 5.0,
        reason=("planning",),
    ),
    Case(
        "pg-not-in", "postgres@14.20", "postgres@15.8", "not-in", "faster", 3.0,
        changes=(("200_000", "2_000"),),
        reason=("plan",),
    ),
    Case(
        "my-order-limit", "mysql@5.6.24", "mysql@9.7.4", "top", "slower", 1.5,
        changes=(("10_000", "2_000"),),
        amounts=("pages",),
        reason=("pages",),
    ),
    Case(
        "maria-pdns", "mariadb@10.11.18", "mariadb@11.8.9", "clear", "slower", 20.0,
        changes=(("50_000", "5_000"), ("100_000", "10_000")),
        amounts=("rows_read",),
        reason=("rows",),
    ),
)  # fmt: skip


def measured(workplace: Workplace, case: Case, builds: GetBuildOf, *, expect: int = 0) -> str:
    """Compare the two versions by the case's file; standard output, with one blank for many."""
    for contender in (case.base, case.other):
        builds(*contender.split("@"))
    text = (CASES / f"{case.file}.toml").read_text()
    for old, new in case.changes:
        assert old in text
        text = text.replace(old, new)
    file = workplace.folder / f"{case.file}.toml"
    file.write_text(text)
    options = ("--workload", file.name, "--tests", case.test, "--name", case.file, *SMALLEST)
    printed = workplace.run("compare", case.base, case.other, *options, expect=expect)
    return " ".join(printed.split())


def result_of(workplace: Workplace, case: Case) -> dict[str, Any]:
    """The result of the case's test on the second version."""
    results = workplace.report(case.file)["results"]
    [result] = [each for each in results if each["contender"] == case.other]
    found: dict[str, Any] = result
    return found


@pytest.mark.parametrize(
    "case", [*QUICK, TREE, *(pytest.param(case, marks=full) for case in OTHERS)], ids=str
)
def test_a_change_is_found_and_reported_by_its_size(
    workplace: Workplace, builds: GetBuildOf, case: Case
) -> None:
    printed = measured(workplace, case, builds)

    result = result_of(workplace, case)
    assert result["verdict"] == case.verdict, printed
    ratio = result["rqps"] if case.verdict == "faster" else 1 / result["rqps"]
    assert ratio > case.factor
    differences = result.get("amount_differences", [])
    of_operation = {each["amount"] for each in differences if "statement" not in each}
    assert of_operation >= {*case.amounts}, result["amounts"]
    assert re.search(rf"{case.test}: [\d.,]+(?:X|%) {case.verdict} \([\d.,]+(?:X|%) to ", printed)
    assert not WRONG_WORDS.search(printed), printed
    leads = dict.fromkeys(each["kind"] for each in result["evidence"] if each.get("leads"))
    assert (*leads,)[: len(case.reason)] == case.reason, result["evidence"]


def test_tests_that_always_fail_are_reported_first(
    workplace: Workplace, builds: GetBuildOf
) -> None:
    case = Case("failing", "sqlite@3.50.2", "sqlite@3.17.0", "*", "", 1.0)
    printed = measured(workplace, case, builds, expect=1)

    results = {
        (each["test"], each["contender"]): each for each in workplace.report("failing")["results"]
    }
    failed, *_ = printed.split(" Measured ")
    assert failed.startswith("Failed ")
    kinds = {
        "error": ("fails", "SQLITE_ERROR integer overflow"),
        "nothing": ("has wrong results", "row count 0, expected 1"),
    }
    lines = workplace.slice_lines("failing")
    of_test = {test: sum(f'"test":"{test}"' in line for line in lines) for test in (*kinds, "ok")}
    for test, (kind, reason) in kinds.items():
        failing = [results[test, case.base], results[test, case.other]]
        executions = sum(each["failures"]["executions"] for each in failing)
        assert f"{test} {kind} on {case.base} and {case.other}: " in failed
        assert f"{executions:,} operations, {reason}" in failed
        assert all(each["qps"] == 0 and "verdict" not in each for each in failing)
        assert of_test[test] < of_test["ok"], "a failing test gets no more slices"
    assert results["ok", case.other]["qps"] > 0
    assert "Everything is decided" not in printed or "decided but " in printed
