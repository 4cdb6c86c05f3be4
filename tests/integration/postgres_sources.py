"""Repositories with the sources of Debian's Postgres; their builds are kept in the cache."""

from __future__ import annotations

import shutil
import subprocess
from collections.abc import Sequence
from pathlib import Path

import pytest

from slowdust.builds import cache
from slowdust.builds.sources.client import SourceUnavailable
from slowdust.builds.sources.debian import PrivateApt
from slowdust.places import cache_root
from slowdust.unpacking import unpack
from tests.integration.made_history import add_commits, turns_of
from tests.tiers.selection import require
from tests.unit.builds.source_projects import commit, git

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
    with cache.lock(folder):
        if not folder.is_dir():
            _make_release(folder)
    return folder


def _make_release(folder: Path) -> None:
    if shutil.which("apt-get") is None:
        pytest.skip("apt-get is not installed")
    require("git", "cc", "make", "perl")
    making = folder.with_name(f"{folder.name}.making")
    shutil.rmtree(making, ignore_errors=True)
    try:
        archive = download(making)
    except SourceUnavailable as reason:
        pytest.skip(str(reason))
    unpack(archive, making / "unpacked")
    (sources,) = (making / "unpacked").iterdir()
    commit(sources, "Import the release", "release")
    sources.rename(folder)
    shutil.rmtree(making)


def history(commits: int) -> Path:
    """Return a clone of the release with commits on top, tagged `c1`, `c2`, ...

    Each one makes the executor count to `turns_of` before every statement; a commit with the
    count of its parent changes only `NEWS`.
    """
    folder = cache_root() / "test-sources" / f"postgres-{commits}-commits"
    origin = release()
    with cache.lock(folder):
        if not folder.is_dir():
            _make_history(origin, folder, turns_of(commits))
    return folder


def _make_history(origin: Path, folder: Path, turns: Sequence[int]) -> None:
    making = folder.with_name(f"{folder.name}.making")
    shutil.rmtree(making, ignore_errors=True)
    git(folder.parent, "clone", "--quiet", str(origin), str(making))
    original = (making / CHANGED).read_text()
    assert original.count(BEFORE) == 1

    def changed(count: int) -> str:
        added = f"\tfor (volatile int turn = 0; turn < {count}; turn++)\n\t\t;\n\n"
        return original.replace(BEFORE, added + BEFORE)

    add_commits(making, CHANGED, changed, turns)
    making.rename(folder)
