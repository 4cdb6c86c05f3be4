"""Commits built from source, compared by name and bisected."""

from __future__ import annotations

from pathlib import Path

import pytest

from slowdust.builds import Choices, resolve
from tests.integration.conftest import GetBuild
from tests.integration.made_history import subject_of, turns_of
from tests.integration.postgres_sources import LEAST_INSTRUCTIONS_A_TURN, history
from tests.integration.slowdust_command import Workplace
from tests.integration.small_sources import FUNCTION, MODULE, small_sources
from tests.tiers.selection import full, needs

COMMITS = 6
TURNS = max(turns_of(COMMITS))
CHANGE = turns_of(COMMITS).index(TURNS) + 1
"""The number of the commit with a slower executor."""
SLOW = 300_000
"""Turns that take several times as long as a statement."""
SPEC = """
contenders = ["postgres@git:release", "postgres@git:{change}"]
repo = "{repository}"
tests = ["point-query"]
rows = 1000
slice = "25ms"
budget = "1s"
incarnations = 1
count = "valgrind"
"""


@pytest.fixture
def repository(open_dir: Path, postgres_builds: GetBuild, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Three commits, the last one slower; a cache without their builds."""
    server = postgres_builds("17.6")
    (open_dir / "cache").mkdir(mode=0o755)
    monkeypatch.setenv("SLOWDUST_CACHE", str(open_dir / "cache"))
    return small_sources(open_dir / "repository", server, [0, SLOW])


def search_options(repository: Path, good: str) -> list[str]:
    return [
        "bisect", "postgres", "--repo", str(repository), "--good", good, "--bad", "c2",
        "--set", "shared_preload_libraries=counting", "--test", "point-query", "--rows", "100",
        "--budget", "1s", "--name", "hunt",
    ]  # fmt: skip


def check_search(workplace: Workplace, arguments: list[str]) -> str:
    """Search for the one change, and again; return the note."""
    printed = workplace.run(*arguments)
    subject = subject_of(SLOW)
    assert "1 change found from" in printed
    assert f"{subject}: " in printed
    folder = workplace.folder / "results/hunt"
    note = (folder / "note.md").read_text()
    assert "Author Test, " in note
    assert f"{MODULE} |" in note, "the files that it changed"
    assert subject in (folder / "report.html").read_text()

    steps = sorted(path.name for path in (folder / "steps").iterdir())
    again = workplace.run(*arguments, "--resume")
    assert again == printed, "a search at its end has the same answer"
    after = sorted(path.name for path in (folder / "steps").iterdir())
    assert after == steps, "and measures nothing more"
    return note


@needs("git", "cc", "make")
@pytest.mark.parametrize(("good", "commits"), [("c1", 2), pytest.param("release", 3, marks=full)])
def test_commit_that_changed_a_test_is_found(
    repository: Path, workplace: Workplace, good: str, commits: int
) -> None:
    arguments = search_options(repository, good)
    check_search(workplace, [*arguments, "--metric", "time", "--margin", "100%", "--count", "off"])
    (builds,) = (workplace.folder / "cache/compiled").iterdir()
    assert len(list(builds.glob("*/build.json"))) == commits, "each commit is compiled once"


@full
@pytest.mark.timeout(1800)
@needs("git", "cc", "make", "valgrind")
def test_commit_is_found_by_its_work_with_the_function_that_grew(
    repository: Path, workplace: Workplace
) -> None:
    note = check_search(workplace, search_options(repository, "release"))
    assert any(FUNCTION in line for line in note.splitlines() if line.startswith("|"))


@full
@pytest.mark.timeout(3600)
@needs("git", "cc", "make", "perl", "valgrind")
def test_commit_with_more_instructions_is_found_by_name(workplace: Workplace) -> None:
    repository, change = history(COMMITS), f"c{CHANGE}"
    for ref in ("release", change):
        resolve("postgres", f"git:{ref}", print, Choices(str(repository)))
    (workplace.folder / "commits.toml").write_text(
        SPEC.format(repository=repository, change=change)
    )
    workplace.run("run", "commits.toml")

    report = workplace.report("commits")
    by_name = {result["contender"]: result["work"] for result in report["results"]}
    before, after = by_name["postgres@git:release"], by_name[f"postgres@git:{change}"]
    assert after["verdict"] == "more"
    assert after["instructions"] - before["instructions"] >= LEAST_INSTRUCTIONS_A_TURN * TURNS
    subject = subject_of(TURNS)
    assert subject in workplace.page("commits")
    compiled = [facts["build"]["compiled"] for facts in workplace.manifest("commits")["contenders"]]
    assert [facts["subject"] for facts in compiled] == ["Import the release", subject]
    listed = workplace.run("builds", "list").splitlines()
    # Another test may have built the commit before, by another name.
    name, *_ = [line.split()[0] for line in listed if f'"{subject}"' in line]
    assert "commit" in workplace.run("builds", "show", name)
