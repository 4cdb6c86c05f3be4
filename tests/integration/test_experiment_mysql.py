"""Whole experiments on MySQL and MariaDB, beside Postgres and among each other."""

from __future__ import annotations

import signal
from pathlib import Path

import pytest

from tests.integration.conftest import GetBuildOf
from tests.integration.slowdust_command import Workplace, stop_after_slices, wait_until

UNLIKE = ("mysql@5.6.24", "mysql@9.7.4", "mariadb@10.11.18/rocksdb", "postgres@17.6")
SLAP = """
contenders = ["mysql@9.7.4+glibc"]
benchmark = "slap"
tests = ["update-same-indexed", "range-pk.10"]
clients = [1, 4]
rows = 2000
slice = "50ms"
budget = "20s"
incarnations = 2
count = "off"

[matrix]
engine = ["innodb", "memory"]
log_bin = [false, true]
"""


@pytest.fixture
def workplace(open_dir: Path, builds: GetBuildOf) -> Workplace:
    for contender in UNLIKE:
        builds(*contender.partition("/")[0].split("@"))
    return Workplace(open_dir)


def compare(name: str, *contenders: str) -> list[str]:
    return [
        "compare", *contenders, "--name", name, "--tests", "point-query,update-index",
        "--rows", "2000", "--slice", "50ms", "--budget", "16s", "--incarnations", "2",
        "--count", "off",
    ]  # fmt: skip


def test_unlike_contenders_are_compared_and_the_head_says_so(workplace: Workplace) -> None:
    workplace.run(*compare("unlike", *UNLIKE))
    report = workplace.report("unlike")
    assert [result["errors"] for result in report["results"]] == [0] * 8
    assert all(result["per_op"]["server_cpu_us"] > 0 for result in report["results"])
    heads = [note.partition(":")[0] for note in report["notes"]]
    assert "Different DBMS are compared" in heads
    assert "Different storage engines are compared" in heads
    assert len({info["buffer_pool_bytes"] for info in report["contender_info"]}) == 1
    assert [info.get("engine") for info in report["contender_info"]] == [
        "innodb", "innodb", "rocksdb", None,
    ]  # fmt: skip
    assert [info["allocator"] for info in report["contender_info"]][:3] == [
        "glibc", "tcmalloc", "glibc",
    ]  # fmt: skip
    assert workplace.nothing_is_left()


def test_single_rows_by_engine_with_and_without_binlog(workplace: Workplace) -> None:
    (workplace.folder / "slap.toml").write_text(SLAP)
    workplace.run("run", "slap.toml")
    report = workplace.report("slap")
    # Tables of MEMORY are loaded again after the restart: nobody misses a row.
    assert [result["errors"] for result in report["results"]] == [0] * 16
    assert len(report["contenders"]) == 4
    others = [result for result in report["results"] if result["contender"] != report["base"]]
    assert all(result["response_time"]["relative"] > 0 for result in others)
    assert {info["allocator"] for info in report["contender_info"]} == {"glibc"}
    assert len(report["concurrency"]) == 2


def test_a_killed_experiment_leaves_nothing_and_goes_on(workplace: Workplace) -> None:
    process = workplace.start(*compare("killed", "mysql@9.7.4", "mysql@5.6.24"))
    stop_after_slices(workplace, process, "killed", signal.SIGKILL)
    before = workplace.slice_lines("killed")
    wait_until(workplace.nothing_is_left, "the killed run's servers are gone")

    workplace.run("run", "results/killed/experiment.toml", "--resume")
    after = workplace.slice_lines("killed")
    assert after[: len(before)] == before
    assert workplace.manifest("killed")["finished"]
    assert workplace.nothing_is_left()
