"""The kinds of transactions: TPC-C's, sysbench's read-write, the Insert Benchmark's writers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from slowdust.benchmarks.described import (
    BIGINT,
    INT,
    TIMESTAMP,
    Call,
    Cycle,
    Described,
    Distinct,
    Draw,
    Letters,
    Own,
    ReadsFreshness,
    Same,
    Serial,
    Span,
    Table,
    Tables,
    TestOnDbms,
    Transaction,
    Type,
    Uniform,
    Value,
    WritesFreshness,
)
from slowdust.benchmarks.htap.tables import (
    AMOUNT,
    BALANCE,
    CARRIER,
    CUSTOMERS,
    DISTRICTS,
    FRESHNESS,
    ITEMS,
    LINES,
    MONEY,
    NEW_ORDERS,
    ORDERS,
    PURCHASE,
    PURCHASES,
    QUANTITY,
    ROWS,
    SBTEST,
    YEAR,
    freshness_table,
    make_tables,
    purchases_table,
    sbtest_table,
)
from slowdust.benchmarks.htap.tests import ANY_QUERY, HOLD, QUERIES, QUERY_SET, REPORT, TRANSACTIONS
from slowdust.sql import Dbms
from slowdust.wording import counted

BEGIN, COMMIT = Call(sql="BEGIN"), Call(sql="COMMIT")
_RANGE = 100
"""Rows per range query of sysbench's transactions."""
_ROWS_PER_COMMIT = 10
"""Rows that a transaction of the Insert Benchmark inserts, and deletes."""
_KEY_AND_BOUNDS = (0, 1, 0, 1, 0, 1)
"""Indexes of the values for a district's key, once for the table and twice for `_between`."""
_MOST_PAID = 5_000
_IN_DISTRICT = "FROM district WHERE d_w_id = ? AND d_id = ?"

_Drawn = tuple[Type, Draw]


def _call(sql: str, *values: _Drawn, rows: int | None = None, repeat: int = 1) -> Call:
    drawn = [Value(type=kind, draw=draw) for kind, draw in values]
    return Call(sql=sql, values=drawn, rows=rows, repeat=repeat)


def _again(*places: int, kind: Type = INT) -> list[_Drawn]:
    return [(kind, Same(place=place)) for place in places]


def _marks(count: int) -> str:
    return ", ".join("?" * count)


def _committed(name: str, calls: Sequence[Call], clients: int, weight: float = 1.0) -> Transaction:
    """Return a transaction that also writes its index into its client's row, for freshness."""
    seen = _call(
        f"UPDATE {FRESHNESS} SET operation = ? WHERE client = ?",
        (BIGINT, Serial(start=0)),
        (INT, Cycle(start=0, each=1, count=clients)),
        rows=1,
    )
    return Transaction(name=name, calls=[BEGIN, *calls, seen, COMMIT], weight=weight)


def _district(warehouses: int) -> list[_Drawn]:
    return [(INT, Uniform(low=1, high=warehouses)), (INT, Uniform(low=1, high=DISTRICTS))]


def _new_order(warehouses: int, count: int) -> list[Call]:
    """Return the statements of a new order with `count` lines."""
    district = _again(0, 1)
    items = list(range(7, 7 + count))
    lines = [
        _call(
            "INSERT INTO order_line SELECT d_w_id, d_id, d_next_o_id - 1, "
            f"{number}, ?, ?, ?, ?, ? {_IN_DISTRICT}",
            *_again(items[number - 1]),
            (TIMESTAMP, YEAR),
            (INT, QUANTITY),
            (MONEY, AMOUNT),
            (Type(kind="char", length=24), Letters(shortest=24, longest=24)),
            *district,
            rows=1,
        )
        for number in range(1, count + 1)
    ]
    return [
        _call(
            "UPDATE district SET d_next_o_id = d_next_o_id + 1 WHERE d_w_id = ? AND d_id = ?",
            *_district(warehouses),
            rows=1,
        ),
        _call(
            "INSERT INTO orders SELECT d_w_id, d_id, d_next_o_id - 1, ?, ?, ?, "
            f"{count} {_IN_DISTRICT}",
            (INT, Uniform(low=1, high=CUSTOMERS)),
            (TIMESTAMP, YEAR),
            (INT, CARRIER),
            *district,
            rows=1,
        ),
        _call(
            f"SELECT i_id, i_name, i_price FROM item WHERE i_id IN ({_marks(count)})",
            (INT, Distinct(low=1, high=ITEMS, count=count)),
            rows=count,
        ),
        _call(
            "SELECT c_last, c_credit, c_discount, w_tax FROM customer, warehouse"
            " WHERE c_w_id = ? AND c_d_id = ? AND c_id = ? AND w_id = c_w_id",
            *_again(0, 1, 2),
            rows=1,
        ),
        _call(
            f"INSERT INTO new_order SELECT d_w_id, d_id, d_next_o_id - 1 {_IN_DISTRICT}",
            *district,
            rows=1,
        ),
        _call(
            "UPDATE stock SET s_ytd = s_ytd + 5, s_order_cnt = s_order_cnt + 1, s_quantity ="
            " CASE WHEN s_quantity >= 15 THEN s_quantity - 5 ELSE s_quantity + 86 END"
            f" WHERE s_w_id = ? AND s_i_id IN ({_marks(count)})",
            *_again(0, *items),
            rows=count,
        ),
        *lines,
    ]


def _payment(warehouses: int) -> list[Call]:
    return [
        _call(
            "SELECT d_name, w_name FROM district, warehouse"
            " WHERE d_w_id = ? AND d_id = ? AND w_id = d_w_id",
            *_district(warehouses),
            rows=1,
        ),
        _call(
            "UPDATE warehouse SET w_ytd = w_ytd + ? WHERE w_id = ?",
            (MONEY, Uniform(low=100, high=100 * _MOST_PAID, scale=2)),
            *_again(0),
            rows=1,
        ),
        _call(
            "UPDATE district SET d_ytd = d_ytd + ? WHERE d_w_id = ? AND d_id = ?",
            *_again(2, kind=MONEY),
            *_again(0, 1),
            rows=1,
        ),
        _call(
            "UPDATE customer SET"
            f" c_balance = MOD(c_balance + {BALANCE + _MOST_PAID} - ?, {2 * BALANCE}) - {BALANCE},"
            " c_ytd_payment = c_ytd_payment + ?, c_payment_cnt = c_payment_cnt + 1"
            " WHERE c_w_id = ? AND c_d_id = ? AND c_id = ?",
            *_again(2, 2, kind=MONEY),
            *_again(0, 1),
            (INT, Uniform(low=1, high=CUSTOMERS)),
            rows=1,
        ),
        _call(
            "DELETE FROM history WHERE h_c_w_id = ? AND h_c_d_id = ? AND h_c_id = ?",
            *_again(0, 1, 11),
            rows=1,
        ),
        _call(
            f"INSERT INTO history VALUES ({_marks(6)})",
            *_again(0, 1, 11),
            (TIMESTAMP, YEAR),
            *_again(2, kind=MONEY),
            (Type(kind="char", length=24), Letters(shortest=12, longest=24)),
            rows=1,
        ),
    ]


def _delivery(warehouses: int) -> list[Call]:
    first, end = "d_delivered_o_id", "d_undelivered_o_id"
    delivered, orders = _between(first, end), "o_w_id = ? AND o_d_id = ? AND o_id"
    total = (
        "(SELECT SUM(ol_amount) FROM orders, order_line"
        f" WHERE {orders} {delivered} AND o_c_id = c_id"
        " AND ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id)"
    )
    places = _again(*_KEY_AND_BOUNDS)
    return [
        _move_on(first, end, NEW_ORDERS, warehouses),
        _call(
            f"DELETE FROM new_order WHERE no_w_id = ? AND no_d_id = ? AND no_o_id {delivered}",
            *places,
        ),
        _call(
            f"UPDATE orders SET o_carrier_id = ? WHERE {orders} {delivered}",
            (INT, CARRIER),
            *places,
        ),
        _call(
            "UPDATE order_line SET ol_delivery_d = ?"
            f" WHERE ol_w_id = ? AND ol_d_id = ? AND ol_o_id {delivered}",
            (TIMESTAMP, YEAR),
            *places,
        ),
        _call(
            "UPDATE customer SET"
            f" c_balance = MOD(c_balance + {BALANCE} + {total}, {2 * BALANCE}) - {BALANCE}"
            " WHERE c_w_id = ? AND c_d_id = ?"
            f" AND c_id IN (SELECT o_c_id FROM orders WHERE {orders} {delivered})",
            *places,
            *_again(0, 1),
            *places,
        ),
    ]


def _removal(warehouses: int) -> list[Call]:
    first, end = "d_removed_o_id", "d_first_o_id"
    keys = {
        "order_line": "ol_w_id = ? AND ol_d_id = ? AND ol_o_id",
        "orders": "o_w_id = ? AND o_d_id = ? AND o_id",
    }
    return [
        _move_on(first, end, ORDERS, warehouses),
        *(
            _call(
                f"DELETE FROM {table} WHERE {key} {_between(first, end)}", *_again(*_KEY_AND_BOUNDS)
            )
            for table, key in keys.items()
        ),
    ]


def _move_on(first: str, end: str, left: int, warehouses: int) -> Call:
    """Set the range of a district's orders to process: [first, end) is all but the last `left`.

    It is empty if there was no new order since the last time, and has more than one order if there
    were several.
    """
    return _call(
        f"UPDATE district SET {first} = {end}, {end} = d_next_o_id - {left}"
        " WHERE d_w_id = ? AND d_id = ?",
        *_district(warehouses),
        rows=1,
    )


def _between(first: str, end: str) -> str:
    return f"BETWEEN (SELECT {first} {_IN_DISTRICT}) AND (SELECT {end} - 1 {_IN_DISTRICT})"


def _tpcc(warehouses: int, clients: int) -> list[Transaction]:
    weight = 1 / len(LINES)
    return [
        *(
            _committed(f"new-order-{count}", _new_order(warehouses, count), clients, weight)
            for count in LINES
        ),
        _committed("payment", _payment(warehouses), clients),
        _committed("delivery", _delivery(warehouses), clients),
        _committed("remove-orders", _removal(warehouses), clients),
    ]


def _read_write(warehouses: int, clients: int) -> list[Transaction]:
    rows = warehouses * ROWS
    key = (INT, Uniform(low=1, high=rows))
    span = (INT, Span(low=1, high=rows, count=_RANGE))
    text = (Type(kind="char", length=120), Letters(shortest=120, longest=120, alphabet="digits"))
    pad = (Type(kind="char", length=60), Letters(shortest=60, longest=60, alphabet="digits"))
    between = f"FROM {SBTEST} WHERE id BETWEEN ? AND ?"
    calls = [
        _call(f"SELECT c FROM {SBTEST} WHERE id = ?", key, rows=1, repeat=10),
        _call(f"SELECT c {between}", span, rows=_RANGE),
        _call(f"SELECT SUM(k) {between}", span, rows=1),
        _call(f"SELECT c {between} ORDER BY c", span, rows=_RANGE),
        _call(f"SELECT DISTINCT c {between} ORDER BY c", span),
        _call(f"UPDATE {SBTEST} SET k = k + 1 WHERE id = ?", key, rows=1),
        _call(f"UPDATE {SBTEST} SET c = ? WHERE id = ?", text, key, rows=1),
        _call(f"DELETE FROM {SBTEST} WHERE id = ?", (INT, Own(low=1, high=rows)), rows=1),
        _call(
            f"INSERT INTO {SBTEST} (id, k, c, pad) VALUES (?, ?, ?, ?)",
            *_again(21),
            key,
            text,
            pad,
            rows=1,
        ),
    ]
    return [_committed("read-write", calls, clients)]


def _insert(warehouses: int, clients: int) -> list[Transaction]:
    """Return the transaction that appends rows, and deletes the oldest ones."""
    each = _ROWS_PER_COMMIT
    last = warehouses * ROWS
    rows = [
        (kind, draw)
        for number in range(1, each + 1)
        for kind, draw in (
            (BIGINT, Serial(start=last + number, step=each)),
            *((kind, draw) for _, kind, draw in PURCHASE),
        )
    ]
    row = f"({_marks(1 + len(PURCHASE))})"
    calls = [
        _call(f"INSERT INTO {PURCHASES} VALUES {', '.join([row] * each)}", *rows, rows=each),
        _call(
            f"DELETE FROM {PURCHASES} WHERE transactionid BETWEEN ? AND ?",
            (BIGINT, Serial(start=1, step=each)),
            (BIGINT, Serial(start=each, step=each)),
            rows=each,
        ),
    ]
    return [_committed("insert", calls, clients)]


KINDS: dict[str, Callable[[int, int], list[Transaction]]] = {
    "tpcc": _tpcc,
    "read-write": _read_write,
    "insert": _insert,
}
"""Kind -> a function of the numbers of warehouses and clients."""

_OWN_TABLES: dict[str, Callable[[int], Table]] = {
    "read-write": sbtest_table,
    "insert": purchases_table,
}


@dataclass(frozen=True)
class HtapData(Described):
    """The mixed load on a number of warehouses, with one kind of transactions."""

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
        """The loaded data: '2 warehouses, 60,000 order lines', and the kind's own table, if any."""
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
            *make_tables(self.warehouses),
            *([own(self.warehouses)] if own else []),
            freshness_table(),
        ]

    def tables(self, dbms: Dbms) -> Tables:
        return Tables(tables=self._tables)

    def test(self, name: str, dbms: Dbms, clients: int) -> TestOnDbms:
        """Return transactions, all queries, all in one snapshot, any query, one query, or a hold.

        The benchmark must support `dbms`.
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
    """Return the operations of a reading test; each leaves its last transaction open."""
    queries = {query: Call(sql=sql) for query, sql in QUERIES.items()}
    if name == REPORT:
        return {name: [BEGIN, *queries.values()]}
    if name == QUERY_SET:
        first, *others = queries.values()
        following = [call for query in others for call in (COMMIT, BEGIN, query)]
        return {name: [BEGIN, first, *following]}
    return {query: [BEGIN, call] for query, call in queries.items() if name in {query, ANY_QUERY}}
