"""Families of servers, one module each, and the life of their instances."""

from __future__ import annotations

import importlib
import importlib.util
from functools import cache

from slowdust.builds.catalog import catalog_of, known_dbms
from slowdust.dbms.family import Family
from slowdust.errors import UsageError

__all__ = ["Family", "engine_names", "family"]


@cache
def family(dbms: str) -> Family:
    """The family of a DBMS: `FAMILY` of the module here that has the DBMS's name.

    Raises UsageError for a DBMS that the catalog of builds does not have or that cannot be run.
    """
    catalog_of(dbms)
    found = _find(dbms)
    if found is None:
        raise UsageError(f"{dbms} cannot be started by this version of Slowdust")
    return found


@cache
def engine_names() -> frozenset[str]:
    """The storage engines of all families."""
    families = map(_find, known_dbms())
    return frozenset(engine for found in families if found for engine in found.engines)


def _find(dbms: str) -> Family | None:
    module_name = f"{__name__}.{dbms}"
    if importlib.util.find_spec(module_name) is None:
        return None
    found = importlib.import_module(module_name).FAMILY
    assert isinstance(found, Family)
    return found
