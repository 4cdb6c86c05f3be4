"""The family of servers that speak Postgres' protocol, whatever they do with their tables."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from slowdust.dbms.access import USER
from slowdust.dbms.family import Family
from slowdust.dbms.in_force import InForce
from slowdust.dbms.postmaster import in_force
from slowdust.dbms.postmaster.sql import SQL
from slowdust.dbms.site import Served, Site
from slowdust.dbms.stages import Query, Stage, Statements
from slowdust.directories import connected
from slowdust.units import Second

_FATAL_STATES = {
    "53": "insufficient resources",
    "57P": "operator intervention",
    "58": "system error",
    "XX": "internal error",
}
"""Beginning of a state -> its meaning, in the words of the PostgreSQL manual, appendix A."""
_VERSION = 3 << 16
"""The version of the protocol in the first message of a session."""
_AUTHENTICATION = b"R"
"""The kind of message with which a server that accepts sessions answers the first one."""
_ANSWER_TIMEOUT: Second = 5.0


class PostgresProtocol(Family):
    """A server that speaks Postgres' protocol and its SQL.

    A family of others than Postgres replaces `sql` by one that is `like` it.
    """

    protocol = "postgres"
    database = "postgres"
    sql = SQL

    def render_bytes(self, size: int) -> str:
        """Write a size in whole megabytes, at least one."""
        return f"{max(1, size >> 20)}MB"

    def is_ready(self, site: Site, pid: int) -> bool:
        """Begin a session; a server that starts, or has ended, does not ask who it is."""
        del pid
        fields = f"user\0{USER}\0database\0{self.database}\0\0".encode()
        message = _VERSION.to_bytes(4, "big") + fields
        try:
            with connected(socket_of(site), site.account, _ANSWER_TIMEOUT) as client:
                client.sendall((4 + len(message)).to_bytes(4, "big") + message)
                return client.recv(1) == _AUTHENTICATION
        except OSError:
            return False

    def fatal_error(self, state: str) -> str | None:
        """Look up the class of the state."""
        classes = (what for start, what in _FATAL_STATES.items() if state.startswith(start))
        return next(classes, None)

    def after_load(self, site: Served, tables: Sequence[str]) -> list[Stage]:
        """Gather the statistics of the planner."""
        del site
        return [Statements(tuple(f"ANALYZE {table}" for table in tables))]

    def settings_in_force(self, site: Served) -> Query[dict[str, InForce]]:
        """Ask for the settings in the server's own units."""
        return in_force.query(site.settings.values)


def socket_of(site: Site) -> Path:
    """Return the path of the socket, which has the port in its name."""
    return site.socket_dir / f".s.PGSQL.{site.port}"
