"""Data beyond the servers' page caches, on real servers and a real disk."""

from __future__ import annotations

import signal
from typing import Any

import pytest

from tests.integration.conftest import GetBuildOf
from tests.integration.slowdust_command import Workplace, stop_after_slices
from tests.tiers.selection import full

MB = 1 << 20
POOL = 8 * MB
PEAK, UPDATE = "page-read-peak", "update-beyond-pool"
PAGES = {"postgres@17.6": 8192, "mysql@9.7.4": 16384, "mariadb@10.11.18": 16384}
MYROCKS = "mariadb@10.11.18/rocksdb"
SQLITES = ("sqlite@3.50.2", "sqlite@3.17.0")
ROW_BYTES = 1926


@pytest.fixture(scope="module", autouse=True)
def fetched(builds: GetBuildOf) -> None:
    for contender in (*PAGES, *SQLITES):
        builds(*contender.split("@"))


def compare(name: str, *contenders: str, rows: int = 12_000, incarnations: int = 1) -> list[str]:
    return [
        "compare", *contenders, "--name", name, "--benchmark", "io", "--pool", "8MB",
        "--rows", str(rows), "--slice", "60ms", "--budget", "4s", "--count", "off",
        "--incarnations", str(incarnations),
    ]  # fmt: skip


def by_test(report: dict[str, Any]) -> dict[tuple[str, str], dict[str, Any]]:
    return {(result["test"], result["contender"]): result for result in report["results"]}


@pytest.mark.parametrize(
    "contenders",
    [
        ("postgres@17.6", "mysql@9.7.4"),
        pytest.param(("postgres@17.6", "mariadb@10.11.18", MYROCKS), marks=full),
    ],
)
def test_pages_come_from_the_disk_and_all_writes_are_counted(
    workplace: Workplace, contenders: tuple[str, ...]
) -> None:
    workplace.run(*compare("beyond", *contenders))
    report = workplace.report("beyond")
    assert {info["buffer_pool_bytes"] for info in report["contender_info"]} == {POOL}
    results = by_test(report)
    assert {contender for _, contender in results} == {*contenders}
    for (test, contender), result in results.items():
        storage = result["storage"]
        assert result["errors"] == 0
        assert storage["data_per_pool"] > 2
        amplification = result["per_op"]["read_amplification"]
        if contender == MYROCKS:
            assert 0.3 < amplification < 20
            assert "of_disk" not in storage, "blocks have no one size"
        else:
            # The kernel has what was just written; without cold caches it would have nearly all.
            assert storage["from_device"] > 0.6
            # One page of each operation is beyond the cache, but for a share that is in it; the
            # purge of InnoDB has to read the pages of updates again.
            pages = result["per_op"]["pages_read"]
            assert 0.3 < pages < (3 if test == PEAK or contender == "postgres@17.6" else 20)
            page = PAGES[contender]
            assert amplification == pytest.approx(pages * page / ROW_BYTES, rel=0.01)
            if test == PEAK:
                assert 0 < storage["of_disk_low"] <= storage["of_disk"] <= storage["of_disk_high"]
                assert storage["of_disk"] < 2, "no server reads faster than the disk gives"
            else:
                assert storage["written_kb"] > page / 1024 / 2, "each update dirties a page"
                assert storage["written_kb"] > storage["log_kb"] > 0
        assert ("written_kb" in storage) == (test != PEAK)
        assert test == PEAK or storage["written_kb"] > 1, "a row has 1.8 KB"
        assert test == PEAK or "of_disk" not in storage
    assert results[PEAK, "postgres@17.6"]["compared"] == {}
    assert "pages_read" in results[PEAK, contenders[1]]["compared"]
    assert any("direct reads" in text for text in report["tldr"])
    assert workplace.nothing_is_left()


@full
def test_pages_that_a_start_changes_are_no_reason_to_load_again(workplace: Workplace) -> None:
    """InnoDB of MySQL changes 150 to 180 pages of its own when it starts."""
    arguments = compare("kept", "mysql@9.7.4", incarnations=2)
    assert "preparing again" not in workplace.errors(*arguments, "--tests", PEAK)
    prepared = workplace.manifest("kept")["preparations"]
    assert [record["after"] for record in prepared] == ["load", "restart"]
    assert max(record["facts"]["server"]["dirty_pages"] for record in prepared) <= 100


def test_small_data_are_noted_while_it_runs_and_in_the_report(workplace: Workplace) -> None:
    errors = workplace.errors(*compare("small", *SQLITES, rows=2000), "--tests", PEAK)
    assert "the page cache of 8 MB" in errors
    notes = [note for result in workplace.report("small")["results"] for note in result["notes"]]
    assert any("the page cache of 8 MB" in note for note in notes)


@full
def test_a_killed_experiment_resumes_with_its_pool_and_no_other(workplace: Workplace) -> None:
    process = workplace.start(*compare("killed", *SQLITES), "--tests", f"{PEAK},{UPDATE}")
    stop_after_slices(workplace, process, "killed", signal.SIGKILL)
    spec = workplace.folder / "results" / "killed" / "experiment.toml"
    text = spec.read_text()
    assert f"pool = {POOL}\n" in text
    spec.write_text(text.replace(f"pool = {POOL}", f"pool = {2 * POOL}"))
    refused = workplace.errors("run", str(spec), "--resume", expect=2)
    assert f"settings of {SQLITES[0]}" in refused
    spec.write_text(text)
    workplace.run("run", str(spec), "--resume")
    report = workplace.report("killed")
    assert {result["test"] for result in report["results"]} == {PEAK, UPDATE}
    assert report["method"]["page cache of each server"].startswith("8 MB, ")
    workplace.run("more", "killed", "--budget", "2s")
    assert f"pool = {POOL}\n" in spec.read_text()


@full
def test_servers_refuse_caches_that_they_cannot_have(workplace: Workplace) -> None:
    refused = workplace.errors("compare", "mysql@9.7.4", "--pool", "2MB", expect=2)
    assert "option 'innodb-buffer-pool-size'" in refused.splitlines()[-1]


@full
def test_the_smallest_caches_of_postgres_and_sqlite(workplace: Workplace) -> None:
    arguments = compare("least", "postgres@17.6", SQLITES[0], rows=4000)
    arguments[arguments.index("8MB")] = "1MB"
    workplace.run(*arguments)
    report = workplace.report("least")
    assert [info["buffer_pool_bytes"] for info in report["contender_info"]] == [MB, MB]
    for result in report["results"]:
        assert result["errors"] == 0
        assert result["storage"]["data_per_pool"] > 6
        # Of 8 MB, a page is soon needed again that was read and evicted in the same slice.
        assert 0 < result["storage"]["from_device"] <= 1
