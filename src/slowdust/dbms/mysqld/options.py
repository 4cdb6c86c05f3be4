"""Options of a server, as written in option files and on the command line."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from pathlib import Path

from slowdust.builds.model import Build
from slowdust.dbms.mysqld.layout import find_plugin, share_directory, version_of
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
    """Write the options as arguments of a command."""
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
