"""Where Slowdust keeps what it fetches and what it runs.

Root's own directories are closed to the unprivileged user that servers run as, so root gets
system directories instead.
"""

from __future__ import annotations

import os
from pathlib import Path

import platformdirs

CACHE_VARIABLE = "SLOWDUST_CACHE"
DATA_VARIABLE = "SLOWDUST_DATA"


def cache_root() -> Path:
    """The directory of fetched builds; it can be deleted and is filled again."""
    return _chosen(CACHE_VARIABLE) or (
        Path("/var/cache/slowdust") if _is_root() else platformdirs.user_cache_path("slowdust")
    )


def data_root() -> Path:
    """The directory of running instances and of the names given to directories."""
    return _chosen(DATA_VARIABLE) or (
        Path("/var/lib/slowdust") if _is_root() else platformdirs.user_data_path("slowdust")
    )


def make_enterable(directory: Path) -> None:
    """Make a directory and its missing parents so that all users can enter what was made.

    Whatever the umask is: servers run as another user. Directories that exist stay as they are.
    """
    missing = [path for path in (directory, *directory.parents) if not path.exists()]
    for path in reversed(missing):
        path.mkdir(exist_ok=True)
        path.chmod(0o755)


def _chosen(variable: str) -> Path | None:
    text = os.environ.get(variable)
    return Path(text).absolute() if text else None


def _is_root() -> bool:
    return os.geteuid() == 0
