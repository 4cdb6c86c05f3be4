"""A check of settings: the server itself reports which of them it accepts."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Mapping, Sequence
from pathlib import Path

from slowdust.accounts import Account
from slowdust.builds.model import Build
from slowdust.dbms.mysqld.options import (
    BINARY_LOG,
    RESERVED_SETTINGS,
    as_arguments,
    option_file,
    place_options,
)
from slowdust.dbms.settings import (
    AcceptedSettings,
    InForce,
    Settings,
    check_complaints,
    number,
    query_server,
    same_number,
    setting_name,
    truth,
)
from slowdust.dbms.stages import Query, Row
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
_SHIFTS = {"K": 10, "M": 20, "G": 30, "T": 40, "P": 50, "E": 60}
_UNITS = {
    written: 2.0**shift for unit, shift in _SHIFTS.items() for written in (unit, unit.lower())
}
_EARLIER_NAMES = {"transaction_isolation": "tx_isolation", "transaction_read_only": "tx_read_only"}
"""Option -> its variable in MySQL before 5.7.20 and MariaDB before 11.1."""


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
        accepted = settings.among(known, build, known)
        complaints = server.complaints(accepted.values, validation)
    check_complaints(build, complaints)
    return accepted


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


def settings_in_force(given: Mapping[str, str]) -> Query[dict[str, InForce]]:
    """Return the query for the settings that were given; options that are not variables lack."""
    return Query(("SHOW GLOBAL VARIABLES",), lambda answers: _read(given, answers[0]))


def _read(given: Mapping[str, str], rows: Sequence[Row]) -> dict[str, InForce]:
    variables = {setting_name(str(name)): str(value or "") for name, value in rows}
    in_force = {}
    for name, value in given.items():
        has = variables.get(name, variables.get(_EARLIER_NAMES.get(name, "")))
        if has is not None:
            in_force[name] = InForce(has, _is_same(name, value, has))
    return in_force


def _is_same(name: str, given: str, has: str) -> bool:
    if name == BINARY_LOG:
        return (truth(given) is not False) == truth(has)
    wanted, number_in_force = number(given, _UNITS), number(has, _UNITS)
    if wanted is not None and number_in_force is not None:
        return same_number(wanted, number_in_force)
    if truth(given) is not None and truth(has) is not None:
        return truth(given) == truth(has)
    if wanted is not None:
        return True  # the number of a word in a list that only the server has
    return _is_part_of(given.strip().lower(), has.strip().lower())


def _is_part_of(given: str, has: str) -> bool:
    """Return whether the server has what was given, perhaps with more.

    It completes directories (`/data` to `/data/`) and lists (`sql_mode`, `optimizer_switch`). A
    word that is longer is another one: O_DIRECT_NO_FSYNC is not O_DIRECT.
    """
    if "/" in given:
        return has.rstrip("/") == given.rstrip("/")
    return set(given.split(",")) <= set(has.split(","))
