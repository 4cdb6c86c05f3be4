"""Removal of what a killed Slowdust left: servers, data, sockets."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import time
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

import psutil

from slowdust.accounts import Account, server_account
from slowdust.directories import ReplacedError, remove_directory
from slowdust.errors import SlowdustError
from slowdust.instances.control_groups import remove_group
from slowdust.instances.freezing import ProcessTree, thaw_group
from slowdust.instances.owner import (
    OWN_FILES,
    global_lock,
    instances_root,
    is_run_directory,
    may_be_run_directory,
    read_record,
    try_to_lock,
)
from slowdust.instances.processes import processes_running
from slowdust.instances.shared_memory import remove_shared_memory
from slowdust.temporary import remove_abandoned

SOCKET_DIR_PREFIX = "slowdust-"
_STOP_S = 10.0
_KILL_S = 10.0
_POLL_S = 0.02


@dataclass(frozen=True)
class Leftover:
    """A run directory that was removed."""

    directory: Path
    servers: int
    """The number of its servers that were still running."""
    refused: tuple[str, ...] = ()
    """What was left alone, since it is not what Slowdust made, as sentences."""

    def __str__(self) -> str:
        servers = {0: "no servers were", 1: "1 server was"}.get(
            self.servers, f"{self.servers} servers were"
        )
        removed = f"removed {self.directory.name}, left by a killed run: {servers} still running"
        return "; ".join([removed, *self.refused])


def clean_leftovers() -> list[Leftover]:
    """Remove all run directories whose owner has ended; those of live owners are left alone.

    So it is with temporary directories.
    """
    remove_abandoned(server_account().temporary_root())
    with global_lock():
        places = sorted(instances_root().iterdir())
        directories = [path for path in places if is_run_directory(path)]
        for path in {*places} - {*directories}:
            if may_be_run_directory(path):  # an interrupted removal leaves it empty, without a lock
                with contextlib.suppress(OSError):
                    path.rmdir()
        return [leftover for path in directories if (leftover := clean_directory(path))]


def clean_directory(directory: Path) -> Leftover | None:
    """Remove one run directory unless its owner lives."""
    try:
        lock = try_to_lock(directory)
    except FileNotFoundError:
        return None
    if lock is None:
        return None
    try:
        return sweep(directory)
    finally:
        os.close(lock)


def sweep(directory: Path) -> Leftover:
    """Stop the servers of a run directory that the caller owns and delete everything of theirs.

    Raises SlowdustError when something cannot be removed.
    """
    record = read_record(directory)
    running = [server for server in record.servers if server.mark.is_alive()]
    for server in running:
        with contextlib.suppress(ProcessLookupError):
            os.kill(server.mark.pid, server.stop_signal)
        ProcessTree(server.mark.pid).thaw()  # a server that stands still does not see the signal
    for name in record.control_groups:
        thaw_group(Path(name))
    deadline = time.monotonic() + _STOP_S
    while any(server.mark.is_alive() for server in running) and time.monotonic() < deadline:
        time.sleep(_POLL_S)
    for server in running:
        if server.mark.is_alive():
            os.kill(server.mark.pid, signal.SIGKILL)
    kill_programs(record.programs, directory, record.sessions)
    for name in record.control_groups:
        remove_group(Path(name))
    refused = []
    account = record.socket_owner or server_account()
    for name in record.socket_dirs:
        try:
            remove_socket_dir(Path(name), account)
        except ReplacedError as error:
            refused.append(str(error))
    remove_shared_memory(directory)
    _remove_directory(directory)
    return Leftover(directory, len(running), tuple(refused))


def kill_programs(
    programs: Collection[str], directory: Path, sessions: Collection[int] = ()
) -> None:
    """Kill the processes that run one of these programs in a directory, and wait for their end.

    With them go all processes of their sessions, and of the given ones, in that directory.

    Raises:
        SlowdustError: a process does not end.
    """
    deadline = time.monotonic() + _KILL_S
    while running := list(processes_running(programs, directory, sessions)):
        if time.monotonic() > deadline:
            pids = ", ".join(str(process.pid) for process in running)
            raise SlowdustError(f"processes {pids} in {directory} cannot be killed")
        for process in running:
            with contextlib.suppress(psutil.Error):
                process.kill()  # psutil makes sure that it is still the same process
        time.sleep(_POLL_S)


def remove_socket_dir(directory: Path, account: Account) -> None:
    """Delete a socket directory that was made for an account.

    Raises:
        ReplacedError: there is something else under that name, which is left alone.
        SlowdustError: it cannot be deleted.
    """
    if directory.name.startswith(SOCKET_DIR_PREFIX):
        remove_directory(directory, account)


def _remove_directory(directory: Path) -> None:
    """Delete a run directory that the caller owns.

    Raises:
        SlowdustError: something cannot be deleted.
    """
    with contextlib.suppress(FileNotFoundError):
        for entry in list(os.scandir(directory)):
            if entry.is_dir(follow_symlinks=False):
                remove_tree(Path(entry.path))
            elif entry.name not in OWN_FILES:
                Path(entry.path).unlink()
        for name in OWN_FILES:
            (directory / name).unlink(missing_ok=True)
        directory.rmdir()


def remove_tree(directory: Path) -> None:
    """Delete a directory that may not exist; raise SlowdustError when it cannot be deleted."""
    try:
        shutil.rmtree(directory)
    except FileNotFoundError:
        if directory.exists():  # another process deleted a file in it
            remove_tree(directory)
    except OSError as error:
        raise SlowdustError(
            f"cannot delete {directory}: {error.strerror}: delete it yourself"
        ) from error
