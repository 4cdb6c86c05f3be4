"""MariaDB, 10.1 and newer."""

from __future__ import annotations

from collections.abc import Sequence

from slowdust.builds.model import Build
from slowdust.dbms.access import Auth
from slowdust.dbms.by_url import MARIADB
from slowdust.dbms.mysqld.family import MysqldFamily
from slowdust.dbms.mysqld.layout import version_of
from slowdust.dbms.mysqld.sql import MARIADB as SQL
from slowdust.dbms.site import Site

_GLOBAL_PRIV_SINCE = (10, 4, 0)


class Mariadb(MysqldFamily):
    """MariaDB."""

    name = "mariadb"
    sql = SQL
    by_url = MARIADB
    creates_users_since = (10, 1, 3)
    # Under valgrind a thread that waits for io_uring keeps all others from running, and there are
    # no addresses for the 8 TiB that newer versions reserve for a buffer pool that may grow.
    options_when_counted: tuple[str, ...] = (
        *MysqldFamily.options_when_counted,
        "--innodb-use-native-aio=0",
        "--loose-innodb-buffer-pool-size-max=1",
    )

    def auths(self, build: Build) -> Sequence[Auth]:
        return (Auth.NATIVE,)

    def table_of_users(self, site: Site) -> str:
        """Return the table behind the view that `mysql.user` is since 10.4."""
        if version_of(site.version) >= _GLOBAL_PRIV_SINCE:
            return "mysql.global_priv"
        return super().table_of_users(site)


FAMILY = Mariadb()
