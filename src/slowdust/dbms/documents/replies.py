"""Replies to commands, which the driver returns as JSON."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import msgspec

from slowdust.errors import SlowdustError

ADMIN = "admin"
"""The database of the commands that concern the whole server."""


def command(name: str, database: str | None = None, **options: object) -> str:
    """Write a command for the driver; without a database it is for that of the tables."""
    document = {name: 1, **options}
    if database is not None:
        document["$db"] = database
    return msgspec.json.encode(document).decode()


def reply(rows: Sequence[Sequence[str | None]]) -> Mapping[str, Any]:
    """Read the reply to a command, which is one row with one value."""
    ((text,),) = rows
    document = msgspec.json.decode(text or "null")
    if not isinstance(document, dict):
        raise SlowdustError("the server's reply to a command is no document")
    return document


def number(document: Mapping[str, Any], *path: str) -> float | None:
    """Return the number at a path of a document; None where there is none."""
    value: Any = document
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return float(value) if isinstance(value, int | float) else None
