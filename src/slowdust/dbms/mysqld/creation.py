"""The making of a data directory, and of the only user."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from slowdust.dbms.access import USER
from slowdust.dbms.family import Run, Site
from slowdust.dbms.mysqld.layout import sql_file
from slowdust.errors import SlowdustError

_SQL_FILES = ("system_tables", "performance_tables", "system_tables_data")
_USERS = tuple(f"'{USER}'@'{host}'" for host in ("localhost", "127.0.0.1"))


def bootstrap(site: Site, run: Run, command: list[str]) -> None:
    """By the SQL files that came with the build, as mysql_install_db does it."""
    parts = [path.read_bytes() for name in _SQL_FILES if (path := sql_file(site.build, name))]
    if len(parts) < 2:
        raise SlowdustError(f"{site.build.root} lacks the SQL files of a data directory")
    script = site.config_file.with_name("bootstrap.sql")
    script.write_bytes(b"CREATE DATABASE mysql;\nUSE mysql;\n" + b"\n".join(parts))
    try:
        run(command, script)
    finally:
        script.unlink()


def users_by_grants(identified: str) -> list[str]:
    """The only user, where it is made as it gets its rights; `identified` is 'IDENTIFIED ...'."""
    return [f"GRANT ALL ON *.* TO {user} {identified} WITH GRANT OPTION" for user in _USERS]


def users_if_not_there(identified: str) -> list[str]:
    """The only user, where it is made first; `identified` is 'IDENTIFIED ...'."""
    return [
        statement
        for user in _USERS
        for statement in (
            f"CREATE USER IF NOT EXISTS {user} {identified}",
            f"GRANT ALL ON *.* TO {user} WITH GRANT OPTION",
        )
    ]


def write_statements(site: Site, statements: Sequence[str], path: Path) -> None:
    """A file of statements, one to a line, that the account alone can read."""
    path.touch(mode=0o600)
    path.write_text("".join(f"{line};\n" for line in statements), encoding="utf-8")
    site.account.hand_over(path)
