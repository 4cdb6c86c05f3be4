"""The types of a server's columns as those of a workload, and values that they have."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from slowdust.experiment.workload.types import read_type

WHOLE = ("int", "bigint")
FRACTIONS = ("numeric", "decimal", "double", "double precision", "real")
_PLAIN = {
    **dict.fromkeys(("integer", "smallint", "int", "tinyint", "mediumint"), "int"),
    **{"bigint": "bigint", "real": "real", "float": "real"},
    **dict.fromkeys(("datetime", "timestamp", "timestamp without time zone"), "timestamp"),
    **dict.fromkeys(("text", "tinytext", "mediumtext", "longtext", "character varying"), "text"),
}
_LENGTH = re.compile(r"(character varying|varchar|character|char)\((\d+)\)")
_IN_PARENTHESES = re.compile(r"\([^)]*\)")
TEXTS = ("varchar", "char", "text", "tsvector")
BYTES = ("bytea", "binary", "varbinary", "blob", "tinyblob", "mediumblob", "longblob")
_DATES = ["2025-01-15", "2025-04-15", "2025-07-15", "2025-10-15"]
_OTHERS: Mapping[str, Sequence[str]] = {
    "date": _DATES,
    "timestamp with time zone": [f"{date} 12:00:00+00" for date in _DATES],
    **dict.fromkeys(("time", "time without time zone"), ("08:00:00", "16:00:00")),
    "time with time zone": ["08:00:00+00", "16:00:00+00"],
    "interval": ["1 hour", "1 day", "7 days", "30 days"],
    "year": ["2023", "2024", "2025"],
    "boolean": ["t", "f"],
    **dict.fromkeys(("json", "jsonb"), ("{}",)),
    "xml": ["<a/>"],
    "uuid": ["00000000-0000-0000-0000-000000000001", "00000000-0000-0000-0000-000000000002"],
    **dict.fromkeys(("inet", "cidr", "inet4"), ("192.0.2.1", "192.0.2.2")),
    "inet6": ["2001:db8::1", "2001:db8::2"],
    "macaddr": ["00:00:5e:00:53:01", "00:00:5e:00:53:02"],
    "macaddr8": ["00:00:5e:ff:fe:00:53:01", "00:00:5e:ff:fe:00:53:02"],
    "money": ["1.00", "10.00", "100.00"],
    "bit varying": ["1"],
    "point": ["(1,2)", "(3,4)"],
    "box": ["(1,1),(0,0)"],
    "circle": ["<(0,0),1>"],
    "int4range": ["[1,10)"],
    "int8range": ["[1,10)"],
    "numrange": ["[1,10)"],
    "daterange": ["[2025-01-01,2025-02-01)"],
    "tsrange": ["[2025-01-01,2025-02-01)"],
    "tstzrange": ["[2025-01-01,2025-02-01)"],
}
"""Type -> values of it, where nothing is known of those of the column."""


def kind_of(name: str) -> str:
    """Return the type of a workload for that of a server."""
    plain = name.lower().removesuffix(" zerofill")
    if plain.startswith("int") and plain.endswith(" unsigned"):
        return "bigint"  # whose numbers are all of them
    plain = plain.removesuffix(" unsigned")
    if length := _LENGTH.fullmatch(plain):
        kind = "varchar" if length[1] in ("varchar", "character varying") else "char"
        plain = f"{kind}({length[2]})"
    if plain.startswith(("enum", "set(")):
        return "varchar(64)"
    found = _PLAIN.get(plain) or _PLAIN.get(word_of(plain)) or plain
    try:
        read_type(found)
    except ValueError:
        return "text"
    return found


def word_of(kind: str) -> str:
    """Return a type without its length."""
    return " ".join(_IN_PARENTHESES.sub("", kind).split())


def values_of(kind: str) -> Sequence[str] | None:
    """Return values of a type that are neither numbers nor any text; None where none is known."""
    if kind.endswith("[]"):
        return ["{}"] if is_known(kind_of(kind.removesuffix("[]"))) else None
    word = word_of(kind)
    if word == "bit":
        return ["0" * int(kind.rpartition("(")[2].rstrip(")") if "(" in kind else 1)]
    return _OTHERS.get(word)


def is_known(kind: str) -> bool:
    """Return whether values of a type can be made."""
    return has_next(kind) or word_of(kind) == "tsvector" or values_of(kind) is not None


def has_next(kind: str) -> bool:
    """Return whether a type has numbers, or texts that are numbers, one after the other."""
    usual = (*WHOLE, *FRACTIONS, "timestamp", "varchar", "char", "text", *BYTES)
    return word_of(kind) in usual
