"""FerretDB 1, which keeps its documents in SQLite or in Postgres: these are its engines."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from slowdust.accounts import Account
from slowdust.builds.model import Build
from slowdust.dbms import pragmas
from slowdust.dbms.access import USER, Auth, Listen, Target
from slowdust.dbms.documents.family import DocumentFamily, socket_of
from slowdust.dbms.family import Commit
from slowdust.dbms.ferret.backend import Backend
from slowdust.dbms.ferret.postgres import VERSION, Postgres
from slowdust.dbms.ferret.sqlite import Sqlite
from slowdust.dbms.postgres import FAMILY as POSTGRES
from slowdust.dbms.settings import AcceptedSettings, Settings
from slowdust.dbms.site import Run, Served, Site
from slowdust.dbms.stages import Stage, Statements
from slowdust.directories import files_below
from slowdust.errors import UsageError
from slowdust.secret import Secret
from slowdust.versions import version_order

_SQLITE, _POSTGRES = "sqlite", "postgres"
_IN_POSTGRES = Postgres()
_BACKENDS: Mapping[str, Backend] = {_SQLITE: Sqlite(), _POSTGRES: _IN_POSTGRES}
_SCRAM_SINCE = "1.21.0"
_PASSWORD = "FERRETDB_SETUP_PASSWORD"
_ERRORS = ("FATAL", "panic:", "ERROR", "ferretdb: error:")
_ENDED_BY_US = "terminating connection due to administrator command"
"""What Postgres writes when it is stopped, since FerretDB has ended."""


class FerretDB(DocumentFamily):
    """FerretDB over SQLite or Postgres."""

    name = "ferretdb"
    engines = tuple(_BACKENDS)
    untold = (
        "FerretDB tells no facts about its pages, does not count rows or blocks, names no settings "
        "in force and explains no writes: all of these are absent."
    )
    not_counted = (
        "valgrind cannot count the work of ferretdb: a program in Go receives its messages without "
        "the C library, by which windows begin and end."
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
        """Return the settings of the back end; those of Postgres have Postgres' configurations."""
        if engine == _POSTGRES:
            return _IN_POSTGRES.settings(
                config, overrides, side_by_side, clients=clients, memory_bytes=memory_bytes
            )
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
                f"{VERSION}={settings.required[VERSION]} is for ferretdb@VERSION/{_POSTGRES}: "
                "this one is over SQLite"
            )
        return settings

    def beneath(self, settings: Settings) -> tuple[str, str] | None:
        """Return the Postgres that it runs on; none for one over SQLite."""
        version = settings.required.get(VERSION)
        return None if version is None else (POSTGRES.name, version)

    def bytes_per_row(self, engine: str | None) -> int:
        """Return the bytes in the back end."""
        return _backend(engine).bytes_per_row

    def commit(self, settings: Mapping[str, str], engine: str | None) -> Commit | None:
        """Return what a command that writes waits for in the back end."""
        return _backend(engine).commit(settings)

    def render_bytes(self, size: int) -> str:
        """Write a size as `cache_size` of SQLite has it."""
        return pragmas.cache_size(size)

    def pool_settings(self, size: int, engine: str | None) -> Mapping[str, str]:
        """Return the size of the cache in the back end; in SQLite each connection has its own."""
        if engine == _POSTGRES:
            return POSTGRES.pool_settings(size, None)
        return {"cache_size": self.render_bytes(size)}

    def accept_of_server(
        self, build: Build, account: Account, settings: Settings
    ) -> AcceptedSettings:
        """Let the back end check the settings; only those for Postgres have its version."""
        engine = _POSTGRES if VERSION in settings.required else _SQLITE
        return _backend(engine).accept(build, account, settings)

    def auths(self, build: Build) -> Sequence[Auth]:
        """Return SCRAM from the version on that keeps users itself."""
        return (Auth.SCRAM,) if _is_since(_SCRAM_SINCE, build.facts.version) else ()

    def create(self, site: Site, run: Run) -> None:
        """Let the back end fill the directory."""
        _backend(site.engine).create(site, run)

    def configuration(self, site: Site) -> str:
        """Return that of the back end; FerretDB has its options in its command."""
        return _backend(site.engine).configuration(site)

    def server_command(self, site: Site) -> list[str]:
        """Return the command of the server, without reports to its makers."""
        backend = _backend(site.engine)
        loopback = site.access.listen is Listen.LOOPBACK
        ferretdb = [
            *site.build.command(site.build.server),
            *backend.options(site),
            f"--state-dir={site.data_dir}",
            f"--listen-unix={socket_of(site)}",
            f"--listen-addr={f'127.0.0.1:{site.port}' if loopback else ''}",
            "--debug-addr=-",
            "--telemetry=disable",
            "--log-level=error",
            *self._credentials(site),
        ]
        return backend.command(site, ferretdb)

    def programs(self, site: Site) -> Sequence[Path]:
        """Return the server and what runs beneath it."""
        return (site.build.server, *_backend(site.engine).programs(site))

    def target(self, site: Site) -> Target:
        """Return the address, with the database that has the user."""
        return msgspec.structs.replace(super().target(site), auth_source=self.database)

    def _credentials(self, site: Site) -> list[str]:
        """Return the options that make the only user, in the database of the tables.

        The password is in `secret_variables`.
        """
        if site.access.password is None:
            return []
        return [
            "--test-enable-new-auth",
            f"--setup-database={self.database}",
            f"--setup-username={USER}",
        ]

    def secret_variables(self, site: Site) -> Mapping[str, Secret]:
        """Return the password of the only user, if it has one."""
        password = site.access.password
        return {} if password is None else {_PASSWORD: password}

    def error_line(self, log: Sequence[str]) -> str | None:
        """Return the last error."""
        lines = (line for line in log if _ENDED_BY_US not in line)
        errors = [line for line in lines if any(mark in line for mark in _ERRORS)]
        return errors[-1].strip() if errors else None

    def after_load(self, site: Served, tables: Sequence[str]) -> list[Stage]:
        """Gather the statistics of the planner, with a report of sizes; vacuum Postgres' tables."""
        names = ["collStats"]
        if site.engine == _POSTGRES:
            names.append("compact")
        commands = ({name: table} for table in tables for name in names)
        return [Statements((msgspec.json.encode(each).decode(),)) for each in commands]

    def data_files(self, site: Served) -> list[Path]:
        """Return the files of the back end."""
        if site.files is None:
            return []
        pattern = f"{POSTGRES.name}/base/*/*" if site.engine == _POSTGRES else "*.sqlite*"
        return files_below(site.files, pattern)


FAMILY = FerretDB()


def _backend(engine: str | None) -> Backend:
    return _BACKENDS[engine or _SQLITE]


def _is_since(first: str, version: str) -> bool:
    return version_order(version) >= version_order(first)
