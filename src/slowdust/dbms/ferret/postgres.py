"""Postgres as a back end: a server of any build of Slowdust, started and ended with FerretDB.

Its configurations and settings are those of Postgres. One more setting, `postgres`, is the version.
"""

from __future__ import annotations

import dataclasses
import shlex
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path

from slowdust import builds
from slowdust.accounts import Account
from slowdust.builds.model import Build
from slowdust.dbms.access import USER, Access
from slowdust.dbms.documents.client import without_names
from slowdust.dbms.family import Commit
from slowdust.dbms.postgres import FAMILY as POSTGRES
from slowdust.dbms.settings import AcceptedSettings, Settings
from slowdust.dbms.site import Run, Site

VERSION = "postgres"
"""The setting that names the version of Postgres."""
_DEFAULT_VERSION = "17.6"
_SHELL = Path("/bin/sh")
_CONNECTIONS_BY_DEFAULT = 100
_RESERVED_CONNECTIONS = 10
"""Connections that are left to superusers and to background work."""
_BOTH = """
sleep 0.1  # limits of memory and control groups are set meanwhile
{postgres} &
postgres=$!
trap 'kill -INT $postgres; wait $postgres; exit 0' TERM
until [ "$(head -n 1 {state} 2>/dev/null)" = $postgres ] && grep -q '^ready' {state}; do
  kill -0 $postgres 2>/dev/null || exit 1
  sleep 0.05
done
(
  {ferretdb} &
  ferretdb=$!
  trap 'kill -TERM $ferretdb' TERM
  wait $ferretdb
  code=$?
  wait $ferretdb  # again: a signal ends a wait
  kill -INT $postgres 2>/dev/null
  exit $code
) &
above=$!
trap 'kill -TERM $above; wait $above; wait $postgres; exit 0' TERM
wait $postgres
kill -TERM $above 2>/dev/null
wait $above
"""
"""A shell's commands: Postgres begins before FerretDB and ends after it, and neither outlives the
other.
"""


class Postgres:
    """A Postgres server beneath FerretDB, in the same tree of processes."""

    bytes_per_row = 1370
    """The size in heap and B-trees, of JSONB with the types of the values; measured with 1.18.0."""

    def settings(
        self,
        config: str,
        overrides: Mapping[str, str],
        side_by_side: int,
        *,
        clients: int,
        memory_bytes: int | None,
    ) -> Settings:
        """Return a configuration of Postgres, completed by the version where it has none."""
        settings = POSTGRES.settings(
            config, overrides, side_by_side, clients=clients, memory_bytes=memory_bytes
        )
        required = {VERSION: _DEFAULT_VERSION, **settings.required}
        return dataclasses.replace(settings, required=required)

    def commit(self, settings: Mapping[str, str]) -> Commit:
        """Return whether a commit of Postgres waits for the disk."""
        return POSTGRES.commit(settings, None)

    def accept(self, build: Build, account: Account, settings: Settings) -> AcceptedSettings:
        """Ask the Postgres of that version."""
        del build
        version = settings.required[VERSION]
        others = {name: v for name, v in settings.required.items() if name != VERSION}
        asked = dataclasses.replace(settings, required=others)
        accepted = POSTGRES.accept(postgres_build(version), account, asked)
        return AcceptedSettings(
            {**accepted.values, VERSION: version}, accepted.skipped, settings.create
        )

    def create(self, site: Site, run: Run) -> None:
        """Run initdb."""
        POSTGRES.create(_beneath(site), run)

    def configuration(self, site: Site) -> str:
        """Return the configuration of Postgres."""
        return POSTGRES.configuration(_beneath(site))

    def options(self, site: Site) -> list[str]:
        """Return the address of Postgres, with as many connections as it lets in."""
        most = site.settings.values.get("max_connections", str(_CONNECTIONS_BY_DEFAULT))
        pool = max(1, int(most) - _RESERVED_CONNECTIONS)
        address = f"host={site.socket_dir}&port={site.port}&pool_max_conns={pool}"
        return [
            "--handler=postgresql",
            f"--postgresql-url=postgres://{USER}@/{POSTGRES.database}?{address}",
        ]

    def command(self, site: Site, ferretdb: Sequence[str]) -> list[str]:
        """Return the command of a shell that runs both."""
        beneath = _beneath(site)
        script = _BOTH.format(
            postgres=shlex.join(POSTGRES.server_command(beneath)),
            state=shlex.quote(str(beneath.data_dir / "postmaster.pid")),
            ferretdb=shlex.join(ferretdb),
        )
        return [str(_SHELL), "-c", script]

    def programs(self, site: Site) -> Sequence[Path]:
        """Return the server of Postgres, and the shell."""
        return (Path(POSTGRES.server_command(_beneath(site))[0]), _SHELL)


@cache
def postgres_build(version: str) -> Build:
    """Return the build of a version of Postgres from the catalog, which is fetched once."""
    return builds.resolve(POSTGRES.name, version, lambda _: None)


def _beneath(site: Site) -> Site:
    """Return the facts about the Postgres beneath an instance of FerretDB."""
    own = without_names(site.settings.values)
    values = {name: value for name, value in own.items() if name != VERSION}
    return dataclasses.replace(
        site,
        build=postgres_build(site.settings.values[VERSION]),
        data_dir=site.data_dir / POSTGRES.name,
        access=Access(),
        settings=AcceptedSettings(values, site.settings.skipped, site.settings.create),
        engine=None,
    )
