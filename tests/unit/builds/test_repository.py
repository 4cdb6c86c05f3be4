"""Commits of repositories, and source trees that follow them."""

from __future__ import annotations

from pathlib import Path

import pytest

from slowdust.builds.revisions import Revision, find_commit, sources_at, update_tree
from slowdust.errors import SlowdustError, UsageError
from tests.tiers.selection import needs
from tests.unit.builds.source_projects import commit, git, write

pytestmark = needs("git")


@pytest.fixture(autouse=True)
def own_cache(open_dir: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache of the test's own."""
    monkeypatch.setenv("SLOWDUST_CACHE", str(open_dir / "cache"))


@pytest.fixture
def repository(open_dir: Path) -> Path:
    """Two commits: `one` has the files a and b, `two` has c instead of a."""
    folder = open_dir / "repository"
    write(folder, {"a": "first", "b": "second", "bin/run": "#!/bin/sh\n"})
    (folder / "link").symlink_to("b")
    commit(folder, "Begin", "one")
    (folder / "a").unlink()
    write(folder, {"c": "third"})
    commit(folder, "Go on", "two")
    return folder


def at(repository: Path | str, ref: str) -> Revision:
    return find_commit(str(repository), f"git:{ref}", print)


def names(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if not path.is_dir()}


@pytest.mark.parametrize("ref", ["two", "HEAD", "master", "one~0"])
def test_commit_is_found_by_each_kind_of_name(repository: Path, ref: str) -> None:
    found = at(repository, ref)
    assert (found.ref, found.place) == (ref, str(repository))
    assert found.commit == git(repository, "rev-parse", ref)
    assert found.content == git(repository, "rev-parse", f"{ref}^{{tree}}")
    assert found.subject == ("Begin" if ref.startswith("one") else "Go on")


def test_branch_of_the_origin_is_found_in_a_clone(repository: Path, open_dir: Path) -> None:
    git(repository, "branch", "stable", "one")
    git(open_dir, "clone", "--quiet", str(repository), "clone")
    assert at(open_dir / "clone", "stable").subject == "Begin"


def test_export_has_the_files_of_the_commit(repository: Path, open_dir: Path) -> None:
    write(repository, {"b": "not committed"})
    at(repository, "one").export(open_dir / "sources")
    assert names(open_dir / "sources") == {"a", "b", "bin/run", "link"}
    assert (open_dir / "sources/b").read_text() == "second"


def test_commit_that_is_absent(repository: Path, open_dir: Path) -> None:
    with pytest.raises(UsageError, match=r" three.*two"):
        at(repository, "three")
    with pytest.raises(UsageError, match="/absent"):
        at(open_dir / "absent", "one")
    with pytest.raises(SlowdustError, match="not a git repository"):
        at("/", "one")
    with pytest.raises(UsageError, match="add --repo"):
        find_commit(None, "git:one", print)
    with pytest.raises(UsageError, match="no commit --all"):
        at(repository, "--all")


def test_url_is_mirrored_and_fetched_again(repository: Path) -> None:
    url = f"file://{repository}"
    first = at(url, "master")
    assert (first.place, first.subject) == (url, "Go on")
    write(repository, {"d": "fourth"})
    commit(repository, "Go further", "three")
    assert at(url, "master").subject == "Go further"
    assert at(url, "master~2").subject == "Begin"
    with pytest.raises(UsageError, match="no commit absent"):
        at(url, "absent")


def test_known_commit_of_a_url_needs_no_network(repository: Path, open_dir: Path) -> None:
    url = f"file://{repository}"
    whole = at(url, "master").commit
    assert whole is not None
    repository.rename(open_dir / "moved")
    assert at(url, whole).subject == "Go on"


def test_submodules_are_exported(repository: Path, open_dir: Path) -> None:
    library = open_dir / "library"
    write(library, {"lib.c": "int i;\n"})
    commit(library, "Begin the library", "one")
    git(repository, "submodule", "--quiet", "add", str(library), "libs/library")
    commit(repository, "Use a library", "three")
    at(repository, "three").export(open_dir / "sources")
    assert (open_dir / "sources/libs/library/lib.c").read_text() == "int i;\n"
    git(open_dir, "clone", "--quiet", str(repository), "clone")
    with pytest.raises(SlowdustError, match=r"submodule libs/library .*git submodule update"):
        at(open_dir / "clone", "three").export(open_dir / "others")


def test_tree_follows_a_repository(repository: Path, open_dir: Path) -> None:
    tree = open_dir / "tree"
    tree.mkdir()
    update_tree(tree, at(repository, "one"))
    source = tree / "source"
    before = {name: (source / name).lstat().st_mtime_ns for name in names(source)}
    assert len(set(before.values())) == 1, "what is made of another file is not older than it"
    update_tree(tree, at(repository, "two"))
    assert names(source) == {"b", "c", "bin/run", "link"}
    after = {name: (source / name).lstat().st_mtime_ns for name in names(source)}
    assert {name for name in after if after[name] == before.get(name)} == {"b", "bin/run", "link"}
    assert (source / "link").readlink() == Path("b")
    assert (source / "bin/run").stat().st_mode & 0o777 == 0o755


def test_clone_as_directory_has_what_git_would_track(repository: Path, open_dir: Path) -> None:
    write(repository, {".gitignore": "*.o\n", "main.o": "object", "new.c": "source"})
    first = sources_at(f"source:{repository}")
    first.export(open_dir / "sources")
    assert names(open_dir / "sources") == {"b", "c", "bin/run", "link", ".gitignore", "new.c"}
    write(repository, {"main.o": "another"})
    assert sources_at(f"source:{repository}").content == first.content
    (repository / "new.c").chmod(0o755)
    assert sources_at(f"source:{repository}").content != first.content
