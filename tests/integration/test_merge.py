"""Two real experiments, as if from two hosts, merged into one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.integration.slowdust_command import Workplace

OLD, NEW = "sqlite@3.17.0", "sqlite@3.50.2"
TESTS = ("point-query", "range-covered-pk")


pytestmark = pytest.mark.builds(OLD, NEW)


def _give_host(manifest: Path, name: str, cpu: str) -> None:
    """Change the machine that a stored experiment names."""
    content = json.loads(manifest.read_bytes())
    content["host"] |= {"host": name, "CPU": cpu}
    manifest.write_text(json.dumps(content))


def test_experiments_of_two_hosts_are_one_with_both_hosts_in_its_intervals(
    workplace: Workplace,
) -> None:
    for name in ("first", "second"):
        workplace.run("run", workplace.write_experiment(name, (OLD, NEW), *TESTS))
    _give_host(workplace.folder / "results/second/manifest.json", "other", "Model B")
    shown = workplace.run("merge", "first", "second", "--name", "both", "--replicate")
    assert [line.split()[0] for line in shown.splitlines()] == ["host1", "other", "merged:"]
    joined, first, second = (workplace.report(name) for name in ("both", "first", "second"))
    assert [host["group"] for host in joined["hosts"]][1] == "Model B"
    assert sum(result["slices"] for result in joined["results"]) == sum(
        result["slices"] for part in (first, second) for result in part["results"]
    )
    alone = {result["test"]: result for result in first["results"] if result["contender"] == NEW}
    for result in joined["results"]:
        if result["contender"] != NEW:
            continue
        single = alone[result["test"]]
        assert [each["host"] for each in result["hosts"]] == ["host1", "other"]
        # One machine measured both, so that hosts agree within their intervals.
        assert result["low"] < single["high"]
        assert single["low"] < result["high"]
        assert {each["group"] for each in result["groups"]} == {
            host["group"] for host in joined["hosts"]
        }
