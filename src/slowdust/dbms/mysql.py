"""MySQL, 5.5 and newer."""

from __future__ import annotations

from collections.abc import Sequence

from slowdust.builds.model import Build
from slowdust.dbms.access import Access, Auth
from slowdust.dbms.by_url import MYSQL
from slowdust.dbms.mysqld.family import MysqldFamily
from slowdust.dbms.mysqld.layout import version_of
from slowdust.dbms.mysqld.sql import MYSQL as SQL
from slowdust.dbms.site import Run, Site

_INITIALIZES_SINCE = (5, 7, 6)
_VALIDATES_SINCE = (8, 0, 16)
_PLUGINS = {Auth.NATIVE: "mysql_native_password", Auth.CACHING_SHA2: "caching_sha2_password"}
_SHA2_SINCE = (8, 0, 0)
_NATIVE_UNTIL = (8, 4, 0)
"""The first version without the native plugin by default; 9.0 and newer do not have it at all."""


class Mysql(MysqldFamily):
    """MySQL."""

    name = "mysql"
    sql = SQL
    by_url = MYSQL
    creates_users_since = (5, 7, 6)

    def auths(self, build: Build) -> Sequence[Auth]:
        """Return the methods: 8.0 added caching_sha2, 8.4 disabled native, 9.0 removed it."""
        version = version_of(build.facts.version)
        native = (Auth.NATIVE,) if version < _NATIVE_UNTIL else ()
        sha2 = (Auth.CACHING_SHA2,) if version >= _SHA2_SINCE else ()
        return (*sha2, *native)

    def validation(self, build: Build) -> Sequence[str]:
        """Return the validation mode of newer versions, with warnings shown."""
        if version_of(build.facts.version) < _VALIDATES_SINCE:
            return super().validation(build)
        return ("--validate-config", "--log-error-verbosity=2")

    def identified(self, site: Site, access: Access) -> str:
        """Name the plugin of the access, where there is more than the native one."""
        plugin = _PLUGINS.get(access.auth)
        if plugin is None or version_of(site.version) < _SHA2_SINCE:
            return super().identified(site, access)
        assert access.password is not None, "all but trust have one"
        return f"IDENTIFIED WITH {plugin} BY '{access.password.reveal()}'"

    def create(self, site: Site, run: Run) -> None:
        """Let the server initialize its data; before 5.7 that takes SQL files."""
        if version_of(site.version) < _INITIALIZES_SINCE:
            super().create(site, run)
        else:
            self.prepare(site)
            run(self.command_on_data(site, "--initialize-insecure"))


FAMILY = Mysql()
