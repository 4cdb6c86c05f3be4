"""A workload's TOML file as it is written; `workload.py` says what it means."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BeforeValidator, Field, StrictBool, field_validator, model_validator

from slowdust.benchmarks.model import Group
from slowdust.benchmarks.options import AsCount, Table
from slowdust.experiment.workload.draws import ColumnTable, ParameterTable, Value, literals
from slowdust.experiment.workload.types import DIALECTS, ByDialect, by_dialect

NAME = r"^[A-Za-z0-9][A-Za-z0-9_-]*$"
TRUTHS = ("nullable", "unique")
"""The keys that are true or false."""
IDENTIFIER = r"^[a-z_][a-z0-9_]*$"
"""Names that no DBMS wants in quotation marks, as long as they are no words of SQL."""
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


class IndexTable(Table):
    """A secondary index: of columns, or by statements of its own."""

    columns: list[str] | None = Field(None, min_length=1)
    unique: StrictBool = False
    sql: ByDialect | None = None

    @model_validator(mode="after")
    def _one_of_both(self) -> IndexTable:
        if (self.columns is None) == (self.sql is None):
            raise ValueError('write columns = ["COLUMN", ...], or sql, the statement itself')
        if self.sql is not None and self.unique:
            raise ValueError("unique is for an index of columns: its sql can say UNIQUE")
        return self


class TableTable(Table):
    """A table: its rows are made of its columns' generators."""

    rows: Annotated[int, AsCount, Field(ge=1, le=MOST_ROWS)]
    columns: dict[Identifier, ColumnTable] = Field(min_length=1)
    primary_key: list[str] = Field(default_factory=list)
    indexes: list[IndexTable] = Field(default_factory=list)

    @field_validator("primary_key", mode="before")
    @classmethod
    def _list_of_columns(cls, value: object) -> object:
        return [value] if isinstance(value, str) else value


class ResultTable(Table):
    """What a statement has to return or to change, else its execution counts as an error."""

    rows: Annotated[int, Field(ge=0, le=2**31 - 1)] | None = None
    affected: Annotated[int, Field(ge=0, le=2**31 - 1)] | None = None

    @model_validator(mode="after")
    def _one_of_both(self) -> ResultTable:
        if (self.rows is None) == (self.affected is None):
            raise ValueError("write rows = N (that it returns), or affected = N (that it changes)")
        return self


class StatementTable(Table):
    """A statement, in the SQL of all DBMS or in that of each."""

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
    """A statement of a transaction, which may be executed several times."""

    statement: str
    repeat: Annotated[int, Field(ge=1, le=10_000)] = 1


Entry = Annotated[
    EntryTable,
    BeforeValidator(lambda value: {"statement": value} if isinstance(value, str) else value),
]


class TransactionTable(Table):
    """Statements that are executed one after the other."""

    statements: list[Entry] = Field(min_length=1, max_length=1000)
    parameters: dict[Identifier, ParameterTable] = Field(default_factory=dict)


class TestTable(Table):
    """A test: an operation is all of its statements, or a transaction drawn from its mix."""

    group: GroupName | None = None
    statements: list[Entry] | None = Field(None, min_length=1, max_length=1000)
    parameters: dict[Identifier, ParameterTable] = Field(default_factory=dict)
    mix: dict[str, Annotated[float, Field(gt=0, le=MOST_WEIGHT)]] | None = Field(None, min_length=1)

    @model_validator(mode="after")
    def _one_of_both(self) -> TestTable:
        if (self.statements is None) == (self.mix is None):
            raise ValueError(
                'write statements = ["NAME", ...], or mix = { NAME = WEIGHT, ... } of transactions '
                "and statements"
            )
        if self.mix is not None and self.parameters:
            raise ValueError("parameters go with statements: those of a mix are its transactions'")
        return self


def _nothing(value: object) -> object:
    """Return a row with `[]`, which stands for NULL, as None."""
    if not isinstance(value, list):
        return value
    return literals([None if item == [] else item for item in value])


class SampleTable(Table):
    """Values that were seen together: each row is one tuple of them."""

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
    raise ValueError(f"{value} is no list of statements, nor a table with one for each DBMS")


Statements = Annotated[dict[str, list[str]], BeforeValidator(_lists_by_dialect)]
"""Dialect -> statements that take no parameters."""


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


Plain = dict[str, Any]
"""The data of a file before it is checked."""
