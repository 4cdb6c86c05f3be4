"""The options of mysqld, its files, and the settings that a build of it accepts."""

from __future__ import annotations

import functools
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

from slowdust.accounts import Account, Finished
from slowdust.builds.fingerprint import query_server
from slowdust.builds.model import Build
from slowdust.dbms.access import Auth
from slowdust.dbms.family import Site
from slowdust.dbms.settings import (
    AcceptedSettings,
    InForce,
    Settings,
    check_complaints,
    number,
    same_value,
    setting_name,
    truth,
)
from slowdust.dbms.stages import Query, Row
from slowdust.errors import SlowdustError, UsageError
from slowdust.temporary import ENTERABLE, temporary_folder
from slowdust.versions import version_numbers

BINARY_LOG = "log_bin"
"""A setting whose value is always a file name; a separate option disables the log."""
_KNOWS_WORDS_SINCE = (5, 6)
_NUMBERS = {"on": "1", "off": "0", "true": "1", "false": "0"}
"""Word -> number, for older servers, which read all words as 0."""


def option_file(build: Build, values: Mapping[str, str]) -> str:
    """Write an option file. Raises UsageError for a name or value that cannot be written."""
    lines = [_line(name, value) for name, value in sorted(_spelled(build, values).items())]
    return "".join(f"{line}\n" for line in ("[mysqld]", *lines))


def place_options(build: Build, directory: Path) -> dict[str, str]:
    """Return the options that make a server use its own files and no others on this machine.

    `directory` is writable for the server; it is also the plugin directory if the build has none.
    """
    return {name: str(place(build, directory)) for name, place in PLACES.items()}


def as_arguments(options: Mapping[str, str]) -> list[str]:
    return [f"--{name.replace('_', '-')}={value}" for name, value in options.items()]


def _plugin_directory(build: Build, directory: Path) -> Path:
    some_plugin = find_library(build, "ha_*.so") or find_library(build, "auth_*.so")
    return some_plugin.parent if some_plugin else directory


PLACES: Mapping[str, Callable[[Build, Path], Path]] = {
    "basedir": lambda build, _: share_directory(build).parent,
    "lc_messages_dir": lambda build, _: share_directory(build),
    "plugin_dir": _plugin_directory,
    "secure_file_priv": lambda _, directory: directory,
    "tmpdir": lambda _, directory: directory,
}


def _spelled(build: Build, values: Mapping[str, str]) -> dict[str, str]:
    if version_numbers(build.facts.version) >= _KNOWS_WORDS_SINCE:
        return dict(values)
    return {name: _NUMBERS.get(value.lower(), value) for name, value in values.items()}


def _line(name: str, value: str) -> str:
    if not re.fullmatch(r"[a-z][a-z0-9_.]*", name) or re.search(r"[\n\r\0\"]", value):
        raise UsageError(f"{name!r} = {value!r} cannot be a setting")
    if name == BINARY_LOG and value.lower() in ("off", "0"):
        return "skip_log_bin"
    if name == BINARY_LOG and value.lower() in ("on", "1"):
        return "log_bin=binlog"
    text = value.replace("\\", "\\\\")
    return f'{name}="{text}"' if re.search(r"[#'\s\\]", value) else f"{name}={value}"


_Choice = Callable[[Site], str]
_SOCKET = "mysql.sock"


def data_directory(files: Path) -> Path:
    return files / "data"


def runtime_directory(site: Site) -> Path:
    """Return the directory for other files: in the data directory it would be a database."""
    return site.data_dir / "own"


def socket_path(site: Site) -> Path:
    return site.socket_dir / _SOCKET


def user_file(site: Site) -> Path:
    """Return the file of statements that create the only user, executed at each start.

    Root writes it, so it is not in a directory of the account.
    """
    return site.config_file.with_name("user.sql")


def _rsa_keys(site: Site) -> str:
    return "1" if site.access.auth is Auth.CACHING_SHA2 else "0"


_LOOSE: Mapping[str, _Choice] = {
    # No X protocol, and no keys and certificates created at the first start.
    "mysqlx": lambda _: "0",
    "ssl": lambda site: "1" if site.access.encrypted else "0",
    "auto_generate_certs": lambda _: "0",
    "caching_sha2_password_auto_generate_rsa_keys": _rsa_keys,
    "sha256_password_auto_generate_rsa_keys": _rsa_keys,
}
"""Options that some versions do not know."""
_ON_DATA: Mapping[str, _Choice] = {"datadir": lambda site: str(data_directory(site.data_dir))}
_OF_SERVER: Mapping[str, _Choice] = {
    "bind_address": lambda _: "127.0.0.1",
    "skip_networking": lambda site: "0" if site.access.by_tcp else "1",
    "port": lambda site: str(site.port),
    "socket": lambda site: str(socket_path(site)),
    "pid_file": lambda site: str(runtime_directory(site) / "mysqld.pid"),
    "init_file": lambda site: str(user_file(site)),
    # A client's thread is pinned to one CPU. A cached thread would still be pinned when the next
    # client gets it, so each connection needs a new thread.
    "thread_cache_size": lambda _: "0",
}
_OF_ENCRYPTION: Mapping[str, _Choice] = {
    "ssl_cert": lambda site: str(site.certificate),
    "ssl_key": lambda site: str(site.key),
}
# TCP clients must match the user at 127.0.0.1, who has a password, never the one at localhost.
_WITHOUT_NAMES = {"skip_name_resolve": "1"}
_FORBIDDEN = frozenset({"log_error", "skip_grant_tables", "user"})
"""Options for another log than standard error, access without a user, another account."""
RESERVED_SETTINGS = frozenset({*PLACES, *_LOOSE, *_ON_DATA, *_OF_SERVER, *_FORBIDDEN})


def data_options(site: Site) -> dict[str, str]:
    loose = {f"loose_{name}": value for name, value in _chosen(_LOOSE, site).items()}
    return {
        **_chosen(_ON_DATA, site),
        **place_options(site.build, runtime_directory(site)),
        **loose,
    }


def server_options(site: Site) -> dict[str, str]:
    options = {**data_options(site), **_chosen(_OF_SERVER, site)}
    if not site.access.encrypted:
        return options
    return {**options, **_chosen(_OF_ENCRYPTION, site), **_WITHOUT_NAMES}


def _chosen(choices: Mapping[str, _Choice], site: Site) -> dict[str, str]:
    return {name: choose(site) for name, choose in choices.items()}


_MESSAGES = "english/errmsg.sys"


def share_directory(build: Build) -> Path:
    """Return the directory with messages in all languages and, before MySQL 5.7, SQL files."""
    files = _files(build.root, _MESSAGES)
    if not files:
        raise SlowdustError(f"{build.root} is not a complete {build.dbms}: it has no {_MESSAGES}")
    return min(files, key=lambda path: len(path.parts)).parent.parent


def find_library(build: Build, name: str) -> Path | None:
    """Return the file of a library or plugin, 'ha_rocksdb.so'; None if the build lacks it."""
    return next(iter(_files(build.root, name)), None)


def sql_file(build: Build, name: str) -> Path | None:
    """Return an SQL file for the creation of a data directory: 'system_tables'.

    MariaDB renamed them from mysql_NAME.sql to mariadb_NAME.sql in version 11.
    """
    share = share_directory(build)
    for prefix in ("mariadb", "mysql"):
        if (file := share / f"{prefix}_{name}.sql").is_file():
            return file
    return None


@functools.cache  # a build has many files, and each start looks for the same ones
def _files(root: Path, name: str) -> tuple[Path, ...]:
    return tuple(sorted(root.rglob(name)))


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
"""Arguments that list the settings; most servers also check the given values."""
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
    checked if the server cannot print its `HELP`, such as MariaDB 10.1.8.

    Raises UsageError for an unknown setting or a value that it refuses.
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


def default_value(build: Build, account: Account, name: str) -> str | None:
    """Return the default of a setting as the server lists it; None for an unknown setting."""
    with temporary_folder(account.temporary_root(), ENTERABLE) as directory:
        return _SettingsQuery(build, account, directory).default(name)


class _SettingsQuery:
    """Runs of a server's binary that print or check settings and start no server."""

    def __init__(self, build: Build, account: Account, directory: Path) -> None:
        self._build = build
        self._account = account
        self._file = directory / "server.conf"
        self._data = directory / "data"
        account.make_directory(self._data)
        self._has_help = True
        self._booleans: frozenset[str] = frozenset()

    def settings(self, plugins: str | None) -> frozenset[str]:
        """Return the names of all settings, including settings of plugins.

        `--verbose --help` describes options, then lists options with values; both are incomplete.
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

    def default(self, name: str) -> str | None:
        rows = (line.split() for line in self._run("--no-defaults", *HELP).stdout.splitlines())
        return next((row[-1] for row in rows if row and setting_name(row[0]) == name), None)

    def complaints(self, values: Mapping[str, str], validation: Sequence[str]) -> list[str]:
        """Return the server's complaints about values; empty if it accepts all unchanged."""
        if not self._has_help:
            return []  # creating the data directory fails for wrong values
        if wrong := [
            f"{name} must be on or off, not {values[name]!r}"
            for name in sorted(self._booleans & values.keys())
            if values[name].lower() not in _BOOLEAN_WORDS
        ]:
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

    def _variables(self) -> frozenset[str]:
        """Return the variables of a server without data.

        MariaDB 10.1.8 crashes on `--help` when its plugins describe their options.
        """
        names = self._data / "variables"
        self._run(
            "--no-defaults",
            "--innodb-log-file-size=1M",
            "--bootstrap",
            text="SELECT variable_name FROM information_schema.global_variables "
            f"INTO OUTFILE '{names}';\n",
        )
        # Read it as the account: it may be a link to a file that only root may read.
        listed = self._account.run(["cat", str(names)])
        if listed.returncode != 0:
            raise SlowdustError(f"{self._build.server} does not list its settings")
        return frozenset(setting_name(name) for name in listed.stdout.split())

    def _run(self, defaults: str, *arguments: str, text: str | None = None) -> Finished:
        places = place_options(self._build, self._data) | {"datadir": str(self._data)}
        return query_server(
            self._build, self._account, [defaults, *as_arguments(places), *arguments], text
        )


def settings_in_force(given: Mapping[str, str]) -> Query[dict[str, InForce]]:
    """Return the query for the settings that were given, without options that are no variables."""

    def read(answers: Sequence[Sequence[Row]]) -> dict[str, InForce]:
        variables = {setting_name(str(name)): str(value or "") for name, value in answers[0]}
        in_force = {}
        for name, value in given.items():
            has = variables.get(name, variables.get(_EARLIER_NAMES.get(name, "")))
            if has is not None:
                in_force[name] = InForce(has, _is_same(name, value, has))
        return in_force

    return Query(("SHOW GLOBAL VARIABLES",), read)


def _is_same(name: str, given: str, has: str) -> bool:
    if name == BINARY_LOG:
        return (truth(given) is not False) == truth(has)
    if (is_same := same_value(given, has, _UNITS)) is not None:
        return is_same
    if number(given, _UNITS) is not None:
        return True  # the number of a word in a list that only the server knows
    # The server completes directories (`/data` to `/data/`) and lists (`sql_mode`,
    # `optimizer_switch`). A longer word is different: O_DIRECT_NO_FSYNC is not O_DIRECT.
    given, has = given.strip().lower(), has.strip().lower()
    if "/" in given:
        return has.rstrip("/") == given.rstrip("/")
    return set(given.split(",")) <= set(has.split(","))
