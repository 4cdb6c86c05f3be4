"""Data beyond the servers' page caches, on real servers and a real disk."""

from __future__ import annotations

import signal
from pathlib import Path
from typing import Any

import pytest

from tests.integration.conftest import GetBuildOf
from tests.integration.slowdust_command import Workplace, stop_after_slices

MB = 1 << 20
POOL = 8 * MB
PEAK, UPDATE, UPDATE_SI = "page-read-peak", "update-beyond-pool", "update-beyond-pool-si"
PAGES = {"postgres": 8192, "mysql": 16384, "mariadb": 16384}
ROW_BYTES = 1926


@pytest.fixture
def workplace(open_dir: Path, builds: GetBuildOf) -> Workplace:
    for dbms, version in (("postgres", "17.6"), ("mysql", "9.7.4"), ("mariadb", "11.4.5")):
        builds(dbms, version)
    return Workplace(open_dir)


def compare(name: str, *contenders: str, rows: int = 20_000) -> list[str]:
    return [
        "compare", *contenders, "--name", name, "--benchmark", "io", "--pool", "8MB",
        "--rows", str(rows), "--slice", "60ms", "--budget", "24s", "--incarnations", "2",
        "--count", "off",
    ]  # fmt: skip


def of_test(arguments: list[str], test: str) -> list[str]:
    """Return the arguments for one test of the suite, for a short time."""
    place = arguments.index("--benchmark")
    chosen = [*arguments[:place], "--benchmark", "io", "--tests", test, *arguments[place + 2 :]]
    return [*chosen, "--budget", "4s"]


def by_test(report: dict[str, Any]) -> dict[tuple[str, str], dict[str, Any]]:
    return {
        (result["test"], result["contender"].partition("@")[0]): result
        for result in report["results"]
    }


def test_pages_come_from_the_disk_and_all_writes_are_counted(workplace: Workplace) -> None:
    workplace.run(*compare("beyond", "postgres@17.6", "mysql@9.7.4", "mariadb@11.4.5"))
    report = workplace.report("beyond")
    assert {info["buffer_pool_bytes"] for info in report["contender_info"]} == {POOL}
    results = by_test(report)
    assert len(results) == 9
    for (test, dbms), result in results.items():
        storage = result["storage"]
        assert result["errors"] == 0
        assert storage["data_per_pool"] > 4
        assert storage["from_device"] > 0.9, "the kernel's memory has none of it"
        # One page of each operation is beyond the cache, but for a share that is in it; the purge
        # of InnoDB has to read the pages of updates again.
        pages = result["per_op"]["pages_read"]
        assert 0.4 < pages < (3 if test == PEAK or dbms == "postgres" else 20)
        amplification = result["per_op"]["read_amplification"]
        assert amplification == pytest.approx(pages * PAGES[dbms] / ROW_BYTES, rel=0.01)
        if test == PEAK:
            assert 0 < storage["of_disk_low"] <= storage["of_disk"] <= storage["of_disk_high"]
            assert storage["of_disk"] < 2, "no server reads faster than the disk gives"
            assert "written_kb" not in storage
        else:
            assert storage["written_kb"] > PAGES[dbms] / 1024 / 2, "each update dirties a page"
            assert storage["written_kb"] > storage["log_kb"] > 0
            assert "of_disk" not in storage
    assert results[PEAK, "postgres"]["compared"] == {}
    assert "pages_read" in results[PEAK, "mysql"]["compared"]
    assert any("direct reads of the same file" in text for text in report["tldr"])
    assert workplace.nothing_is_left()


def test_small_data_are_told_while_it_runs_and_in_the_report(workplace: Workplace) -> None:
    arguments = [*compare("small", "postgres@17.6", "postgres@17.6", rows=2000), "--budget", "6s"]
    errors = workplace.errors(*arguments)
    assert "not beyond the page cache: all data are" in errors
    notes = [note for result in workplace.report("small")["results"] for note in result["notes"]]
    assert any(note.startswith("not beyond the page cache") for note in notes)


def test_a_killed_experiment_goes_on_with_its_pool_and_no_other(workplace: Workplace) -> None:
    arguments = compare("killed", "postgres@17.6", "postgres@15.8")
    process = workplace.start(*arguments)
    stop_after_slices(workplace, process, "killed", signal.SIGKILL)
    spec = workplace.folder / "results" / "killed" / "experiment.toml"
    text = spec.read_text()
    assert f"pool = {POOL}\n" in text
    spec.write_text(text.replace(f"pool = {POOL}", f"pool = {2 * POOL}"))
    refused = workplace.errors("run", str(spec), "--resume", expect=2)
    assert "the method, the settings of postgres@17.6" in refused
    spec.write_text(text)
    workplace.run("run", str(spec), "--resume")
    report = workplace.report("killed")
    assert {result["test"] for result in report["results"]} == {PEAK, UPDATE, UPDATE_SI}
    assert report["method"]["page cache of each server"].startswith("8 MB, given")
    workplace.run("more", "killed", "--budget", "6s")
    assert f"pool = {POOL}\n" in spec.read_text()


def test_pages_that_a_start_changes_are_no_reason_to_load_again(workplace: Workplace) -> None:
    """InnoDB of MySQL changes 150 to 180 pages of its own when it starts."""
    arguments = of_test(compare("kept", "mysql@9.7.4", "mysql@9.7.4"), PEAK)
    assert "preparing again" not in workplace.errors(*arguments)
    prepared = workplace.manifest("kept")["preparations"]
    assert [record["after"] for record in prepared] == ["load", "load", "restart", "restart"]
    dirty = [record["facts"]["server"]["dirty_pages"] for record in prepared]
    assert max(dirty) <= 100


def test_sorted_files_of_myrocks_are_read_from_the_disk(
    workplace: Workplace, builds: GetBuildOf
) -> None:
    builds("mariadb", "10.11.18")
    workplace.run(*of_test(compare("sorted", "mariadb@10.11.18/rocksdb"), UPDATE))
    (result,) = workplace.report("sorted")["results"]
    assert result["errors"] == 0
    assert result["storage"]["data_per_pool"] > 2
    assert result["storage"]["written_kb"] > 1, "a row has 1.8 KB"
    assert 0.3 < result["per_op"]["read_amplification"] < 20
    assert "of_disk" not in result["storage"], "blocks have no one size"


def test_ferretdb_which_reads_whole_tables_is_refused(
    workplace: Workplace, builds: GetBuildOf
) -> None:
    builds("ferretdb", "1.24.2")
    errors = workplace.errors(*compare("whole", "ferretdb@1.24.2/sqlite"), expect=2)
    assert errors.splitlines()[-1] == (
        "slowdust: ferretdb@1.24.2/sqlite cannot run the benchmark io: it reads the whole table "
        "for each row"
    )


def test_servers_refuse_caches_that_they_cannot_have(workplace: Workplace) -> None:
    refused = workplace.errors("compare", "mysql@9.7.4", "--pool", "2MB", expect=2)
    assert "refuses the settings: option 'innodb-buffer-pool-size'" in refused.splitlines()[-1]


def test_the_smallest_caches_of_postgres_and_sqlite(workplace: Workplace) -> None:
    arguments = compare("least", "postgres@17.6", "sqlite@3.50.2", rows=4000)
    arguments[arguments.index("8MB")] = "1MB"
    workplace.run(*arguments)
    report = workplace.report("least")
    assert [info["buffer_pool_bytes"] for info in report["contender_info"]] == [MB, MB]
    for result in report["results"]:
        assert result["errors"] == 0
        assert result["storage"]["data_per_pool"] > 6
        # Of 8 MB, a page is soon needed again that was read and evicted in the same slice.
        assert 0 < result["storage"]["from_device"] <= 1
