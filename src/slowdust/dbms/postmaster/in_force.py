"""The settings in force of a PostgreSQL server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from slowdust.dbms.in_force import InForce, number, same_number, truth
from slowdust.dbms.stages import Query, Row

_BYTES = {"B": 1.0, "kB": 2.0**10, "MB": 2.0**20, "GB": 2.0**30, "TB": 2.0**40}
_MILLISECONDS = {"us": 1e-3, "ms": 1.0, "s": 1e3, "min": 6e4, "h": 3.6e6, "d": 8.64e7}
_UNITS = _BYTES | _MILLISECONDS


def query(given: Mapping[str, str]) -> Query[dict[str, InForce]]:
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
