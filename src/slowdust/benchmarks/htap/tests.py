"""The tests of the mixed load, and the analytic queries of CH-benCHmark on TPC-C's tables.

A test runs one side alone, one side with the other in the background, or a point of a frontier. The
queries are TPC-H's, adapted to the tables of TPC-C and three tables of TPC-H (suppliers, nations,
regions). Constants match the values that `tables.py` generates. The text is the same for all DBMS.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from slowdust.benchmarks.model import Beside, Group, Phase, Test
from slowdust.units import Second

SUPPLIERS = 1_000
_SINCE = "'2015-03-01 00:00:00'"
_UNTIL = "'2015-09-01 00:00:00'"
_LINES_OF_ORDERS = "ol_w_id = o_w_id AND ol_d_id = o_d_id AND ol_o_id = o_id"
_ORDERS_OF_CUSTOMERS = "o_w_id = c_w_id AND o_d_id = c_d_id AND o_c_id = c_id"
_COUNTRIES = "('1', '2', '3', '4', '5', '6', '7')"

QUERIES: dict[str, str] = {
    "q1": "SELECT ol_number, SUM(ol_quantity), SUM(ol_amount), AVG(ol_quantity), AVG(ol_amount),"
    f" COUNT(*) FROM order_line WHERE ol_delivery_d > {_SINCE}"
    " GROUP BY ol_number ORDER BY ol_number",
    "q3": "SELECT ol_o_id, ol_w_id, ol_d_id, SUM(ol_amount) AS revenue, o_entry_d"
    " FROM customer, new_order, orders, order_line"
    f" WHERE c_state LIKE 'A%' AND {_ORDERS_OF_CUSTOMERS}"
    " AND no_w_id = o_w_id AND no_d_id = o_d_id AND no_o_id = o_id"
    f" AND {_LINES_OF_ORDERS} AND o_entry_d > {_SINCE}"
    " GROUP BY ol_o_id, ol_w_id, ol_d_id, o_entry_d ORDER BY revenue DESC, o_entry_d",
    "q4": "SELECT o_ol_cnt, COUNT(*) FROM orders"
    f" WHERE o_entry_d >= {_SINCE} AND o_entry_d < {_UNTIL} AND EXISTS"
    f" (SELECT * FROM order_line WHERE {_LINES_OF_ORDERS} AND ol_delivery_d >= o_entry_d)"
    " GROUP BY o_ol_cnt ORDER BY o_ol_cnt",
    "q5": "SELECT n_name, SUM(ol_amount) AS revenue"
    " FROM customer, orders, order_line, stock, supplier, nation, region"
    f" WHERE {_ORDERS_OF_CUSTOMERS} AND {_LINES_OF_ORDERS}"
    " AND s_w_id = ol_w_id AND s_i_id = ol_i_id"
    f" AND MOD(s_w_id * s_i_id, {SUPPLIERS}) = su_suppkey"
    " AND ASCII(SUBSTR(c_state, 1, 1)) = su_nationkey AND su_nationkey = n_nationkey"
    " AND n_regionkey = r_regionkey AND r_name = 'EUROPE'"
    f" AND o_entry_d >= {_SINCE} GROUP BY n_name ORDER BY revenue DESC",
    "q6": "SELECT SUM(ol_amount) AS revenue FROM order_line"
    f" WHERE ol_delivery_d >= {_SINCE} AND ol_delivery_d < {_UNTIL}"
    " AND ol_quantity BETWEEN 2 AND 8",
    "q12": "SELECT o_ol_cnt,"
    " SUM(CASE WHEN o_carrier_id = 1 OR o_carrier_id = 2 THEN 1 ELSE 0 END),"
    " SUM(CASE WHEN o_carrier_id <> 1 AND o_carrier_id <> 2 THEN 1 ELSE 0 END)"
    f" FROM orders, order_line WHERE {_LINES_OF_ORDERS} AND o_entry_d <= ol_delivery_d"
    f" AND ol_delivery_d < {_UNTIL} GROUP BY o_ol_cnt ORDER BY o_ol_cnt",
    "q14": "SELECT 100.00 * SUM(CASE WHEN i_data LIKE 'a%' THEN ol_amount ELSE 0 END)"
    " / (1 + SUM(ol_amount)) FROM order_line, item WHERE ol_i_id = i_id"
    f" AND ol_delivery_d >= {_SINCE} AND ol_delivery_d < {_UNTIL}",
    "q18": "SELECT c_last, c_id, o_id, o_entry_d, o_ol_cnt, SUM(ol_amount) AS total"
    f" FROM customer, orders, order_line WHERE {_ORDERS_OF_CUSTOMERS} AND {_LINES_OF_ORDERS}"
    " GROUP BY o_id, o_w_id, o_d_id, c_id, c_last, o_entry_d, o_ol_cnt"
    " HAVING SUM(ol_amount) > 90000 ORDER BY total DESC, o_entry_d",
    "q19": "SELECT SUM(ol_amount) AS revenue FROM order_line, item WHERE ol_i_id = i_id AND ("
    "(i_data LIKE '%a' AND ol_quantity BETWEEN 4 AND 9 AND i_price BETWEEN 1 AND 40)"
    " OR (i_data LIKE '%b' AND ol_quantity BETWEEN 4 AND 9 AND i_price BETWEEN 1 AND 60)"
    " OR (i_data LIKE '%c' AND ol_quantity BETWEEN 4 AND 9 AND i_price BETWEEN 1 AND 80))",
    "q22": "SELECT SUBSTR(c_state, 1, 1) AS country, COUNT(*), SUM(c_balance) FROM customer"
    f" WHERE SUBSTR(c_phone, 1, 1) IN {_COUNTRIES} AND c_balance > (SELECT AVG(c_balance)"
    f" FROM customer WHERE c_balance > 0 AND SUBSTR(c_phone, 1, 1) IN {_COUNTRIES})"
    f" AND NOT EXISTS (SELECT * FROM orders WHERE {_ORDERS_OF_CUSTOMERS})"
    " GROUP BY SUBSTR(c_state, 1, 1) ORDER BY SUBSTR(c_state, 1, 1)",
}
"""Name -> statement: a selection of CH-benCHmark's queries."""

NAME = "htap"
TRANSACTIONS = "transactions"
QUERY_SET = "queries"
"""All queries in sequence as one operation, so that all operations are alike."""
ANY_QUERY = "any-query"
"""One random query as one operation, short enough for the background of transactions."""
HOLD = "hold"
REPORT = "report"
MOST_CLIENTS = 64
"""The largest number of clients of a side: each has its own row for freshness."""
_MIXED = re.compile(r"mixed\.t(0|[1-9]\d?)q(0|[1-9]\d?)")


@dataclass(frozen=True, kw_only=True)
class HtapTest(Test):
    """A test; the driver's name of it is its side."""

    side: str
    clients: int | None = None
    """The number of clients in its name; None to use the experiment's."""
    beside: Beside | None = None
    hold: Second | None = None

    @property
    def paired(self) -> bool:
        """Whether an operation is a random query."""
        return self.side == ANY_QUERY

    @property
    def driver_test(self) -> str:
        return self.side

    @property
    def tidied(self) -> bool:
        return self.changes_data


def _writes(side: str) -> bool:
    return side == TRANSACTIONS


def _test(
    name: str,
    side: str,
    beside: Beside | None = None,
    *,
    hold: Second | None = None,
    clients: int | None = None,
) -> HtapTest:
    is_fresh = beside is None and clients is None and not _writes(side)
    return HtapTest(
        benchmark=NAME,
        name=name,
        group=Group.WRITE if _writes(side) else Group.AGGREGATION,
        phase=Phase.PRE if is_fresh else Phase.WRITE,
        side=side,
        beside=beside,
        hold=hold,
        clients=clients,
    )


def _beside(side: str, *, clients: int | None = None, rate: float | None = None) -> Beside:
    return Beside(side, clients, rate, writes=_writes(side), paired=side == ANY_QUERY)


def clients_of_point(name: str) -> tuple[int, int] | None:
    """Return the clients of transactions and queries of a point; None for other names."""
    match = _MIXED.fullmatch(name)
    return (int(match[1]), int(match[2])) if match else None


def point(transactions: int, queries: int) -> HtapTest:
    """Return the test of a point. Its main side is the transactions, if there are any."""
    name = f"mixed.t{transactions}q{queries}"
    if not transactions:
        return _test(name, ANY_QUERY, clients=queries)
    beside = _beside(ANY_QUERY, clients=queries) if queries else None
    return _test(name, TRANSACTIONS, beside, clients=transactions)


def steps_up_to(most: int) -> list[int]:
    """Return the numbers of clients of a side on a frontier: 0, 1, 2, 4, ..., `most`."""
    doubled = [1 << power for power in range(most.bit_length()) if 1 << power < most]
    return [0, *doubled, most]


def frontier(transactions: int, queries: int) -> Iterator[HtapTest]:
    """Yield the points of a frontier up to these numbers of clients."""
    for t in steps_up_to(transactions):
        for q in steps_up_to(queries):
            if t or q:
                yield point(t, q)


def make_tests(rate: float, hold: Second, grid: tuple[int, int]) -> tuple[HtapTest, ...]:
    """Return all tests in their order; tests that read freshly loaded data come first."""
    transactions = _beside(TRANSACTIONS, rate=rate)
    queries = _beside(ANY_QUERY)
    return (
        *(_test(query, query) for query in QUERIES),
        _test(QUERY_SET, QUERY_SET),
        _test(TRANSACTIONS, TRANSACTIONS),
        _test(f"{QUERY_SET}.beside", QUERY_SET, transactions),
        _test(f"{TRANSACTIONS}.beside", TRANSACTIONS, queries),
        _test(f"{QUERY_SET}.{HOLD}", QUERY_SET, transactions, hold=hold),
        _test(f"{TRANSACTIONS}.{HOLD}", TRANSACTIONS, queries, hold=hold),
        _test(f"{REPORT}.beside", REPORT, transactions),
        *frontier(*grid),
    )
