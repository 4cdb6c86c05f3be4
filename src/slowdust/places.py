"""The directories of Slowdust: for fetched builds, and for running instances.

The unprivileged user that servers run as cannot enter root's directories: root has the system's.
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
"""Bytes of a name that file systems take."""
_FOR_ALL_USERS = (Path("/run/lock"), Path("/dev/shm"), Path("/tmp"))
"""Directories that every user can write to, on one distribution or another."""


def cache_root() -> Path:
    """Return the directory of fetched builds, which may be deleted and is filled again."""
    return _chosen(CACHE_VARIABLE) or (
        Path("/var/cache/slowdust") if _is_root() else platformdirs.user_cache_path("slowdust")
    )


def data_root() -> Path:
    """Return the directory of running instances and of registered directories."""
    return _chosen(DATA_VARIABLE) or (
        Path("/var/lib/slowdust") if _is_root() else platformdirs.user_data_path("slowdust")
    )


def claims_directory() -> Path:
    """Return the directory of the locks of the host, the same for every user.

    Raises SlowdustError if there is none that all users can write to.
    """
    chosen = _chosen(CLAIMS_VARIABLE)
    if chosen is not None:
        make_enterable(chosen, CLAIMS_VARIABLE)
        return chosen
    for directory in _FOR_ALL_USERS:
        # The rights of all decide, not those of this user: all have to come to the same directory.
        if directory.is_dir() and (directory.stat().st_mode & 0o1777) == 0o1777:
            return directory
    raise SlowdustError(
        f"no directory for locks of this host, such as {_FOR_ALL_USERS[0]}, can be written to by "
        f"all users: set {CLAIMS_VARIABLE} to a directory"
    )


def within(root: Path, *names: str) -> Path:
    """Return the path of a file or folder below a root, whose names come from outside.

    They are text of a user, a file, an archive or another machine: no name may lead elsewhere.
    Raises UsageError if one is not a plain name.
    """
    for name in names:
        if not is_plain(name):
            raise UsageError(
                f"{name!r} cannot be the name of a file or folder here: a name has 1 to "
                f"{_LONGEST_NAME} bytes, no '/', no control character, and no '.' at the beginning"
            )
    return root.joinpath(*names)


def is_plain(name: str) -> bool:
    """Return whether a text names one file or folder, and nothing above, below or hidden.

    Hidden names are Slowdust's own, for locks and temporary folders.
    """
    # What cannot be printed includes zero, the end of a line, and what is not UTF-8.
    is_name = name.isprintable() and "/" not in name and not name.startswith(".")
    return is_name and 0 < len(name.encode()) <= _LONGEST_NAME


def stays_below(path: PurePath) -> bool:
    """Return whether a path of several names stays below the folder that it is joined to."""
    return not path.is_absolute() and ".." not in path.parts and "\0" not in str(path)


def usual_results() -> Path:
    """Return the folder of the experiments where no command names another."""
    return Path(os.environ.get(RESULTS_VARIABLE) or "results")


def named_path(text: str) -> Path:
    """Return the path that a user writes, with `~` and `~name` for a home.

    Raises UsageError if it is empty, or there is no such user.
    """
    if not text:
        raise UsageError("a path is empty: name a file or a directory")
    try:
        return Path(text).expanduser()
    except RuntimeError:
        user = text.partition("/")[0].removeprefix("~")
        raise UsageError(f"{text}: this machine has no user '{user}' with a home") from None


def check_regular(path: Path) -> None:
    """Refuse what is no regular file, if it exists: a pipe or a device may never end.

    Raises UsageError if it is something else.
    """
    if path.exists() and not path.is_file():
        what = "a directory" if path.is_dir() else "no regular file"
        raise UsageError(f"{path} is {what}: name a file")


def make_enterable(directory: Path, variable: str) -> None:
    """Make a directory and its missing parents, all of which every user can enter.

    The umask does not matter, since servers run as another user. Existing directories stay as they
    are. Raises SlowdustError, which names the variable that chooses another directory.
    """
    try:
        missing = [path for path in (directory, *directory.parents) if not path.exists()]
        for path in reversed(missing):
            path.mkdir(exist_ok=True)
            path.chmod(0o755)
    except OSError as error:
        raise SlowdustError(
            f"cannot write to {directory}: {error.strerror}: set {variable} to another directory"
        ) from error


def _chosen(variable: str) -> Path | None:
    text = os.environ.get(variable)
    return Path(text).absolute() if text else None


def _is_root() -> bool:
    return os.geteuid() == 0
