"""FerretDB 1, which stores its documents in SQLite or in Postgres: these are its engines.

With Postgres a shell starts and stops both servers, so that limits, freezing, probes and clean-up
handle one server.
"""

from __future__ import annotations

import dataclasses
import shlex
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from urllib.parse import quote

import msgspec

from slowdust import builds
from slowdust.accounts import Account
from slowdust.builds.model import Build
from slowdust.dbms import sqlite
from slowdust.dbms.access import USER, Access, Auth, Listen, Target
from slowdust.dbms.documents import DocumentFamily, socket_path, without_names
from slowdust.dbms.family import Commit, Run, Served, Site
from slowdust.dbms.postgres import FAMILY as POSTGRES
from slowdust.dbms.settings import (
    AcceptedSettings,
    Settings,
    check_complaints,
    check_nothing_created,
)
from slowdust.dbms.stages import Stage, Statements
from slowdust.directories import files_below
from slowdust.errors import UsageError
from slowdust.secret import Secret
from slowdust.units import known
from slowdust.versions import version_order

_DBMS = "ferretdb"
_PRAGMAS = tuple(name for name in sqlite.KNOWN if name != "encoding")
"""All pragmas but the encoding: documents are JSON in UTF-8."""
_JOURNAL = "wal"


class _InSqlite:
    """SQLite within FerretDB's own process."""

    bytes_per_row = 590
    """The size in B-trees of JSON with types; measured with 1.18.0."""

    def commit(self, settings: Mapping[str, str]) -> Commit:
        return sqlite.commit(settings, _JOURNAL)

    def accept(self, build: Build, account: Account, settings: Settings) -> AcceptedSettings:
        """Check the settings here: the server passes them to SQLite, which ignores wrong ones."""
        check_nothing_created(_DBMS, settings)
        accepted = settings.among(_PRAGMAS, build, _PRAGMAS)
        complaints = (sqlite.complaint(name, value) for name, value in accepted.values.items())
        check_complaints(build, known(complaints))
        sqlite.ordered(accepted.values, _DBMS)
        return accepted

    def create(self, site: Site, run: Run) -> None:
        """Do nothing: the first write creates a database."""

    def configuration(self, site: Site) -> str:
        """Return a line for each setting, for readers; the server gets them in its command."""
        values = sorted(without_names(site.settings.values).items())
        return "".join(f"{name} = {value}\n" for name, value in values)

    def options(self, site: Site) -> list[str]:
        settings = sqlite.ordered(without_names(site.settings.values), _DBMS)
        set_each = "&".join(f"_pragma={quote(f'{name}({value})')}" for name, value in settings)
        return [
            "--handler=sqlite",
            f"--sqlite-url=file:{site.data_dir}/{set_each and f'?{set_each}'}",
        ]

    def command(self, site: Site, ferretdb: Sequence[str]) -> list[str]:
        return [*ferretdb]

    def programs(self, site: Site) -> Sequence[Path]:
        return ()


VERSION = "postgres"
"""The setting for the version of Postgres."""
_DEFAULT_VERSION = "17.6"
_SHELL = Path("/bin/sh")
_CONNECTIONS_BY_DEFAULT = 100
_RESERVED_CONNECTIONS = 10
"""Connections for superusers and background work."""
_BOTH = """
sleep 0.1  # Slowdust sets memory limits and control groups during this time
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
  wait $ferretdb  # again: a signal interrupts a wait
  kill -INT $postgres 2>/dev/null
  exit $code
) &
above=$!
trap 'kill -TERM $above; wait $above; wait $postgres; exit 0' TERM
wait $postgres
kill -TERM $above 2>/dev/null
wait $above
"""
"""A shell script: Postgres starts before FerretDB and stops after it. If one exits, both stop.
"""


class _InPostgres:
    """A Postgres server that FerretDB uses, in the same process tree."""

    bytes_per_row = 1370
    """The size in heap and B-trees of JSONB with types; measured with 1.18.0."""

    def commit(self, settings: Mapping[str, str]) -> Commit:
        return POSTGRES.commit(settings, None)

    def accept(self, build: Build, account: Account, settings: Settings) -> AcceptedSettings:
        version = settings.required[VERSION]
        others = {name: v for name, v in settings.required.items() if name != VERSION}
        asked = dataclasses.replace(settings, required=others)
        accepted = POSTGRES.accept(postgres_build(version), account, asked)
        return AcceptedSettings(
            {**accepted.values, VERSION: version}, accepted.skipped, settings.create
        )

    def create(self, site: Site, run: Run) -> None:
        POSTGRES.create(_postgres_site(site), run)

    def configuration(self, site: Site) -> str:
        return POSTGRES.configuration(_postgres_site(site))

    def options(self, site: Site) -> list[str]:
        """Return the address of Postgres, with as many connections as it allows."""
        most = site.settings.values.get("max_connections", str(_CONNECTIONS_BY_DEFAULT))
        pool = max(1, int(most) - _RESERVED_CONNECTIONS)
        address = f"host={site.socket_dir}&port={site.port}&pool_max_conns={pool}"
        return [
            "--handler=postgresql",
            f"--postgresql-url=postgres://{USER}@/{POSTGRES.database}?{address}",
        ]

    def command(self, site: Site, ferretdb: Sequence[str]) -> list[str]:
        postgres = _postgres_site(site)
        script = _BOTH.format(
            postgres=shlex.join(POSTGRES.server_command(postgres)),
            state=shlex.quote(str(postgres.data_dir / "postmaster.pid")),
            ferretdb=shlex.join(ferretdb),
        )
        return [str(_SHELL), "-c", script]

    def programs(self, site: Site) -> Sequence[Path]:
        return (Path(POSTGRES.server_command(_postgres_site(site))[0]), _SHELL)


@cache
def postgres_build(version: str) -> Build:
    """Return the build of a version of Postgres from the catalog; fetch it if necessary."""
    return builds.resolve(POSTGRES.name, version, lambda _: None)


def _postgres_site(site: Site) -> Site:
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


_SQLITE, _POSTGRES = "sqlite", "postgres"
_BACKENDS: Mapping[str, _InSqlite | _InPostgres] = {_SQLITE: _InSqlite(), _POSTGRES: _InPostgres()}
_SCRAM_SINCE = "1.21.0"
_PASSWORD = "FERRETDB_SETUP_PASSWORD"
_ERRORS = ("FATAL", "panic:", "ERROR", "ferretdb: error:")
_ENDED_BY_US = "terminating connection due to administrator command"
"""A message of Postgres when it is stopped because FerretDB exited."""


class FerretDB(DocumentFamily):
    """FerretDB on SQLite or Postgres."""

    name = "ferretdb"
    engines = tuple(_BACKENDS)
    unreported = (
        "FerretDB reports no facts about pages, no counts of rows or blocks, no current settings "
        "and no plans of writes."
    )
    not_counted = (
        "valgrind cannot count the work of ferretdb: counting starts and stops at calls of the C "
        "library, which Go programs do not use for messages."
    )
    without: Mapping[str, str] = {
        **DocumentFamily.without,
        "look-ups": "it reads the whole table for each row",
    }
    background_settings = ("wal_autocheckpoint", *POSTGRES.background_settings)

    def settings(
        self,
        config: str,
        overrides: Mapping[str, str],
        side_by_side: int,
        *,
        engine: str | None = None,
        clients: int = 1,
        memory_bytes: int | None = None,
    ) -> Settings:
        """Return the settings of the back end; Postgres has its own configurations."""
        if engine == _POSTGRES:
            settings = POSTGRES.settings(
                config, overrides, side_by_side, clients=clients, memory_bytes=memory_bytes
            )
            required = {VERSION: _DEFAULT_VERSION, **settings.required}
            return dataclasses.replace(settings, required=required)
        settings = super().settings(
            config,
            overrides,
            side_by_side,
            engine=engine,
            clients=clients,
            memory_bytes=memory_bytes,
        )
        if VERSION in settings.required:
            raise UsageError(
                f"{VERSION}={settings.required[VERSION]} has no effect with SQLite: choose the "
                f"contender ferretdb@VERSION/{_POSTGRES}"
            )
        return settings

    def backing_server(self, settings: Settings) -> tuple[str, str] | None:
        version = settings.required.get(VERSION)
        return None if version is None else (POSTGRES.name, version)

    def bytes_per_row(self, engine: str | None) -> int:
        return _backend(engine).bytes_per_row

    def commit(self, settings: Mapping[str, str], engine: str | None) -> Commit | None:
        return _backend(engine).commit(settings)

    def render_bytes(self, size: int) -> str:
        return sqlite.cache_size(size)

    def pool_settings(self, size: int, engine: str | None) -> Mapping[str, str]:
        """Return the cache size of the back end; in SQLite each connection has its own cache."""
        if engine == _POSTGRES:
            return POSTGRES.pool_settings(size, None)
        return {"cache_size": self.render_bytes(size)}

    def accept_of_server(
        self, build: Build, account: Account, settings: Settings
    ) -> AcceptedSettings:
        engine = _POSTGRES if VERSION in settings.required else _SQLITE
        return _backend(engine).accept(build, account, settings)

    def auths(self, build: Build) -> Sequence[Auth]:
        """Return SCRAM for versions that manage users themselves."""
        manages_users = version_order(build.facts.version) >= version_order(_SCRAM_SINCE)
        return (Auth.SCRAM,) if manages_users else ()

    def create(self, site: Site, run: Run) -> None:
        _backend(site.engine).create(site, run)

    def configuration(self, site: Site) -> str:
        return _backend(site.engine).configuration(site)

    def server_command(self, site: Site) -> list[str]:
        backend = _backend(site.engine)
        loopback = site.access.listen is Listen.LOOPBACK
        ferretdb = [
            *site.build.command(site.build.server),
            *backend.options(site),
            f"--state-dir={site.data_dir}",
            f"--listen-unix={socket_path(site)}",
            f"--listen-addr={f'127.0.0.1:{site.port}' if loopback else ''}",
            "--debug-addr=-",
            "--telemetry=disable",
            "--log-level=error",
        ]
        if site.access.password is not None:  # creates the only user, in the tables' database
            ferretdb += ["--test-enable-new-auth", f"--setup-database={self.database}"]
            ferretdb += [f"--setup-username={USER}"]
        return backend.command(site, ferretdb)

    def programs(self, site: Site) -> Sequence[Path]:
        return (site.build.server, *_backend(site.engine).programs(site))

    def target(self, site: Site) -> Target:
        return msgspec.structs.replace(super().target(site), auth_source=self.database)

    def secret_variables(self, site: Site) -> Mapping[str, Secret]:
        password = site.access.password
        return {} if password is None else {_PASSWORD: password}

    def error_line(self, log: Sequence[str]) -> str | None:
        lines = (line for line in log if _ENDED_BY_US not in line)
        errors = [line for line in lines if any(mark in line for mark in _ERRORS)]
        return errors[-1].strip() if errors else None

    def after_load(self, site: Served, tables: Sequence[str]) -> list[Stage]:
        names = ["collStats"]
        if site.engine == _POSTGRES:
            names.append("compact")
        commands = ({name: table} for table in tables for name in names)
        return [Statements((msgspec.json.encode(each).decode(),)) for each in commands]

    def data_files(self, site: Served) -> list[Path]:
        if site.files is None:
            return []
        pattern = f"{POSTGRES.name}/base/*/*" if site.engine == _POSTGRES else "*.sqlite*"
        return files_below(site.files, pattern)


FAMILY = FerretDB()


def _backend(engine: str | None) -> _InSqlite | _InPostgres:
    return _BACKENDS[engine or _SQLITE]
