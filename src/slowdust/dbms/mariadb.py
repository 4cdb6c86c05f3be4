"""MariaDB, 10.1 and newer."""

from __future__ import annotations

from slowdust.builds.model import Build
from slowdust.dbms.access import Auth
from slowdust.dbms.family import Run, Site
from slowdust.dbms.mysqld.creation import bootstrap
from slowdust.dbms.mysqld.family import MysqldFamily
from slowdust.dbms.mysqld.options import as_arguments


class Mariadb(MysqldFamily):
    """See `MysqldFamily`."""

    name = "mariadb"

    def auths(self, build: Build) -> frozenset[Auth]:
        """Native only."""
        del build
        return frozenset({Auth.NATIVE})

    def create(self, site: Site, run: Run) -> None:
        """By the SQL files that came with it."""
        self.prepare(site)
        options = as_arguments(self.data_options(site))
        bootstrap(site, run, [*self.program_and_config(site), "--bootstrap", *options])


FAMILY = Mariadb()
