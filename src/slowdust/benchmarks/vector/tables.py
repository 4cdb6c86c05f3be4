"""The tables and searches for the driver, and the queries that measure recall."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property, partial
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from slowdust.benchmarks.described import (
    INT,
    Answered,
    Call,
    Column,
    Cycle,
    Questions,
    Serial,
    Table,
    Tables,
    TestOnDbms,
    Transaction,
    Type,
    Value,
    Vectors,
)
from slowdust.benchmarks.vector.data import BUCKETS, Dataset, Exact, generated, of_file, recall
from slowdust.benchmarks.vector.options import VectorTable, VectorTest, test_called
from slowdust.errors import UsageError
from slowdust.sql import (
    BUCKET,
    ID,
    VECTOR,
    Dbms,
    Encoding,
    IndexOptions,
    VectorIndexes,
)


class VectorData(Answered):
    """Tables of vectors, one for each kind of index and one without, and the searches in them."""

    def __init__(
        self, settings: VectorTable, rows: int, seed: int, tests: Sequence[VectorTest]
    ) -> None:
        """Only the tables of `tests` are created."""
        self._settings = settings
        self._rows = rows
        self._seed = seed
        self._kinds = {test.table: test.kind for test in tests}

    @cached_property
    def dataset(self) -> Dataset:
        """The vectors and queries, generated or found in the cache on first use.

        Raises UsageError for invalid values in a file.
        """
        settings = self._settings
        if settings.header is None:
            return generated(settings.of_shape, self._rows, settings.queries, self._seed)
        try:
            return of_file(settings.header, self._rows, settings.queries)
        except ValueError as error:
            raise UsageError(str(error)) from None

    @property
    def names(self) -> list[str]:
        return list(self._kinds)

    @property
    def rows(self) -> int:
        return self._rows * len(self._kinds)

    def tables(self, dbms: Dbms) -> Tables:
        dialect = _dialect(dbms)
        tables = [self._table(name, kind, dialect) for name, kind in self._kinds.items()]
        return Tables(tables=tables, before=list(dialect.before))

    def test(self, name: str, dbms: Dbms, clients: int) -> TestOnDbms:
        """Return a search, with vectors in turn, or the build of an index."""
        dialect, test = _dialect(dbms), _test(name)
        if test.builds_index is not None:
            kind = str(test.builds_index)
            statements = (
                dialect.create(kind, test.table, self._options),
                dialect.drop(kind, test.table),
            )
            calls = [Call(sql=statement, form="text") for statement in statements]
            return TestOnDbms(transactions=[Transaction(name=test.name, calls=calls)])
        search = Call(
            sql=self._search(test, dialect, dialect.placeholder),
            values=[
                Value(
                    type=self._type,
                    draw=self._vectors(self.dataset.queries_file, dialect.encoding),
                )
            ],
        )
        return TestOnDbms(
            transactions=[Transaction(name=test.name, calls=[search])],
            session=self._session(test, dialect),
        )

    def questions(self, test: str, dbms: Dbms) -> Questions | None:
        search, dialect = _test(test), _dialect(dbms)
        if search.effort is None:
            return None
        literals = _literals(self.dataset.queries(), dialect.encoding)
        return Questions(
            session=self._session(search, dialect),
            statements=[self._search(search, dialect, literal) for literal in literals],
            k=self._settings.k,
            recall=partial(self._recall, self._exact(search.percent)),
        )

    def index_of(self, test: str) -> str | None:
        return _test(test).kind

    def index_bytes(self, kind: str, dbms: Dbms) -> str:
        return _dialect(dbms).index_bytes(kind, f"vectors_{kind}")

    @property
    def _type(self) -> Type:
        return Type(kind="vector", dimensions=self.dataset.dimensions)

    @property
    def _options(self) -> IndexOptions:
        settings = self._settings
        return IndexOptions(
            metric=self.dataset.metric.name,
            m=settings.m,
            ef_construction=settings.ef_construction,
            lists=settings.lists or max(1, round(self._rows**0.5)),
        )

    def _table(self, name: str, kind: str | None, dialect: VectorIndexes) -> Table:
        indexed = kind is not None and kind not in dialect.cannot
        return Table(
            name=name,
            rows=self._rows,
            columns=[
                Column(name=ID, type=INT, values=Serial(start=1)),
                Column(
                    name=VECTOR,
                    type=self._type,
                    values=self._vectors(self.dataset.vectors_file, dialect.encoding),
                ),
                Column(name=BUCKET, type=INT, values=Cycle(start=0, each=1, count=BUCKETS)),
            ],
            primary_key=[ID],
            after=[dialect.create(str(kind), name, self._options)] if indexed else [],
        )

    def _search(self, test: VectorTest, dialect: VectorIndexes, vector: str) -> str:
        metric = self.dataset.metric.name
        return dialect.query(test.table, vector, metric, self._settings.k, test.percent)

    @staticmethod
    def _session(test: VectorTest, dialect: VectorIndexes) -> list[str]:
        if test.kind is None or test.effort is None:
            return []
        return dialect.session(test.kind, test.effort)

    @staticmethod
    def _vectors(file: Path, encoding: Encoding) -> Vectors:
        return Vectors(file=str(file), encoding=encoding)

    def _exact(self, percent: int | None) -> Exact:
        try:
            return self.dataset.exact(self._settings.k, percent)
        except ValueError as error:
            raise UsageError(str(error)) from None

    def _recall(self, exact: Exact, answers: Sequence[Sequence[int]]) -> float:
        rows = [[number - 1 for number in numbers] for numbers in answers]
        data = self.dataset
        return recall(exact, rows, data.queries(), data.vectors(), data.metric)


def _dialect(dbms: Dbms) -> VectorIndexes:
    if dbms.sql is None or dbms.sql.vectors is None:
        raise UsageError(f"{dbms.name} has no vector indexes")
    return dbms.sql.vectors


def _literals(vectors: NDArray[np.float32], encoding: Encoding) -> list[str]:
    """Return SQL literals of vectors: all digits, or bytes."""
    if encoding == "text":
        return [f"'[{','.join(map(str, vector))}]'" for vector in vectors.tolist()]
    return [f"x'{vector.astype('<f4').tobytes().hex()}'" for vector in vectors]


def _test(name: str) -> VectorTest:
    test = test_called(name)
    assert test is not None, name
    return test
