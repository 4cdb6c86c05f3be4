"""Passwords of running servers: from the environment, a file of the DBMS, or the user.

A password is passed to the driver only on its standard input; it is never written anywhere.
Messages about password files do not quote their lines.
"""

from __future__ import annotations

import configparser
import getpass
import os
import re
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

from slowdust.dbms.server_url import ServerUrl
from slowdust.errors import UsageError
from slowdust.places import named_path
from slowdust.secret import Secret
from slowdust.user_text import environment_text, first_wrong_byte, read_user_text

_OTHERS_MAY_READ = 0o077


def find_password(url: ServerUrl) -> Secret | None:
    """Return the password from the environment or a file; None without one.

    Raises:
        UsageError: a variable or file with passwords cannot be used.
    """
    in_file = _FILES.get(url.words.password_file or "")
    found = environment_text(url.words.password_variable) or (in_file(url) if in_file else None)
    return None if found is None else Secret(found)


def ask_password(url: ServerUrl) -> Secret | None:
    """Ask the user for the password; None without a terminal.

    Raises:
        UsageError: the input is not UTF-8.
    """
    if not sys.stdin.isatty():
        return None
    try:
        typed = getpass.getpass(f"Password of {url.text}: ")
    except UnicodeDecodeError:
        typed = "\udcff"
    if first_wrong_byte(typed) is not None:
        raise UsageError(f"the password of {url.text} is not valid UTF-8")
    return Secret(typed)


def _from_pgpass(url: ServerUrl) -> str | None:
    """Read `host:port:database:user:password` lines; the first match counts."""
    file = named_path(os.environ.get("PGPASSFILE", "~/.pgpass"))
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
    file = named_path("~/.my.cnf")
    lines = _private_text(file).splitlines()
    parser = configparser.ConfigParser(allow_no_value=True, strict=False, interpolation=None)
    try:
        # !include and !includedir are not part of the format that the parser knows.
        parser.read_string("\n".join(line for line in lines if not line.startswith("!")))
    except configparser.MissingSectionHeaderError as error:
        raise UsageError(
            f"{file} cannot be read: line {error.lineno} comes before any [section]"
        ) from None
    except configparser.ParsingError as error:  # its text has the lines
        (line, _), *_ = error.errors
        raise UsageError(f"{file} cannot be read: line {line} is not NAME=VALUE") from None
    value = parser.get("client", "password", fallback=None)
    return value.strip("\"'") if value else None


def _private_text(file: Path) -> str:
    """Return the text of a file that only its owner can read; empty if it does not exist."""
    try:
        if file.stat().st_mode & _OTHERS_MAY_READ:
            raise UsageError(
                f"{file} contains passwords and is readable by others: run chmod 600 {file}"
            )
    except FileNotFoundError:
        return ""
    except OSError as error:
        raise UsageError(f"cannot read {file}: {error.strerror}") from None
    return read_user_text(file)


_FILES: Mapping[str, Callable[[ServerUrl], str | None]] = {
    "~/.pgpass": _from_pgpass,
    "~/.my.cnf": _from_my_cnf,
}
