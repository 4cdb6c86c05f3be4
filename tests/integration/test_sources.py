"""Two commits of Postgres, built from Debian's source package and compared by name."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from slowdust.builds import Choices, resolve
from slowdust.builds.sources.apt import PrivateApt
from slowdust.builds.sources.client import SourceUnavailable
from slowdust.places import cache_root
from slowdust.unpacking import unpack
from tests.integration.slowdust_command import Workplace

PACKAGE = "postgresql-15"
CHANGED = "src/backend/executor/execMain.c"
BEFORE = (
    "\testate = queryDesc->estate;\n\n"
    "\tAssert(estate != NULL);\n"
    "\tAssert(!(estate->es_top_eflags & EXEC_FLAG_EXPLAIN_ONLY));\n\n"
    "\t/*\n\t * Switch into per-query memory context\n"
)
"""The beginning of `standard_ExecutorRun`."""
ADDED = "	for (volatile int turn = 0; turn < 2000; turn++)\n		;\n\n"
"""The fewest instructions that every statement has more: 3 a turn."""
LEAST_INSTRUCTIONS = 3 * 2000

SPEC = """
contenders = ["postgres@git:before", "postgres@git:after"]
repo = "{repository}"
tests = ["point-query"]
rows = 1000
slice = "25ms"
budget = "1s"
incarnations = 1
count = "valgrind"
"""


def git(folder: Path, *arguments: str) -> None:
    who = ["-c", "user.name=Test", "-c", "user.email=test@localhost"]
    subprocess.run(["git", "-C", folder, *who, *arguments], check=True, capture_output=True)


def download(folder: Path) -> Path:
    """Fetch the source package by apt, which verifies it; return the project's own archive."""
    folder.mkdir()
    folder.chmod(0o755)
    apt = PrivateApt(folder / "apt", "bookworm", "main")
    sources = folder / "apt/debian.sources"
    kept = [
        line.replace("Types: deb", "Types: deb-src")
        for line in sources.read_text().splitlines()
        if not line.startswith(("Targets:", "Architectures:"))
    ]
    sources.write_text("\n".join(kept) + "\n")
    apt.update()
    settings = ["--config-file", str(folder / "apt/apt.conf")]
    command = ["apt-get", *settings, "--download-only", "source", PACKAGE]
    subprocess.run(command, cwd=folder, check=True, capture_output=True)
    (archive,) = folder.glob("*.orig.tar.*")
    return archive


@pytest.fixture(scope="session")
def repository() -> Path:
    """A repository with the package's sources, `before`, and a slower executor, `after`.

    It is kept in the cache, where its builds are too.
    """
    folder = cache_root() / "test-sources" / PACKAGE
    if folder.is_dir():
        return folder
    for program in ("apt-get", "git", "gcc", "make", "perl"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")
    making = folder.with_name(f"{PACKAGE}.making")
    shutil.rmtree(making, ignore_errors=True)
    making.parent.mkdir(parents=True, exist_ok=True)
    try:
        archive = download(making)
    except SourceUnavailable as reason:
        pytest.skip(str(reason))
    unpack(archive, making / "unpacked")
    (sources,) = (making / "unpacked").iterdir()
    git(sources, "init", "--quiet")
    git(sources, "add", "--all", "--force")
    git(sources, "commit", "--quiet", "--message", "Import the release")
    git(sources, "tag", "before")
    changed = sources / CHANGED
    text = changed.read_text()
    assert text.count(BEFORE) == 1
    changed.write_text(text.replace(BEFORE, ADDED + BEFORE))
    git(sources, "commit", "--quiet", "--all", "--message", "Count before every statement")
    git(sources, "tag", "after")
    sources.rename(folder)
    shutil.rmtree(making)
    return folder


@pytest.mark.timeout(3600)
@pytest.mark.skipif(shutil.which("valgrind") is None, reason="valgrind is not installed")
def test_commit_with_more_instructions_is_found_by_name(repository: Path, open_dir: Path) -> None:
    for ref in ("before", "after"):
        resolve("postgres", f"git:{ref}", print, Choices(str(repository)))
    workplace = Workplace(open_dir)
    (open_dir / "commits.toml").write_text(SPEC.format(repository=repository))
    workplace.run("run", "commits.toml")

    report = workplace.report("commits")
    by_name = {result["contender"]: result["work"] for result in report["results"]}
    before, after = by_name["postgres@git:before"], by_name["postgres@git:after"]
    assert after["verdict"] == "more"
    assert after["instructions"] - before["instructions"] >= LEAST_INSTRUCTIONS
    page = workplace.page("commits")
    assert "Count before every statement" in page
    compiled = [facts["build"]["compiled"] for facts in workplace.manifest("commits")["contenders"]]
    assert [facts["subject"] for facts in compiled] == [
        "Import the release",
        "Count before every statement",
    ]
    listed = workplace.run("builds", "list")
    assert "postgres@git:after" in listed
    assert "commit" in workplace.run("builds", "show", "postgres@git:after")
