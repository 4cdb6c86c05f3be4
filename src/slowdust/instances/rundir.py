"""The directory of one run: it and all that lives in it is gone when the run ends, however."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import subprocess
import threading
from collections.abc import Iterator
from pathlib import Path
from types import TracebackType
from typing import Protocol

from slowdust.accounts import Account
from slowdust.errors import SlowdustError
from slowdust.instances.guardian import watch_over
from slowdust.instances.leftovers import SOCKET_DIR_PREFIX, remove_socket_dir, sweep
from slowdust.instances.owner import (
    OwnerRecord,
    Server,
    instances_root,
    lock_of_all,
    try_to_own,
    write_record,
)
from slowdust.instances.processes import ProcessMark

_SUN_PATH_BYTES = 107
"""The longest name of a Unix socket (unix(7)), without the terminating zero."""
_LONGEST_SOCKET_NAME = "/.s.PGSQL.65535"
_GUARDIAN_END_S = 10.0


class Removable(Protocol):
    """What a run directory removes when it is closed."""

    def remove(self) -> None:
        """Stop and delete it."""


class RunDirectory:
    """A directory below the data root, owned by this process until it is closed.

    Use it as a context manager. A guardian process cleans up if this process is killed, and the
    next run if both are.
    """

    def __init__(self, path: Path, lock: int, guardian: subprocess.Popen[bytes]) -> None:
        self.path = path
        self._lock = lock
        self._guardian = guardian
        self._record = OwnerRecord()
        self._record_lock = threading.Lock()  # instances may be made side by side
        self._removables: list[Removable] = []

    @classmethod
    def open(cls, experiment: str) -> RunDirectory:
        """Make a run directory of an experiment and become its owner."""
        with lock_of_all():
            path = instances_root() / f"{_file_name(experiment)}-{secrets.token_hex(4)}"
            path.mkdir(mode=0o755)
            path.chmod(0o755)  # whatever the umask is: servers run as another user
            lock = try_to_own(path)
        assert lock is not None
        return cls(path, lock, watch_over(path))

    def __enter__(self) -> RunDirectory:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def adopt(self, removable: Removable) -> None:
        """Remove it, too, when this directory is closed."""
        self._removables.append(removable)

    def make_contender_directory(self, name: str) -> Path:
        """A new directory for an instance, readable by all."""
        base = self.path / _file_name(name)
        path, number = base, 1
        while path.exists():
            number += 1
            path = base.with_name(f"{base.name}-{number}")
        path.mkdir()
        path.chmod(0o755)
        return path

    def make_socket_directory(self, account: Account) -> Path:
        """A new directory with a short name that only the account (and root) can use."""
        path = _socket_root(account) / f"{SOCKET_DIR_PREFIX}{secrets.token_hex(6)}"
        with self._changed_record() as record:
            record.socket_dirs.append(str(path))
        path.mkdir(mode=0o700)
        account.hand_over(path)
        return path

    def remove_socket_directory(self, path: Path) -> None:
        """Delete a socket directory before this directory is closed."""
        remove_socket_dir(path)
        with self._changed_record() as record:
            record.socket_dirs.remove(str(path))

    def note_program(self, program: Path) -> None:
        """Write down a program before it is run in this directory."""
        name = str(program.resolve())
        with self._changed_record() as record:
            if name not in record.programs:
                record.programs.append(name)

    def note_server(self, mark: ProcessMark, stop_signal: int) -> None:
        """Write down a server that was started; those that are gone are forgotten."""
        with self._changed_record() as record:
            alive = [server for server in record.servers if server.mark.is_alive()]
            record.servers = [*alive, Server(mark, stop_signal)]

    def close(self) -> None:
        """Remove the instances and this directory; a second call does nothing."""
        if self._lock < 0:
            return
        try:
            for removable in self._removables:
                removable.remove()
        finally:
            sweep(self.path)
            os.close(self._lock)
            self._lock = -1
            self._dismiss_guardian()

    def _dismiss_guardian(self) -> None:
        assert self._guardian.stdin is not None
        self._guardian.stdin.close()
        try:
            self._guardian.wait(_GUARDIAN_END_S)
        except subprocess.TimeoutExpired:  # nothing is left for it to do
            self._guardian.kill()
            self._guardian.wait()

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
    raise SlowdustError("no directory for sockets: neither TMPDIR nor /tmp is short and writable")


def _file_name(text: str) -> str:
    return re.sub(r"[^A-Za-z0-9_.@+-]+", "_", text).strip(".")[:80] or "unnamed"
