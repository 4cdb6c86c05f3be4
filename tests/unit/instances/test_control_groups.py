"""Control groups on a host that allows none, and leftover processes."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from slowdust.instances.control_groups import freezable, make_group, remove_group


@pytest.fixture
def process() -> Iterator[psutil.Process]:
    """A process that sleeps."""
    with subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"]) as sleeping:
        yield psutil.Process(sleeping.pid)
        sleeping.kill()


def test_a_folder_without_the_files_of_groups_is_left_as_it_was(tmp_path: Path) -> None:
    assert make_group([str(tmp_path)], "memory", ["memory.max"]) is None
    assert list(tmp_path.iterdir()) == []


def test_only_folders_made_here_are_removed(tmp_path: Path) -> None:
    other, own = tmp_path / "other", tmp_path / "slowdust-1"
    other.mkdir()
    own.mkdir()
    for folder in (other, own, own):
        remove_group(folder)
    assert list(tmp_path.iterdir()) == [other]


def test_a_process_that_no_group_takes_is_stopped_by_signals(
    process: psutil.Process, tmp_path: Path
) -> None:
    tree = freezable(process.pid, tmp_path / "gone")
    assert tree.way == "signals"
    tree.freeze()
    assert process.status() == psutil.STATUS_STOPPED
    tree.thaw()
    assert process.status() != psutil.STATUS_STOPPED
