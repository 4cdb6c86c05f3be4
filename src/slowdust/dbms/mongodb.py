"""MongoDB 3.6 and newer: mongod, and Percona Server for MongoDB.

The storage engine is a setting of the server and applies to all collections. Fields of replies are
from MongoDB's manual; a field that a version lacks is absent.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from slowdust.accounts import Account, server_account
from slowdust.builds.fingerprint import query_server
from slowdust.builds.model import Build
from slowdust.dbms import mongod_settings
from slowdust.dbms.access import Auth, Listen, Target, Verify
from slowdust.dbms.by_url import PREFIX, ByUrl, Dialect, Introduction
from slowdust.dbms.documents import ADMIN, DocumentFamily, command, number_at, reply
from slowdust.dbms.family import Commit, Facts, Run, Served, Site, Sizes
from slowdust.dbms.settings import (
    AcceptedSettings,
    InForce,
    Settings,
    check_nothing_created,
    number,
    same_value,
)
from slowdust.dbms.stages import Query, Row, Stage, Statements
from slowdust.directories import files_below
from slowdust.errors import UsageError
from slowdust.store.preparation import SERVER
from slowdust.units import Second, known, present
from slowdust.versions import version_numbers

STATUS = command("serverStatus", ADMIN)
FACTS = (command("dbStats"), STATUS)
_CACHE_SECTIONS = ("wiredTiger", "inMemory")
"""Sections of the status with the cache, depending on the engine."""
_COUNTED: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "keys_examined": (("queryExecutor", "scanned"),),
    "documents_examined": (("queryExecutor", "scannedObjects"),),
    "documents_written": (
        ("document", "inserted"),
        ("document", "updated"),
        ("document", "deleted"),
    ),
}
"""Quantity -> the fields of `metrics` to add up."""


def read_facts(answers: Sequence[Sequence[Row]]) -> dict[str, dict[str, float]]:
    stats, status = map(reply, answers)
    facts = present(
        documents=number_at(stats, "objects"),
        dirty_bytes=_cache(status, "tracked dirty bytes in the cache"),
    )
    return {SERVER: facts}


def read_counters(answers: Sequence[Sequence[Row]]) -> dict[str, float]:
    status = reply(answers[0])
    totals = {}
    for name, fields in _COUNTED.items():
        parts = known(number_at(status, "metrics", *field) for field in fields)
        if len(parts) == len(fields):
            totals[name] = sum(parts)
    pages = _cache(status, "pages requested from the cache")
    return totals if pages is None else {**totals, "page_requests": pages}


def read_cache_size(answers: Sequence[Sequence[Row]]) -> int | None:
    size = _cache(reply(answers[0]), "maximum bytes configured")
    return None if size is None else int(size)


def _cache(status: Mapping[str, Any], field: str) -> float | None:
    sizes = (number_at(status, section, "cache", field) for section in _CACHE_SECTIONS)
    return next(iter(known(sizes)), None)


def _at(document: object, path: Sequence[str]) -> str | None:
    for key in path:
        document = document.get(key) if isinstance(document, dict) else None
    if document is None or isinstance(document, dict):
        return None
    return str(document).lower() if isinstance(document, bool) else str(document)


_OF_THE_SERVER = "system."
"""The prefix of the names of a server's own collections."""
_UNAUTHORIZED, _AUTHENTICATION_FAILED = "mongodb/13", "mongodb/18"


def _introduction(database: str) -> Query[Introduction]:
    def read(answers: Sequence[Sequence[Row]]) -> Introduction:
        build, collections = map(reply, answers)
        names = sorted(str(each["name"]) for each in collections["cursor"]["firstBatch"])
        foreign = [f"{database}.{name}" for name in names if not name.startswith(_OF_THE_SERVER)]
        return Introduction(
            version=str(build["version"]),
            product=_product(build),
            foreign_tables=[] if database.startswith(PREFIX) else foreign,
        )

    collections = command("listCollections", nameOnly=True, authorizedCollections=True)
    return Query((command("buildInfo", ADMIN), collections), read)


_WIREDTIGER, _MMAPV1, _INMEMORY = "wiredtiger", "mmapv1", "inmemory"
_NAMES = {_WIREDTIGER: "wiredTiger", _MMAPV1: "mmapv1", _INMEMORY: "inMemory"}
"""Engine -> the server's name for it."""
_ENGINES = {name: engine for engine, name in _NAMES.items()}


def _read_engine(answers: Sequence[Sequence[Row]]) -> str | None:
    engine = reply(answers[0]).get("storageEngine")
    return _ENGINES.get(str(engine.get("name"))) if isinstance(engine, dict) else None


def _drop(schema: str) -> list[str]:
    return [command("dropDatabase", schema)]


def _product(build: Mapping[str, Any]) -> str:
    ferretdb = build.get("ferretdbVersion")
    if ferretdb is not None:
        return f"FerretDB {str(ferretdb).removeprefix('v')}"
    return "Percona Server for MongoDB" if "psmdbVersion" in build else "MongoDB"


_SHOWN_SETTINGS = """
net.compression.compressors net.maxIncomingConnections operationProfiling.mode
replication.replSetName security.authorization setParameter.wiredTigerEngineRuntimeConfig
sharding.clusterRole storage.directoryPerDB storage.engine
storage.inMemory.engineConfig.inMemorySizeGB storage.journal.commitIntervalMs
storage.journal.enabled storage.syncPeriodSecs storage.wiredTiger.collectionConfig.blockCompressor
storage.wiredTiger.engineConfig.cacheSizeGB storage.wiredTiger.engineConfig.configString
storage.wiredTiger.engineConfig.journalCompressor storage.wiredTiger.indexConfig.prefixCompression
"""
BY_URL = ByUrl(
    schemes=("mongodb",),
    several_hosts_schemes=("mongodb+srv",),
    port=27017,
    database=ADMIN,
    password_variable="MONGODB_PASSWORD",
    password_states=frozenset({_AUTHENTICATION_FAILED}),
    unproven_states=frozenset({_UNAUTHORIZED}),
    tls_option="tls",
    tls_words={"true": Verify.IDENTITY, "false": None},
    laxer_options={
        "tlsAllowInvalidHostnames": Verify.AUTHORITY,
        "tlsAllowInvalidCertificates": Verify.NOTHING,
    },
    file_options=("tlsCAFile", "tlsCertificateKeyFile", "tlsCertificateKeyFile"),
    auth_source_option="authSource",
    fixed_options={"directConnection": "true"},
    not_in_names='/\\. "$',
    settings=tuple(_SHOWN_SETTINGS.split()),
    # A replica set has its own default for what writes wait for.
    settings_tell_commits=False,
    dialect=Dialect(
        introduction=_introduction,
        create=_drop,  # a database is created with its first collection
        drop=_drop,
        schema_is_database=True,
        table="collection",
        engine=Query((STATUS,), _read_engine),
    ),
)
"""URLs are MongoDB's connection strings."""
_MMAPV1_UNTIL = (4, 2)
_SCRAM_SINCE = (4, 0)
_OWN_USER, _USERS_DATABASE = "__system", "local"
"""The internal user of replica set members; its password is the key file."""
_OPTION_OF_INMEMORY = "--inMemorySizeGB"
_BYTES_PER_ROW = 300
"""Computed from the fields of a document and its index entries, not measured."""
_SMALLEST_CACHE_GB = 0.25
_SYNC_PERIOD: Second = 60.0
_SOON: Second = 600.0
_CHECKPOINT = Statements((command("fsync", ADMIN),))
"""A command that returns when all pages are written, with WiredTiger by a checkpoint."""
_OLDEST = (3, 6)
"""The first version with OP_MSG, the only message kind of the driver."""
_TOKUMX = "-mongodb-"
"""A part of TokuMX's version: 2.0.1-mongodb-2.4.10."""


class Mongodb(DocumentFamily):
    """mongod."""

    name = "mongodb"
    engines = tuple(_NAMES)
    volatile_engines = frozenset({_INMEMORY})
    by_url = BY_URL
    background_settings = (mongod_settings.SYNC_PERIOD,)

    def choose_engine(self, build: Build, wanted: str | None) -> str | None:
        version = build.facts.version
        own, tokumx, base = version.partition(_TOKUMX)
        if tokumx:
            raise UsageError(
                f"TokuMX {own} has the protocol of MongoDB {base}; Slowdust needs the protocol of "
                "3.6 or newer"
            )
        if version_numbers(version) < _OLDEST:
            raise UsageError(
                f"mongodb {version} has an older protocol than Slowdust supports: choose 3.6 or "
                "newer"
            )
        return super().choose_engine(build, wanted)

    def missing_for_engine(self, build: Build, engine: str) -> str | None:
        """Compare the version for mmapv1; ask the server for the in-memory engine."""
        version = build.facts.version
        if engine == _MMAPV1 and version_numbers(version) >= _MMAPV1_UNTIL:
            return f"mongodb {version} has no engine mmapv1: choose 4.0 or older"
        if engine == _INMEMORY:
            shown = query_server(build, server_account(), ["--help"]).stdout
            if _OPTION_OF_INMEMORY not in shown:
                return (
                    f"mongodb {version} has no engine inmemory: choose a build of Percona Server "
                    "for MongoDB"
                )
        return None

    def bytes_per_row(self, engine: str | None) -> int:
        return _BYTES_PER_ROW

    def commit(self, settings: Mapping[str, str], engine: str | None) -> Commit | None:
        if engine == _INMEMORY:
            return None
        waits = mongod_settings.journaled(settings)
        return Commit(waits, f"{mongod_settings.JOURNALED}={'true' if waits else 'false'}")

    def render_bytes(self, size: int) -> str:
        """Write a size in gigabytes with a fraction."""
        gigabytes = max(_SMALLEST_CACHE_GB, size / 2**30)
        return f"{gigabytes:.3f}".rstrip("0").rstrip(".")

    def accept_of_server(
        self, build: Build, account: Account, settings: Settings
    ) -> AcceptedSettings:
        check_nothing_created(self.name, settings)
        return mongod_settings.accepted_settings(build, account, settings)

    def pool_settings(self, size: int, engine: str | None) -> Mapping[str, str]:
        """Return the cache size of WiredTiger, the only engine with a page cache of its own."""
        if engine not in (None, _WIREDTIGER):
            raise UsageError(f"the engine {engine} has no page cache whose size can be set")
        if size < _SMALLEST_CACHE_GB * 2**30:
            least = f"{_SMALLEST_CACHE_GB * 1024:.0f}MB"
            raise UsageError(f"the cache of WiredTiger cannot be smaller than {least}")
        return {"storage.wiredTiger.engineConfig.cacheSizeGB": self.render_bytes(size)}

    def auths(self, build: Build) -> Sequence[Auth]:
        """Return SCRAM-SHA-256 for versions with it; the driver supports no other SCRAM."""
        return (Auth.SCRAM,) if version_numbers(build.facts.version) >= _SCRAM_SINCE else ()

    def create(self, site: Site, run: Run) -> None:
        """Write the key file, which contains the password of the server's internal user.

        It is the only user that exists before the first start.
        """
        if site.access.password is not None:
            site.account.make_file(_key_file(site), site.access.password.reveal().encode())

    def configuration(self, site: Site) -> str:
        return mongod_settings.configuration_text(site.settings.values)

    def server_command(self, site: Site) -> list[str]:
        """Return the command of the server, which stays in the foreground."""
        loopback = site.access.listen is Listen.LOOPBACK
        return [
            *site.build.command(site.build.server),
            f"--config={site.config_file}",
            f"--dbpath={site.data_dir}",
            f"--storageEngine={_NAMES[site.engine or _WIREDTIGER]}",
            *mongod_settings.listening(
                site.socket_dir, site.port, "127.0.0.1" if loopback else None
            ),
            *_credentials(site),
        ]

    def target(self, site: Site) -> Target:
        journaled = mongod_settings.journaled(site.settings.values)
        target = msgspec.structs.replace(super().target(site), journaled=journaled)
        if site.access.password is None:
            return target
        return msgspec.structs.replace(target, user=_OWN_USER, auth_source=_USERS_DATABASE)

    def error_line(self, log: Sequence[str]) -> str | None:
        """Return the first error; later errors follow from it."""
        return mongod_settings.first_error(log)

    def after_load(self, site: Served, tables: Sequence[str]) -> list[Stage]:
        """Write dirty pages to disk; the planner has no statistics to refresh."""
        return [] if site.engine == _INMEMORY else [_CHECKPOINT]

    def after_step(self, site: Served, tables: Sequence[str]) -> list[Stage]:
        period = number(site.settings.values.get(mongod_settings.SYNC_PERIOD, ""), {})
        comes_soon = (_SYNC_PERIOD if period is None else period) <= _SOON
        return self.after_load(site, tables) if comes_soon else []

    def write_out(self, site: Served) -> list[Stage]:
        return self.after_load(site, ())

    def data_files(self, site: Served) -> list[Path]:
        return [] if site.files is None else files_below(site.files, "**/*.wt")

    def sizes(self, site: Served, tables: Sequence[str]) -> Query[Sizes]:
        written = tuple(self.after_load(site, tables))
        return dataclasses.replace(super().sizes(site, tables), before=written)

    def facts(self, site: Served) -> Query[Facts]:
        return Query(FACTS, read_facts)

    def counters(self, site: Served) -> Query[dict[str, float]]:
        return Query((STATUS,), read_counters)

    def settings_in_force(self, site: Served) -> Query[dict[str, InForce]]:
        given = mongod_settings.of_server(site.settings.values)

        def read(answers: Sequence[Sequence[Row]]) -> dict[str, InForce]:
            parsed = reply(answers[0]).get("parsed")
            in_force = {}
            for name, wanted in given.items():
                if (has := _at(parsed, name.split("."))) is not None:
                    is_same = same_value(wanted, has, {})
                    in_force[name] = InForce(has, wanted == has if is_same is None else is_same)
            return in_force

        return Query((command("getCmdLineOpts", ADMIN),), read)

    def buffer_pool(self, site: Served) -> Query[int | None] | None:
        if site.engine == _MMAPV1:
            return None
        return Query((STATUS,), read_cache_size)


FAMILY = Mongodb()


def _key_file(site: Site) -> Path:
    return site.config_file.with_name("key")


def _credentials(site: Site) -> list[str]:
    if site.access.password is None:
        return []
    # Without users, any client on this machine could create one.
    no_exception = "--setParameter=enableLocalhostAuthBypass=false"
    return [f"--keyFile={_key_file(site)}", no_exception]
