"""The structure of a workload's TOML file; `workload.py` interprets it."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from typing import Annotated, Any, Literal, TypeVar, get_args

from pydantic import (
    BeforeValidator,
    Field,
    PlainSerializer,
    StrictBool,
    field_validator,
    model_validator,
)

from slowdust.benchmarks.model import Group
from slowdust.benchmarks.options import AsCount, Table
from slowdust.dbms import dialects, find_sql
from slowdust.units import parse_number
from slowdust.wording import guess, listing

DIALECTS = tuple(dialects())
"""The DBMS whose SQL a workload can use."""
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_LIMITS = {
    "int": (-(2**31), 2**31 - 1),
    "bigint": (-(2**63), 2**63 - 1),
    "real": (-(2**63), 2**63 - 1),
    "timestamp": (1, 2**31 - 1),
}
"""Kind -> the smallest and the largest integer of its values."""
_BYTES = {"int": 4, "bigint": 8, "real": 4, "timestamp": 8}
_WITH_LENGTH = re.compile(r"(char|varchar)\((\d{1,5})\)")
_LONGEST = 16_000
"""The most characters of a varchar in every DBMS and every character set."""
_NAME = re.compile(r"[A-Za-z_][\w .]*(\([\d, ]+\))?( [\w ]+)?(\[\])?")
_COMMON = ("int", "bigint", "real", "timestamp", "text")


_Text = TypeVar("_Text", str, list[str])


def for_dialect(texts: Mapping[str, _Text], dialect: str) -> _Text | None:
    """Return the text of a dialect, or of the dialect that it is like, if any."""
    return texts[dialect] if dialect in texts else texts.get(find_sql(dialect).like or "")


def parse_date(text: str) -> int:
    """Return the seconds since 1970 of a date or a timestamp; the default time zone is UTC.

    Raises:
        ValueError: it is neither.
    """
    try:
        when = datetime.fromisoformat(text)
    except ValueError:
        raise ValueError(
            f"'{text}' is not a date or a timestamp: write 2026-01-31 12:00:00"
        ) from None
    return int((when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp())


def format_date(seconds: int) -> str:
    """Return the day of seconds since 1970; the number itself if it is out of range."""
    try:
        return f"{_EPOCH + timedelta(seconds=seconds):%Y-%m-%d}"
    except OverflowError:
        return f"{seconds}"


def by_dialect(value: object) -> object:
    """Return a text as a table with that text for each dialect; check a table's keys.

    Raises:
        ValueError: a key is not a dialect.
    """
    if isinstance(value, str):
        return dict.fromkeys(DIALECTS, value)
    if not isinstance(value, dict):
        text = f"{value} is not a text in quotes or a table with a text for each DBMS"
        raise ValueError(text)  # noqa: TRY004
    if unknown := sorted(set(map(str, value)) - {*DIALECTS}):
        raise ValueError(
            f"'{unknown[0]}' is not a dialect{guess(unknown[0], DIALECTS)}: choose from "
            f"{', '.join(DIALECTS)}"
        )
    return value


ByDialect = Annotated[
    dict[str, str], BeforeValidator(by_dialect), PlainSerializer(lambda texts: texts)
]
"""A text for all DBMS, or dialect -> text."""


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
        return self.kind in _LIMITS

    @property
    def limits(self) -> tuple[int, int]:
        """The smallest and the largest number of its values."""
        return _LIMITS.get(self.kind, _LIMITS["bigint"])

    @property
    def bytes(self) -> int | None:
        """The length of its values; None if it depends on the value."""
        return _BYTES.get(self.kind, self.length if self.kind == "char" else None)

    def lacks(self, dialect: str) -> bool:
        """Return whether a dialect lacks it."""
        return self.names is not None and for_dialect(self.names, dialect) is None

    def __str__(self) -> str:
        if self.names is not None:
            return " or ".join(dict.fromkeys(self.names.values()))
        return self.kind if self.length is None else f"{self.kind}({self.length})"


CONVERTED = SqlType("sql", names=dict.fromkeys(DIALECTS, "unknown"))
"""The type of values that are sent as strings, which the server converts."""


def read_type(value: object) -> SqlType:
    """Read a type: a name that all DBMS know, or a table with a name for each.

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
                raise ValueError(f"{word}: write a length from 1 to {_LONGEST:,}")
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


NAME = r"^[A-Za-z0-9][A-Za-z0-9_-]*$"
BOOLEANS = ("nullable", "unique")
"""The keys with boolean values."""
IDENTIFIER = r"^[a-z_][a-z0-9_]*$"
"""Names that need no quotation marks in any DBMS, unless they are reserved words."""
MOST_ROWS = 2**32 - 1
MOST_WEIGHT = 1e12
MOST_SAMPLES = 100_000
_SHORT_GROUPS = {"aggregation": Group.AGGREGATION.value}

Identifier = Annotated[str, Field(pattern=IDENTIFIER, max_length=48)]
Name = Annotated[str, Field(pattern=NAME, max_length=60)]


GroupName = Annotated[
    Literal["point", "range", "range with aggregation", "write"],
    BeforeValidator(
        lambda value: _SHORT_GROUPS.get(value, value) if isinstance(value, str) else value
    ),
]


ByRow = Literal["serial", "cycle", "uniform", "zipf", "text", "choice"]
"""Ways to draw the values of a column."""
By = ByRow | Literal["new", "own", "span", "distinct", "sample"]
"""Ways to draw the values of a parameter."""
_RANGED = ("uniform", "zipf", "span", "distinct", "own")
"""Ways to draw from a range of numbers."""
SEVERAL = ("span", "distinct")
"""Ways to draw several values."""
LONGEST_TEXT = 16_000
_DATE = re.compile(r"\d+-\d")
_MOST_VALUES = 10_000
Value = Annotated[str | int | float, Field()]
Plain = dict[str, Any]
"""The data of a file before validation."""


@dataclass(frozen=True)
class _Keys:
    """The keys of one way to draw."""

    needed: tuple[str, ...] = ()
    allowed: tuple[str, ...] = ()


_KEYS: Mapping[str, _Keys] = {
    "serial": _Keys(allowed=("start", "step")),
    "cycle": _Keys(needed=("count",), allowed=("start", "each")),
    "uniform": _Keys(allowed=("low", "high", "of", "scale")),
    "zipf": _Keys(allowed=("low", "high", "of", "exponent")),
    "text": _Keys(needed=("length",), allowed=("alphabet",)),
    "choice": _Keys(needed=("values",), allowed=("weights",)),
    "new": _Keys(needed=("of",)),
    "own": _Keys(allowed=("low", "high", "of")),
    "span": _Keys(needed=("count",), allowed=("low", "high", "of")),
    "distinct": _Keys(needed=("count",), allowed=("low", "high", "of")),
    "sample": _Keys(needed=("from_",)),
}


def _number(value: object) -> object:
    """Return a date or a timestamp as seconds since 1970, and a text with a unit as a number."""
    if isinstance(value, datetime):
        return int((value if value.tzinfo else value.replace(tzinfo=UTC)).timestamp())
    if isinstance(value, date):
        return int(datetime(value.year, value.month, value.day, tzinfo=UTC).timestamp())
    if isinstance(value, str):
        return parse_date(value) if _DATE.match(value) else parse_number(value)
    if isinstance(value, int | float):
        return value
    raise ValueError(f"{value} is neither a number nor a date")


def literals(value: object) -> object:
    """Return a list with dates as texts. Raises ValueError for other values than literals."""
    if not isinstance(value, list):
        return value
    for item in value:
        finite = not isinstance(item, float) or math.isfinite(item)
        if not finite or not isinstance(item, str | int | float | date | None):
            raise ValueError(f"{item} is not a value: write text, numbers or dates")
    return [str(item) if isinstance(item, date) else item for item in value]


Amount = Annotated[int | float, BeforeValidator(_number)]


class DrawTable(Table):
    """A way to draw, with its keys."""

    by: By | None = None
    of: str | None = None
    low: Amount | None = None
    high: Amount | None = None
    start: Annotated[int, AsCount, Field(ge=-(2**62), le=2**62)] | None = None
    step: Annotated[int, Field(ge=-(2**31), le=2**31)] | None = None
    each: Annotated[int, AsCount, Field(ge=1, le=2**40)] | None = None
    count: Annotated[int, AsCount, Field(ge=1, le=2**40)] | None = None
    exponent: Annotated[float, Field(gt=0, le=10)] | None = None
    scale: Annotated[int, Field(ge=0, le=9)] | None = None
    length: (
        Annotated[
            list[Annotated[int, Field(ge=1, le=LONGEST_TEXT)]],
            BeforeValidator(lambda value: [value, value] if isinstance(value, int) else value),
            Field(min_length=2, max_length=2),
        ]
        | None
    ) = None
    alphabet: Literal["letters", "digits"] | None = None
    values: (
        Annotated[
            list[Value], BeforeValidator(literals), Field(min_length=1, max_length=_MOST_VALUES)
        ]
        | None
    ) = None
    weights: list[Annotated[float, Field(gt=0, le=1e9)]] | None = None
    from_: str | None = Field(None, alias="from")

    @model_validator(mode="after")
    def _keys_of_its_way(self) -> DrawTable:
        given = {key for key in DrawTable.model_fields if getattr(self, key) is not None}
        given.discard("by")
        if self.by is None:
            if extra := sorted(given - {"of"}):
                raise ValueError(f"{_shown(extra[0])} needs the key by")
            return self
        keys = _KEYS[self.by]
        for key in keys.needed:
            if key not in given:
                raise ValueError(f'by = "{self.by}" needs the key {_shown(key)}')
        if wrong := sorted(given - {*keys.needed, *keys.allowed}):
            allowed = ", ".join(_shown(key) for key in (*keys.needed, *keys.allowed))
            raise ValueError(
                f'{_shown(wrong[0])} is not a key of by = "{self.by}", whose keys are {allowed}'
            )
        self._check_ends(given)
        if self.step == 0:
            raise ValueError("step: 0 gives all rows the same value: write another number")
        if self.length and self.length[0] > self.length[1]:
            raise ValueError(f"length: {self.length[0]} is more than {self.length[1]}")
        if self.weights is not None and self.values and len(self.weights) != len(self.values):
            raise ValueError(f"there are {len(self.weights)} weights for {len(self.values)} values")
        return self

    def _check_ends(self, given: set[str]) -> None:
        if self.by not in _RANGED:
            return
        ends = given & {"low", "high"}
        if "of" in given and ends:
            raise ValueError("`of` determines the range: remove low and high")
        if "of" not in given and len(ends) < 2:
            raise ValueError(f'by = "{self.by}" needs low and high, or of = "TABLE.COLUMN"')
        if self.low is not None and self.high is not None and self.low > self.high:
            raise ValueError(f"low = {self.low} is more than high = {self.high}")


def _shown(key: str) -> str:
    return key.rstrip("_")


class ColumnTable(DrawTable):
    """A column: its type and the source of its values."""

    type: Annotated[SqlType, BeforeValidator(read_type)]
    nullable: StrictBool = False

    @model_validator(mode="after")
    def _drawn_by_the_row(self) -> ColumnTable:
        ways = listing([f'"{way}"' for way in get_args(ByRow)], "or")
        if self.by is None:
            raise ValueError(f"the key by is missing: write {ways}")
        if self.by not in get_args(ByRow):
            raise ValueError(f'by = "{self.by}" is only for parameters: write {ways}')
        return self


class ParameterTable(DrawTable):
    """A parameter of a statement."""

    type: Annotated[SqlType, BeforeValidator(read_type)] | None = None

    @model_validator(mode="after")
    def _drawn(self) -> ParameterTable:
        if self.by is None and self.of is None:
            raise ValueError('its values have no source: write of = "TABLE.COLUMN", or by')
        return self


class IndexTable(Table):
    """A secondary index: a list of columns, or a statement."""

    columns: list[str] | None = Field(None, min_length=1)
    unique: StrictBool = False
    sql: ByDialect | None = None

    @model_validator(mode="after")
    def _one_of_both(self) -> IndexTable:
        if (self.columns is None) == (self.sql is None):
            raise ValueError('write either columns = ["COLUMN", ...] or sql with the statement')
        if self.sql is not None and self.unique:
            raise ValueError("unique needs columns: write UNIQUE in sql instead")
        return self


class TableTable(Table):
    """A table: its columns generate its rows."""

    rows: Annotated[int, AsCount, Field(ge=1, le=MOST_ROWS)]
    columns: dict[Identifier, ColumnTable] = Field(min_length=1)
    primary_key: list[str] = Field(default_factory=list)
    indexes: list[IndexTable] = Field(default_factory=list)

    @field_validator("primary_key", mode="before")
    @classmethod
    def _list_of_columns(cls, value: object) -> object:
        return [value] if isinstance(value, str) else value


class ResultTable(Table):
    """The rows that a statement must return or change; otherwise it counts as an error."""

    rows: Annotated[int, Field(ge=0, le=2**31 - 1)] | None = None
    affected: Annotated[int, Field(ge=0, le=2**31 - 1)] | None = None

    @model_validator(mode="after")
    def _one_of_both(self) -> ResultTable:
        if (self.rows is None) == (self.affected is None):
            raise ValueError("write either rows = N (returned) or affected = N (changed)")
        return self


class StatementTable(Table):
    """A statement, with one text for all DBMS or one for each."""

    sql: ByDialect
    parameters: dict[Identifier, ParameterTable] = Field(default_factory=dict)
    result: ResultTable | None = None
    form: Literal["prepared", "text"] = "prepared"

    @field_validator("sql")
    @classmethod
    def _any_dialect(cls, value: dict[str, str]) -> dict[str, str]:
        if not value:
            raise ValueError('write sql = "...", or sql.postgres = "..." and so on')
        return value


class EntryTable(Table):
    """A statement of a transaction, optionally repeated."""

    statement: str
    repeat: Annotated[int, Field(ge=1, le=10_000)] = 1


Entry = Annotated[
    EntryTable,
    BeforeValidator(lambda value: {"statement": value} if isinstance(value, str) else value),
]


class TransactionTable(Table):
    """Statements that are executed in sequence."""

    statements: list[Entry] = Field(min_length=1, max_length=1000)
    parameters: dict[Identifier, ParameterTable] = Field(default_factory=dict)


class TestTable(Table):
    """A test: an operation is all of its statements, or a random transaction of its mix."""

    group: GroupName | None = None
    statements: list[Entry] | None = Field(None, min_length=1, max_length=1000)
    parameters: dict[Identifier, ParameterTable] = Field(default_factory=dict)
    mix: dict[str, Annotated[float, Field(gt=0, le=MOST_WEIGHT)]] | None = Field(None, min_length=1)

    @model_validator(mode="after")
    def _one_of_both(self) -> TestTable:
        if (self.statements is None) == (self.mix is None):
            raise ValueError(
                'write either statements = ["NAME", ...], or mix = { NAME = WEIGHT, ... } of '
                "transactions and statements"
            )
        if self.mix is not None and self.parameters:
            raise ValueError("a test with a mix has no parameters: write them in its transactions")
        return self


def _nothing(value: object) -> object:
    """Return a row with None for `[]`, which means NULL."""
    if not isinstance(value, list):
        return value
    return literals([None if item == [] else item for item in value])


class SampleTable(Table):
    """Sampled values: each row is one tuple."""

    columns: list[Identifier] = Field(min_length=1)
    rows: list[Annotated[list[Value | None], BeforeValidator(_nothing)]] = Field(
        min_length=1, max_length=MOST_SAMPLES
    )

    @model_validator(mode="after")
    def _rectangular(self) -> SampleTable:
        if len(set(self.columns)) < len(self.columns):
            raise ValueError("columns: the same name is given twice")
        for place, row in enumerate(self.rows):
            if len(row) != len(self.columns):
                raise ValueError(
                    f"row {place + 1} has {len(row)} values for {len(self.columns)} columns"
                )
        return self


def _lists_by_dialect(value: object) -> object:
    if isinstance(value, list):
        return dict.fromkeys(DIALECTS, value)
    if isinstance(value, dict):
        return by_dialect(value)
    raise ValueError(f"{value} is not a list of statements or a table with a list for each DBMS")


Statements = Annotated[dict[str, list[str]], BeforeValidator(_lists_by_dialect)]
"""Dialect -> statements without parameters."""


class WorkloadFile(Table):
    """The whole file; its keys are its tables."""

    name: Name
    before: Statements = Field(default_factory=dict)
    session: Statements = Field(default_factory=dict)
    tables: dict[Identifier, TableTable] = Field(min_length=1, max_length=200)
    samples: dict[Name, SampleTable] = Field(default_factory=dict)
    statements: dict[Name, StatementTable] = Field(default_factory=dict)
    transactions: dict[Name, TransactionTable] = Field(default_factory=dict)
    tests: dict[Name, TestTable] = Field(min_length=1, max_length=200)
