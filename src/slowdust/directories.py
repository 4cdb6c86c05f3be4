"""Safe operations in directories of another account, by descriptors.

The owner of a directory can at any moment replace an entry by a link, and if the parent allows it,
the directory too. So the directory is opened once, without following a link and with its owner
checked, and entries are accessed relative to its descriptor by calls that follow no link either. If
something was replaced, it is not touched, and an error reports it.
"""

from __future__ import annotations

import errno
import os
import shutil
import socket
import stat
import struct
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path, PurePath

from slowdust.accounts import Account
from slowdust.errors import SlowdustError
from slowdust.units import Second

_OPEN_DIRECTORY = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# Without O_NONBLOCK, opening a pipe would wait for its writer.
_OPEN_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_REPLACED = frozenset({errno.ELOOP, errno.ENOTDIR, errno.ENXIO})
"""Errors of opening a link, a non-directory or a socket."""
_CREDENTIALS = struct.Struct("=3i")
"""`struct ucred`: process, user, group; see unix(7)."""


class ReplacedError(SlowdustError):
    """A file or directory of Slowdust was replaced by something else, which was not touched."""


class AccountDirectory:
    """An open directory of an account."""

    def __init__(self, path: Path, descriptor: int, account: Account) -> None:
        self.path = path
        self._descriptor = descriptor
        self._account = account

    @classmethod
    @contextmanager
    def opened(cls, path: Path, account: Account) -> Iterator[AccountDirectory]:
        """Open a directory of the account.

        Raises FileNotFoundError if it does not exist; ReplacedError if it is a link, not a
        directory, or belongs to another user.
        """
        with _directory(path, account) as descriptor:
            yield cls(path, descriptor, account)

    @contextmanager
    def inside(self, name: str) -> Iterator[AccountDirectory]:
        """Open a subdirectory of the same account. Raises the errors of `opened`."""
        with _directory(self.path / name, self._account, self._descriptor) as descriptor:
            yield AccountDirectory(self.path / name, descriptor, self._account)

    def names(self) -> list[str]:
        with os.scandir(self._descriptor) as entries:
            return sorted(entry.name for entry in entries)

    def is_socket(self, name: str) -> bool:
        """Return whether an entry is a socket, and not a link to one."""
        try:
            status = os.stat(name, dir_fd=self._descriptor, follow_symlinks=False)
        except FileNotFoundError:
            return False
        return stat.S_ISSOCK(status.st_mode)

    def unlink(self, name: str) -> None:
        """Delete a file if it exists; for a link, the link itself.

        Raises ReplacedError if it is a directory.
        """
        try:
            os.unlink(name, dir_fd=self._descriptor)
        except FileNotFoundError:
            return
        except IsADirectoryError:
            raise _replaced(self.path / name, "a file") from None

    def clear(self) -> None:
        for name in self.names():
            status = os.stat(name, dir_fd=self._descriptor, follow_symlinks=False)
            if stat.S_ISDIR(status.st_mode):
                shutil.rmtree(name, dir_fd=self._descriptor)  # does not follow links either
            else:
                os.unlink(name, dir_fd=self._descriptor)

    @contextmanager
    def file(self, name: str) -> Iterator[int]:
        """Open a regular file in it for reading.

        Raises FileNotFoundError if it does not exist; ReplacedError if it is a link, a pipe, a
        device, or belongs to another user.
        """
        path = self.path / name
        descriptor = _open(path, _OPEN_FILE, name, self._descriptor)
        try:
            status = os.fstat(descriptor)
            # A hard link may name a file of another user.
            if not stat.S_ISREG(status.st_mode) or status.st_uid != self._account.uid:
                raise _replaced(path, f"a regular file of the user {self._account.name}")
            yield descriptor
        finally:
            os.close(descriptor)

    def read(self, name: str, most: int) -> bytes:
        """Return the content of a file, at most `most` bytes. Raises the errors of `file`."""
        with self.file(name) as descriptor, os.fdopen(descriptor, "rb", closefd=False) as file:
            return file.read(most)


@contextmanager
def connected(path: Path, account: Account, limit: Second) -> Iterator[socket.socket]:
    """Connect to a socket in a directory of the account.

    Raises OSError if the account does not listen, ReplacedError if the directory was replaced.
    """
    with _directory(path.parent, account) as directory, socket.socket(socket.AF_UNIX) as client:
        client.settimeout(limit)
        client.connect(f"/proc/self/fd/{directory}/{path.name}")
        peer = client.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, _CREDENTIALS.size)
        if _CREDENTIALS.unpack(peer)[1] != account.uid:
            raise ConnectionRefusedError(f"another account listens on {path}")
        yield client


@contextmanager
def file_below(root: Path, path: Path, account: Account) -> Iterator[int]:
    """Open a file at any depth below a directory of the account, with the errors of `file`."""
    *folders, name = path.relative_to(root).parts
    with AccountDirectory.opened(root, account) as directory:
        yield from _file_in(directory, folders, name)


def files_below(root: Path, pattern: str) -> list[Path]:
    """Return the files below a directory that match a pattern: 'base/*/*', '**/*.wt'.

    Links to directories are not followed. Empty if the directory does not exist.
    """
    last = pattern.removeprefix("**/")
    depth = None if last != pattern else len(PurePath(pattern).parts)
    found: list[Path] = []
    with suppress(FileNotFoundError):
        for folder, _, names, _ in os.fwalk(root):
            places = (Path(folder, name).relative_to(root) for name in names)
            found += [
                root / place
                for place in places
                if place.match(last) and depth in (None, len(place.parts))
            ]
    return found


def remove_directory(path: Path, account: Account) -> None:
    """Delete a directory of the account with everything in it, if it exists.

    Raises ReplacedError if it was replaced, SlowdustError if it cannot be deleted.
    """
    try:
        if path.lstat().st_uid != os.geteuid() or account.is_self:
            with AccountDirectory.opened(path, account) as directory:
                directory.clear()
        path.rmdir()  # fails for a link or a directory that is not empty
    except FileNotFoundError:
        return
    except NotADirectoryError:
        raise _replaced(path, "a directory") from None
    except OSError as error:
        raise SlowdustError(
            f"cannot delete {path}: {error.strerror}; delete it yourself"
        ) from error


def _file_in(directory: AccountDirectory, folders: list[str], name: str) -> Iterator[int]:
    if folders:
        with directory.inside(folders[0]) as inner:
            yield from _file_in(inner, folders[1:], name)
    else:
        with directory.file(name) as descriptor:
            yield descriptor


@contextmanager
def _directory(path: Path, account: Account, parent: int | None = None) -> Iterator[int]:
    descriptor = _open(path, _OPEN_DIRECTORY, path if parent is None else path.name, parent)
    try:
        if os.fstat(descriptor).st_uid != account.uid:
            raise _replaced(path, f"a directory of the user {account.name}")
        yield descriptor
    finally:
        os.close(descriptor)


def _open(path: Path, flags: int, name: str | Path, parent: int | None) -> int:
    try:
        return os.open(name, flags, dir_fd=parent)
    except OSError as error:
        if error.errno not in _REPLACED:
            raise
        wanted = "a directory" if flags & os.O_DIRECTORY else "a regular file"
        raise _replaced(path, wanted) from error


def _replaced(path: Path, wanted: str) -> ReplacedError:
    return ReplacedError(
        f"{path} is no longer {wanted}: another program replaced it, so Slowdust does not touch it"
    )
