"""The settings of mongod: their YAML file, and the check by the server itself.

mongod has no option for a check. It is run with a missing data directory instead: it reads all
settings, then looks for the directory and exits.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from slowdust.accounts import Account
from slowdust.builds.fingerprint import query_server
from slowdust.builds.model import Build
from slowdust.dbms.documents import socket_in, without_names
from slowdust.dbms.settings import (
    AcceptedSettings,
    Settings,
    check_complaints,
    truth,
    unknown_setting,
)
from slowdust.errors import UsageError
from slowdust.temporary import ENTERABLE, temporary_folder

JOURNALED = "writeConcern.j"
"""The client's setting that makes each write wait until it is in the journal on disk."""
SYNC_PERIOD = "storage.syncPeriodSecs"
_CHOSEN = """
net.bindIp net.bindIpAll net.ipv6 net.port net.unixDomainSocket.enabled
net.unixDomainSocket.filePermissions net.unixDomainSocket.pathPrefix processManagement.fork
processManagement.pidFilePath replication.replSet replication.replSetName security.authorization
security.clusterAuthMode security.keyFile setParameter.authenticationMechanisms
setParameter.enableLocalhostAuthBypass sharding.clusterRole storage.dbPath storage.engine
systemLog.destination systemLog.path
"""
_RESERVED = frozenset(_CHOSEN.split())
"""Settings that Slowdust needs to find, watch and remove an instance, and its engine."""
_SERVER_SETTINGS = """
net.compression.compressors net.maxIncomingConnections operationProfiling.mode
operationProfiling.slowOpThresholdMs security.javascriptEnabled
setParameter.diagnosticDataCollectionEnabled setParameter.ttlMonitorEnabled
setParameter.wiredTigerEngineRuntimeConfig storage.directoryPerDB
storage.inMemory.engineConfig.inMemorySizeGB storage.journal.commitIntervalMs
storage.journal.enabled storage.mmapv1.smallFiles
storage.wiredTiger.collectionConfig.blockCompressor storage.wiredTiger.collectionConfig.configString
storage.wiredTiger.engineConfig.cacheSizeGB storage.wiredTiger.engineConfig.configString
storage.wiredTiger.engineConfig.directoryForIndexes
storage.wiredTiger.engineConfig.journalCompressor
storage.wiredTiger.engineConfig.zstdCompressionLevel storage.wiredTiger.indexConfig.configString
storage.wiredTiger.indexConfig.prefixCompression systemLog.quiet systemLog.verbosity
"""
_KNOWN = (*_SERVER_SETTINGS.split(), SYNC_PERIOD, JOURNALED)
"""Settings to suggest for an unknown name."""
_WITH_WORDS = frozenset({"operationProfiling.mode", "cloud.monitoring.free.state"})
"""Settings with several words as values, one of them `off`."""
_NAME = re.compile(r"[A-Za-z]\w*(\.\w+)+", re.ASCII)
_PLAIN = re.compile(r"[A-Za-z0-9_.+-]+", re.ASCII)

_Tree = dict[str, "str | _Tree"]
_SOCKETS = "s"
_PORT = 27017
"""A part of the socket's name; the server does not listen on this port."""
_PARAMETERS = "setParameter."
_UNKNOWN_OPTION = re.compile(r"[Uu]nrecognized option: ([\w.]+)")
_UNKNOWN_PARAMETER = re.compile(r'Illegal --setParameter parameter: "?([\w.]+)')
_MISSING = re.compile(r"Data directory .* not found")
_SEVERE = ("E", "F")
_LOG_LINE = re.compile(r"\d{4}-\d\d-\d\dT\S+ ([A-Z]\d?) +\S+ +\[[^\]]*\] (.*)")
"""A line of text: time, severity, component, thread, message."""
_LAST_WORDS = "exception in initAndListen"
"""The beginning of the message that says why the server exits. Its severity is information."""
_HINT = re.compile(r"try '.*' for more information", re.IGNORECASE)


def of_server(values: Mapping[str, str]) -> dict[str, str]:
    return {name: v for name, v in without_names(values).items() if name != JOURNALED}


def journaled(values: Mapping[str, str]) -> bool:
    """Return whether each write waits for the disk. Raises UsageError."""
    given = values.get(JOURNALED, "false")
    wanted = truth(given)
    if wanted is None:
        raise UsageError(f"{JOURNALED} = {given!r}: write true or false")
    return wanted


def configuration_text(values: Mapping[str, str]) -> str:
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
            raise UsageError(f"{name} cannot be set together with the setting {section}")
        tree = inner
    tree[last] = _scalar(name, value)


def _scalar(name: str, value: str) -> str:
    """Return a value as YAML, where mongod's booleans are true and false."""
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


def listening(sockets: Path, port: int, address: str | None = None) -> list[str]:
    """Return the options of a server that listens on its socket and, if given, on an address.

    Its default address is 127.0.0.1; the option accepts the socket instead.
    """
    return [
        f"--bind_ip={address or socket_in(sockets, port)}",
        f"--port={port}",
        f"--unixSocketDirectory={sockets}",
    ]


def accepted_settings(build: Build, account: Account, settings: Settings) -> AcceptedSettings:
    """Return the settings that the server of this build accepts.

    Raises UsageError for an unknown setting or a value that it refuses.
    """
    settings.check_not_reserved(_RESERVED)
    values = {**settings.optional, **settings.required}
    journaled(values)
    skipped: list[str] = []
    with temporary_folder(account.temporary_root(), ENTERABLE) as directory:
        account.make_directory(directory / _SOCKETS)
        while complaint := _complaint(build, account, directory, values):
            unknown = _unknown(complaint)
            if unknown in settings.required:
                raise unknown_setting(build, unknown, set(_KNOWN) - {unknown})
            if unknown not in values:
                check_complaints(build, [complaint])
            skipped.append(unknown)
            del values[unknown]
    return AcceptedSettings(values, tuple(sorted(skipped)), settings.create)


def _complaint(
    build: Build, account: Account, directory: Path, values: Mapping[str, str]
) -> str | None:
    """Return the server's first complaint about the settings; None if it accepts all."""
    file = directory / "server.conf"
    file.write_text(configuration_text(values), encoding="utf-8")
    file.chmod(0o644)
    missing = directory / "missing"
    done = query_server(
        build,
        account,
        [*listening(directory / _SOCKETS, _PORT), f"--config={file}", f"--dbpath={missing}"],
    )
    output = [*done.stdout.splitlines(), *done.stderr.splitlines()]
    if any(_MISSING.search(line) and str(missing) in line for line in output):
        return None
    return first_error(output) or f"exit code {done.returncode}"


def _unknown(complaint: str) -> str:
    if option := _UNKNOWN_OPTION.search(complaint):
        return option.group(1)
    parameter = _UNKNOWN_PARAMETER.search(complaint)
    return f"{_PARAMETERS}{parameter.group(1)}" if parameter else ""


def first_error(lines: Iterable[str]) -> str | None:
    """Return the message of the first error, if any."""
    errors = (error_in(line) for line in lines)
    return next((error for error in errors if error), None)


def error_in(line: str) -> str | None:
    line = line.strip()
    if line.startswith("{"):
        return _error_in_document(line)
    logged = _LOG_LINE.fullmatch(line)
    if logged is None:
        return None if _HINT.fullmatch(line) else line or None
    severity, said = logged.groups()
    return said if severity in _SEVERE or said.startswith(_LAST_WORDS) else None


def _error_in_document(line: str) -> str | None:
    try:
        entry = msgspec.json.decode(line, type=dict[str, Any])
    except msgspec.DecodeError:
        return line
    if entry.get("s") not in _SEVERE:
        return None
    attributes = entry.get("attr")
    reason = attributes.get("error") if isinstance(attributes, dict) else None
    if isinstance(reason, dict):
        reason = reason.get("errmsg") or reason.get("message")
    said = str(entry.get("msg", ""))
    return f"{said}: {reason}" if reason else said
