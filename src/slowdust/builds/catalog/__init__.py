"""The catalog: a file for each DBMS, with its versions and their sources.

A new DBMS is a new `DBMS.toml` in this folder. `[server]` describes how to recognise its binary,
`[sources.NAME]` describes a source (`kind` and the options of that kind), `[versions]` maps a
version to its name in each source; sources are tried in this order. A user's own
`catalog/DBMS.toml` in the data directory adds sources and versions, or replaces existing ones.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any, TypeVar

import msgspec.toml

from slowdust.errors import UsageError
from slowdust.places import data_root
from slowdust.user_text import read_user_text
from slowdust.versions import version_order
from slowdust.wording import nearest

Shape = TypeVar("Shape", bound=msgspec.Struct)


class ServerBinary(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """The table `[server]`: how to find a server in a directory, and how it prints its version."""

    paths: tuple[str, ...]
    """Glob patterns, relative to the directory."""
    version_arguments: tuple[str, ...]
    version_pattern: str
    """The pattern of the output; its first group is the version."""
    is_library: bool = msgspec.field(default=False, name="library")
    """Whether it is a library, which Slowdust's driver loads: the DBMS has no server."""


@dataclass(frozen=True)
class Origin:
    """A source of one version of a DBMS."""

    kind: str
    """The kind of source: 'npm', 'maven', ..."""
    options: Mapping[str, Any]
    version: str
    """The version's name in that source."""

    def options_as(self, shape: type[Shape]) -> Shape:
        """Convert the options to the type of their kind. Raises UsageError for invalid options."""
        try:
            return msgspec.convert(self.options, shape)
        except msgspec.ValidationError as error:
            raise UsageError(
                f"the catalog has invalid options for a source of kind {self.kind}: {error}"
            ) from error


@dataclass(frozen=True)
class Entry:
    """One version of a DBMS."""

    dbms: str
    version: str
    origins: tuple[Origin, ...]
    flags: str | None = None
    """The flag set that it is compiled with; None for the flags of the catalog."""

    @property
    def name(self) -> str:
        return f"{self.dbms}@{self.version}" + (f"+{self.flags}" if self.flags else "")

    @property
    def server_version(self) -> str:
        """The version that its server reports: '16.2' of '16.2-pgvector0.6.2'."""
        return self.version.partition("-")[0]


@dataclass(frozen=True)
class Catalog:
    """The versions of a DBMS, and how to recognise its server."""

    dbms: str
    server: ServerBinary
    entries: tuple[Entry, ...]

    def find(self, version: str) -> Entry:
        """Return the entry of a version; '17' means the newest 17.x.

        Raises UsageError with similar versions.
        """
        wanted = version_parts(version)
        matching = [
            entry
            for entry in self.entries
            if entry.version == version
            or (wanted and version_parts(entry.version)[: len(wanted)] == wanted)
        ]
        exact = [entry for entry in matching if entry.version == version]
        if exact or matching:
            return (exact or matching)[-1]
        raise UsageError(
            f"{self.dbms}@{version} is not in the catalog: {self._alternatives(version)}"
        )

    def _alternatives(self, version: str) -> str:
        major = _parts_of_server(version)[:1]
        same_major = [e.version for e in self.entries if _parts_of_server(e.version)[:1] == major]
        if major and same_major:
            return f"the versions of {self.dbms} {major[0]} are {', '.join(same_major)}"
        majors = dict.fromkeys(str(_parts_of_server(entry.version)[0]) for entry in self.entries)
        return f"it has {self.dbms} {', '.join(majors)} ('slowdust builds list' shows all versions)"


def version_parts(version: str) -> tuple[int, ...]:
    """Return (17, 10) for '17.10'; empty if the version is not numeric."""
    if not re.fullmatch(r"\d+(\.\d+)*", version):
        return ()
    return tuple(int(part) for part in version.split("."))


def _parts_of_server(version: str) -> tuple[int, ...]:
    """Return (16, 2) for '16.2-pgvector0.6.2': the version without its extension."""
    return version_parts(re.sub(r"-[a-z]+\d+(\.\d+)*$", "", version))


@cache
def known_dbms() -> tuple[str, ...]:
    files = resources.files(__package__).iterdir()
    return tuple(sorted(f.name.removesuffix(".toml") for f in files if f.name.endswith(".toml")))


def find_catalog(dbms: str) -> Catalog:
    """Return the catalog of a DBMS, with the user's own additions.

    Raises UsageError for an unknown DBMS or invalid additions.
    """
    if dbms not in known_dbms():
        close = nearest(dbms, known_dbms())
        hint = f"did you mean {close}?" if close else f"choose {', '.join(known_dbms())}"
        raise UsageError(f"unknown dbms {dbms!r}: {hint}")
    own = data_root() / "catalog" / f"{dbms}.toml"
    if not own.exists():
        return _shipped(dbms)
    try:
        return _shipped(dbms, read_user_text(own))
    except (msgspec.DecodeError, UsageError) as error:
        raise UsageError(f"{own}: {error}") from error


def read_catalog(text: str, additions: str = "") -> Catalog:
    """Read a catalog from the text of its file and of a file with additions.

    Raises msgspec.DecodeError for an invalid structure, UsageError for invalid values.
    """
    file = msgspec.toml.decode(text, type=_File)
    own = msgspec.toml.decode(additions, type=_Additions)
    sources = file.sources | own.sources
    versions = file.versions | own.versions
    entries = [
        Entry(file.dbms, version, _origins(version, sources, names))
        for version, names in versions.items()
    ]
    return Catalog(
        dbms=file.dbms,
        server=file.server,
        entries=tuple(sorted(entries, key=lambda entry: version_order(entry.version))),
    )


class _Additions(msgspec.Struct, forbid_unknown_fields=True):
    """The content of a user's own file."""

    sources: dict[str, dict[str, Any]] = {}
    versions: dict[str, dict[str, str]] = {}


class _File(_Additions, forbid_unknown_fields=True, kw_only=True):
    """The content of `DBMS.toml`."""

    dbms: str
    server: ServerBinary


@cache
def _shipped(dbms: str, additions: str = "") -> Catalog:
    file = resources.files(__package__).joinpath(f"{dbms}.toml")
    return read_catalog(file.read_text(encoding="utf-8"), additions)


def _origins(
    version: str, sources: Mapping[str, Mapping[str, Any]], names: Mapping[str, str]
) -> tuple[Origin, ...]:
    if not _parts_of_server(version):
        raise UsageError(f"{version!r} is not a version: write numbers, for example '8.0.40'")
    unknown = [source for source in names if "kind" not in sources.get(source, {})]
    if unknown:
        raise UsageError(f"version {version} names a source {unknown[0]!r} without a 'kind'")
    return tuple(
        Origin(
            kind=sources[source]["kind"],
            options={key: value for key, value in sources[source].items() if key != "kind"},
            version=name,
        )
        for source, name in names.items()
    )
