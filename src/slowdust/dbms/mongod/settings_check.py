"""A check of settings: mongod itself says which it knows, and which values it takes.

It has no option for that. Where its data directory is missing it ends when it looks for it, which
is after it has read and taken all settings.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path

from slowdust.accounts import Account
from slowdust.builds.model import Build
from slowdust.dbms.mongod import config_file
from slowdust.dbms.mongod.listening import listening
from slowdust.dbms.mongod.server_log import first_error
from slowdust.dbms.settings import AcceptedSettings, Settings
from slowdust.dbms.settings_query import check_complaints, query_server, unknown_setting
from slowdust.temporary import ENTERABLE, temporary_folder

_SOCKETS = "s"
_PORT = 27017
"""A part of the socket's name: the server does not listen on it."""
_PARAMETERS = "setParameter."
_UNKNOWN_OPTION = re.compile(r"[Uu]nrecognized option: ([\w.]+)")
_UNKNOWN_PARAMETER = re.compile(r'Illegal --setParameter parameter: "?([\w.]+)')
_MISSING = re.compile(r"Data directory .* not found")


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
