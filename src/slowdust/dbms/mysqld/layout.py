"""Where the files of a build lie, which every packager puts elsewhere, and what version it is."""

from __future__ import annotations

import functools
import re
from pathlib import Path

from slowdust.builds.model import Build
from slowdust.errors import SlowdustError

_MESSAGES = "english/errmsg.sys"


def version_of(build: Build) -> tuple[int, ...]:
    """(5, 6, 24) of '5.6.24', (10, 11, 18) of '10.11.18-MariaDB'."""
    found = re.match(r"(\d+)\.(\d+)(?:\.(\d+))?", build.facts.version)
    if found is None:
        raise SlowdustError(f"{build.dbms} has an unknown kind of version: {build.facts.version}")
    return tuple(int(part) for part in found.groups(default="0"))


def share_directory(build: Build) -> Path:
    """The directory of messages in all languages and, before MySQL 5.7, of SQL files."""
    return _nearest(build, _MESSAGES).parent.parent


def find_plugin(build: Build, name: str) -> Path | None:
    """The file of a plugin, 'ha_rocksdb.so'; None where the build has not got it."""
    return next(iter(_files(build.root, name)), None)


def sql_file(build: Build, name: str) -> Path | None:
    """One of the SQL files for the making of a data directory: 'system_tables'.

    MariaDB renamed them from mysql_NAME.sql to mariadb_NAME.sql in version 11.
    """
    share = share_directory(build)
    for prefix in ("mariadb", "mysql"):
        if (file := share / f"{prefix}_{name}.sql").is_file():
            return file
    return None


def _nearest(build: Build, name: str) -> Path:
    """The file that lies least deep: some packages have others for the servers they embed."""
    files = _files(build.root, name)
    if not files:
        raise SlowdustError(f"{build.root} is no complete {build.dbms}: it has no {name}")
    return min(files, key=lambda path: len(path.parts))


@functools.cache  # a build is large, and is asked for the same files at every start
def _files(root: Path, name: str) -> tuple[Path, ...]:
    return tuple(sorted(root.rglob(name)))
