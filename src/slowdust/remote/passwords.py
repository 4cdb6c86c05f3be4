"""Passwords of running servers: from the environment, a file of the DBMS's own, or the user.

A password is handed to the driver on its standard input alone; it is never written anywhere.
"""

from __future__ import annotations

import configparser
import getpass
import os
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from slowdust.errors import UsageError
from slowdust.places import check_regular
from slowdust.remote.url import ServerUrl

_OTHERS_MAY_READ = 0o077


def find_password(url: ServerUrl) -> str | None:
    """Return the password from the environment or a file; None where there is none.

    Raises:
        UsageError: a file with passwords cannot be used.
    """
    in_file = _FILES.get(url.dbms)
    return os.environ.get(url.words.password_variable) or (in_file(url) if in_file else None)


def ask_password(url: ServerUrl) -> str | None:
    """Ask the user for the password; None where nobody is there to answer."""
    if not sys.stdin.isatty():
        return None
    return getpass.getpass(f"Password of {url.text}: ")


def _from_pgpass(url: ServerUrl) -> str | None:
    """Read `host:port:database:user:password` lines, of which the first that fits counts."""
    file = Path(os.environ.get("PGPASSFILE", "~/.pgpass")).expanduser()
    text = _private_text(file)
    wanted = (url.host or "localhost", str(url.port), url.database or url.words.database, url.user)
    for line in text.splitlines():
        fields = [re.sub(r"\\(.)", r"\1", part) for part in re.split(r"(?<!\\):", line)]
        if line.startswith("#") or len(fields) != len(wanted) + 1:
            continue
        if all(field in ("*", value) for field, value in zip(fields, wanted, strict=False)):
            return fields[-1]
    return None


def _from_my_cnf(url: ServerUrl) -> str | None:
    """Read `password` in the section [client] of the user's option file."""
    del url
    file = Path("~/.my.cnf").expanduser()
    lines = _private_text(file).splitlines()
    parser = configparser.ConfigParser(allow_no_value=True, strict=False, interpolation=None)
    try:
        # Orders to read other files are no part of the format that the parser knows.
        parser.read_string("\n".join(line for line in lines if not line.startswith("!")))
    except configparser.Error as error:
        raise UsageError(f"{file} cannot be read: {error}") from None
    value = parser.get("client", "password", fallback=None)
    return value.strip("\"'") if value else None


def _private_text(file: Path) -> str:
    """Return the text of a file that only its owner can read; empty where there is no file."""
    check_regular(file)
    try:
        if file.stat().st_mode & _OTHERS_MAY_READ:
            raise UsageError(f"{file} has passwords that others may read: run chmod 600 {file}")
        return file.read_text(encoding="utf-8")
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise UsageError(f"{file} cannot be read: {error.strerror}") from None


_FILES: Mapping[str, Callable[[ServerUrl], str | None]] = {
    "postgres": _from_pgpass,
    "mysql": _from_my_cnf,
    "mariadb": _from_my_cnf,
}
