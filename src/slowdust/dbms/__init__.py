"""Families of servers, one module each: they answer questions and run no servers."""

from __future__ import annotations

import importlib
import importlib.util
from functools import cache

from slowdust.builds.catalog import catalog_of, known_dbms
from slowdust.dbms.family import Family
from slowdust.errors import UsageError

__all__ = ["Family", "engine_names", "family", "family_if_known"]


@cache
def family(dbms: str) -> Family:
    """Return the family of a DBMS: `FAMILY` of the module here that has the DBMS's name.

    Raises UsageError for a DBMS that the catalog of builds does not have or that cannot be run.
    """
    catalog_of(dbms)
    known = _load(dbms)
    if known is None:
        raise UsageError(f"this version of Slowdust cannot start {dbms}")
    return known


def family_if_known(dbms: str) -> Family | None:
    """Return the family; None of a DBMS that this version of Slowdust does not know."""
    try:
        return family(dbms)
    except UsageError:
        return None


def known_families() -> list[Family]:
    """Return all families."""
    return [known for known in map(_load, known_dbms()) if known is not None]


@cache
def engine_names() -> frozenset[str]:
    """Return the storage engines of all families."""
    return frozenset(engine for known in known_families() for engine in known.engines)


def _load(dbms: str) -> Family | None:
    module_name = f"{__name__}.{dbms}"
    if importlib.util.find_spec(module_name) is None:
        return None
    loaded = importlib.import_module(module_name).FAMILY
    assert isinstance(loaded, Family)
    return loaded
