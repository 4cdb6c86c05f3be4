"""Cleaning away what a Slowdust that was killed left: servers, data, sockets."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import time
from dataclasses import dataclass
from pathlib import Path

import psutil

from slowdust.errors import SlowdustError
from slowdust.instances.owner import (
    instances_root,
    is_run_directory,
    lock_of_all,
    read_record,
    try_to_own,
)
from slowdust.instances.processes import processes_at_work

SOCKET_DIR_PREFIX = "slowdust-"
_TIDY_END_S = 10.0
_KILL_S = 10.0
_POLL_S = 0.02


@dataclass(frozen=True)
class Leftover:
    """One run directory that was cleaned away."""

    directory: Path
    servers: int
    """How many of its servers were still running."""

    def __str__(self) -> str:
        servers = {0: "no servers", 1: "1 server"}.get(self.servers, f"{self.servers} servers")
        return f"cleaned away {self.directory.name}, left by a killed run: {servers} still running"


def clean_leftovers() -> list[Leftover]:
    """Clean away all run directories whose owner is gone; those of live owners are left alone."""
    with lock_of_all():
        directories = [
            path for path in sorted(instances_root().iterdir()) if is_run_directory(path)
        ]
        return [found for path in directories if (found := clean_directory(path))]


def clean_directory(directory: Path) -> Leftover | None:
    """Clean away one run directory unless its owner lives."""
    try:
        lock = try_to_own(directory)
    except FileNotFoundError:
        return None
    if lock is None:
        return None
    try:
        return Leftover(directory, sweep(directory))
    finally:
        os.close(lock)


def sweep(directory: Path) -> int:
    """End the servers of a run directory that the caller owns and delete all that is theirs.

    Returns how many servers were running. Raises SlowdustError when something cannot be removed.
    """
    record = read_record(directory)
    running = [server for server in record.servers if server.mark.is_alive()]
    for server in running:
        with contextlib.suppress(ProcessLookupError):
            os.kill(server.mark.pid, server.stop_signal)
    deadline = time.monotonic() + _TIDY_END_S
    while any(server.mark.is_alive() for server in running) and time.monotonic() < deadline:
        time.sleep(_POLL_S)
    for server in running:
        if server.mark.is_alive():
            os.kill(server.mark.pid, signal.SIGKILL)
    kill_at_work(record.programs, directory)
    for name in record.socket_dirs:
        remove_socket_dir(Path(name))
    remove_tree(directory)
    return len(running)


def kill_at_work(programs: list[str], directory: Path) -> None:
    """Kill what still runs one of these programs in a directory, and wait for its end."""
    deadline = time.monotonic() + _KILL_S
    while victims := list(processes_at_work(programs, directory)):
        if time.monotonic() > deadline:
            pids = ", ".join(str(process.pid) for process in victims)
            raise SlowdustError(f"processes {pids} in {directory} cannot be killed")
        for process in victims:
            with contextlib.suppress(psutil.Error):
                process.kill()  # psutil makes sure that it is still that process
        time.sleep(_POLL_S)


def remove_socket_dir(directory: Path) -> None:
    """Delete a socket directory of ours; anything else under that name is left alone."""
    if directory.name.startswith(SOCKET_DIR_PREFIX) and not directory.is_symlink():
        remove_tree(directory)


def remove_tree(directory: Path) -> None:
    """Delete a directory that may be gone already; SlowdustError when it cannot be deleted."""
    try:
        shutil.rmtree(directory)
    except FileNotFoundError:
        if directory.exists():  # a file in it went away meanwhile
            remove_tree(directory)
    except OSError as error:
        raise SlowdustError(f"cannot delete {directory}: {error.strerror}: delete it") from error
