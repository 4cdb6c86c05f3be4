"""The version of a build and the places of its files, which differ from packager to packager."""

from __future__ import annotations

import functools
import re
from pathlib import Path

from slowdust.builds.model import Build
from slowdust.errors import SlowdustError

_MESSAGES = "english/errmsg.sys"


def version_of(version: str) -> tuple[int, ...]:
    """Return (5, 6, 24) for '5.6.24', (10, 11, 18) for '10.11.18-MariaDB'."""
    numbers = re.match(r"(\d+)\.(\d+)(?:\.(\d+))?", version)
    if numbers is None:
        raise SlowdustError(f"the version {version} is not X.Y or X.Y.Z")
    return tuple(int(number) for number in numbers.groups(default="0"))


def share_directory(build: Build) -> Path:
    """Return the directory of messages in all languages and, before MySQL 5.7, of SQL files."""
    return _nearest(build, _MESSAGES).parent.parent


def find_plugin(build: Build, name: str) -> Path | None:
    """Return the file of a plugin, 'ha_rocksdb.so'; None where the build lacks it."""
    return next(iter(_files(build.root, name)), None)


def sql_file(build: Build, name: str) -> Path | None:
    """Return an SQL file for the creation of a data directory: 'system_tables'.

    MariaDB renamed them from mysql_NAME.sql to mariadb_NAME.sql in version 11.
    """
    share = share_directory(build)
    for prefix in ("mariadb", "mysql"):
        if (file := share / f"{prefix}_{name}.sql").is_file():
            return file
    return None


def _nearest(build: Build, name: str) -> Path:
    """Return the file nearest to the root: packages may have more, for servers they embed."""
    files = _files(build.root, name)
    if not files:
        raise SlowdustError(f"{build.root} is not a complete {build.dbms}: it has no {name}")
    return min(files, key=lambda path: len(path.parts))


@functools.cache  # a build is large, and is asked for the same files at every start
def _files(root: Path, name: str) -> tuple[Path, ...]:
    return tuple(sorted(root.rglob(name)))
