"""The account that servers run as, which is never root."""

from __future__ import annotations

import ctypes
import errno
import os
import pwd
import signal
import subprocess
import tempfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

from slowdust.errors import SlowdustError, UsageError

USER_VARIABLE = "SLOWDUST_USER"
_CANDIDATES_FOR_ROOT = ("postgres", "nobody")
BASE_ENVIRONMENT: Mapping[str, str] = {"LC_ALL": "C", "PATH": os.defpath, "TZ": "UTC"}
"""The environment variables of all programs of builds."""
_RUN_TIMEOUT_S = 60.0
_SET_PARENT_DEATH_SIGNAL = 1
"""PR_SET_PDEATHSIG; a change of the account clears it, so it comes after that."""
_prctl = ctypes.CDLL(None).prctl

Finished = subprocess.CompletedProcess[str]
"""A program that has run to its end, with what it printed."""


class Identity(TypedDict, total=False):
    """The arguments of `subprocess.Popen` that run a child process as an account."""

    user: int
    group: int
    extra_groups: list[int]


@dataclass(frozen=True)
class Account:
    """An account of this machine."""

    name: str
    uid: int
    gid: int

    @property
    def is_self(self) -> bool:
        """True when this process already runs as this account."""
        return self.uid == os.geteuid()

    def identity(self) -> Identity:
        """Return the arguments for `subprocess.Popen`; empty when nothing has to change."""
        if self.is_self:
            return {}
        return {"user": self.uid, "group": self.gid, "extra_groups": []}

    def make_directory(self, path: Path) -> None:
        """Make a directory that only the account (and root) can use.

        The directory around it may be the account's own: what it may have put in the place of the
        new one, a link to elsewhere, is never given to it. Raises OSError if there is something
        already, or it cannot be made.
        """
        path.mkdir(mode=0o700)
        self.make_owner_of(path)

    def make_file(self, path: Path, content: bytes) -> None:
        """Make a file that only the account (and root) can read and write.

        The directory around it must not be the account's: it could replace a part of the path.
        Raises OSError if there is something already, a link included, or it cannot be written.
        """
        new = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with os.fdopen(os.open(path, new, 0o600), "wb") as file:
            file.write(content)
            if not self.is_self:
                os.fchown(file.fileno(), self.uid, self.gid)

    def make_owner_of(self, directory: Path) -> None:
        """Make the account the owner of a directory of this process.

        Raises OSError if it is no directory, or not of this process; a link to one is none.
        """
        if self.is_self:
            return
        descriptor = os.open(directory, os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            if os.fstat(descriptor).st_uid not in (os.geteuid(), self.uid):
                raise OSError(errno.EPERM, f"{directory} belongs to somebody else")
            os.fchown(descriptor, self.uid, self.gid)
        finally:
            os.close(descriptor)

    def run(
        self,
        command: Sequence[str],
        *,
        environment: Mapping[str, str] | None = None,
        text: str | None = None,
    ) -> Finished:
        """Run a program of a build as the account, to its end, and return its output.

        `environment` is added to `BASE_ENVIRONMENT`; `text` is its standard input. It is killed
        when this process is. Raises OSError when it cannot be run, subprocess.TimeoutExpired when
        it does not end.
        """
        return subprocess.run(
            command,
            capture_output=True,
            encoding="utf-8",
            errors="replace",
            input=text or "",
            env={**BASE_ENVIRONMENT, **(environment or {})},
            cwd="/",
            timeout=_RUN_TIMEOUT_S,
            check=False,
            preexec_fn=ends_with_this_process(),
            **self.identity(),
        )

    def can_enter(self, directory: Path) -> bool:
        """Return whether the account may enter a directory and all its parents."""
        command = ["/bin/sh", "-c", 'test -x "$1"', "sh", str(directory)]
        done = subprocess.run(command, check=False, **self.identity())
        return done.returncode == 0

    def temporary_root(self) -> Path:
        """Return the first directory for temporary files that the account can enter."""
        for candidate in (tempfile.gettempdir(), "/tmp", "/var/tmp"):
            if os.access(candidate, os.W_OK | os.X_OK) and self.can_enter(Path(candidate)):
                return Path(candidate)
        raise SlowdustError(
            f"the user {self.name}, who runs the servers, cannot enter any directory for temporary "
            "files: set TMPDIR to one that this user can enter"
        )


def ends_with_this_process(by: signal.Signals = signal.SIGKILL) -> Callable[[], None]:
    """Return a `preexec_fn` for `subprocess.Popen`: the kernel ends the child with this process.

    It sends the child that signal; what the child starts itself gets none.
    """
    parent = os.getpid()

    def end_with_parent() -> None:
        # After a fork, other threads may have held locks: hence only calls of the kernel.
        _prctl(_SET_PARENT_DEATH_SIGNAL, by, 0, 0, 0)
        if os.getppid() != parent:  # it ended before the kernel was told
            os._exit(1)

    return end_with_parent


def server_account() -> Account:
    """Return the account that servers run as: the current user, or for root an unprivileged one.

    Raises UsageError when SLOWDUST_USER names an account that cannot be used, SlowdustError when
    there is no account to use.
    """
    wanted = os.environ.get(USER_VARIABLE)
    if os.geteuid() != 0:
        return _own_account(wanted)
    if wanted:
        return _unprivileged(wanted)
    for name in _CANDIDATES_FOR_ROOT:
        with suppress(KeyError):
            pwd.getpwnam(name)
            return _unprivileged(name)
    raise SlowdustError(
        "servers do not run as root, and this machine has neither a user postgres nor nobody: "
        f"set {USER_VARIABLE} to an unprivileged user"
    )


def _own_account(wanted: str | None) -> Account:
    uid = os.geteuid()
    try:
        entry = pwd.getpwuid(uid)
    except KeyError:
        raise SlowdustError(
            f"user id {uid} has no entry in the user database, which servers need: "
            "add one, or run as another user"
        ) from None
    if wanted and wanted != entry.pw_name:
        raise UsageError(
            f"{USER_VARIABLE}={wanted}: only root can run servers as another user, and this is "
            f"{entry.pw_name}: unset {USER_VARIABLE}"
        )
    return Account(entry.pw_name, entry.pw_uid, entry.pw_gid)


def _unprivileged(name: str) -> Account:
    try:
        entry = pwd.getpwnam(name)
    except KeyError:
        raise UsageError(
            f"{USER_VARIABLE}={name}: this machine has no such user: set it to one that exists"
        ) from None
    if entry.pw_uid == 0:
        raise UsageError(
            f"{USER_VARIABLE}={name}: servers do not run as root: set it to an unprivileged user"
        )
    return Account(entry.pw_name, entry.pw_uid, entry.pw_gid)
