"""A check of settings: the server itself reports which of them it accepts."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from slowdust.accounts import Account
from slowdust.builds.model import Build
from slowdust.dbms.mysqld.instance_options import RESERVED_SETTINGS
from slowdust.dbms.mysqld.options import as_arguments, option_file, place_options
from slowdust.dbms.settings import AcceptedSettings, Settings, setting_name
from slowdust.dbms.settings_query import check_complaints, query_server, unknown_setting
from slowdust.errors import SlowdustError, UsageError
from slowdust.temporary import ENTERABLE, temporary_folder

_TABLE_OF_VARIABLES = re.compile(r"^-+ -+$", re.MULTILINE)
_OPTION = re.compile(r"^ +(?:-\S, )?--([a-z][\w-]*)", re.MULTILINE)
_VARIABLE = re.compile(r"^([a-z][\w.-]*)(?=\s|$)", re.MULTILINE)
_BOOLEAN = re.compile(r"^([a-z][\w.-]*) +(?:TRUE|FALSE)$", re.MULTILINE)
_BOOLEAN_WORDS = frozenset({"on", "off", "true", "false", "1", "0"})
_VALUE_COMPLAINT = re.compile(
    r"\[ERROR\]|unknown (?:variable|option|suffix)|adjusted to|n.t recognized", re.IGNORECASE
)
_LOG_PREFIX = re.compile(
    r"^.*?\[(?:ERROR|Warning)\]\s*(?:\[[^]]*\]\s*)*(?:Buffered \w+: )?(?:/\S+: )?"
)
_UNINFORMATIVE = ("Aborting", "Failed to initialize", "Can't open the mysql.plugin")
HELP = ("--verbose", "--help")
"""Arguments that list the settings; most servers also check the values of given settings."""


def accepted_settings(
    build: Build, account: Account, settings: Settings, validation: Sequence[str]
) -> AcceptedSettings:
    """Return the settings that the server of this build accepts.

    `validation` has the arguments with which it checks values without starting. Values are not
    checked where the server cannot even print its `HELP`, as MariaDB 10.1.8.

    Raises UsageError for a setting that it does not know or a value that it refuses.
    """
    settings.check_not_reserved(RESERVED_SETTINGS)
    for name in settings.create:
        raise UsageError(f"[create] of {build.dbms} must be empty, but has {name!r}")
    with temporary_folder(account.temporary_root(), ENTERABLE) as directory:
        server = _SettingsQuery(build, account, directory)
        known = server.settings(settings.required.get("plugin_load_add"))
        for setting in sorted(settings.required.keys() - known):
            raise unknown_setting(build, setting, known)
        skipped = settings.optional.keys() - known
        optional = {key: value for key, value in settings.optional.items() if key not in skipped}
        values = {**optional, **settings.required}
        complaints = server.complaints(values, validation)
    check_complaints(build, complaints)
    return AcceptedSettings(values, tuple(sorted(skipped)), settings.create)


def known_settings(build: Build, account: Account) -> frozenset[str]:
    """Return the names of the settings that the server has without plugins."""
    with temporary_folder(account.temporary_root(), ENTERABLE) as directory:
        return _SettingsQuery(build, account, directory).settings(None)


class _SettingsQuery:
    """Questions to a server binary that is run without being started as a server."""

    def __init__(self, build: Build, account: Account, directory: Path) -> None:
        self._build = build
        self._account = account
        self._file = directory / "server.conf"
        self._data = directory / "data"
        account.make_directory(self._data)
        self._has_help = True
        self._booleans: frozenset[str] = frozenset()

    def settings(self, plugins: str | None) -> frozenset[str]:
        """Return the names of all settings, those of the plugins included.

        `--verbose --help` describes options, then lists those with values; both are incomplete.
        """
        arguments = [] if plugins is None else [f"--plugin-load-add={plugins}"]
        output = self._run("--no-defaults", *arguments, *HELP).stdout
        options, *tables = _TABLE_OF_VARIABLES.split(output, maxsplit=1)
        if not tables:
            self._has_help = False
            return self._variables()
        table = tables[0].partition("\n\n")[0]
        self._booleans = frozenset(map(setting_name, _BOOLEAN.findall(table)))
        return frozenset(map(setting_name, [*_OPTION.findall(options), *_VARIABLE.findall(table)]))

    def complaints(self, values: Mapping[str, str], validation: Sequence[str]) -> list[str]:
        """Return the server's complaints about values; empty when it accepts all as they are."""
        if not self._has_help:
            return []  # the creation of the data directory will show what it refuses
        if wrong := self._invalid_booleans(values):
            return wrong
        self._file.write_text(option_file(self._build, values), encoding="utf-8")
        self._file.chmod(0o644)
        done = self._run(f"--defaults-file={self._file}", *validation)
        complaints = [
            _LOG_PREFIX.sub("", line).strip()
            for line in done.stderr.splitlines()
            if _VALUE_COMPLAINT.search(line) and not any(text in line for text in _UNINFORMATIVE)
        ]
        if done.returncode != 0:
            return complaints or [f"exit code {done.returncode}"]
        return [line for line in complaints if any(name in setting_name(line) for name in values)]

    def _invalid_booleans(self, values: Mapping[str, str]) -> list[str]:
        """Return a complaint about each boolean that older servers would silently misread."""
        return [
            f"{name} must be on or off, not {values[name]!r}"
            for name in sorted(self._booleans & values.keys())
            if values[name].lower() not in _BOOLEAN_WORDS
        ]

    def _variables(self) -> frozenset[str]:
        """Return the variables of a server without data: MariaDB 10.1.8 has no help.

        It crashes when its plugins describe their options.
        """
        names = self._data / "variables"
        self._run(
            "--no-defaults",
            "--innodb-log-file-size=1M",
            "--bootstrap",
            text="SELECT variable_name FROM information_schema.global_variables "
            f"INTO OUTFILE '{names}';\n",
        )
        # As the account: the file may be a link to one that only root may read.
        listed = self._account.run(["cat", str(names)])
        if listed.returncode != 0:
            raise SlowdustError(f"{self._build.server} does not list its settings")
        return frozenset(setting_name(name) for name in listed.stdout.split())

    def _run(
        self, defaults: str, *arguments: str, text: str | None = None
    ) -> subprocess.CompletedProcess[str]:
        places = place_options(self._build, self._data) | {"datadir": str(self._data)}
        return query_server(
            self._build, self._account, [defaults, *as_arguments(places), *arguments], text
        )
