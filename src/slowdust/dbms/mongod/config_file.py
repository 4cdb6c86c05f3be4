"""The configuration file of mongod, which is YAML, and the names of its settings."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping

from slowdust.dbms.documents import without_names
from slowdust.dbms.settings import truth
from slowdust.errors import UsageError

JOURNALED = "writeConcern.j"
"""The setting of the client by which each write waits until it is in the journal on disk."""
SYNC_PERIOD = "storage.syncPeriodSecs"
RESERVED = frozenset(
    {
        "net.bindIp",
        "net.bindIpAll",
        "net.ipv6",
        "net.port",
        "net.unixDomainSocket.enabled",
        "net.unixDomainSocket.filePermissions",
        "net.unixDomainSocket.pathPrefix",
        "processManagement.fork",
        "processManagement.pidFilePath",
        "replication.replSet",
        "replication.replSetName",
        "security.authorization",
        "security.clusterAuthMode",
        "security.keyFile",
        "setParameter.authenticationMechanisms",
        "setParameter.enableLocalhostAuthBypass",
        "sharding.clusterRole",
        "storage.dbPath",
        "storage.engine",
        "systemLog.destination",
        "systemLog.path",
    }
)
"""Settings by which Slowdust finds, watches and removes an instance, and its engine."""
KNOWN = (
    "net.compression.compressors",
    "net.maxIncomingConnections",
    "operationProfiling.mode",
    "operationProfiling.slowOpThresholdMs",
    "security.javascriptEnabled",
    "setParameter.diagnosticDataCollectionEnabled",
    "setParameter.ttlMonitorEnabled",
    "setParameter.wiredTigerEngineRuntimeConfig",
    "storage.directoryPerDB",
    "storage.inMemory.engineConfig.inMemorySizeGB",
    "storage.journal.commitIntervalMs",
    "storage.journal.enabled",
    "storage.mmapv1.smallFiles",
    SYNC_PERIOD,
    "storage.wiredTiger.collectionConfig.blockCompressor",
    "storage.wiredTiger.collectionConfig.configString",
    "storage.wiredTiger.engineConfig.cacheSizeGB",
    "storage.wiredTiger.engineConfig.configString",
    "storage.wiredTiger.engineConfig.directoryForIndexes",
    "storage.wiredTiger.engineConfig.journalCompressor",
    "storage.wiredTiger.engineConfig.zstdCompressionLevel",
    "storage.wiredTiger.indexConfig.configString",
    "storage.wiredTiger.indexConfig.prefixCompression",
    "systemLog.quiet",
    "systemLog.verbosity",
    JOURNALED,
)
"""Settings that a name which the server does not know may have meant."""
_WITH_WORDS = frozenset({"operationProfiling.mode", "cloud.monitoring.free.state"})
"""Settings of which `off` is one of several words."""
_NAME = re.compile(r"[A-Za-z]\w*(\.\w+)+", re.ASCII)
_PLAIN = re.compile(r"[A-Za-z0-9_.+-]+", re.ASCII)

_Tree = dict[str, "str | _Tree"]


def of_server(values: Mapping[str, str]) -> dict[str, str]:
    """Return the settings without those of the client."""
    return {name: v for name, v in without_names(values).items() if name != JOURNALED}


def journaled(values: Mapping[str, str]) -> bool:
    """Return whether the client lets each write wait for the disk; raise UsageError."""
    given = values.get(JOURNALED, "false")
    wanted = truth(given)
    if wanted is None:
        raise UsageError(f"{JOURNALED} = {given!r}: write true or false")
    return wanted


def text(values: Mapping[str, str]) -> str:
    """Write a configuration file with the settings of the server.

    Raises UsageError for names and values that cannot be written.
    """
    tree: _Tree = {}
    for name, value in sorted(of_server(values).items()):
        if not _NAME.fullmatch(name) or not value.isprintable():
            raise UsageError(
                f"{name!r} = {value!r} cannot be a setting of mongodb: write names as the "
                "configuration file has them, for example storage.journal.commitIntervalMs"
            )
        _put(tree, name, value)
    return "".join(_lines(tree, ""))


def _put(tree: _Tree, name: str, value: str) -> None:
    *sections, last = name.split(".")
    for section in sections:
        inner = tree.setdefault(section, {})
        if isinstance(inner, str):
            raise UsageError(f"{name} cannot be set beside {section}, which is a setting itself")
        tree = inner
    tree[last] = _scalar(name, value)


def _scalar(name: str, value: str) -> str:
    """Return a value as YAML: mongod takes true and false alone for what is one of them."""
    if value in ("on", "off") and name not in _WITH_WORDS:
        return "true" if value == "on" else "false"
    return value if _PLAIN.fullmatch(value) else json.dumps(value)


def _lines(tree: _Tree, indent: str) -> list[str]:
    lines = []
    for key, value in tree.items():
        if isinstance(value, str):
            lines.append(f"{indent}{key}: {value}\n")
        else:
            lines += [f"{indent}{key}:\n", *_lines(value, f"{indent}  ")]
    return lines
