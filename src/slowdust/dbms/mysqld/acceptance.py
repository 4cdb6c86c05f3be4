"""Which settings a server takes, as it says itself."""

from __future__ import annotations

import difflib
import re
import subprocess
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path

from slowdust.accounts import Account
from slowdust.builds.model import Build
from slowdust.dbms.mysqld.layout import version_of
from slowdust.dbms.mysqld.options import (
    as_arguments,
    option_file,
    place_options,
    setting_name,
)
from slowdust.dbms.settings import AcceptedSettings, Settings
from slowdust.errors import SlowdustError, UsageError

_VALIDATES_SINCE = (8, 0, 16)
_TABLE_OF_VARIABLES = re.compile(r"^-+ -+$", re.MULTILINE)
_OPTION = re.compile(r"^ +(?:-\S, )?--([a-z][\w-]*)", re.MULTILINE)
_VARIABLE = re.compile(r"^([a-z][\w.-]*)(?=\s|$)", re.MULTILINE)
_OF_A_VALUE = re.compile(r"\[ERROR\]|unknown (?:variable|option|suffix)|adjusted to", re.IGNORECASE)
_LOG_PREFIX = re.compile(r"^.*?\[(?:ERROR|Warning)\]\s*(?:\[[^]]*\]\s*)*")
_SAYS_NOTHING = ("Aborting", "Failed to initialize", "Can't open the mysql.plugin")
OWN_SETTINGS = frozenset(
    {
        "basedir",
        "bind_address",
        "datadir",
        "init_file",
        "lc_messages_dir",
        "log_error",
        "mysqlx",
        "pid_file",
        "plugin_dir",
        "port",
        "secure_file_priv",
        "skip_grant_tables",
        "skip_networking",
        "socket",
        "tmpdir",
        "user",
    }
)
"""What an instance needs to be found, watched and cleaned away."""


def accepted_settings(build: Build, account: Account, settings: Settings) -> AcceptedSettings:
    """What the server of this build takes of the settings.

    Raises UsageError for a setting it does not know or a value it refuses.
    """
    for name in sorted(OWN_SETTINGS & {*settings.required, *settings.optional}):
        raise UsageError(f"{name} cannot be set: Slowdust chooses it for each instance")
    for name in settings.create:
        raise UsageError(f"[create] of {build.dbms} has nothing, not {name!r}")
    plugins = settings.required.get("plugin_load_add")
    known = _known_settings(build, account, plugins)
    for name in sorted(settings.required.keys() - known):
        raise UsageError(_unknown_message(build, name, known))
    skipped = settings.optional.keys() - known
    taken = {key: value for key, value in settings.optional.items() if key not in skipped}
    values = {**taken, **settings.required}
    if complaints := _complaints(build, account, values):
        said = "; ".join(complaints)
        raise UsageError(f"{build.dbms} {build.facts.version} refuses the settings: {said}")
    return AcceptedSettings(values, tuple(sorted(skipped)), settings.create)


def _known_settings(build: Build, account: Account, plugins: str | None) -> frozenset[str]:
    """The names that `--verbose --help` lists, those of the plugins included.

    It describes the options, and then lists those that have values: neither has all of them.
    """
    arguments = [] if plugins is None else [f"--plugin-load-add={plugins}"]
    said = _ask(build, account, ["--no-defaults"], [*arguments, "--verbose", "--help"]).stdout
    options, *tables = _TABLE_OF_VARIABLES.split(said, maxsplit=1)
    if not tables:
        raise SlowdustError(f"{build.server} does not tell its settings")
    names = [*_OPTION.findall(options), *_VARIABLE.findall(tables[0].partition("\n\n")[0])]
    return frozenset(setting_name(name) for name in names)


def _complaints(build: Build, account: Account, values: Mapping[str, str]) -> list[str]:
    """What the server says of values; nothing when it takes them as they are."""
    validates = build.dbms == "mysql" and version_of(build) >= _VALIDATES_SINCE
    question = ["--validate-config"] if validates else ["--verbose", "--help"]
    with tempfile.TemporaryDirectory(
        prefix="slowdust-settings-", dir=account.temporary_root()
    ) as name:
        file = Path(name) / "server.conf"
        file.write_text(option_file(values), encoding="utf-8")
        file.parent.chmod(0o755)
        file.chmod(0o644)
        done = _ask(build, account, [f"--defaults-file={file}"], question)
    said = [
        _LOG_PREFIX.sub("", line).strip()
        for line in done.stderr.splitlines()
        if _OF_A_VALUE.search(line) and not any(text in line for text in _SAYS_NOTHING)
    ]
    if done.returncode != 0:
        return said or [f"exit code {done.returncode}"]
    named = [line for line in said if "adjusted to" in line]
    return [line for line in named if any(name in line.replace("-", "_") for name in values)]


def _ask(
    build: Build, account: Account, first: Sequence[str], rest: Sequence[str]
) -> subprocess.CompletedProcess[str]:
    places = as_arguments(place_options(build, account.temporary_root()))
    try:
        return account.ask([*build.command(build.server), *first, *places, *rest])
    except (OSError, subprocess.TimeoutExpired) as error:
        raise SlowdustError(f"{build.server} cannot be asked for its settings: {error}") from error


def _unknown_message(build: Build, name: str, known: frozenset[str]) -> str:
    close = difflib.get_close_matches(name, sorted(known), n=1)
    hint = f"did you mean {close[0]}?" if close else "leave it out or put it under [optional]"
    return f"{build.dbms} {build.facts.version} has no setting {name!r}: {hint}"
