"""Repositories with the sources of Debian's Postgres, kept in the cache, where their builds are."""

from __future__ import annotations

import random
import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from slowdust.builds import staging
from slowdust.builds.sources.apt import PrivateApt
from slowdust.builds.sources.client import SourceUnavailable
from slowdust.places import cache_root
from slowdust.unpacking import unpack

PACKAGE = "postgresql-15"
CHANGED = "src/backend/executor/execMain.c"
BEFORE = (
    "\testate = queryDesc->estate;\n\n"
    "\tAssert(estate != NULL);\n"
    "\tAssert(!(estate->es_top_eflags & EXEC_FLAG_EXPLAIN_ONLY));\n\n"
    "\t/*\n\t * Switch into per-query memory context\n"
)
"""The beginning of `standard_ExecutorRun`."""
LEAST_INSTRUCTIONS_A_TURN = 3
SIZES = (400, 500, -300)
"""Turns by which the executor counts further from each of the changes on."""
NEWS = "NEWS"
"""A file that no build reads, for commits that change nothing."""


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


def release() -> Path:
    """Return a repository with the package's sources as one commit, tagged `release`.

    Skips the test where the package or a program cannot be had.
    """
    folder = cache_root() / "test-sources" / f"{PACKAGE}-release"
    folder.parent.mkdir(parents=True, exist_ok=True)
    with staging.lock(folder):
        if not folder.is_dir():
            _make_release(folder)
    return folder


def _make_release(folder: Path) -> None:
    for program in ("apt-get", "git", "gcc", "make", "perl"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed")
    making = folder.with_name(f"{folder.name}.making")
    shutil.rmtree(making, ignore_errors=True)
    try:
        archive = download(making)
    except SourceUnavailable as reason:
        pytest.skip(str(reason))
    unpack(archive, making / "unpacked")
    (sources,) = (making / "unpacked").iterdir()
    git(sources, "init", "--quiet")
    git(sources, "add", "--all", "--force")
    git(sources, "commit", "--quiet", "--message", "Import the release")
    git(sources, "tag", "release")
    sources.rename(folder)
    shutil.rmtree(making)


def turns_of(commits: int) -> list[int]:
    """Return how far each commit lets the executor count: changes at one to three places."""
    changes = max(1, min(len(SIZES), commits // 6))
    places = sorted(random.Random(commits).sample(range(commits), changes))
    level, turns = 0, []
    for commit in range(commits):
        if commit in places:
            level += SIZES[places.index(commit)]
        turns.append(level)
    return turns


def history(commits: int) -> Path:
    """Return a clone of the release with so many commits on top, tagged `c1`, `c2`, ...

    Each one lets the executor count as far as `turns_of` says before every statement; one with as
    many turns as the commit before it changes `NEWS` alone.
    """
    folder = cache_root() / "test-sources" / f"postgres-{commits}-commits"
    origin = release()
    with staging.lock(folder):
        if not folder.is_dir():
            _make_history(origin, folder, turns_of(commits))
    return folder


def _make_history(origin: Path, folder: Path, turns: Sequence[int]) -> None:
    making = folder.with_name(f"{folder.name}.making")
    shutil.rmtree(making, ignore_errors=True)
    git(folder.parent, "clone", "--quiet", str(origin), str(making))
    original = (making / CHANGED).read_text()
    assert original.count(BEFORE) == 1
    before = 0
    for number, count in enumerate(turns, start=1):
        (making / NEWS).write_text(f"{number}\n")
        subject = f"Mention change {number}"
        if count != before:
            added = f"\tfor (volatile int turn = 0; turn < {count}; turn++)\n\t\t;\n\n"
            (making / CHANGED).write_text(original.replace(BEFORE, added + BEFORE))
            subject = f"Count to {count} before every statement"
        git(making, "add", "--all")
        git(making, "commit", "--quiet", "--message", subject)
        git(making, "tag", f"c{number}")
        before = count
    making.rename(folder)
