"""The making of a data directory, and of the only user."""

from __future__ import annotations

from pathlib import Path

from slowdust.builds.model import Build
from slowdust.dbms.access import USER, Auth
from slowdust.dbms.family import Run, Site
from slowdust.dbms.mysqld.layout import sql_file, version_of
from slowdust.errors import SlowdustError

DATABASE = "slowdust"
_SQL_FILES = ("system_tables", "performance_tables", "system_tables_data")
_CREATES_USERS_SINCE = {"mysql": (5, 7, 0), "mariadb": (10, 1, 3)}
_SHA2_IS_NAMED_SINCE = (8, 0, 0)
_PLUGINS = {Auth.NATIVE: "mysql_native_password", Auth.CACHING_SHA2: "caching_sha2_password"}


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


def user_statements(site: Site) -> list[str]:
    """What a server executes at each start, so that the only user and the database are there."""
    identified = _identified(site)
    users = [f"'{USER}'@'{host}'" for host in ("localhost", "127.0.0.1")]
    if version_of(site.build) < _CREATES_USERS_SINCE[site.build.dbms]:
        grants = [f"GRANT ALL ON *.* TO {user} {identified} WITH GRANT OPTION" for user in users]
    else:
        grants = [
            statement
            for user in users
            for statement in (
                f"CREATE USER IF NOT EXISTS {user} {identified}",
                f"GRANT ALL ON *.* TO {user} WITH GRANT OPTION",
            )
        ]
    return [*grants, f"CREATE DATABASE IF NOT EXISTS {DATABASE}"]


def write_user_file(site: Site, path: Path) -> None:
    """The file of `user_statements`, one to a line; only the account can read it."""
    path.touch(mode=0o600)
    path.write_text("".join(f"{line};\n" for line in user_statements(site)), encoding="utf-8")
    site.account.hand_over(path)


def _identified(site: Site) -> str:
    password = site.access.password or ""
    plugin = _PLUGINS.get(site.access.auth)
    if plugin is None or not names_plugin(site.build):
        return f"IDENTIFIED BY '{password}'"
    return f"IDENTIFIED WITH {plugin} BY '{password}'"


def names_plugin(build: Build) -> bool:
    """Whether a user's kind of password is chosen; else there is only the native one."""
    return build.dbms == "mysql" and version_of(build) >= _SHA2_IS_NAMED_SINCE
