"""What mongod reports of its cache and of its work.

The fields are those of its manual; one that a version lacks is absent here, too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from slowdust.dbms.documents import ADMIN, command, number, reply
from slowdust.dbms.settings import InForce, same_number, truth
from slowdust.dbms.settings import number as number_of
from slowdust.dbms.stages import Query, Row
from slowdust.store.preparation import SERVER
from slowdust.units import known, present

STATUS = command("serverStatus", ADMIN)
FACTS = (command("dbStats"), STATUS)
"""The commands whose replies `read_facts` reads."""
_CACHE_SECTIONS = ("wiredTiger", "inMemory")
"""Sections of the status that may have the cache, by engine."""
_COUNTED: Mapping[str, tuple[tuple[str, ...], ...]] = {
    "keys_examined": (("queryExecutor", "scanned"),),
    "documents_examined": (("queryExecutor", "scannedObjects"),),
    "documents_written": (
        ("document", "inserted"),
        ("document", "updated"),
        ("document", "deleted"),
    ),
}
"""Quantity -> the fields below `metrics` that it is the sum of."""


def read_facts(answers: Sequence[Sequence[Row]]) -> dict[str, dict[str, float]]:
    """Read the replies to `FACTS`."""
    stats, status = map(reply, answers)
    facts = present(
        documents=number(stats, "objects"),
        dirty_bytes=_cache(status, "tracked dirty bytes in the cache"),
    )
    return {SERVER: facts}


def read_counters(answers: Sequence[Sequence[Row]]) -> dict[str, float]:
    """Read the reply to `STATUS`: totals since the server's start."""
    status = reply(answers[0])
    totals = {}
    for name, fields in _COUNTED.items():
        parts = known(number(status, "metrics", *field) for field in fields)
        if len(parts) == len(fields):
            totals[name] = sum(parts)
    pages = _cache(status, "pages requested from the cache")
    return totals if pages is None else {**totals, "page_requests": pages}


def read_cache_size(answers: Sequence[Sequence[Row]]) -> int | None:
    """Read the reply to `STATUS`: the bytes of the cache; None where it does not tell them."""
    size = _cache(reply(answers[0]), "maximum bytes configured")
    return None if size is None else int(size)


def settings(given: Mapping[str, str]) -> Query[dict[str, InForce]]:
    """Return the query for settings as the server has read them."""

    def read(answers: Sequence[Sequence[Row]]) -> dict[str, InForce]:
        parsed = reply(answers[0]).get("parsed")
        found = {name: _at(parsed, name.split(".")) for name in given}
        return {
            name: InForce(has, _is_same(given[name], has))
            for name, has in found.items()
            if has is not None
        }

    return Query((command("getCmdLineOpts", ADMIN),), read)


def _cache(status: Mapping[str, Any], field: str) -> float | None:
    sizes = (number(status, section, "cache", field) for section in _CACHE_SECTIONS)
    return next(iter(known(sizes)), None)


def _at(document: object, path: Sequence[str]) -> str | None:
    """Return the value at a path as text; None where there is none."""
    for key in path:
        document = document.get(key) if isinstance(document, dict) else None
    if document is None or isinstance(document, dict):
        return None
    return str(document).lower() if isinstance(document, bool) else str(document)


def _is_same(given: str, has: str) -> bool:
    wanted, value = number_of(given, {}), number_of(has, {})
    if wanted is not None and value is not None:
        return same_number(wanted, value)
    if truth(given) is not None and truth(has) is not None:
        return truth(given) == truth(has)
    return given == has
