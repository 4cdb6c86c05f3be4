"""Shared memory of Postgres, which outlives its processes."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psutil
import pytest

from slowdust.builds import Build
from slowdust.instances.leftovers import clean_leftovers
from slowdust.instances.owner import instances_root
from slowdust.instances.processes import ProcessMark, processes_running
from tests.integration.conftest import GetBuild, MakeInstance
from tests.integration.owner_process import OWNER, start_owner
from tests.integration.slowdust_command import Workplace
from tests.tiers.selection import ends_first, full
from tests.waiting import wait_until

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


@pytest.mark.parametrize("number", [signal.SIGINT, pytest.param(signal.SIGTERM, marks=full)])
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


@pytest.mark.parametrize("version", ends_first(("10.23", "15.8", "17.6", "18.4")))
def test_next_run_removes_the_shared_memory_of_a_killed_server(
    data_root: Path, postgres_builds: GetBuild, version: str
) -> None:
    postgres_builds(version)
    owner, server, _, directory = start_owner("postgres", version, "no-watchdog")
    found = made_below(data_root)
    files = files_of(server)
    assert found and files
    os.kill(server, signal.SIGKILL)
    owner.kill()
    owner.wait()
    wait_until(lambda: ProcessMark.of(server) is None, "the server has ended")
    clean_leftovers()
    assert not directory.exists()
    assert not found & {*segments()}
    assert not any(file.exists() for file in files)


def command_line(process: psutil.Process) -> list[str]:
    """Return its words; none of a process that has ended meanwhile."""
    try:
        return process.cmdline()
    except psutil.NoSuchProcess:
        return []


def test_a_run_that_is_killed_while_initdb_works_leaves_nothing(
    data_root: Path, postgres_build: Build
) -> None:
    postgres = str(postgres_build.server.resolve())
    owner = subprocess.Popen(
        [sys.executable, "-c", OWNER, "postgres", "17.6"],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )

    def at_work() -> list[psutil.Process]:
        """The longest step of initdb, in a process of its own."""
        return [
            process
            for process in processes_running([postgres], instances_root())
            if "--single" in command_line(process)
        ]

    wait_until(lambda: bool(at_work()), "initdb works")
    for process in at_work():
        process.suspend()  # or a quick machine ends it before the owner is killed
    found = made_below(data_root)
    for process in psutil.Process(owner.pid).children():  # the watchdog, which would clean up
        if "watchdog" in " ".join(process.cmdline()):
            process.kill()
    owner.kill()
    owner.wait()
    assert at_work(), "a child of initdb works on"
    clean_leftovers()
    assert at_work() == []
    assert [path for path in instances_root().iterdir() if path.is_dir()] == []
    assert not found & {*segments()}
