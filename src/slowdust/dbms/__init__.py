"""Families of servers, one module each. A family answers questions and runs no server."""

from __future__ import annotations

import importlib
import importlib.util
from functools import cache

from slowdust.builds.catalog import find_catalog, known_dbms
from slowdust.dbms.family import Family
from slowdust.errors import UsageError
from slowdust.sql import Sql

__all__ = [
    "Family",
    "dialects",
    "engine_names",
    "family",
    "family_if_known",
    "find_sql",
    "known_families",
]

DEFAULT = "postgres"
"""The DBMS that calibrations measure if the user names none."""
_FIRST = ("postgres", "mysql", "mariadb", "sqlite")
"""The order of dialects in messages, and in the checksums of workloads."""


@cache
def family(dbms: str) -> Family:
    """Return the family of a DBMS: `FAMILY` in the module of this package with the DBMS's name.

    Raises UsageError for a DBMS that the catalog of builds does not have or that cannot be run.
    """
    find_catalog(dbms)
    known = _load(dbms)
    if known is None:
        raise UsageError(f"this version of Slowdust cannot start {dbms}")
    return known


def family_if_known(dbms: str) -> Family | None:
    try:
        return family(dbms)
    except UsageError:
        return None


def known_families() -> list[Family]:
    return [known for known in map(_load, known_dbms()) if known is not None]


@cache
def dialects() -> dict[str, Family]:
    """Return name -> family for the families with SQL: `_FIRST` first, then the others."""
    known = {each.name: each for each in known_families() if each.sql is not None}
    return {name: known[name] for name in (*_FIRST, *sorted(known.keys() - {*_FIRST}))}


def find_sql(dbms: str) -> Sql:
    sql = family(dbms).sql
    assert sql is not None, dbms
    return sql


@cache
def engine_names() -> frozenset[str]:
    return frozenset(engine for known in known_families() for engine in known.engines)


def _load(dbms: str) -> Family | None:
    module_name = f"{__name__}.{dbms}"
    if importlib.util.find_spec(module_name) is None:
        return None
    loaded = importlib.import_module(module_name).FAMILY
    assert isinstance(loaded, Family)
    return loaded
