"""A pushed build is found by its name without its repository, and is never fetched."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from slowdust.builds import Choices, resolve
from slowdust.builds.compile import LOG
from slowdust.builds.pushed import VARIABLE, PushedBuild, encoded, known
from slowdust.errors import SlowdustError
from slowdust.fleet.build_transfer import packed, pushed_build, put
from tests.tiers.selection import needs
from tests.unit.builds.source_projects import commit, postgres_sources

NAME = "postgres@git:main"

pytestmark = needs("cc", "make", "git")


@pytest.fixture
def given(open_dir: Path, monkeypatch: pytest.MonkeyPatch) -> PushedBuild:
    """A build of a repository that is gone, in the cache of a host without a compiler."""
    monkeypatch.setenv("SLOWDUST_CACHE", str(open_dir / "head"))
    repository = postgres_sources(open_dir / "repository")
    commit(repository, "Begin", "main")
    build = resolve("postgres", "git:main", lambda _: None, Choices(str(repository)))
    given = pushed_build(NAME, build)
    bundle, archive = packed(given.folder)
    shutil.rmtree(repository)
    monkeypatch.setenv("SLOWDUST_CACHE", str(open_dir / "host"))
    monkeypatch.setenv("CC", "no-compiler")
    put(bundle, archive)
    return given


def resolved(version: str = "git:main", flags: str | None = None) -> object:
    return resolve("postgres", version, lambda _: None, Choices("/no/repository", flags)).facts


def test_a_name_leads_to_the_facts_of_the_head(given: PushedBuild) -> None:
    with known([given]):
        assert resolved() == given.facts
    assert given.facts.compiled is not None
    assert given.facts.compiled.subject == "Begin"
    with pytest.raises(SlowdustError, match="no-compiler, not installed"):
        resolved()


def test_another_process_learns_of_them_by_a_file(
    given: PushedBuild, open_dir: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file = open_dir / "builds.json"
    file.write_bytes(encoded([given]))
    monkeypatch.setenv(VARIABLE, str(file))
    assert resolved() == given.facts
    for other in ({"version": "git:other"}, {"flags": "o3"}):
        with pytest.raises(SlowdustError, match="no-compiler"):
            resolved(**other)
    file.write_text("[{}]")
    with pytest.raises(SlowdustError, match="cannot read the list"):
        resolved()


def test_missing_and_altered_files_are_refused(given: PushedBuild, open_dir: Path) -> None:
    folder = open_dir / "host" / given.folder
    with known([given]):
        (folder / LOG).write_text("compiled at another time")
        assert resolved() == given.facts, "a log is no content"
        (folder / "binaries" / "added").write_text("")
        with pytest.raises(SlowdustError, match="checksum"):
            resolved()
        shutil.rmtree(folder)
        with pytest.raises(SlowdustError, match="is missing in"):
            resolved()
