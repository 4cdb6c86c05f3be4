"""The candidates of a search: releases of the catalog, commits of a repository."""

from __future__ import annotations

from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from slowdust.builds.revisions import diff_stat
from slowdust.errors import UsageError
from slowdust.studies.candidates import committed, released
from tests.tiers.selection import needs
from tests.unit.builds.source_projects import commit, git, write


def test_releases_of_a_range_are_all_of_its_series_in_order() -> None:
    listed = released("postgres@15.17..16.2").listed
    assert [each.name for each in listed] == ["15.17", "15.18", "16.1", "16.2"]
    assert listed[0].contender == "postgres@15.17"


def test_a_beginning_stands_for_its_whole_series() -> None:
    names = [each.name for each in released("postgres@17..18").listed]
    assert names[0] == "17.0"
    assert names[-1].startswith("18.")


def test_builds_with_an_extension_are_skipped() -> None:
    assert not any("-" in each.name for each in released("postgres@16..18").listed)


def test_engine_config_and_environment_follow_the_version() -> None:
    listed = released("mariadb@10.6..10.11/innodb+jemalloc").listed
    assert listed[0].contender == f"mariadb@{listed[0].name}/innodb+jemalloc"


@pytest.mark.parametrize(
    "text",
    [
        "postgres",
        "postgres@17.6",
        "postgres@18..17",
        "postgres@17.6..17.6",
        "postgres@99..100",
        "oracle@1..2",
        "postgres@15..beta",
        "postgres@15..16:small:small",
    ],
)
def test_wrong_ranges_are_refused(text: str, snapshot: SnapshotAssertion) -> None:
    with pytest.raises(UsageError) as error:
        released(text)
    assert str(error.value) == snapshot


@pytest.fixture
def repository(open_dir: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Four commits; the third is a merge."""
    monkeypatch.setenv("SLOWDUST_CACHE", str(open_dir / "cache"))
    for name in ("GIT_AUTHOR_DATE", "GIT_COMMITTER_DATE"):  # the same hashes in every run
        monkeypatch.setenv(name, "2026-01-01T00:00:00Z")
    folder = open_dir / "repository"
    write(folder, {"a": "1"})
    commit(folder, "Begin", "begin")
    write(folder, {"a": "2"})
    commit(folder, "Change a", "changed")
    git(folder, "checkout", "-q", "-b", "side", "begin")
    write(folder, {"b": "1"})
    commit(folder, "Add b", "side-commit")
    git(folder, "checkout", "-q", "-b", "trunk", "changed")
    git(folder, "merge", "-q", "--no-ff", "-m", "Merge b", "side")
    write(folder, {"a": "3", "c": "1"})
    commit(folder, "Go on", "last")
    return folder


@needs("git")
def test_commits_match_the_first_parents(repository: Path) -> None:
    candidates = committed("postgres:small", str(repository), "begin", "last", print)
    assert [each.subject for each in candidates.listed] == [
        "Begin",
        "Change a",
        "Merge b",
        "Go on",
    ]
    last = candidates.listed[-1]
    assert last.contender == f"postgres@git:{last.commit}:small"
    assert last.author
    assert last.date
    assert last.title == f"{last.name} Go on"
    assert candidates.folder == str(repository)
    stat = diff_stat(repository, str(last.commit))
    assert "a | 2 +-" in stat
    assert "2 files changed" in stat


@needs("git")
def test_commits_at_a_url_have_their_whole_history(repository: Path) -> None:
    url = f"file://{repository}"
    candidates = committed("postgres", url, "begin", "trunk", print)
    assert len(candidates.listed) == 4
    assert len(committed("postgres", url, "begin", "changed", print).listed) == 2


@needs("git")
@pytest.mark.parametrize(
    ("good", "bad"),
    [
        ("last", "begin"),
        ("side", "last"),
        ("begin", "begin"),
        ("nowhere", "last"),
    ],
)
def test_wrong_ends_are_refused(
    repository: Path, good: str, bad: str, snapshot: SnapshotAssertion
) -> None:
    with pytest.raises(UsageError) as error:
        committed("postgres", str(repository), good, bad, print)
    assert str(error.value) == snapshot


@needs("git")
def test_subjects_may_have_any_character(repository: Path) -> None:
    write(repository, {"a": "4"})
    commit(repository, "Turn\x0cthe page, and\u2028go on", "odd")
    last = committed("postgres", str(repository), "last", "odd", print).listed[-1]
    assert last.subject == "Turn\x0cthe page, and\u2028go on"
    assert "a | 2 +-" in diff_stat(repository, str(last.commit))


@needs("git")
def test_releases_and_commits_are_not_mixed(repository: Path) -> None:
    with pytest.raises(UsageError, match="write postgres only"):
        committed("postgres@15..16", str(repository), "begin", "last", print)
