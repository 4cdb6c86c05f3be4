"""Regressions by orders of magnitude: workloads of real reports with slow operations."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from tests.integration.conftest import GetBuildOf
from tests.integration.slowdust_command import Workplace
from tests.tiers.selection import full, needs

REASONS = Path(__file__).with_name("reasons")
STARTS = 3
"""Starts that a difference beyond 3X needs."""


def compare(workplace: Workplace, reason: str, *arguments: str) -> dict[str, Any]:
    """Compare two builds by a workload; return the only result of the second."""
    workload = str(REASONS / f"{reason}.toml")
    workplace.run("compare", *arguments, "--workload", workload, "--name", reason)
    manifest = workplace.manifest(reason)
    assert manifest["finished"] is not None
    assert manifest["settled"] == [*manifest["turns_done"]]
    assert set(manifest["turns_done"].values()) == {STARTS}
    _, result = workplace.report(reason)["results"]
    return dict(result)


def slices_of(workplace: Workplace, name: str, contender: str) -> list[dict[str, Any]]:
    records = map(json.loads, workplace.slice_lines(name))
    return [record for record in records if record["place"]["contender"] == contender]


@full
@needs("valgrind")
def test_a_recursive_query_of_sqlite_that_became_slow(
    workplace: Workplace, builds: GetBuildOf
) -> None:
    old, new = "sqlite@3.17.0", "sqlite@3.26.0"
    for contender in (old, new):
        builds(*contender.split("@"))
    result = compare(workplace, "lite-tree", old, new, "--budget", "10s", "--count-budget", "20s")
    assert result["verdict"] == "slower"
    assert result["high"] < 1 / 100
    differences = {each["amount"]: each for each in result["amount_differences"]}
    steps = [differences[name] for name in ("full_scan_steps", "vm_steps")]
    assert all(each["contender"] > 100 * each["base"] for each in steps)
    assert len(slices_of(workplace, "lite-tree", new)) <= STARTS * 2 * 3
    # A window of the base's half a second would be hundreds of operations of a second each.
    counts = workplace.folder / "results" / "lite-tree" / "counts.ndjson"
    lines = counts.read_text().splitlines() if counts.exists() else []
    assert {json.loads(line)["run"]["operations"] for line in lines} <= {1}
    left_out = workplace.manifest("lite-tree")["counting"].get("left_out")
    assert lines or left_out["tests"] == ["tree"]


@full
def test_a_join_of_mariadb_that_reads_a_whole_table(
    workplace: Workplace, builds: GetBuildOf
) -> None:
    old, new = "mariadb@10.11.18", "mariadb@11.8.9"
    for contender in (old, new):
        builds(*contender.split("@"))
    result = compare(workplace, "maria-null-index", old, new, "--budget", "5s", "--count", "off")
    assert result["verdict"] == "slower"
    assert result["high"] < 1 / 100
    slices = slices_of(workplace, "maria-null-index", new)
    assert len(slices) == STARTS * 2, "one block of each start"
    assert {record["measured"]["operations"] for record in slices} == {1}
