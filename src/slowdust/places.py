"""The directories of Slowdust, for fetched builds and running instances, and paths from users.

The unprivileged user that servers run as cannot enter root's home, so root uses directories of the
system.
"""

from __future__ import annotations

import os
from pathlib import Path, PurePath

import platformdirs

from slowdust.errors import SlowdustError, UsageError

RESULTS_VARIABLE = "SLOWDUST_RESULTS"
CACHE_VARIABLE = "SLOWDUST_CACHE"
DATA_VARIABLE = "SLOWDUST_DATA"
CLAIMS_VARIABLE = "SLOWDUST_CLAIMS"
_LONGEST_NAME = 255
"""Maximum number of bytes of a file's name."""
_FOR_ALL_USERS = (Path("/run/lock"), Path("/dev/shm"), Path("/tmp"))
"""Directories that every user can write to, depending on the distribution."""


def cache_root() -> Path:
    """Return the directory of fetched builds. It may be deleted: builds are fetched again."""
    return _chosen(CACHE_VARIABLE) or (
        Path("/var/cache/slowdust") if _is_root() else platformdirs.user_cache_path("slowdust")
    )


def data_root() -> Path:
    """Return the directory of running instances and of registered directories."""
    return _chosen(DATA_VARIABLE) or (
        Path("/var/lib/slowdust") if _is_root() else platformdirs.user_data_path("slowdust")
    )


def host_locks_directory() -> Path:
    """Return the directory of the locks of the host, the same for every user.

    Raises SlowdustError if no directory is writable for all users.
    """
    chosen = _chosen(CLAIMS_VARIABLE)
    if chosen is not None:
        make_enterable(chosen, CLAIMS_VARIABLE)
        return chosen
    for directory in _FOR_ALL_USERS:
        # Check the mode and not this user's access: all users need the same directory.
        if directory.is_dir() and (directory.stat().st_mode & 0o1777) == 0o1777:
            return directory
    raise SlowdustError(
        f"no directory for this host's locks, such as {_FOR_ALL_USERS[0]}, is writable for all "
        f"users: set {CLAIMS_VARIABLE} to a directory"
    )


def within(root: Path, *names: str) -> Path:
    """Return the path of a file or folder below a root, from untrusted names.

    The names come from a user, a file, an archive or another machine, and must not lead outside.
    Raises UsageError if one is not a plain name.
    """
    for name in names:
        if not is_plain(name):
            raise UsageError(
                f"{name!r} is not a valid name of a file or folder: use 1 to {_LONGEST_NAME} bytes "
                "without '/' and control characters, and without '.' at the beginning"
            )
    return root.joinpath(*names)


def is_plain(name: str) -> bool:
    """Return whether a string is the name of one visible file or folder, without a path.

    Hidden names are reserved for Slowdust's locks and temporary folders.
    """
    # Unprintable characters include NUL, line ends and bytes that are not UTF-8.
    is_name = name.isprintable() and "/" not in name and not name.startswith(".")
    return is_name and 0 < len(name.encode()) <= _LONGEST_NAME


def stays_below(path: PurePath) -> bool:
    """Return whether a relative path stays below its folder."""
    return not path.is_absolute() and ".." not in path.parts and "\0" not in str(path)


def usual_results() -> Path:
    """Return the default folder of the experiments."""
    return Path(os.environ.get(RESULTS_VARIABLE) or "results")


def named_path(text: str) -> Path:
    """Return a user's path with `~` and `~name` expanded.

    Raises UsageError if it is empty, or there is no such user.
    """
    if not text:
        raise UsageError("a path is empty: write a file or a directory")
    try:
        return Path(text).expanduser()
    except RuntimeError:
        user = text.partition("/")[0].removeprefix("~")
        raise UsageError(
            f"{text}: this machine has no user '{user}' with a home directory"
        ) from None


def check_regular(path: Path) -> None:
    """Raise UsageError if the path exists and is not a regular file: a pipe may never end."""
    if path.exists() and not path.is_file():
        what = "is a directory" if path.is_dir() else "is not a regular file"
        raise UsageError(f"{path} {what}: choose a file")


def make_enterable(directory: Path, variable: str) -> None:
    """Create a directory and its missing parents so that every user can enter them.

    The umask is ignored, because servers run as another user. Existing directories are not changed.
    Raises SlowdustError, which names the variable that chooses another directory.
    """
    try:
        missing = [path for path in (directory, *directory.parents) if not path.exists()]
        for path in reversed(missing):
            path.mkdir(exist_ok=True)
            path.chmod(0o755)
    except OSError as error:
        raise SlowdustError(
            f"cannot write to {directory}: {error.strerror}; set {variable} to another directory"
        ) from error


def _chosen(variable: str) -> Path | None:
    text = os.environ.get(variable)
    return Path(text).absolute() if text else None


def _is_root() -> bool:
    return os.geteuid() == 0
