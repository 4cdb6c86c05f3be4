"""The directory of one run, which is removed with all its content however the run ends."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import subprocess
import threading
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Protocol

from slowdust.accounts import Account
from slowdust.directories import ReplacedError
from slowdust.errors import SlowdustError
from slowdust.instances.control_groups import MemoryLimit, can_freeze, make_frozen_group
from slowdust.instances.leftovers import (
    SOCKET_DIR_PREFIX,
    kill_programs,
    remove_socket_dir,
    sweep,
)
from slowdust.instances.owner import (
    OwnerRecord,
    Server,
    global_lock,
    new_run_directory,
    own,
    write_record,
)
from slowdust.instances.processes import ProcessMark
from slowdust.instances.watchdog import start_watchdog

_SUN_PATH_BYTES = 107
"""The longest name of a Unix socket (unix(7)), without the terminating zero."""
_LONGEST_SOCKET_NAME = "/.s.PGSQL.65535"
_WATCHDOG_END_S = 10.0


class Removable(Protocol):
    """An object that is removed when the run directory is closed."""

    def remove(self) -> None: ...


class RunDirectory:
    """A directory below the data root, owned by this process until it is closed.

    Use it as a context manager. A watchdog process cleans up if this process is killed; if both
    are, the next run cleans up.
    """

    def __init__(self, path: Path, lock: int, watchdog: subprocess.Popen[bytes]) -> None:
        self.path = path
        self._lock = lock
        self._watchdog = watchdog
        self._record = OwnerRecord()
        self._record_lock = threading.Lock()  # instances may be created in parallel
        self._removables: list[Removable] = []

    @classmethod
    def open(cls, experiment: str, claim: Sequence[int] = ()) -> RunDirectory:
        """Create a run directory for an experiment, and own it.

        `claim` are open descriptors whose locks are kept until the servers have exited.
        """
        with global_lock():
            path = new_run_directory(_file_name(experiment))
            path.mkdir(mode=0o755)
            path.chmod(0o755)  # independent of the umask: servers run as another user
            lock = own(path)
        return cls(path, lock, start_watchdog(path, claim))

    def __enter__(self) -> RunDirectory:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    def remove_on_close(self, removable: Removable) -> None:
        self._removables.append(removable)

    def make_contender_directory(self, name: str) -> Path:
        base = self.path / _file_name(name)
        path, number = base, 1
        while path.exists():
            number += 1
            path = base.with_name(f"{base.name}-{number}")
        path.mkdir()
        path.chmod(0o755)
        return path

    def make_socket_directory(self, account: Account) -> Path:
        """Create a directory with a short name that only the account (and root) can use."""
        path = _socket_root(account) / f"{SOCKET_DIR_PREFIX}{secrets.token_hex(6)}"
        with self._changed_record() as record:
            record.socket_dirs.append(str(path))
            record.socket_owner = account
        account.make_directory(path)
        return path

    def remove_socket_directory(self, path: Path, account: Account) -> None:
        """Delete a socket directory before this directory is closed.

        Raises ReplacedError if the path has been replaced, which is left alone.
        """
        try:
            remove_socket_dir(path, account)
        finally:
            with self._changed_record() as record:
                record.socket_dirs.remove(str(path))

    def limit_memory(self, limit_bytes: int) -> MemoryLimit:
        """Return a memory limit that is removed with this directory.

        Raises SlowdustError if none can be created.
        """
        limit = MemoryLimit.make(limit_bytes)
        with self._changed_record() as record:
            record.control_groups.append(str(limit.folder))
        return limit

    def frozen_group(self, limit: MemoryLimit | None) -> Path | None:
        """Return a control group for freezing a server, removed with this directory.

        A process can be in only one group of version 2, so the group of its memory limit is used if
        it is one. Returns None if no group can be created.
        """
        if limit is not None and can_freeze(limit.folder):
            return limit.folder
        folder = make_frozen_group()
        if folder is not None:
            with self._changed_record() as record:
                record.control_groups.append(str(folder))
        return folder

    def record_program(self, program: Path) -> None:
        name = str(program.resolve())
        with self._changed_record() as record:
            if name not in record.programs:
                record.programs.append(name)

    def end_programs(self, directory: Path) -> None:
        """Kill recorded programs in a subdirectory, and the processes of their sessions.

        Raises SlowdustError if a process does not exit.
        """
        with self._record_lock:
            programs, sessions = [*self._record.programs], [*self._record.sessions]
        kill_programs(programs, directory, sessions)

    def record_session(self, leader: int) -> None:
        with self._changed_record() as record:
            record.sessions.append(leader)

    def record_server(self, mark: ProcessMark, stop_signal: int) -> None:
        with self._changed_record() as record:
            alive = [server for server in record.servers if server.mark.is_alive()]
            record.servers = [*alive, Server(mark, stop_signal)]

    def close(self) -> None:
        """Remove the instances and this directory; a second call does nothing.

        Raises:
            ReplacedError: a directory has been replaced by something else, which is left alone.
        """
        if self._lock < 0:
            return
        refused: list[str] = []
        try:
            for removable in self._removables:
                try:
                    removable.remove()
                except ReplacedError as error:
                    refused.append(str(error))
        finally:
            refused += sweep(self.path).refused
            os.close(self._lock)
            self._lock = -1
            assert self._watchdog.stdin is not None
            self._watchdog.stdin.close()
            try:
                self._watchdog.wait(_WATCHDOG_END_S)
            except subprocess.TimeoutExpired:  # it has no more work to do
                self._watchdog.kill()
                self._watchdog.wait()
        if refused:
            raise ReplacedError("; ".join(refused))

    @contextlib.contextmanager
    def _changed_record(self) -> Iterator[OwnerRecord]:
        with self._record_lock:
            yield self._record
            write_record(self.path, self._record)


def _socket_root(account: Account) -> Path:
    runtime = os.environ.get("XDG_RUNTIME_DIR") if account.is_self else None
    for candidate in (runtime, str(account.temporary_root()), "/tmp"):
        if not candidate or not os.access(candidate, os.W_OK | os.X_OK):
            continue
        longest = f"{candidate}/{SOCKET_DIR_PREFIX}{'0' * 12}{_LONGEST_SOCKET_NAME}"
        if len(os.fsencode(longest)) <= _SUN_PATH_BYTES:
            return Path(candidate)
    raise SlowdustError(
        "no directory is suitable for sockets: set TMPDIR to a writable directory with a short path"
    )


def _file_name(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.@+-]+", "_", text).strip(".")[:80] or "unnamed"
