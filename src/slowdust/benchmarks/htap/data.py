"""The tables and the statements of the mixed load, as the driver gets them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from slowdust.benchmarks.described import (
    Call,
    Described,
    ReadsFreshness,
    Table,
    Tables,
    TestOnDbms,
    Transaction,
    WritesFreshness,
)
from slowdust.benchmarks.htap.queries import QUERIES
from slowdust.benchmarks.htap.tables import (
    FRESHNESS,
    freshness_table,
    purchases_table,
    sbtest_table,
    tables_of,
)
from slowdust.benchmarks.htap.tests import (
    ANY_QUERY,
    HOLD,
    QUERY_SET,
    REPORT,
    TRANSACTIONS,
)
from slowdust.benchmarks.htap.transactions import BEGIN, COMMIT, KINDS
from slowdust.sql import Dbms
from slowdust.wording import counted

_OWN_TABLES: dict[str, Callable[[int], Table]] = {
    "read-write": sbtest_table,
    "insert": purchases_table,
}
"""Kind of transactions -> its table beside TPC-C's."""


@dataclass(frozen=True)
class HtapData(Described):
    """The mixed load over so many warehouses, with one kind of transactions."""

    warehouses: int
    kind: str

    @property
    def names(self) -> list[str]:
        return [table.name for table in self._tables]

    @property
    def rows(self) -> int:
        return sum(table.rows for table in self._tables)

    @property
    def phrase(self) -> str:
        """What is loaded: '2 warehouses, 60,000 order lines', and the table of other kinds."""
        rows = {table.name: table.rows for table in self._tables}
        parts = [counted(self.warehouses, "warehouse"), f"{rows['order_line']:,} order lines"]
        if own := _OWN_TABLES.get(self.kind):
            table = own(self.warehouses)
            parts.append(f"{counted(table.rows, 'row')} of {table.name}")
        return ", ".join(parts)

    @property
    def _tables(self) -> list[Table]:
        own = _OWN_TABLES.get(self.kind)
        return [
            *tables_of(self.warehouses),
            *([own(self.warehouses)] if own else []),
            freshness_table(),
        ]

    def tables(self, dbms: Dbms) -> Tables:
        """Return the tables, which are the same on each DBMS."""
        return Tables(tables=self._tables)

    def test(self, name: str, dbms: Dbms, clients: int) -> TestOnDbms:
        """Return transactions, all queries, all in one snapshot, any query, one query, or a hold.

        `dbms` is one that the benchmark suits.
        """
        assert dbms.sql is not None
        assert dbms.sql.snapshot is not None
        if name == TRANSACTIONS:
            transactions = KINDS[self.kind](self.warehouses, clients)
            return TestOnDbms(transactions=transactions, freshness=WritesFreshness())
        session = [dbms.sql.snapshot]
        if name == HOLD:
            read = Call(sql="SELECT COUNT(*) FROM warehouse", rows=1)
            held = Transaction(name=HOLD, calls=[COMMIT, BEGIN, read])
            return TestOnDbms(session=session, transactions=[held])
        return TestOnDbms(
            session=session,
            transactions=[
                Transaction(name=name, calls=calls) for name, calls in _reads(name).items()
            ],
            freshness=ReadsFreshness(statement=f"SELECT client, operation FROM {FRESHNESS}"),
        )


def _reads(name: str) -> dict[str, list[Call]]:
    """Return the operations of a test that reads; the last transaction of each is left open."""
    queries = {query: Call(sql=sql) for query, sql in QUERIES.items()}
    if name == REPORT:
        return {name: [BEGIN, *queries.values()]}
    if name == QUERY_SET:
        first, *others = queries.values()
        following = [call for query in others for call in (COMMIT, BEGIN, query)]
        return {name: [BEGIN, first, *following]}
    return {query: [BEGIN, call] for query, call in queries.items() if name in {query, ANY_QUERY}}
