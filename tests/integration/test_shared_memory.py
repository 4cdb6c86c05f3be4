"""Shared memory of Postgres, which is nobody's when its processes have ended."""

from __future__ import annotations

import os
import re
import signal
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from slowdust.builds import Build
from tests.integration.conftest import MakeInstance
from tests.integration.slowdust_command import Workplace, wait_until

SEGMENTS = Path("/proc/sysvipc/shm")


def segments() -> Iterator[tuple[str, int]]:
    """Yield each System V segment with the process that made it."""
    head, *lines = SEGMENTS.read_text().splitlines()
    columns = head.split()
    for line in lines:
        fields = dict(zip(columns, line.split(), strict=False))
        yield fields["shmid"], int(fields["cpid"])


def is_below(process: int, directory: Path) -> bool:
    try:
        return Path(f"/proc/{process}/cwd").readlink().is_relative_to(directory)
    except OSError:
        return False


def made_below(directory: Path) -> set[tuple[str, int]]:
    """The segments that processes in a directory have made."""
    return {(number, maker) for number, maker in segments() if is_below(maker, directory)}


def files_of(process: int) -> set[Path]:
    """The files of /dev/shm that a process has mapped."""
    maps = Path(f"/proc/{process}/maps").read_text()
    return {Path(path) for path in re.findall(r"/dev/shm/PostgreSQL\.\d+", maps)}


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_interrupted_initdb_leaves_no_shared_memory(
    postgres_build: Build, open_dir: Path, data_root: Path, number: signal.Signals
) -> None:
    workplace = Workplace(open_dir)
    contender = f"postgres@{postgres_build.version}"
    words = ("--tests", "point-query", "--rows", "100", "--count", "off", "--yes")
    process = workplace.start("compare", contender, contender, *words)
    wait_until(lambda: bool(made_below(data_root)), "initdb has a segment")
    found = made_below(data_root)
    process.send_signal(number)
    _, errors = process.communicate(timeout=60)
    assert process.returncode == 1, errors
    assert workplace.nothing_is_left()
    assert not found & {*segments()}


def test_killed_postmaster_leaves_no_shared_memory(
    postgres_build: Build, make_instance: MakeInstance
) -> None:
    instance = make_instance(postgres_build)
    instance.start()
    found = made_below(instance.directory)
    files = files_of(instance.pid)
    assert found and files
    os.kill(instance.pid, signal.SIGKILL)
    psutil.Process(instance.pid).wait(60)
    instance.remove()
    assert not found & {*segments()}
    assert not any(file.exists() for file in files)
