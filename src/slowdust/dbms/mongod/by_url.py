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


class CommandDialect(Dialect):
    """Commands, whose replies are documents. A database comes into being with its collections."""

    table = "collection"
    schema_is_database = True

    def __init__(self, engine_names: Mapping[str, str]) -> None:
        """Take the names that servers have for the engines."""
        self._engines = {name: engine for engine, name in engine_names.items()}
        self.engine = Query((status.STATUS,), self._read_engine)

    def introduction(self, database: str) -> Query[Introduction]:
        """Ask what a server is, which it tells anybody, and for the user's collections."""
        collections = command("listCollections", nameOnly=True, authorizedCollections=True)
        statements = (command("buildInfo", ADMIN), collections)
        return Query(statements, lambda answers: self._introduced(answers, database))

    def _introduced(self, answers: Sequence[Sequence[Row]], database: str) -> Introduction:
        build, collections = map(reply, answers)
        names = [str(each["name"]) for each in collections["cursor"]["firstBatch"]]
        foreign = [name for name in names if not name.startswith(_OF_THE_SERVER)]
        return Introduction(
            version=str(build["version"]),
            product=_product(build),
            foreign_tables=[]
            if database.startswith(PREFIX)
            else [f"{database}.{name}" for name in sorted(foreign)],
        )

    def _read_engine(self, answers: Sequence[Sequence[Row]]) -> str | None:
        """Read the status, which has the engine's name; None for one that is not known."""
        engine = reply(answers[0]).get("storageEngine")
        name = engine.get("name") if isinstance(engine, dict) else None
        return self._engines.get(str(name))

    def create(self, schema: str) -> list[str]:
        """Drop what is there: the first collection makes the database."""
        return self.drop(schema)

    def drop(self, schema: str) -> list[str]:
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
        dialect=CommandDialect(engine_names),
    )
