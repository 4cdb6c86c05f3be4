"""MariaDB, 10.1 and newer."""

from __future__ import annotations

from slowdust.builds.model import Build
from slowdust.dbms.access import Auth
from slowdust.dbms.mysqld.family import MysqldFamily


class Mariadb(MysqldFamily):
    """MariaDB."""

    name = "mariadb"
    creates_users_since = (10, 1, 3)
    # Under valgrind a thread that waits for io_uring would keep all others from running.
    options_when_counted = ("--innodb-use-native-aio=0",)

    def auths(self, build: Build) -> frozenset[Auth]:
        """Return the native method, the only one."""
        del build
        return frozenset({Auth.NATIVE})


FAMILY = Mariadb()
