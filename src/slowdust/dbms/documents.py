"""The family of servers that speak MongoDB's protocol, with a thread for each connection.

Statements of the workloads become commands in the driver (driver/src/wire/mongodb/statement.rs).
"""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import msgspec

from slowdust.accounts import Account
from slowdust.builds.model import Build
from slowdust.dbms.access import Names, Target
from slowdust.dbms.family import Family, Run, Served, Site, Sizes
from slowdust.dbms.settings import AcceptedSettings, Settings
from slowdust.dbms.stages import Query, Row
from slowdust.directories import connected
from slowdust.errors import SlowdustError, UsageError

_CONNECT_TIMEOUT_S = 5.0
_FATAL_STATES = {
    "mongodb/39": "a file cannot be read or written",
    "mongodb/91": "the server shuts down",
    "mongodb/146": "out of memory",
    "mongodb/11600": "the server shuts down",
    "mongodb/14031": "the disk is full",
}

NAMES = "names"
"""The setting for the length of field names, which are stored in every document."""
ADMIN = "admin"
"""The database for commands that concern the whole server."""


def names(values: Mapping[str, str]) -> Names:
    """Return the length of field names, by default long. Raises UsageError."""
    given = values.get(NAMES, Names.LONG.value)
    try:
        return Names(given)
    except ValueError:
        raise UsageError(f"{NAMES} = {given!r}: write long or short") from None


def without_names(values: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in values.items() if name != NAMES}


def command(name: str, database: str | None = None, **options: object) -> str:
    """Write a command for the driver; the default is the database of the tables."""
    document = {name: 1, **options}
    if database is not None:
        document["$db"] = database
    return msgspec.json.encode(document).decode()


def reply(rows: Sequence[Sequence[str | None]]) -> Mapping[str, Any]:
    """Read the reply to a command, which is one row with one value."""
    ((text,),) = rows
    document = msgspec.json.decode(text or "null")
    if not isinstance(document, dict):
        raise SlowdustError("the server's reply to a command is not a document")
    return document


def number_at(document: Mapping[str, Any], *path: str) -> float | None:
    value: Any = document
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return float(value) if isinstance(value, int | float) else None


class DocumentFamily(Family):
    """A server that speaks MongoDB's protocol."""

    round_trip = "ping"
    database = "slowdust"
    without: Mapping[str, str] = {
        "partitions": "MongoDB has no partitioned collections",
        "hold": "standalone servers of MongoDB's protocol have no transactions",
        "statements": "MongoDB's protocol has no prepared statements",
    }

    def accept(self, build: Build, account: Account, settings: Settings) -> AcceptedSettings:
        """Check the client's settings here; the server or the family checks the others."""
        own = {**settings.optional, **settings.required}
        names(own)
        others = dataclasses.replace(
            settings,
            required=without_names(settings.required),
            optional=without_names(settings.optional),
        )
        accepted = self.accept_of_server(build, account, others)
        chosen = {NAMES: own[NAMES]} if NAMES in own else {}
        return dataclasses.replace(accepted, values={**accepted.values, **chosen})

    @abstractmethod
    def accept_of_server(
        self, build: Build, account: Account, settings: Settings
    ) -> AcceptedSettings:
        """Return the settings that the server of this build accepts. Raises UsageError."""

    def create(self, site: Site, run: Run) -> None:
        """Do nothing: the server fills its directory when it starts."""

    def is_ready(self, site: Site, pid: int) -> bool:
        """Connect to the socket: the server listens on it once it is ready."""
        try:
            with connected(socket_path(site), site.account, _CONNECT_TIMEOUT_S):
                return True
        except OSError:
            return False

    def target(self, site: Site) -> Target:
        """Return the address with the length of names; the client does not choose engines."""
        return msgspec.structs.replace(
            super().target(site), engine=None, names=names(site.settings.values)
        )

    def fatal_error(self, state: str) -> str | None:
        return _FATAL_STATES.get(state)

    def sizes(self, site: Served, tables: Sequence[str]) -> Query[Sizes]:
        return Query((command("dbStats"),), self._read_sizes)

    def _read_sizes(self, answers: Sequence[Sequence[Row]]) -> Sizes:
        """Read the reply; servers before 4.4 report no total."""
        stats = reply(answers[0])
        collections = number_at(stats, "storageSize")
        indexes = number_at(stats, "indexSize")
        if collections is None or indexes is None:
            raise SlowdustError(f"{self.name} does not report its sizes")
        total = number_at(stats, "totalSize")
        return Sizes(
            int(collections + indexes if total is None else total), int(collections), int(indexes)
        )


def socket_path(site: Site) -> Path:
    return socket_in(site.socket_dir, site.port)


def socket_in(directory: Path, port: int) -> Path:
    return directory / f"mongodb-{port}.sock"
