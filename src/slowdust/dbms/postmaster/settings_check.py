"""The settings of PostgreSQL: which of them a build accepts, and how a file has them."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from slowdust.accounts import Account
from slowdust.builds.model import Build
from slowdust.dbms.settings import (
    AcceptedSettings,
    Settings,
    check_complaints,
    query_server,
)
from slowdust.errors import UsageError
from slowdust.temporary import ENTERABLE, temporary_folder

_RESERVED_SETTINGS = frozenset(
    {
        "config_file",
        "data_directory",
        "external_pid_file",
        "hba_file",
        "ident_file",
        "listen_addresses",
        "log_destination",
        "logging_collector",
        "port",
        "unix_socket_directories",
    }
)
"""Settings by which Slowdust finds, watches and removes an instance."""
_ORDERS = ("include", "include_dir", "include_if_exists")
"""Orders to read other files, which a configuration file may have among its settings."""


def accepted_settings(build: Build, account: Account, settings: Settings) -> AcceptedSettings:
    """Ask the server, which checks a configuration without starting.

    Raises UsageError for a setting that it does not know or a value that it refuses.
    """
    settings.check_not_reserved(_RESERVED_SETTINGS)
    for name in sorted({*_ORDERS} & {*settings.required, *settings.optional}):
        raise UsageError(f"{name} is no setting: a configuration names its settings itself")
    for name in settings.create.keys() - {"data_checksums"}:
        raise UsageError(f"[create] of postgres can only have data_checksums, not {name!r}")
    given = {**settings.optional, **settings.required}
    complaints = _configuration_complaints(build, account, given)
    unknown = _unknown_settings(complaints)
    if not unknown:
        check_complaints(build, complaints)
        return AcceptedSettings(given, (), settings.create)
    described = _described_settings(build, account) if unknown & settings.required.keys() else []
    accepted = settings.among(given.keys() - unknown, build, described)
    check_complaints(build, _configuration_complaints(build, account, accepted.values))
    return accepted


def why_without_tls(build: Build, account: Account) -> str | None:
    """Say why the server encrypts no connections; None where it does."""
    complaints = _configuration_complaints(build, account, {"ssl": "on"})
    return "; ".join(complaints) or None


def configuration_text(values: Mapping[str, str]) -> str:
    """Write a configuration file; raise UsageError for a name or value that cannot be written."""
    lines = []
    for name, value in sorted(values.items()):
        if not re.fullmatch(r"[A-Za-z_][\w.$]*", name) or "\n" in value or "\0" in value:
            raise UsageError(f"{name!r} = {value!r} cannot be a setting of postgres")
        lines.append(f"{name} = {quoted(value)}\n")
    return "".join(lines)


def quoted(value: str) -> str:
    """Return a value in the quotes of a configuration file."""
    text = value.replace("\\", "\\\\").replace("'", "''")
    return f"'{text}'"


def _configuration_complaints(
    build: Build, account: Account, values: Mapping[str, str]
) -> list[str]:
    """Return the server's complaints about a configuration; empty when it accepts the values.

    `-C` prints one setting: for that the server reads and checks the whole configuration, and needs
    no data directory. Unlike `--describe-config` it also knows the hidden settings.
    """
    with temporary_folder(account.temporary_root(), ENTERABLE) as folder:
        (folder / "postgresql.conf").write_text(configuration_text(values), encoding="utf-8")
        (folder / "postgresql.conf").chmod(0o644)
        done = query_server(build, account, ["-D", str(folder), "-C", "work_mem"])
    if done.returncode == 0:
        return []
    lines = [line.partition(":  ")[2] or line for line in done.stderr.splitlines() if line.strip()]
    complaints = [
        re.sub(r' in file ".*" line \d+$', "", line)
        for line in lines
        if not line.startswith(("skipping missing", "configuration file"))
    ]
    return complaints or [f"exit code {done.returncode}"]


def _unknown_settings(complaints: Sequence[str]) -> set[str]:
    pattern = re.compile(r'unrecognized configuration parameter "([^"]+)"')
    return {match.group(1) for line in complaints if (match := pattern.search(line))}


def _described_settings(build: Build, account: Account) -> list[str]:
    described = query_server(build, account, ["--describe-config"]).stdout.splitlines()
    return [line.partition("\t")[0] for line in described]
