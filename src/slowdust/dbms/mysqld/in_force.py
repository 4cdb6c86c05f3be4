"""The settings in force of a MySQL or MariaDB server."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from slowdust.dbms.in_force import InForce, number, same_number, truth
from slowdust.dbms.mysqld.options import BINARY_LOG
from slowdust.dbms.settings import setting_name
from slowdust.dbms.stages import Query, Row

_SHIFTS = {"K": 10, "M": 20, "G": 30, "T": 40, "P": 50, "E": 60}
_UNITS = {
    written: 2.0**shift for unit, shift in _SHIFTS.items() for written in (unit, unit.lower())
}
_EARLIER_NAMES = {"transaction_isolation": "tx_isolation", "transaction_read_only": "tx_read_only"}
"""Option -> its variable in MySQL before 5.7.20 and MariaDB before 11.1."""


def query(given: Mapping[str, str]) -> Query[dict[str, InForce]]:
    """Return the query for the settings that were given; options that are not variables lack."""
    return Query(("SHOW GLOBAL VARIABLES",), lambda answers: _read(given, answers[0]))


def _read(given: Mapping[str, str], rows: Sequence[Row]) -> dict[str, InForce]:
    variables = {setting_name(str(name)): str(value or "") for name, value in rows}
    in_force = {}
    for name, value in given.items():
        has = variables.get(name, variables.get(_EARLIER_NAMES.get(name, "")))
        if has is not None:
            in_force[name] = InForce(has, _is_same(name, value, has))
    return in_force


def _is_same(name: str, given: str, has: str) -> bool:
    if name == BINARY_LOG:
        return (truth(given) is not False) == truth(has)
    wanted, number_in_force = number(given, _UNITS), number(has, _UNITS)
    if wanted is not None and number_in_force is not None:
        return same_number(wanted, number_in_force)
    if truth(given) is not None and truth(has) is not None:
        return truth(given) == truth(has)
    if wanted is not None:
        return True  # the number of a word in a list that only the server has
    return _is_part_of(given.strip().lower(), has.strip().lower())


def _is_part_of(given: str, has: str) -> bool:
    """Return whether the server has what was given, perhaps with more.

    It completes directories (`/data` to `/data/`) and lists (`sql_mode`, `optimizer_switch`). A
    word that is longer is another one: O_DIRECT_NO_FSYNC is not O_DIRECT.
    """
    if "/" in given:
        return has.rstrip("/") == given.rstrip("/")
    return set(given.split(",")) <= set(has.split(","))
