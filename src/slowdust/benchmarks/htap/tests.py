"""The tests of the mixed load: each side alone, each beside the other, and points of a frontier."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

from slowdust.benchmarks.htap.queries import QUERIES
from slowdust.benchmarks.model import Beside, Group, Phase, Test
from slowdust.units import Second

NAME = "htap"
TRANSACTIONS = "transactions"
QUERY_SET = "queries"
"""All queries one after the other, as one operation: no two differ in which queries they had."""
ANY_QUERY = "any-query"
"""One of the queries, at random, as one operation: short enough to run beside transactions."""
HOLD = "hold"
REPORT = "report"
MOST_CLIENTS = 64
"""Clients of a side, at most: each has a row of its own that freshness is read from."""
_MIXED = re.compile(r"mixed\.t(0|[1-9]\d?)q(0|[1-9]\d?)")


@dataclass(frozen=True, kw_only=True)
class HtapTest(Test):
    """A test, the driver's name of which is that of its side."""

    side: str
    """The work that its rate counts."""
    clients: int | None = None
    """Number of clients that its name says; None: as many as the experiment wants."""
    beside: Beside | None = None
    hold: Second | None = None

    @property
    def paired(self) -> bool:
        """Whether an operation is any of the queries."""
        return self.side == ANY_QUERY

    @property
    def driver_test(self) -> str:
        """The work's name in the driver."""
        return self.side

    @property
    def tidied(self) -> bool:
        """Whether it changes the data: the queries of the next test read them, too."""
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


def mixed_name(transactions: int, queries: int) -> str:
    """Return the name of a point of the frontier, by the clients of each side."""
    return f"mixed.t{transactions}q{queries}"


def clients_of_point(name: str) -> tuple[int, int] | None:
    """Return the clients of transactions and of queries that a name says; None: it is no point."""
    match = _MIXED.fullmatch(name)
    return (int(match[1]), int(match[2])) if match else None


def point(transactions: int, queries: int) -> HtapTest:
    """Return the test of a point, whose main side are the transactions if there are any."""
    name = mixed_name(transactions, queries)
    if not transactions:
        return _test(name, ANY_QUERY, clients=queries)
    beside = _beside(ANY_QUERY, clients=queries) if queries else None
    return _test(name, TRANSACTIONS, beside, clients=transactions)


def steps_up_to(most: int) -> list[int]:
    """Return the numbers of clients of a side on a frontier: 0, 1, 2, 4, ... and the most."""
    doubled = [1 << power for power in range(most.bit_length()) if 1 << power < most]
    return [0, *doubled, most]


def frontier(transactions: int, queries: int) -> Iterator[HtapTest]:
    """Yield the points of a frontier with so many clients of each side at the most."""
    for t in steps_up_to(transactions):
        for q in steps_up_to(queries):
            if t or q:
                yield point(t, q)


def tests_of(rate: float, hold: Second, grid: tuple[int, int]) -> tuple[HtapTest, ...]:
    """Return all tests in their order: what reads data as they were loaded comes first."""
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
