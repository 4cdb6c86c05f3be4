"""The family of servers that speak MongoDB's protocol, with a thread for each connection.

Statements of the workloads become commands in the driver (driver/src/wire/mongodb/statement.rs).
"""

from __future__ import annotations

import dataclasses
from abc import abstractmethod
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from slowdust.accounts import Account
from slowdust.builds.model import Build
from slowdust.dbms.access import Target
from slowdust.dbms.documents.client import NAMES, names, without_names
from slowdust.dbms.documents.replies import command, number, reply
from slowdust.dbms.family import Family, Sizes
from slowdust.dbms.settings import AcceptedSettings, Settings
from slowdust.dbms.site import Run, Served, Site
from slowdust.dbms.stages import Query, Row
from slowdust.directories import connected
from slowdust.errors import SlowdustError

_CONNECT_TIMEOUT_S = 5.0
_FATAL_STATES = {
    "mongodb/39": "a file cannot be read or written",
    "mongodb/91": "the server shuts down",
    "mongodb/146": "out of memory",
    "mongodb/11600": "the server shuts down",
    "mongodb/14031": "the disk is full",
}


class DocumentFamily(Family):
    """A server that speaks MongoDB's protocol."""

    round_trip = "ping"
    database = "slowdust"
    without: Mapping[str, str] = {
        "partitions": "MongoDB has no partitioned collections",
        "hold": "a single server of MongoDB's protocol has no transactions to hold open",
        "statements": "commands of MongoDB are sent whole each time: there is nothing to prepare",
    }

    def accept(self, build: Build, account: Account, settings: Settings) -> AcceptedSettings:
        """Check the settings of the client here; the server, or the family, checks the others."""
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
        """Do nothing: the server fills its directory when it is started."""

    def is_ready(self, site: Site, pid: int) -> bool:
        """Connect to the socket, on which the server listens when it is ready."""
        del pid
        try:
            with connected(socket_of(site), site.account, _CONNECT_TIMEOUT_S):
                return True
        except OSError:
            return False

    def target(self, site: Site) -> Target:
        """Return the address, with the length of names; engines are no matter of the client's."""
        return msgspec.structs.replace(
            super().target(site), engine=None, names=names(site.settings.values)
        )

    def fatal_error(self, state: str) -> str | None:
        """Look up the number."""
        return _FATAL_STATES.get(state)

    def sizes(self, site: Served, tables: Sequence[str]) -> Query[Sizes]:
        """Ask for the sizes of all collections and indexes."""
        del site, tables
        return Query((command("dbStats"),), self._read_sizes)

    def _read_sizes(self, answers: Sequence[Sequence[Row]]) -> Sizes:
        """Read the reply; servers before 4.4 have no total."""
        stats = reply(answers[0])
        collections = number(stats, "storageSize")
        indexes = number(stats, "indexSize")
        if collections is None or indexes is None:
            raise SlowdustError(f"{self.name} does not report its sizes")
        total = number(stats, "totalSize")
        return Sizes(
            int(collections + indexes if total is None else total), int(collections), int(indexes)
        )


def socket_of(site: Site) -> Path:
    """Return the path of the socket, which has the port in its name."""
    return socket_in(site.socket_dir, site.port)


def socket_in(directory: Path, port: int) -> Path:
    """Return the path of the socket in this directory of a server with this port."""
    return directory / f"mongodb-{port}.sock"
