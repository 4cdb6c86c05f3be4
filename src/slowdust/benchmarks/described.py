"""Tables and tests as data, which the driver loads and runs without knowing them.

The structs have the shape of the driver's own (driver/schema.json). A `Described` makes them for a
DBMS, so that a benchmark may write its SQL in several dialects.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Literal

import msgspec

from slowdust.sql import Dbms

DRIVER_BENCHMARK = "described"
"""The driver's name for all benchmarks of this kind."""

Fixed = int | float | str | None
"""A value of a choice or of a sample; times are seconds since 1970."""


class _Part(msgspec.Struct, kw_only=True, omit_defaults=True):
    pass


class Type(_Part):
    """The type of a column or of a value; the server converts those of any other type from texts.

    Whole numbers have 32 bits or 64, `real` numbers 32. A `timestamp` has no time zone; numbers are
    seconds since 1970.
    """

    kind: Literal["int", "bigint", "real", "timestamp", "varchar", "char", "text", "vector", "sql"]
    length: int | None = None
    """Characters of a `char`; the most of a `varchar`."""
    dimensions: int | None = None
    """Numbers of a `vector`, of 32 bits each."""
    name: str | None = None
    """The server's name of another type, `sql`."""


INT, BIGINT, REAL = Type(kind="int"), Type(kind="bigint"), Type(kind="real")
TIMESTAMP, TEXT = Type(kind="timestamp"), Type(kind="text")


class Serial(_Part, tag_field="by", tag="serial"):
    """`start + step * index`: of the row in its table, or of the operation in its sequence."""

    start: int
    step: int = 1


class Cycle(_Part, tag_field="by", tag="cycle"):
    """`start + index // each % count`."""

    start: int
    each: int
    count: int


class Listed(_Part, tag_field="by", tag="listed"):
    """`values[index % n] + step * (index // n % count)`, where there are n values."""

    values: list[int]
    step: int = 0
    count: int = 1


class Uniform(_Part, tag_field="by", tag="uniform"):
    """Whole numbers with `scale` digits after the point; both ends are included."""

    low: int
    high: int
    scale: int = 0


class Zipf(_Part, tag_field="by", tag="zipf"):
    """The r-th most frequent number has a probability of r^-exponent; ranks are scattered."""

    low: int
    high: int
    exponent: float


class Span(_Part, tag_field="by", tag="span"):
    """Two values of a statement: the first and the last of so many adjacent numbers."""

    low: int
    high: int
    count: int


class Distinct(_Part, tag_field="by", tag="distinct"):
    """So many values of a statement, all different."""

    low: int
    high: int
    count: int


class Own(_Part, tag_field="by", tag="own"):
    """A number that no other client draws."""

    low: int
    high: int


class Letters(_Part, tag_field="by", tag="text"):
    """Random letters or digits."""

    shortest: int
    longest: int
    alphabet: Literal["letters", "digits"] = "letters"


class Choice(_Part, tag_field="by", tag="choice"):
    """One of some values, by weights if there are any."""

    values: list[Fixed]
    weights: list[float] | None = None


class Same(_Part, tag_field="by", tag="same"):
    """The value at a place among those of the transaction, counted from 0."""

    place: int


class Sample(_Part, tag_field="by", tag="sample"):
    """A column of a tuple of a test's samples; the values of a call are of one tuple."""

    set: int
    column: int


class Vectors(_Part, tag_field="by", tag="vectors"):
    """The vector whose turn it is, of a file of 32-bit numbers, little-endian."""

    file: str
    encoding: Literal["text", "bytes"] = "text"


Draw = (
    Serial
    | Cycle
    | Listed
    | Uniform
    | Zipf
    | Span
    | Distinct
    | Own
    | Letters
    | Choice
    | Same
    | Sample
    | Vectors
)


class Column(_Part):
    """A column with the source of its values."""

    name: str
    type: Type
    values: Draw
    nullable: bool = False


class Table(_Part):
    """A table with its rows; statements of `after` may have `{index_options}`."""

    name: str
    rows: int
    columns: list[Column]
    primary_key: list[str] = []
    constraints: list[str] = []
    """Definitions between the parentheses of CREATE TABLE, beside columns and primary key."""
    options: str = ""
    """What follows the parentheses, beside the engine and the character set."""
    after: list[str] = []


class Tables(_Part):
    """The tables of a benchmark on one DBMS."""

    tables: list[Table]
    before: list[str] = []


class Value(_Part):
    """The source of the values of one or more placeholders."""

    type: Type
    draw: Draw


class Call(_Part):
    """A statement with `?` for its values; BEGIN and COMMIT are such statements."""

    sql: str
    values: list[Value] = []
    rows: int | None = None
    """The number of rows that it returns or changes; None: any."""
    form: Literal["prepared", "text"] = "prepared"
    repeat: int = 1


class Transaction(_Part):
    """Statements that are one operation."""

    name: str
    calls: list[Call]
    weight: float = 1.0


class WritesFreshness(_Part, tag_field="kind", tag="writes"):
    """Each operation writes its index into the row of its client, index % clients, and commits."""


class ReadsFreshness(_Part, tag_field="kind", tag="reads"):
    """Each operation leaves a transaction open, in which the statement reads those rows."""

    statement: str


class TestOnDbms(_Part):
    """A test as a DBMS executes it."""

    transactions: list[Transaction]
    session: list[str] = []
    """Statements that each connection executes before it prepares others."""
    samples: list[list[list[Fixed]]] = []
    """Sets of tuples, of which values are drawn."""
    freshness: WritesFreshness | ReadsFreshness | None = None
    """The part of its operations in measuring how fresh the data are that queries see."""

    def weights_of_statements(self) -> dict[str, float]:
        """Return statement -> its executions in a mean operation / those in all transactions."""
        whole = sum(transaction.weight for transaction in self.transactions)
        mean: defaultdict[str, float] = defaultdict(float)
        every: defaultdict[str, int] = defaultdict(int)
        for transaction in self.transactions:
            for call in transaction.calls:
                every[call.sql] += call.repeat
                mean[call.sql] += call.repeat * transaction.weight / whole
        return {sql: mean[sql] / number for sql, number in every.items()}


class Described(ABC):
    """The tables and tests of a benchmark, as one experiment has them."""

    @property
    @abstractmethod
    def names(self) -> list[str]:
        """The names of all tables."""

    @property
    @abstractmethod
    def rows(self) -> int:
        """The rows of all tables."""

    def made_before(self, dbms: Dbms) -> list[str]:
        """Return the names of other tables that are made before the load, as a DBMS reads them."""
        return []

    @abstractmethod
    def tables(self, dbms: Dbms) -> Tables:
        """Return the tables on a DBMS.

        Raises UsageError if the benchmark is not written for that DBMS.
        """

    @abstractmethod
    def test(self, name: str, dbms: Dbms, clients: int) -> TestOnDbms:
        """Return the test of that name (`Test.driver_test`) on a DBMS.

        Raises UsageError if the test is not written for that DBMS.
        """


@dataclass(frozen=True)
class Questions:
    """Statements that are asked in one session, and the recall of their answers."""

    session: list[str]
    statements: list[str]
    k: int
    recall: Callable[[Sequence[Sequence[int]]], float]
    """Function of the numbers that each statement returned, in their order: the share of the right
    ones that they have."""


class Answered(Described):
    """Tables and tests with known answers."""

    @abstractmethod
    def questions(self, test: str, dbms: Dbms) -> Questions | None:
        """Return what a test has to be asked; None for one whose answers are exact."""

    @abstractmethod
    def index_of(self, test: str) -> str | None:
        """Return the kind of index that a test searches in; None for one that has none."""

    @abstractmethod
    def index_bytes(self, kind: str, dbms: Dbms) -> str:
        """Return the statement with the size of an index in bytes: one row with one value."""
