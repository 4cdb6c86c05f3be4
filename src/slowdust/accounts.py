"""The account that servers run as; it is never root."""

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
"""PR_SET_PDEATHSIG. A change of the account clears it, so it is set afterwards."""
_prctl = ctypes.CDLL(None).prctl

Finished = subprocess.CompletedProcess[str]
"""A program that has exited, with its output."""


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
        """Create a directory that only the account (and root) can use.

        The parent directory may belong to the account. If the account replaces the new directory by
        a link, the target does not change its owner. Raises OSError if the path exists, or the
        directory cannot be created.
        """
        path.mkdir(mode=0o700)
        self.make_owner_of(path)

    def make_file(self, path: Path, content: bytes) -> None:
        """Create a file that only the account (and root) can read and write.

        The parent directory must not belong to the account, which could replace a part of the path.
        Raises OSError if the path exists, even as a link, or the file cannot be written.
        """
        new = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW | os.O_CLOEXEC
        with os.fdopen(os.open(path, new, 0o600), "wb") as file:
            file.write(content)
            if not self.is_self:
                os.fchown(file.fileno(), self.uid, self.gid)

    def make_owner_of(self, directory: Path) -> None:
        """Make the account the owner of a directory of this process.

        Raises OSError if it is not a directory, is a link to one, or belongs to another user.
        """
        if self.is_self:
            return
        descriptor = os.open(directory, os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC)
        try:
            if os.fstat(descriptor).st_uid not in (os.geteuid(), self.uid):
                raise OSError(errno.EPERM, f"{directory} belongs to another user")
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
        """Run a program of a build as the account, and return its output.

        `environment` is added to `BASE_ENVIRONMENT`; `text` is its standard input. If this process
        dies, the program is killed. Raises OSError if it cannot be run, subprocess.TimeoutExpired
        if it does not exit.
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
            f"the user {self.name}, who runs the servers, cannot enter a directory for temporary "
            "files: set TMPDIR to a directory that this user can enter"
        )


def ends_with_this_process(by: signal.Signals = signal.SIGKILL) -> Callable[[], None]:
    """Return a `preexec_fn` for `subprocess.Popen`, so that the child ends with this process.

    The kernel sends the signal to the child, but not to the child's own children.
    """
    parent = os.getpid()

    def end_with_parent() -> None:
        # Other threads may have held locks during the fork: use only system calls.
        _prctl(_SET_PARENT_DEATH_SIGNAL, by, 0, 0, 0)
        if os.getppid() != parent:  # the parent exited before the call
            os._exit(1)

    return end_with_parent


def server_account() -> Account:
    """Return the account that servers run as: the current user, or for root an unprivileged one.

    Raises UsageError if SLOWDUST_USER names an unusable account, SlowdustError without an account.
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
        "servers do not run as root, and this machine has no user "
        f"{' or '.join(_CANDIDATES_FOR_ROOT)}: set {USER_VARIABLE} to an unprivileged user"
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
            f"{USER_VARIABLE}={wanted}: only root can run servers as another user, and you are "
            f"{entry.pw_name}: unset {USER_VARIABLE}"
        )
    return Account(entry.pw_name, entry.pw_uid, entry.pw_gid)


def _unprivileged(name: str) -> Account:
    try:
        entry = pwd.getpwnam(name)
    except KeyError:
        raise UsageError(f"{USER_VARIABLE}={name}: this machine has no such user") from None
    if entry.pw_uid == 0:
        raise UsageError(
            f"{USER_VARIABLE}={name}: servers do not run as root: set it to an unprivileged user"
        )
    return Account(entry.pw_name, entry.pw_uid, entry.pw_gid)
