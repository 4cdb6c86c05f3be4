"""Options of a server, as written in option files and on the command line."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path

from slowdust.builds.model import Build
from slowdust.dbms.access import Auth
from slowdust.dbms.mysqld.layout import find_plugin, share_directory, version_of
from slowdust.dbms.site import Site
from slowdust.errors import UsageError

BINARY_LOG = "log_bin"
"""The server reads any value of this setting as a file name; off is another option."""
_KNOWS_WORDS_SINCE = (5, 6, 0)
_NUMBERS = {"on": "1", "off": "0", "true": "1", "false": "0"}
"""Word -> number, for older servers, which read every word as 0."""


def option_file(build: Build, values: Mapping[str, str]) -> str:
    """Write an option file; raise UsageError for a name or value that cannot be written."""
    lines = [_line(name, value) for name, value in sorted(_spelled(build, values).items())]
    return "".join(f"{line}\n" for line in ("[mysqld]", *lines))


def place_options(build: Build, directory: Path) -> dict[str, str]:
    """Return the options by which a server finds its own files and no others on this machine.

    `directory` is writable for it, and also stands for the plugins where it has none.
    """
    return {name: str(place(build, directory)) for name, place in PLACES.items()}


def as_arguments(options: Mapping[str, str]) -> list[str]:
    return [f"--{name.replace('_', '-')}={value}" for name, value in options.items()]


def _plugin_directory(build: Build, directory: Path) -> Path:
    some_plugin = find_plugin(build, "ha_*.so") or find_plugin(build, "auth_*.so")
    return some_plugin.parent if some_plugin else directory


PLACES: Mapping[str, Callable[[Build, Path], Path]] = {
    "basedir": lambda build, _: share_directory(build).parent,
    "lc_messages_dir": lambda build, _: share_directory(build),
    "plugin_dir": _plugin_directory,
    "secure_file_priv": lambda _, directory: directory,
    "tmpdir": lambda _, directory: directory,
}
"""Option -> its directory, for `place_options`."""


def _spelled(build: Build, values: Mapping[str, str]) -> dict[str, str]:
    if version_of(build.facts.version) >= _KNOWS_WORDS_SINCE:
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
    """Return the directory of the server's data, below that of all its files."""
    return files / "data"


def runtime_directory(site: Site) -> Path:
    """Return the directory of other files: a directory among the data would be a database."""
    return site.data_dir / "own"


def socket_of(site: Site) -> Path:
    """Return the server's Unix socket."""
    return site.socket_dir / _SOCKET


def user_file(site: Site) -> Path:
    """Return the file of statements that create the only user, executed at each start.

    It is not among the account's own files: root writes it.
    """
    return site.config_file.with_name("user.sql")


def _rsa_keys(site: Site) -> str:
    return "1" if site.access.auth is Auth.CACHING_SHA2 else "0"


_LOOSE: Mapping[str, _Choice] = {
    # No second protocol, and no keys and certificates created at the first start.
    "mysqlx": lambda _: "0",
    "ssl": lambda site: "1" if site.access.encrypted else "0",
    "auto_generate_certs": lambda _: "0",
    "caching_sha2_password_auto_generate_rsa_keys": _rsa_keys,
    "sha256_password_auto_generate_rsa_keys": _rsa_keys,
}
"""Options that not all versions know."""
_ON_DATA: Mapping[str, _Choice] = {"datadir": lambda site: str(data_directory(site.data_dir))}
_OF_SERVER: Mapping[str, _Choice] = {
    "bind_address": lambda _: "127.0.0.1",
    "skip_networking": lambda site: "0" if site.access.by_tcp else "1",
    "port": lambda site: str(site.port),
    "socket": lambda site: str(socket_of(site)),
    "pid_file": lambda site: str(runtime_directory(site) / "mysqld.pid"),
    "init_file": lambda site: str(user_file(site)),
    # A client's thread is pinned to one CPU. A thread that the server keeps for the next client is
    # still pinned, so each connection has to get a new one.
    "thread_cache_size": lambda _: "0",
}
_OF_ENCRYPTION: Mapping[str, _Choice] = {
    "ssl_cert": lambda site: str(site.certificate),
    "ssl_key": lambda site: str(site.key),
}
# A client by TCP is one of 127.0.0.1, which has a password, and never of localhost.
_WITHOUT_NAMES = {"skip_name_resolve": "1"}
_FORBIDDEN = frozenset({"log_error", "skip_grant_tables", "user"})
"""Options for a log that is not standard error, access without Slowdust's user, another account."""
RESERVED_SETTINGS = frozenset({*PLACES, *_LOOSE, *_ON_DATA, *_OF_SERVER, *_FORBIDDEN})
"""The settings that a configuration cannot have."""


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
