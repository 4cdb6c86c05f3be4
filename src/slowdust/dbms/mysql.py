"""MySQL, 5.5 and newer."""

from __future__ import annotations

from slowdust.builds.model import Build
from slowdust.dbms.access import Auth
from slowdust.dbms.family import Run, Site
from slowdust.dbms.mysqld.creation import bootstrap
from slowdust.dbms.mysqld.family import MysqldFamily
from slowdust.dbms.mysqld.layout import version_of
from slowdust.dbms.mysqld.options import as_arguments

_INITIALIZES_SINCE = (5, 7, 6)
_SHA2_SINCE = (8, 0, 0)
_NATIVE_UNTIL = (8, 4, 0)
"""From there on only where it is asked for, from 9.0 on not at all."""


class Mysql(MysqldFamily):
    """See `MysqldFamily`."""

    name = "mysql"

    def auths(self, build: Build) -> frozenset[Auth]:
        """8.0 brought caching_sha2, 8.4 took native from the defaults and 9.0 took it away."""
        version = version_of(build)
        native = {Auth.NATIVE} if version < _NATIVE_UNTIL else set()
        sha2 = {Auth.CACHING_SHA2} if version >= _SHA2_SINCE else set()
        return frozenset(native | sha2)

    def create(self, site: Site, run: Run) -> None:
        """From 5.7 on the server has all that it needs in itself."""
        self.prepare(site)
        options = as_arguments(self.data_options(site))
        if version_of(site.build) < _INITIALIZES_SINCE:
            bootstrap(site, run, [*self.program_and_config(site), "--bootstrap", *options])
        else:
            run([*self.program_and_config(site), "--initialize-insecure", *options])


FAMILY = Mysql()
