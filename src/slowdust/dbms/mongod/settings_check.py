"""A check of settings: mongod itself says which it knows, and which values it takes.

It has no option for that. Where its data directory is missing it ends when it looks for it, which
is after it has read and taken all settings.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import msgspec

from slowdust.accounts import Account
from slowdust.builds.model import Build
from slowdust.dbms.documents import socket_in
from slowdust.dbms.mongod import config_file
from slowdust.dbms.settings import (
    AcceptedSettings,
    Settings,
    check_complaints,
    query_server,
    unknown_setting,
)
from slowdust.temporary import ENTERABLE, temporary_folder

_SOCKETS = "s"
_PORT = 27017
"""A part of the socket's name: the server does not listen on it."""
_PARAMETERS = "setParameter."
_UNKNOWN_OPTION = re.compile(r"[Uu]nrecognized option: ([\w.]+)")
_UNKNOWN_PARAMETER = re.compile(r'Illegal --setParameter parameter: "?([\w.]+)')
_MISSING = re.compile(r"Data directory .* not found")


def listening(sockets: Path, port: int, address: str | None = None) -> list[str]:
    """Return the options of a server that listens on its socket, and on this address if any.

    Without an address it would choose 127.0.0.1; the socket may stand in its place.
    """
    return [
        f"--bind_ip={address or socket_in(sockets, port)}",
        f"--port={port}",
        f"--unixSocketDirectory={sockets}",
    ]


def accepted_settings(build: Build, account: Account, settings: Settings) -> AcceptedSettings:
    """Return the settings that the server of this build accepts.

    Raises UsageError for a setting that it does not know or a value that it refuses.
    """
    settings.check_not_reserved(config_file.RESERVED)
    values = {**settings.optional, **settings.required}
    config_file.journaled(values)
    skipped: list[str] = []
    with temporary_folder(account.temporary_root(), ENTERABLE) as directory:
        account.make_directory(directory / _SOCKETS)
        while complaint := _complaint(build, account, directory, values):
            unknown = _unknown(complaint)
            if unknown in settings.required:
                raise unknown_setting(build, unknown, set(config_file.KNOWN) - {unknown})
            if unknown not in values:
                check_complaints(build, [complaint])
            skipped.append(unknown)
            del values[unknown]
    return AcceptedSettings(values, tuple(sorted(skipped)), settings.create)


def _complaint(
    build: Build, account: Account, directory: Path, values: Mapping[str, str]
) -> str | None:
    """Return the server's first complaint about settings; None where it takes all."""
    file = directory / "server.conf"
    file.write_text(config_file.text(values), encoding="utf-8")
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
    """Return the name that a complaint says is not known; empty for another complaint."""
    if option := _UNKNOWN_OPTION.search(complaint):
        return option.group(1)
    parameter = _UNKNOWN_PARAMETER.search(complaint)
    return f"{_PARAMETERS}{parameter.group(1)}" if parameter else ""


_SEVERE = ("E", "F")
_LOG_LINE = re.compile(r"\d{4}-\d\d-\d\dT\S+ ([A-Z]\d?) +\S+ +\[[^\]]*\] (.*)")
"""A line of text: its time, severity, component and thread, then what it says."""
_LAST_WORDS = "exception in initAndListen"
"""The beginning of a line that says why the server ends, with the severity of information."""
_HINT = re.compile(r"try '.*' for more information", re.IGNORECASE)


def first_error(lines: Iterable[str]) -> str | None:
    """Return what the first line about an error says; None where there is none."""
    errors = (error_in(line) for line in lines)
    return next((error for error in errors if error), None)


def error_in(line: str) -> str | None:
    """Return what a line says about an error; None for other lines."""
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
