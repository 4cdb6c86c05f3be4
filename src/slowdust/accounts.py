"""The user that servers run as: never root."""

from __future__ import annotations

import os
import pwd
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

from slowdust.errors import SlowdustError, UsageError

USER_VARIABLE = "SLOWDUST_USER"
_CANDIDATES_FOR_ROOT = ("postgres", "nobody")
BASE_ENVIRONMENT: Mapping[str, str] = {"LC_ALL": "C", "PATH": os.defpath, "TZ": "UTC"}
"""The environment that all programs of builds see."""
_ASK_TIMEOUT_S = 60.0


class Identity(TypedDict, total=False):
    """Arguments of `subprocess.Popen` that make a child run as an account."""

    user: int
    group: int
    extra_groups: list[int]


@dataclass(frozen=True)
class Account:
    """A user of this machine."""

    name: str
    uid: int
    gid: int

    @property
    def is_self(self) -> bool:
        """Whether this process already runs as this account."""
        return self.uid == os.geteuid()

    def identity(self) -> Identity:
        """What to give to `subprocess.Popen`; empty when nothing has to change."""
        if self.is_self:
            return {}
        return {"user": self.uid, "group": self.gid, "extra_groups": []}

    def make_owner_of(self, path: Path) -> None:
        """Make the account the owner of a file or directory of ours."""
        if not self.is_self:
            os.chown(path, self.uid, self.gid)

    def run(
        self,
        command: Sequence[str],
        *,
        environment: Mapping[str, str] | None = None,
        text: str | None = None,
    ) -> subprocess.CompletedProcess[str]:
        """What a program of a build prints when the account runs it.

        `environment` is what it sees beside `BASE_ENVIRONMENT`, `text` its standard input. Raises
        OSError when it cannot be run, subprocess.TimeoutExpired when it does not end.
        """
        return subprocess.run(
            command,
            capture_output=True,
            text=True,
            errors="replace",
            input=text or "",
            env={**BASE_ENVIRONMENT, **(environment or {})},
            cwd="/",
            timeout=_ASK_TIMEOUT_S,
            check=False,
            **self.identity(),
        )

    def can_enter(self, directory: Path) -> bool:
        """Whether the account may search a directory, all its parents included."""
        ask = ["/bin/sh", "-c", 'test -x "$1"', "sh", str(directory)]
        answer = subprocess.run(ask, check=False, **self.identity())
        return answer.returncode == 0

    def temporary_root(self) -> Path:
        """The directory for temporary files that the account can read, ours or the system's."""
        for candidate in (tempfile.gettempdir(), "/tmp", "/var/tmp"):
            if os.access(candidate, os.W_OK | os.X_OK) and self.can_enter(Path(candidate)):
                return Path(candidate)
        raise SlowdustError(
            f"the user {self.name}, who runs the servers, can enter no directory for temporary "
            "files: name one in TMPDIR"
        )


def server_account() -> Account:
    """The account that servers run as: oneself, or for root an unprivileged user.

    Raises UsageError when SLOWDUST_USER names an account that cannot be used, SlowdustError when
    there is no account to use.
    """
    wanted = os.environ.get(USER_VARIABLE)
    if os.geteuid() != 0:
        return _own_account(wanted)
    if wanted:
        return _unprivileged(wanted)
    for name in _CANDIDATES_FOR_ROOT:
        if _exists(name):
            return _unprivileged(name)
    raise SlowdustError(
        "servers do not run as root and this machine has neither a user postgres nor nobody: "
        f"name an unprivileged user in {USER_VARIABLE}"
    )


def _own_account(wanted: str | None) -> Account:
    uid = os.geteuid()
    try:
        entry = pwd.getpwuid(uid)
    except KeyError:
        raise SlowdustError(
            f"user id {uid} has no entry in the user database, which servers need: "
            "add one or run as another user"
        ) from None
    if wanted and wanted != entry.pw_name:
        raise UsageError(
            f"{USER_VARIABLE}={wanted}: only root can run servers as another user, "
            f"this is {entry.pw_name}: unset {USER_VARIABLE}"
        )
    return Account(entry.pw_name, entry.pw_uid, entry.pw_gid)


def _unprivileged(name: str) -> Account:
    try:
        entry = pwd.getpwnam(name)
    except KeyError:
        raise UsageError(
            f"{USER_VARIABLE}={name}: this machine has no such user: name one that exists"
        ) from None
    if entry.pw_uid == 0:
        raise UsageError(
            f"{USER_VARIABLE}={name}: servers do not run as root: name an unprivileged user"
        )
    return Account(entry.pw_name, entry.pw_uid, entry.pw_gid)


def _exists(name: str) -> bool:
    try:
        pwd.getpwnam(name)
    except KeyError:
        return False
    return True
