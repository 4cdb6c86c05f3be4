"""TPC-C's tables, CH-benCHmark's three tables, and the tables of other kinds of transactions.

A warehouse has a tenth of TPC-C's rows, so that loading takes seconds.
"""

from __future__ import annotations

from collections.abc import Sequence

from slowdust.benchmarks.described import (
    BIGINT,
    INT,
    TIMESTAMP,
    Choice,
    Column,
    Cycle,
    Draw,
    Letters,
    Listed,
    Serial,
    Table,
    Type,
    Uniform,
)
from slowdust.benchmarks.htap.tests import MOST_CLIENTS, SUPPLIERS

DISTRICTS = 10
"""Districts of a warehouse; the only number that is the same as in TPC-C."""
CUSTOMERS = 300
"""Customers of a district; each has one order on average."""
ORDERS = 300
"""Orders of a district after each removal of old orders."""
NEW_ORDERS = 90
"""Newest orders of a district that a delivery leaves undelivered."""
LINES = (8, 13, 5, 15, 11, 6, 12, 9, 14, 7)
"""The lines of ten orders, in turn; on average as many as TPC-C's 5 to 15."""
MEAN_LINES = sum(LINES) // len(LINES)
CARRIERS = 10
ITEMS = 10_000
"""Items; each warehouse stocks all of them."""
ROWS = 10_000
"""Rows per warehouse in the tables of `read-write` and `insert`."""

FRESHNESS = "htap_freshness"
SBTEST = "htap_sbtest"
PURCHASES = "htap_purchases"
YEAR = Uniform(low=1_420_070_400, high=1_451_606_399)
"""The year 2015 in seconds: all dates in TPC-C's tables, even for later orders."""
MONEY = Type(kind="sql", name="NUMERIC(12, 2)")
AMOUNT = Uniform(low=1, high=999_999, scale=2)
QUANTITY = Uniform(low=1, high=10)
CARRIER = Uniform(low=1, high=CARRIERS)
BALANCE = 500
"""Balances are from -500.00 to 499.99 and wrap around, so that they stay evenly distributed."""
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
_STATES = Choice(values=[f"{letter}{letter}" for letter in _LETTERS])
"""A nation's key is the character code of the first letter of its customers' states."""
_REGIONS = ("AFRICA", "AMERICA", "ASIA", "EUROPE", "MIDDLE EAST")


def _table(
    name: str, rows: int, key: str, *columns: tuple[str, Type, Draw], after: Sequence[str] = ()
) -> Table:
    """Return a table; `key` lists the columns of its primary key."""
    return Table(
        name=name,
        rows=rows,
        columns=[Column(name=column, type=kind, values=draw) for column, kind, draw in columns],
        primary_key=key.split(),
        after=[*after],
    )


def _digits(length: int) -> Letters:
    return Letters(shortest=length, longest=length, alphabet="digits")


def _text(shortest: int, longest: int) -> Letters:
    return Letters(shortest=shortest, longest=longest)


def _count(each: int, count: int, start: int = 1) -> Cycle:
    return Cycle(start=start, each=each, count=count)


def _always(number: int) -> Serial:
    return Serial(start=number, step=0)


def make_tables(warehouses: int) -> list[Table]:
    districts = warehouses * DISTRICTS
    return [
        _table(
            "warehouse",
            warehouses,
            "w_id",
            ("w_id", INT, Serial(start=1)),
            ("w_name", Type(kind="varchar", length=10), _text(6, 10)),
            ("w_state", Type(kind="char", length=2), _STATES),
            ("w_tax", MONEY, Uniform(low=0, high=20, scale=2)),
            ("w_ytd", MONEY, _always(300_000)),
        ),
        _table(
            "district",
            districts,
            "d_w_id d_id",
            ("d_w_id", INT, _count(DISTRICTS, warehouses)),
            ("d_id", INT, _count(1, DISTRICTS)),
            ("d_name", Type(kind="varchar", length=10), _text(6, 10)),
            ("d_tax", MONEY, Uniform(low=0, high=20, scale=2)),
            ("d_ytd", MONEY, _always(30_000)),
            ("d_next_o_id", INT, _always(ORDERS + 1)),
            ("d_first_o_id", INT, _always(1)),
            ("d_removed_o_id", INT, _always(1)),
            ("d_undelivered_o_id", INT, _always(ORDERS - NEW_ORDERS + 1)),
            ("d_delivered_o_id", INT, _always(ORDERS - NEW_ORDERS + 1)),
        ),
        _table(
            "customer",
            districts * CUSTOMERS,
            "c_w_id c_d_id c_id",
            ("c_w_id", INT, _count(DISTRICTS * CUSTOMERS, warehouses)),
            ("c_d_id", INT, _count(CUSTOMERS, DISTRICTS)),
            ("c_id", INT, _count(1, CUSTOMERS)),
            ("c_first", Type(kind="varchar", length=16), _text(8, 16)),
            ("c_last", Type(kind="varchar", length=16), _text(9, 15)),
            ("c_state", Type(kind="char", length=2), _STATES),
            ("c_phone", Type(kind="char", length=16), _digits(16)),
            ("c_since", TIMESTAMP, YEAR),
            ("c_credit", Type(kind="char", length=2), Choice(values=["GC", "BC"], weights=[9, 1])),
            ("c_discount", MONEY, Uniform(low=0, high=50, scale=2)),
            ("c_balance", MONEY, Uniform(low=-100 * BALANCE, high=100 * BALANCE - 1, scale=2)),
            ("c_ytd_payment", MONEY, _always(10)),
            ("c_payment_cnt", INT, _always(1)),
            ("c_data", Type(kind="varchar", length=500), _text(300, 500)),
        ),
        _table(
            "history",
            districts * CUSTOMERS,
            "h_c_w_id h_c_d_id h_c_id",
            ("h_c_w_id", INT, _count(DISTRICTS * CUSTOMERS, warehouses)),
            ("h_c_d_id", INT, _count(CUSTOMERS, DISTRICTS)),
            ("h_c_id", INT, _count(1, CUSTOMERS)),
            ("h_date", TIMESTAMP, YEAR),
            ("h_amount", MONEY, _always(10)),
            ("h_data", Type(kind="varchar", length=24), _text(12, 24)),
        ),
        *_orders(warehouses),
        *_items(warehouses),
        *_suppliers(),
    ]


def _orders(warehouses: int) -> list[Table]:
    districts = warehouses * DISTRICTS
    return [
        _table(
            "orders",
            districts * ORDERS,
            "o_w_id o_d_id o_id",
            ("o_w_id", INT, _count(DISTRICTS * ORDERS, warehouses)),
            ("o_d_id", INT, _count(ORDERS, DISTRICTS)),
            ("o_id", INT, _count(1, ORDERS)),
            ("o_c_id", INT, Uniform(low=1, high=CUSTOMERS)),
            ("o_entry_d", TIMESTAMP, YEAR),
            ("o_carrier_id", INT, CARRIER),
            ("o_ol_cnt", INT, Listed(values=[*LINES])),
            after=["CREATE INDEX orders_customer ON orders (o_w_id, o_d_id, o_c_id, o_id)"],
        ),
        _table(
            "new_order",
            districts * NEW_ORDERS,
            "no_w_id no_d_id no_o_id",
            ("no_w_id", INT, _count(DISTRICTS * NEW_ORDERS, warehouses)),
            ("no_d_id", INT, _count(NEW_ORDERS, DISTRICTS)),
            ("no_o_id", INT, _count(1, NEW_ORDERS, start=ORDERS - NEW_ORDERS + 1)),
        ),
        _table(
            "order_line",
            districts * ORDERS * MEAN_LINES,
            "ol_w_id ol_d_id ol_o_id ol_number",
            ("ol_w_id", INT, _count(DISTRICTS * ORDERS * MEAN_LINES, warehouses)),
            ("ol_d_id", INT, _count(ORDERS * MEAN_LINES, DISTRICTS)),
            ("ol_o_id", INT, _orders_of_lines()),
            ("ol_number", INT, Listed(values=[n for _, n in _lines_of_orders()])),
            ("ol_i_id", INT, Uniform(low=1, high=ITEMS)),
            ("ol_delivery_d", TIMESTAMP, YEAR),
            ("ol_quantity", INT, QUANTITY),
            ("ol_amount", MONEY, AMOUNT),
            ("ol_dist_info", Type(kind="char", length=24), _text(24, 24)),
        ),
    ]


def _lines_of_orders() -> list[tuple[int, int]]:
    """Return (order, line number) of each line of a district's first ten orders."""
    return [
        (order, number)
        for order, lines in enumerate(LINES, start=1)
        for number in range(1, lines + 1)
    ]


def _orders_of_lines() -> Listed:
    rounds = ORDERS // len(LINES)
    return Listed(values=[order for order, _ in _lines_of_orders()], step=len(LINES), count=rounds)


def _items(warehouses: int) -> list[Table]:
    return [
        _table(
            "item",
            ITEMS,
            "i_id",
            ("i_id", INT, Serial(start=1)),
            ("i_name", Type(kind="varchar", length=24), _text(14, 24)),
            ("i_price", MONEY, Uniform(low=100, high=10_000, scale=2)),
            ("i_data", Type(kind="varchar", length=50), _text(26, 50)),
        ),
        _table(
            "stock",
            warehouses * ITEMS,
            "s_w_id s_i_id",
            ("s_w_id", INT, _count(ITEMS, warehouses)),
            ("s_i_id", INT, _count(1, ITEMS)),
            ("s_quantity", INT, Uniform(low=10, high=100)),
            ("s_dist_info", Type(kind="char", length=24), _text(24, 24)),
            ("s_ytd", INT, _always(0)),
            ("s_order_cnt", INT, _always(0)),
            ("s_data", Type(kind="varchar", length=50), _text(26, 50)),
        ),
    ]


def _suppliers() -> list[Table]:
    nations = ", ".join(
        f"({ord(letter)}, 'NATION {letter}', {place % len(_REGIONS)})"
        for place, letter in enumerate(_LETTERS)
    )
    regions = ", ".join(f"({place}, '{name}')" for place, name in enumerate(_REGIONS))
    no_rows = _always(0)
    return [
        _table(
            "supplier",
            SUPPLIERS,
            "su_suppkey",
            ("su_suppkey", INT, Serial(start=0)),
            ("su_name", Type(kind="char", length=25), _text(25, 25)),
            ("su_nationkey", INT, Uniform(low=ord(_LETTERS[0]), high=ord(_LETTERS[-1]))),
            ("su_acctbal", MONEY, AMOUNT),
        ),
        _table(
            "nation",
            0,
            "n_nationkey",
            ("n_nationkey", INT, no_rows),
            ("n_name", Type(kind="varchar", length=25), no_rows),
            ("n_regionkey", INT, no_rows),
            after=[f"INSERT INTO nation VALUES {nations}"],
        ),
        _table(
            "region",
            0,
            "r_regionkey",
            ("r_regionkey", INT, no_rows),
            ("r_name", Type(kind="varchar", length=25), no_rows),
            after=[f"INSERT INTO region VALUES {regions}"],
        ),
    ]


def freshness_table() -> Table:
    return _table(
        FRESHNESS,
        MOST_CLIENTS,
        "client",
        ("client", INT, Serial(start=0)),
        ("operation", BIGINT, _always(-1)),
    )


def sbtest_table(warehouses: int) -> Table:
    rows = warehouses * ROWS
    return _table(
        SBTEST,
        rows,
        "id",
        ("id", INT, Serial(start=1)),
        ("k", INT, Uniform(low=1, high=rows)),
        ("c", Type(kind="char", length=120), _digits(120)),
        ("pad", Type(kind="char", length=60), _digits(60)),
        after=[f"CREATE INDEX {SBTEST}_k ON {SBTEST} (k){{index_options}}"],
    )


PURCHASE: tuple[tuple[str, Type, Draw], ...] = (
    ("dateandtime", TIMESTAMP, YEAR),
    ("cashregisterid", INT, Uniform(low=1, high=1_000)),
    ("customerid", INT, Uniform(low=1, high=100_000)),
    ("productid", INT, Uniform(low=1, high=10_000)),
    ("price", MONEY, Uniform(low=1, high=50_000, scale=2)),
    ("data", Type(kind="varchar", length=20), _text(10, 20)),
)


def purchases_table(warehouses: int) -> Table:
    indexes = {
        "market": "price, dateandtime, customerid",
        "register": "cashregisterid, customerid, price",
        "product": "productid, customerid, price",
    }
    return _table(
        PURCHASES,
        warehouses * ROWS,
        "transactionid",
        ("transactionid", BIGINT, Serial(start=1)),
        *PURCHASE,
        after=[
            f"CREATE INDEX {PURCHASES}_{name} ON {PURCHASES} ({columns}){{index_options}}"
            for name, columns in indexes.items()
        ],
    )
