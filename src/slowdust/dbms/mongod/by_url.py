"""Servers that speak MongoDB's protocol and run already: the words of their URLs, and commands."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from slowdust.dbms.access import Verify
from slowdust.dbms.by_url import PREFIX, ByUrl, Dialect, Introduction
from slowdust.dbms.documents import ADMIN, command, reply
from slowdust.dbms.mongod import status
from slowdust.dbms.stages import Query, Row

_OF_THE_SERVER = "system."
"""The beginning of the names of collections that a server makes itself."""
_UNAUTHORIZED, _AUTHENTICATION_FAILED = "mongodb/13", "mongodb/18"


def _introduction(database: str) -> Query[Introduction]:
    """Ask what a server is, which it tells anybody, and for the user's collections."""

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


def _engine(engine_names: Mapping[str, str]) -> Query[str | None]:
    """Ask for the status, which has the engine's name; None for one that is not known."""
    engines = {name: engine for engine, name in engine_names.items()}

    def read(answers: Sequence[Sequence[Row]]) -> str | None:
        engine = reply(answers[0]).get("storageEngine")
        return engines.get(str(engine.get("name"))) if isinstance(engine, dict) else None

    return Query((status.STATUS,), read)


def _drop(schema: str) -> list[str]:
    return [command("dropDatabase", schema)]


def _product(build: Mapping[str, Any]) -> str:
    """Return who made the server, where it says that it is not MongoDB's own."""
    ferretdb = build.get("ferretdbVersion")
    if ferretdb is not None:
        return f"FerretDB {str(ferretdb).removeprefix('v')}"
    return "Percona Server for MongoDB" if "psmdbVersion" in build else "MongoDB"


def by_url(engine_names: Mapping[str, str]) -> ByUrl:
    """Return the words; `engine_names` is engine -> its name for servers.

    The options are those of MongoDB's connection strings.
    """
    key_file = "tlsCertificateKeyFile"
    return ByUrl(
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
        file_options=("tlsCAFile", key_file, key_file),
        auth_source_option="authSource",
        fixed_options={"directConnection": "true"},
        not_in_names='/\\. "$',
        settings=(
            "net.compression.compressors",
            "net.maxIncomingConnections",
            "operationProfiling.mode",
            "replication.replSetName",
            "security.authorization",
            "setParameter.wiredTigerEngineRuntimeConfig",
            "sharding.clusterRole",
            "storage.directoryPerDB",
            "storage.engine",
            "storage.inMemory.engineConfig.inMemorySizeGB",
            "storage.journal.commitIntervalMs",
            "storage.journal.enabled",
            "storage.syncPeriodSecs",
            "storage.wiredTiger.collectionConfig.blockCompressor",
            "storage.wiredTiger.engineConfig.cacheSizeGB",
            "storage.wiredTiger.engineConfig.configString",
            "storage.wiredTiger.engineConfig.journalCompressor",
            "storage.wiredTiger.indexConfig.prefixCompression",
        ),
        # A replica set has a default of its own for what writes wait for.
        settings_tell_commits=False,
        dialect=Dialect(
            introduction=_introduction,
            create=_drop,  # a database comes into being with its collections
            drop=_drop,
            schema_is_database=True,
            table="collection",
            engine=_engine(engine_names),
        ),
    )
