"""The family of servers that speak MongoDB's protocol, with a thread for each connection.

Statements of the workloads become commands in the driver (driver/src/wire/mongodb/statement.rs).
"""

from __future__ import annotations

import signal
import socket
from collections.abc import Mapping, Sequence
from pathlib import Path

import msgspec

from slowdust.dbms.access import Names, Target
from slowdust.dbms.documents.replies import command, number, reply
from slowdust.dbms.family import (
    Family,
    Row,
    Run,
    Served,
    Shutdown,
    Site,
    Sizes,
    Stage,
)
from slowdust.errors import SlowdustError, UsageError

SHORT_NAMES = "short_names"
"""The entry of `[create]` with which documents hold short names of their fields."""
_CONNECT_TIMEOUT_S = 5.0
_SIZES = command("dbStats")
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
    stop_signals: Mapping[Shutdown, tuple[signal.Signals, ...]] = {
        Shutdown.ORDERLY: (signal.SIGTERM, signal.SIGKILL),
        Shutdown.AT_ONCE: (signal.SIGKILL,),
    }

    def check_created(self, create: Mapping[str, bool]) -> None:
        """Raise UsageError for an entry of `[create]` that is not known."""
        for name in sorted(create.keys() - {SHORT_NAMES}):
            raise UsageError(f"[create] of {self.name} can only have {SHORT_NAMES}, not {name!r}")

    def create(self, site: Site, run: Run) -> None:
        """Do nothing: the server fills its directory when it is started."""

    def is_ready(self, site: Site, pid: int) -> bool:
        """Connect to the socket, on which the server listens when it is ready."""
        del pid
        try:
            with socket.socket(socket.AF_UNIX) as client:
                client.settimeout(_CONNECT_TIMEOUT_S)
                client.connect(str(socket_of(site)))
        except OSError:
            return False
        return True

    def target(self, site: Site) -> Target:
        """Return the address, with the length of names; engines are no matter of the client's."""
        short = site.settings.create.get(SHORT_NAMES, False)
        names = Names.SHORT if short else Names.LONG
        return msgspec.structs.replace(super().target(site), engine=None, names=names)

    def fatal_error(self, state: str) -> str | None:
        """Look up the number."""
        return _FATAL_STATES.get(state)

    def after_writes(self, site: Served, tables: Sequence[str]) -> list[Stage]:
        """Do what is done after a load: nothing else is left to be done later."""
        return self.after_load(site, tables)

    def after_step(self, site: Served, tables: Sequence[str]) -> list[Stage]:
        """Return no stages: the server does its work during the writes."""
        del site, tables
        return []

    def before_counters(self, site: Served) -> list[Stage]:
        """Return no stages: work is counted while it is done."""
        del site
        return []

    def sizes_statement(self, site: Served) -> str:
        """Ask for the sizes of all collections and indexes."""
        del site
        return _SIZES

    def read_sizes(self, site: Served, rows: Sequence[Row]) -> Sizes:
        """Read the reply; servers before 4.4 have no total."""
        stats = reply(rows)
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
