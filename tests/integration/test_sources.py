"""Commits of Postgres, built from Debian's source package, compared by name and searched."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from slowdust.builds import Choices, resolve
from tests.integration.postgres_sources import LEAST_INSTRUCTIONS_A_TURN, history, turns_of
from tests.integration.slowdust_command import Workplace

COMMITS = 6
TURNS = max(turns_of(COMMITS))
CHANGE = turns_of(COMMITS).index(TURNS) + 1
"""The number of the commit with a slower executor."""

needs_valgrind = pytest.mark.skipif(
    shutil.which("valgrind") is None, reason="valgrind is not installed"
)

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


@pytest.fixture(scope="session")
def repository() -> Path:
    """The release, with commits of which one has a slower executor."""
    return history(COMMITS)


@pytest.mark.timeout(3600)
@needs_valgrind
def test_commit_with_more_instructions_is_found_by_name(repository: Path, open_dir: Path) -> None:
    change = f"c{CHANGE}"
    for ref in ("release", change):
        resolve("postgres", f"git:{ref}", print, Choices(str(repository)))
    workplace = Workplace(open_dir)
    (open_dir / "commits.toml").write_text(SPEC.format(repository=repository, change=change))
    workplace.run("run", "commits.toml")

    report = workplace.report("commits")
    by_name = {result["contender"]: result["work"] for result in report["results"]}
    before, after = by_name["postgres@git:release"], by_name[f"postgres@git:{change}"]
    assert after["verdict"] == "more"
    assert after["instructions"] - before["instructions"] >= LEAST_INSTRUCTIONS_A_TURN * TURNS
    page = workplace.page("commits")
    assert f"Count to {TURNS} before every statement" in page
    compiled = [facts["build"]["compiled"] for facts in workplace.manifest("commits")["contenders"]]
    assert [facts["subject"] for facts in compiled] == [
        "Import the release",
        f"Count to {TURNS} before every statement",
    ]
    subject = f'"Count to {TURNS} before every statement"'
    listed = workplace.run("builds", "list").splitlines()
    # Another test may have built the commit before, by another name.
    name, *_ = [line.split()[0] for line in listed if subject in line]
    assert "commit" in workplace.run("builds", "show", name)


@pytest.mark.timeout(3600)
@needs_valgrind
def test_commit_that_changed_a_test_is_found(repository: Path, open_dir: Path) -> None:
    workplace = Workplace(open_dir)
    ends = ("--repo", str(repository), "--good", "release", "--bad", f"c{COMMITS}")
    options = ("--test", "point-query", "--rows", "1000", "--budget", "2s", "--name", "hunt")
    printed = workplace.run("bisect", "postgres", *ends, *options)

    subject = f"Count to {TURNS} before every statement"
    assert "1 change found from" in printed
    assert f"{subject}: " in printed
    note = (workplace.folder / "results/hunt/note.md").read_text()
    assert "Author Test, " in note
    assert "src/backend/executor/execMain.c |" in note, "the files that it changed"
    assert re.search(r"`standard_ExecutorRun` +\| grew", note)
    page = (workplace.folder / "results/hunt/report.html").read_text()
    assert subject in page

    steps = sorted(path.name for path in (workplace.folder / "results/hunt/steps").iterdir())
    again = workplace.run("bisect", "postgres", *ends, *options, "--resume")
    assert again == printed, "a search at its end has the same answer"
    after = sorted(path.name for path in (workplace.folder / "results/hunt/steps").iterdir())
    assert after == steps, "and measures nothing more"
