"""The catalog: for each DBMS a file that says which versions there are and where they come from.

A new DBMS is a new `DBMS.toml` beside this module. `[server]` says how its binary is recognised,
`[sources.NAME]` describes a source (`kind` and that kind's options), `[versions]` maps a version to
the name that each source has for it, in the order in which sources are tried.
"""

from __future__ import annotations

import difflib
import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, TypeVar

import msgspec

from slowdust.errors import UsageError

Shape = TypeVar("Shape", bound=msgspec.Struct)


@dataclass(frozen=True)
class ServerBinary:
    """How the server of a DBMS is found below a directory, and how it is asked its version."""

    paths: tuple[str, ...]
    """Glob patterns, relative to the directory."""
    version_arguments: tuple[str, ...]
    version_pattern: re.Pattern[str]
    """Its first group is the version."""


@dataclass(frozen=True)
class Origin:
    """One place to get a version from."""

    kind: str
    """The kind of source: 'npm', 'maven', ..."""
    options: Mapping[str, Any]
    version: str
    """The version's name there."""

    def options_as(self, shape: type[Shape]) -> Shape:
        """The options in the shape of their kind; UsageError for what does not fit it."""
        try:
            return msgspec.convert(self.options, shape)
        except msgspec.ValidationError as error:
            raise UsageError(
                f"the catalog's source of kind {self.kind} is wrong: {error}"
            ) from error


@dataclass(frozen=True)
class Entry:
    """One version of a DBMS."""

    dbms: str
    version: str
    origins: tuple[Origin, ...]
    """In the order in which they are tried."""


@dataclass(frozen=True)
class Catalog:
    """What is known of one DBMS."""

    dbms: str
    server: ServerBinary
    entries: tuple[Entry, ...]
    """Oldest version first."""

    def find(self, version: str) -> Entry:
        """The entry of a version; '17' stands for the newest 17.x.

        Raises UsageError, naming what there is instead.
        """
        wanted = version_key(version)
        matching = [
            entry
            for entry in self.entries
            if entry.version == version
            or (wanted and version_key(entry.version)[: len(wanted)] == wanted)
        ]
        exact = [entry for entry in matching if entry.version == version]
        if exact or matching:
            return (exact or matching)[-1]
        raise UsageError(
            f"{self.dbms}@{version} is not in the catalog: {self._instead_of(version)}"
        )

    def _instead_of(self, version: str) -> str:
        major = version_key(version)[:1]
        same_major = [e.version for e in self.entries if version_key(e.version)[:1] == major]
        if major and same_major:
            return f"of {self.dbms} {major[0]} it has {', '.join(same_major)}"
        majors = dict.fromkeys(str(version_key(entry.version)[0]) for entry in self.entries)
        return f"it has {self.dbms} {', '.join(majors)} ('slowdust builds list' shows all versions)"


def version_key(version: str) -> tuple[int, ...]:
    """'17.10' as (17, 10), to compare versions; empty when it is not made of numbers."""
    if not re.fullmatch(r"\d+(\.\d+)*", version):
        return ()
    return tuple(int(part) for part in version.split("."))


@cache
def known_dbms() -> tuple[str, ...]:
    """The names of all DBMS that the catalog has, sorted."""
    files = resources.files(__package__).iterdir()
    return tuple(sorted(f.name.removesuffix(".toml") for f in files if f.name.endswith(".toml")))


@cache
def catalog_of(dbms: str) -> Catalog:
    """The catalog of a DBMS; UsageError when there is none."""
    if dbms not in known_dbms():
        close = difflib.get_close_matches(dbms.lower(), known_dbms(), n=1)
        hint = f"did you mean {close[0]}?" if close else f"known are {', '.join(known_dbms())}"
        raise UsageError(f"unknown dbms {dbms!r}: {hint}")
    text = resources.files(__package__).joinpath(f"{dbms}.toml").read_text(encoding="utf-8")
    return read_catalog(text)


def read_catalog(text: str) -> Catalog:
    """A catalog from the text of its file."""
    document = tomllib.loads(text)
    dbms = document["dbms"]
    server = document["server"]
    entries = [
        Entry(dbms, version, _origins(document["sources"], names))
        for version, names in document["versions"].items()
    ]
    return Catalog(
        dbms=dbms,
        server=ServerBinary(
            paths=tuple(server["paths"]),
            version_arguments=tuple(server["version_arguments"]),
            version_pattern=re.compile(server["version_pattern"]),
        ),
        entries=tuple(sorted(entries, key=lambda entry: version_key(entry.version))),
    )


def _origins(
    sources: Mapping[str, Mapping[str, Any]], names: Mapping[str, str]
) -> tuple[Origin, ...]:
    return tuple(
        Origin(
            kind=sources[source]["kind"],
            options={key: value for key, value in sources[source].items() if key != "kind"},
            version=name,
        )
        for source, name in names.items()
    )
