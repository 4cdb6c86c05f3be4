"""Directories of binaries that the user registered under a name, usable as `DBMS@NAME`.

The names are in `builds.json` of the data directory; the directories are not copied.
"""

from __future__ import annotations

import re
from contextlib import AbstractContextManager
from pathlib import Path

import msgspec

from slowdust.builds.fingerprint import from_directory
from slowdust.builds.model import Build
from slowdust.errors import SlowdustError, UsageError
from slowdust.locks import waiting_lock
from slowdust.places import DATA_VARIABLE, data_root, make_enterable
from slowdust.store.storage import FAULTS, fault, replace_file

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_.-]*")
"""A name begins with a letter, unlike a version, and has no separator of contenders' names."""


class _Names(msgspec.Struct):
    directories: dict[str, dict[str, str]] = {}


def registered(dbms: str) -> dict[str, Path]:
    return {name: Path(path) for name, path in _read().directories.get(dbms, {}).items()}


def all_registered() -> list[tuple[str, str, Path]]:
    return sorted(
        (dbms, name, Path(path))
        for dbms, named in _read().directories.items()
        for name, path in named.items()
    )


def register(name: str, directory: Path) -> Build:
    """Register a directory of binaries under a name; replace an earlier directory of that name."""
    if not _NAME.fullmatch(name):
        raise UsageError(
            f"{name!r} cannot be the name of a build: write a letter, then letters, digits, '_', "
            "'.' and '-'"
        )
    build = from_directory(directory)
    with _lock():
        names = _read()
        names.directories.setdefault(build.dbms, {})[name] = str(build.root)
        _write(names)
    return build


def forget(dbms: str, name: str) -> None:
    with _lock():
        names = _read()
        if name not in names.directories.get(dbms, {}):
            raise UsageError(f"no directory is registered as {dbms}@{name}")
        del names.directories[dbms][name]
        _write(names)


def _file() -> Path:
    return data_root() / "builds.json"


def _lock() -> AbstractContextManager[None]:
    make_enterable(data_root(), DATA_VARIABLE)
    return waiting_lock(_file().with_suffix(".lock"))


def _read() -> _Names:
    try:
        return msgspec.json.decode(_file().read_bytes(), type=_Names)
    except FileNotFoundError:
        return _Names()
    except FAULTS as error:
        raise SlowdustError(f"{_file()} is damaged: {fault(error)}: repair or delete it") from error


def _write(names: _Names) -> None:
    replace_file(_file(), msgspec.json.format(msgspec.json.encode(names)) + b"\n")
