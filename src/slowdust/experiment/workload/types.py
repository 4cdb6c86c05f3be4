"""The types of columns and parameters: those that every DBMS has, and others by name."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, TypeVar

from pydantic import BeforeValidator, PlainSerializer

from slowdust.dbms import dialects, sql_of
from slowdust.wording import guess

DIALECTS = tuple(dialects())
"""The DBMS whose SQL a workload can be written in."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LIMITS = {
    "int": (-(2**31), 2**31 - 1),
    "bigint": (-(2**63), 2**63 - 1),
    "real": (-(2**63), 2**63 - 1),
    "timestamp": (1, 2**31 - 1),
}
"""Kind -> the least and the largest whole number that it is made of."""
_BYTES = {"int": 4, "bigint": 8, "real": 4, "timestamp": 8}
_WITH_LENGTH = re.compile(r"(char|varchar)\((\d{1,5})\)")
_LONGEST = 16_000
"""Characters of a varchar that every DBMS takes in every character set."""
_NAME = re.compile(r"[A-Za-z_][\w .]*(\([\d, ]+\))?( [\w ]+)?(\[\])?")
_COMMON = ("int", "bigint", "real", "timestamp", "text")


_Text = TypeVar("_Text", str, list[str])


def for_dialect(texts: Mapping[str, _Text], dialect: str) -> _Text | None:
    """Return what a dialect has, or takes from another; None where there is nothing for it."""
    return texts[dialect] if dialect in texts else texts.get(sql_of(dialect).like or "")


def seconds_of(text: str) -> int:
    """Return the seconds since 1970 of a date or a time; UTC where it has no time zone.

    Raises:
        ValueError: it is neither.
    """
    try:
        when = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(
            f"'{text}' is neither a date nor a time: write 2026-01-31 12:00:00"
        ) from None
    return int((when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp())


def date_of(seconds: int) -> str:
    """Return the day of a number of seconds since 1970; the number itself beyond all years."""
    try:
        return f"{_EPOCH + timedelta(seconds=seconds):%Y-%m-%d}"
    except OverflowError:
        return f"{seconds}"


def by_dialect(value: object) -> object:
    """Return a text for all dialects as a table with that of each.

    Raises:
        ValueError: a table has a key that is none of the dialects.
    """
    if isinstance(value, str):
        return dict.fromkeys(DIALECTS, value)
    if not isinstance(value, dict):
        text = f"{value} is no text in quotes, nor a table with a text for each DBMS"
        raise ValueError(text)  # noqa: TRY004
    if unknown := sorted(set(map(str, value)) - {*DIALECTS}):
        raise ValueError(
            f"'{unknown[0]}' is no dialect{guess(unknown[0], DIALECTS)}: there are "
            f"{', '.join(DIALECTS)}"
        )
    return value


ByDialect = Annotated[
    dict[str, str], BeforeValidator(by_dialect), PlainSerializer(lambda texts: texts)
]
"""A text for all DBMS, or one for each: the dialects that have one -> it."""


@dataclass(frozen=True)
class SqlType:
    """The type of a column or of a parameter."""

    kind: str
    """`int`, `bigint`, `real`, `timestamp`, `text`, `char`, `varchar`, or `sql` for any other."""
    length: int | None = None
    """Characters of a char or varchar."""
    names: Mapping[str, str] | None = None
    """Dialect -> the name of a type of kind `sql`."""

    @property
    def is_number(self) -> bool:
        """Whether its values are made of numbers alone."""
        return self.kind in _LIMITS

    @property
    def limits(self) -> tuple[int, int]:
        """The least and the largest number that its values are made of."""
        return _LIMITS.get(self.kind, _LIMITS["bigint"])

    @property
    def bytes(self) -> int | None:
        """The length of its values; None where it depends on the value."""
        return _BYTES.get(self.kind, self.length if self.kind == "char" else None)

    def lacks(self, dialect: str) -> bool:
        """Return whether it has no name in a dialect."""
        return self.names is not None and for_dialect(self.names, dialect) is None

    def __str__(self) -> str:
        if self.names is not None:
            return " or ".join(dict.fromkeys(self.names.values()))
        return self.kind if self.length is None else f"{self.kind}({self.length})"


CONVERTED = SqlType("sql", names=dict.fromkeys(DIALECTS, "unknown"))
"""The type of values that are sent as texts, for the server to read as what it expects there."""


def read_type(value: object) -> SqlType:
    """Read a type: a name that all DBMS have, or a table with a name for each.

    Raises:
        ValueError: it is neither.
    """
    if isinstance(value, str):
        word = value.strip().lower()
        if word in _COMMON:
            return SqlType(word)
        if match := _WITH_LENGTH.fullmatch(word):
            length = int(match[2])
            if not 1 <= length <= _LONGEST:
                raise ValueError(f"{word} has no length from 1 to {_LONGEST:,}")
            return SqlType(match[1], length)
        if word in ("char", "varchar", "integer"):
            meant = "int" if word == "integer" else f"{word}(20)"
            raise ValueError(f"'{value}': write {meant}")
    names: Any = by_dialect(value) if isinstance(value, str | dict) else None
    if not names:
        raise ValueError(f"{value} is not a type: write {', '.join(_COMMON)} or varchar(20)")
    for name in names.values():
        if not isinstance(name, str) or not _NAME.fullmatch(name):
            raise ValueError(f"'{name}' is not the name of a type, such as numeric(10, 2)")
    return SqlType("sql", names=names)
