"""MongoDB, 3.6 and newer: its server mongod, and Percona Server for MongoDB.

The storage engine is a setting of the server, which all its collections have.
"""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from slowdust.accounts import Account, server_account
from slowdust.builds.model import Build
from slowdust.dbms.access import Auth, Listen, Target
from slowdust.dbms.documents import ADMIN, DocumentFamily, command
from slowdust.dbms.family import Commit, Facts, Sizes
from slowdust.dbms.mongod import options, status
from slowdust.dbms.mongod.by_url import by_url
from slowdust.dbms.settings import (
    AcceptedSettings,
    InForce,
    Settings,
    check_nothing_created,
    number,
    query_server,
)
from slowdust.dbms.site import Run, Served, Site
from slowdust.dbms.stages import Query, Stage, Statements
from slowdust.directories import files_below
from slowdust.errors import SlowdustError, UsageError
from slowdust.units import Second

_WIREDTIGER, _MMAPV1, _INMEMORY = "wiredtiger", "mmapv1", "inmemory"
_NAMES = {_WIREDTIGER: "wiredTiger", _MMAPV1: "mmapv1", _INMEMORY: "inMemory"}
"""Engine -> its name for the server."""
_MMAPV1_UNTIL = (4, 2)
_SCRAM_SINCE = (4, 0)
_OWN_USER, _USERS_DATABASE = "__system", "local"
"""The user as whom members of a replica set speak to each other; its password is the key file."""
_OPTION_OF_INMEMORY = "--inMemorySizeGB"
_BYTES_PER_ROW = 300
"""Added up from the fields of a document and of its entries in indexes, not measured."""
_SMALLEST_CACHE_GB = 0.25
"""The smallest that the server takes."""
_SYNC_PERIOD: Second = 60.0
"""The server's default."""
_SOON: Second = 600.0
_CHECKPOINT = Statements((command("fsync", ADMIN),))
"""A command that returns when all pages are written: with WiredTiger, when a checkpoint is done."""
_OLDEST = (3, 6)
"""The first version with OP_MSG, the only kind of message that the driver sends."""
_TOKUMX = "-mongodb-"
"""A part of TokuMX's version: 2.0.1-mongodb-2.4.10."""


class Mongodb(DocumentFamily):
    """mongod."""

    name = "mongodb"
    engines = tuple(_NAMES)
    volatile_engines = frozenset({_INMEMORY})
    by_url = by_url(_NAMES)
    background_settings = (options.SYNC_PERIOD,)

    def choose_engine(self, build: Build, wanted: str | None) -> str | None:
        """Refuse builds with which the driver cannot speak, then choose among the engines."""
        reason = why_unusable(build.facts.version)
        if reason is not None:
            raise UsageError(reason)
        return super().choose_engine(build, wanted)

    def missing_for_engine(self, build: Build, engine: str) -> str | None:
        """Know how long there was mmapv1; ask the server whether it has the engine in memory."""
        version = build.facts.version
        if engine == _MMAPV1 and version_of(version) >= _MMAPV1_UNTIL:
            return f"mongodb {version} has no engine mmapv1: 4.0 is the last version with it"
        if engine == _INMEMORY:
            shown = query_server(build, server_account(), ["--help"]).stdout
            if _OPTION_OF_INMEMORY not in shown:
                return (
                    f"mongodb {version} has no engine inmemory: choose a build of Percona Server "
                    "for MongoDB, which has it"
                )
        return None

    def bytes_per_row(self, engine: str | None) -> int:
        """Return the bytes of documents without compression."""
        return _BYTES_PER_ROW

    def commit(self, settings: Mapping[str, str], engine: str | None) -> Commit | None:
        """Return whether each write asks to wait for the journal."""
        if engine == _INMEMORY:
            return None
        waits = options.journaled(settings)
        return Commit(waits, f"{options.JOURNALED}={'true' if waits else 'false'}")

    def render_bytes(self, size: int) -> str:
        """Write a size in gigabytes, of which the server takes fractions."""
        gigabytes = max(_SMALLEST_CACHE_GB, size / 2**30)
        return f"{gigabytes:.3f}".rstrip("0").rstrip(".")

    def accept_of_server(
        self, build: Build, account: Account, settings: Settings
    ) -> AcceptedSettings:
        """Ask the server, which checks its settings before it looks for its data."""
        check_nothing_created(self.name, settings)
        return options.accepted_settings(build, account, settings)

    def pool_settings(self, size: int, engine: str | None) -> Mapping[str, str]:
        """Return the size of the cache of WiredTiger, the engine that has one beside its data."""
        if engine not in (None, _WIREDTIGER):
            raise UsageError(f"the engine {engine} has no page cache of a size of its own")
        if size < _SMALLEST_CACHE_GB * 2**30:
            least = f"{_SMALLEST_CACHE_GB * 1024:.0f}MB"
            raise UsageError(f"the cache of WiredTiger cannot be smaller than {least}")
        return {"storage.wiredTiger.engineConfig.cacheSizeGB": self.render_bytes(size)}

    def auths(self, build: Build) -> Sequence[Auth]:
        """Return SCRAM-SHA-256, which the driver speaks, from the first version with it."""
        return (Auth.SCRAM,) if version_of(build.facts.version) >= _SCRAM_SINCE else ()

    def create(self, site: Site, run: Run) -> None:
        """Write the key file, whose content is the password of the server's own user.

        It is the only user that is there before the server runs.
        """
        if site.access.password is not None:
            site.account.make_file(_key_file(site), site.access.password.reveal().encode())

    def configuration(self, site: Site) -> str:
        return options.configuration_text(site.settings.values)

    def server_command(self, site: Site) -> list[str]:
        """Return the command of the server, which stays in the foreground."""
        loopback = site.access.listen is Listen.LOOPBACK
        return [
            *site.build.command(site.build.server),
            f"--config={site.config_file}",
            f"--dbpath={site.data_dir}",
            f"--storageEngine={_NAMES[site.engine or _WIREDTIGER]}",
            *options.listening(site.socket_dir, site.port, "127.0.0.1" if loopback else None),
            *_credentials(site),
        ]

    def target(self, site: Site) -> Target:
        """Return the address, and whether writes wait."""
        journaled = options.journaled(site.settings.values)
        target = msgspec.structs.replace(super().target(site), journaled=journaled)
        if site.access.password is None:
            return target
        return msgspec.structs.replace(target, user=_OWN_USER, auth_source=_USERS_DATABASE)

    def error_line(self, log: Sequence[str]) -> str | None:
        """Return the first error, since the later ones follow from it."""
        return options.first_error(log)

    def after_load(self, site: Served, tables: Sequence[str]) -> list[Stage]:
        """Write what is only in memory; there are no statistics of the planner."""
        return [] if site.engine == _INMEMORY else [_CHECKPOINT]

    def after_step(self, site: Served, tables: Sequence[str]) -> list[Stage]:
        """Do the checkpoint that the server would soon do by itself."""
        period = number(site.settings.values.get(options.SYNC_PERIOD, ""), {})
        comes_soon = (_SYNC_PERIOD if period is None else period) <= _SOON
        return self.after_load(site, tables) if comes_soon else []

    def write_out(self, site: Served) -> list[Stage]:
        return self.after_load(site, ())

    def data_files(self, site: Served) -> list[Path]:
        return [] if site.files is None else files_below(site.files, "**/*.wt")

    def sizes(self, site: Served, tables: Sequence[str]) -> Query[Sizes]:
        """Write what is only in memory: the sizes are those of the files."""
        written = tuple(self.after_load(site, tables))
        return dataclasses.replace(super().sizes(site, tables), before=written)

    def facts(self, site: Served) -> Query[Facts]:
        return Query(status.FACTS, status.read_facts)

    def counters(self, site: Served) -> Query[dict[str, float]]:
        return Query((status.STATUS,), status.read_counters)

    def settings_in_force(self, site: Served) -> Query[dict[str, InForce]]:
        return status.settings(options.of_server(site.settings.values))

    def buffer_pool(self, site: Served) -> Query[int | None] | None:
        """Ask for the size of the cache; mmapv1 has that of the operating system alone."""
        if site.engine == _MMAPV1:
            return None
        return Query((status.STATUS,), status.read_cache_size)


FAMILY = Mongodb()


def _key_file(site: Site) -> Path:
    return site.config_file.with_name("key")


def _credentials(site: Site) -> list[str]:
    """Return the options by which the server asks for a password."""
    if site.access.password is None:
        return []
    # While there are no users, whoever comes from this machine could make one.
    no_exception = "--setParameter=enableLocalhostAuthBypass=false"
    return [f"--keyFile={_key_file(site)}", no_exception]


def version_of(version: str) -> tuple[int, int]:
    """Return (7, 0) for '7.0.14', and for '7.0.14-8' of Percona."""
    numbers = re.match(r"(\d+)\.(\d+)\.", version)
    if numbers is None:
        raise SlowdustError(f"the version {version} is not X.Y.Z")
    return int(numbers.group(1)), int(numbers.group(2))


def why_unusable(version: str) -> str | None:
    """Say why the driver cannot speak with a server of this version; None where it can."""
    own, tokumx, base = version.partition(_TOKUMX)
    if tokumx:
        return (
            f"TokuMX {own} speaks the protocol of MongoDB {base}, which Slowdust does not: "
            "3.6 is the first version with the one that it speaks"
        )
    if version_of(version) < _OLDEST:
        return f"mongodb {version} speaks an older protocol than Slowdust does: choose 3.6 or newer"
    return None
