"""The family of servers that speak Postgres' protocol, whatever they do with their tables."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from slowdust.dbms.access import USER
from slowdust.dbms.family import Family
from slowdust.dbms.postmaster.sql import SQL
from slowdust.dbms.settings import InForce, number, same_number, truth
from slowdust.dbms.site import Served, Site
from slowdust.dbms.stages import Query, Row, Stage, Statements
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
_BYTES = {"B": 1.0, "kB": 2.0**10, "MB": 2.0**20, "GB": 2.0**30, "TB": 2.0**40}
_MILLISECONDS = {"us": 1e-3, "ms": 1.0, "s": 1e3, "min": 6e4, "h": 3.6e6, "d": 8.64e7}
_UNITS = _BYTES | _MILLISECONDS


class PostgresProtocol(Family):
    """A server that speaks Postgres' protocol and its SQL.

    A family of others than Postgres replaces `sql` by one that is `like` it.
    """

    protocol = "postgres"
    database = "postgres"
    sql = SQL

    def render_bytes(self, size: int) -> str:
        return f"{max(1, size >> 20)}MB"

    def is_ready(self, site: Site, pid: int) -> bool:
        """Begin a session; a server that starts, or has ended, does not ask who it is."""
        fields = f"user\0{USER}\0database\0{self.database}\0\0".encode()
        message = _VERSION.to_bytes(4, "big") + fields
        try:
            with connected(socket_of(site), site.account, _ANSWER_TIMEOUT) as client:
                client.sendall((4 + len(message)).to_bytes(4, "big") + message)
                return client.recv(1) == _AUTHENTICATION
        except OSError:
            return False

    def fatal_error(self, state: str) -> str | None:
        classes = (what for start, what in _FATAL_STATES.items() if state.startswith(start))
        return next(classes, None)

    def after_load(self, site: Served, tables: Sequence[str]) -> list[Stage]:
        return [Statements(tuple(f"ANALYZE {table}" for table in tables))]

    def settings_in_force(self, site: Served) -> Query[dict[str, InForce]]:
        return query_of_settings(site.settings.values)


def socket_of(site: Site) -> Path:
    """Return the path of the socket, which has the port in its name."""
    return site.socket_dir / f".s.PGSQL.{site.port}"


def query_of_settings(given: Mapping[str, str]) -> Query[dict[str, InForce]]:
    """Return the query for the settings that were given; other names have no row."""
    listed = ", ".join(f"'{name}'" for name in given)
    statement = (
        "SELECT lower(name), current_setting(name), setting, unit, vartype FROM pg_settings "
        f"WHERE lower(name) IN ({listed or 'NULL'})"
    )
    return Query((statement,), lambda answers: _read(given, answers[0]))


def _read(given: Mapping[str, str], rows: Sequence[Row]) -> dict[str, InForce]:
    by_name = {str(row[0]): row[1:] for row in rows}
    in_force = {}
    for name in given.keys() & by_name.keys():
        text, setting, unit, kind = by_name[name]
        as_given = _is_same(given[name], str(setting), unit, str(kind))
        in_force[name] = InForce(str(text), as_given)
    return in_force


def _is_same(given: str, setting: str, unit: str | None, kind: str) -> bool:
    if kind == "bool":
        return _boolean(given) == truth(setting)
    if kind in ("integer", "real"):
        factor = _factor(unit)
        wanted, has = number(given, _UNITS, factor), number(setting, _UNITS, factor)
        return wanted is not None and has is not None and same_number(wanted, has)
    if given.strip().lower() == setting.strip().lower():
        return True
    return kind == "enum" and truth(given) is not None and truth(given) == truth(setting)


def _factor(unit: str | None) -> float:
    """Return the factor of a server's own unit, such as `8kB`, to bytes or milliseconds."""
    return 1.0 if not unit else number(unit, _UNITS) or _UNITS.get(unit, 1.0)


def _boolean(given: str) -> bool | None:
    """Return what a word says; the server also takes every beginning that is unambiguous."""
    word = given.strip().lower()
    if word and word != "o":
        for words, value in (
            (("on", "true", "yes", "1"), True),
            (("off", "false", "no", "0"), False),
        ):
            if any(whole.startswith(word) for whole in words):
                return value
    return None
