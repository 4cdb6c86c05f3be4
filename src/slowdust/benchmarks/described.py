"""Tables and tests as data that the driver interprets.

The structs have the shape of the driver's own (driver/schema.json). A `Described` creates them for
a DBMS, so that a benchmark can write its SQL in several dialects.
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
"""A value of a choice or of a sample; timestamps are seconds since 1970."""


class _Part(msgspec.Struct, kw_only=True, omit_defaults=True):
    pass


class Type(_Part):
    """The type of a column or of a value; the server converts values of type `sql` from strings.

    Integers have 32 or 64 bits, `real` has 32. A `timestamp` has no time zone; numbers are seconds
    since 1970.
    """

    kind: Literal["int", "bigint", "real", "timestamp", "varchar", "char", "text", "vector", "sql"]
    length: int | None = None
    """Characters of a `char`; maximum of a `varchar`."""
    dimensions: int | None = None
    """Dimensions of a `vector` of 32-bit floats."""
    name: str | None = None
    """The server's name of a type `sql`."""


INT, BIGINT, REAL = Type(kind="int"), Type(kind="bigint"), Type(kind="real")
TIMESTAMP, TEXT = Type(kind="timestamp"), Type(kind="text")


class Serial(_Part, tag_field="by", tag="serial"):
    """`start + step * index`, where index counts the rows of a table or the operations."""

    start: int
    step: int = 1


class Cycle(_Part, tag_field="by", tag="cycle"):
    """`start + index // each % count`."""

    start: int
    each: int
    count: int


class Listed(_Part, tag_field="by", tag="listed"):
    """`values[index % n] + step * (index // n % count)`, for n values."""

    values: list[int]
    step: int = 0
    count: int = 1


class Uniform(_Part, tag_field="by", tag="uniform"):
    """Numbers with `scale` decimal places, given as integers; both ends are included."""

    low: int
    high: int
    scale: int = 0


class Zipf(_Part, tag_field="by", tag="zipf"):
    """The r-th most frequent number has a probability of r^-exponent; ranks are scattered."""

    low: int
    high: int
    exponent: float


class Span(_Part, tag_field="by", tag="span"):
    """Two values of a statement: the first and the last of `count` adjacent numbers."""

    low: int
    high: int
    count: int


class Distinct(_Part, tag_field="by", tag="distinct"):
    """`count` different values of a statement."""

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
    """One of several values, optionally weighted."""

    values: list[Fixed]
    weights: list[float] | None = None


class Same(_Part, tag_field="by", tag="same"):
    """The transaction's value with this index, from 0."""

    place: int


class Sample(_Part, tag_field="by", tag="sample"):
    """A column of a sampled tuple; the values of a call come from the same tuple."""

    set: int
    column: int


class Vectors(_Part, tag_field="by", tag="vectors"):
    """The next vector, in turn, of a file of little-endian 32-bit floats."""

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
    """A column and the source of its values."""

    name: str
    type: Type
    values: Draw
    nullable: bool = False


class Table(_Part):
    """A table with its rows; statements in `after` may contain `{index_options}`."""

    name: str
    rows: int
    columns: list[Column]
    primary_key: list[str] = []
    constraints: list[str] = []
    """Definitions in CREATE TABLE in addition to columns and primary key."""
    options: str = ""
    """Table options in addition to the engine and the character set."""
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
    """A statement with `?` for its values; BEGIN and COMMIT are statements, too."""

    sql: str
    values: list[Value] = []
    rows: int | None = None
    """The number of rows that it must return or change; None for any number."""
    form: Literal["prepared", "text"] = "prepared"
    repeat: int = 1


class Transaction(_Part):
    """Statements that form one operation."""

    name: str
    calls: list[Call]
    weight: float = 1.0


class WritesFreshness(_Part, tag_field="kind", tag="writes"):
    """Each operation writes its index into its client's row, index % clients, and commits."""


class ReadsFreshness(_Part, tag_field="kind", tag="reads"):
    """Each operation leaves a transaction open, and `statement` reads those rows in it."""

    statement: str


class TestOnDbms(_Part):
    """A test for one DBMS."""

    transactions: list[Transaction]
    session: list[str] = []
    """Statements that each connection executes before it prepares others."""
    samples: list[list[list[Fixed]]] = []
    """Sets of tuples to draw values from."""
    freshness: WritesFreshness | ReadsFreshness | None = None
    """The test's role in measuring how fresh the data are that queries see."""

    def weights_of_statements(self) -> dict[str, float]:
        """Return statement -> its executions per mean operation / per run of all transactions."""
        whole = sum(transaction.weight for transaction in self.transactions)
        mean: defaultdict[str, float] = defaultdict(float)
        every: defaultdict[str, int] = defaultdict(int)
        for transaction in self.transactions:
            for call in transaction.calls:
                every[call.sql] += call.repeat
                mean[call.sql] += call.repeat * transaction.weight / whole
        return {sql: mean[sql] / number for sql, number in every.items()}


class Described(ABC):
    """The tables and tests of a benchmark in one experiment."""

    @property
    @abstractmethod
    def names(self) -> list[str]:
        """The names of all tables."""

    @property
    @abstractmethod
    def rows(self) -> int:
        """The rows of all tables together."""

    def made_before(self, dbms: Dbms) -> list[str]:
        """Return the names of other tables to create before the load, in a DBMS's spelling."""
        return []

    @abstractmethod
    def tables(self, dbms: Dbms) -> Tables:
        """Return the tables on a DBMS.

        Raises UsageError if the benchmark does not support the DBMS.
        """

    @abstractmethod
    def test(self, name: str, dbms: Dbms, clients: int) -> TestOnDbms:
        """Return the test with this name (`Test.driver_test`) on a DBMS.

        Raises UsageError if the test does not support the DBMS.
        """


@dataclass(frozen=True)
class Questions:
    """Queries of one session, and the recall of their answers."""

    session: list[str]
    statements: list[str]
    k: int
    recall: Callable[[Sequence[Sequence[int]]], float]
    """A function: the numbers that each statement returned -> the share of correct answers that
    they contain."""


class Answered(Described):
    """Tables and tests with known answers."""

    @abstractmethod
    def questions(self, test: str, dbms: Dbms) -> Questions | None:
        """Return the queries that measure a test's recall; None if its answers are exact."""

    @abstractmethod
    def index_of(self, test: str) -> str | None:
        """Return the kind of index that a test searches; None if it searches none."""

    @abstractmethod
    def index_bytes(self, kind: str, dbms: Dbms) -> str:
        """Return the statement for the size of an index in bytes: one row with one value."""
