"""The mixed load on real servers: its tables, transactions and queries, and an experiment."""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from pathlib import Path

import jsonschema
import msgspec
import pytest

from slowdust.benchmarks.htap.tests import ANY_QUERY, HOLD, QUERIES, QUERY_SET, REPORT, TRANSACTIONS
from slowdust.benchmarks.htap.transactions import KINDS, HtapData
from slowdust.dbms import family
from slowdust.report.json import report_schema
from slowdust.store.folder import Folder
from tests.integration.driver_process import Driver, Event, Target
from tests.integration.servers import NEW_MYSQL, POSTGRES, SharedServers
from tests.integration.slowdust_command import Workplace
from tests.tiers.selection import full

SERVERS = [(POSTGRES, []), ("mariadb@10.11.18/innodb", []), (NEW_MYSQL, [full])]
TPCC = [pytest.param((server, "tpcc"), marks=marks) for server, marks in SERVERS]
OTHER_KINDS = [
    pytest.param((server, kind), marks=marks)
    for kind in KINDS
    if kind != "tpcc"
    for server, marks in SERVERS
]
UNSIZED = {"tables": 1, "rows": 1, "seed": 7, "benchmark": "described"}


@dataclass(frozen=True)
class Mixed:
    """The tables of one kind of transactions on a server, which all tests of them use."""

    target: Target
    data: HtapData

    def open(self, driver: Driver, test: str, *, clients: int = 1, first: int = 0) -> str:
        described = plain(self.data.test(test, family(self.target["dbms"]), clients))
        return driver.open(self.target, test, clients, described=described, first=first, **UNSIZED)

    def count(self, driver: Driver) -> dict[str, int]:
        texts = [f"SELECT COUNT(*) FROM {name}" for name in self.data.names]
        results = driver.sql(self.target, *texts)
        rows = (int(result["rows"][0][0]) for result in results)
        return dict(zip(self.data.names, rows, strict=True))

    def rows_of_queries(self, driver: Driver) -> dict[str, int]:
        """Return the number of rows that each query finds."""
        results = driver.sql(self.target, *QUERIES.values())
        return {query: len(result["rows"]) for query, result in zip(QUERIES, results, strict=True)}


@pytest.fixture(scope="module", params=[*TPCC, *OTHER_KINDS], ids="-".join)
def mixed(request: pytest.FixtureRequest, shared_servers: SharedServers) -> Mixed:
    server, kind = request.param
    target, data = shared_servers(server).target(), HtapData(1, kind)
    with Driver() as driver:
        loaded = driver.expect(
            "loaded",
            "load",
            target=target,
            parallel=1,
            described=plain(data.tables(family(target["dbms"]))),
            **UNSIZED,
        )
    assert loaded["rows"] == data.rows
    return Mixed(target, data)


of_tpcc = pytest.mark.parametrize("mixed", TPCC, indirect=True, ids="-".join)
of_postgres = pytest.mark.parametrize("mixed", TPCC[:1], indirect=True, ids="-".join)


def plain(described: object) -> object:
    return msgspec.json.decode(msgspec.json.encode(described))


def test_transactions_keep_the_size_and_what_belongs_together(mixed: Mixed, driver: Driver) -> None:
    before = mixed.count(driver)
    session = mixed.open(driver, TRANSACTIONS, clients=2)
    ran = driver.expect("ran", "run", session=session, stop={"positions": [150, 150]})
    assert ran["operations"] == 300 and not ran["errors"]
    after = mixed.count(driver)
    for table in ("htap_sbtest", "htap_purchases", "customer", "stock", "htap_freshness"):
        assert after.get(table) == before.get(table)
    (lines,) = driver.sql(mixed.target, "SELECT SUM(o_ol_cnt) FROM orders")
    assert after["order_line"] == int(lines["rows"][0][0])
    # A removal leaves as many orders as there were: each of ten districts has a few more.
    assert 0 <= after["orders"] - before["orders"] < 60
    assert 0 <= after["new_order"] - before["new_order"] < 60
    assert after["history"] == before["history"]
    (seen,) = driver.sql(
        mixed.target,
        "SELECT client, operation FROM htap_freshness WHERE operation >= 0 ORDER BY client",
    )
    assert seen["rows"] == [["0", "298"], ["1", "299"]]
    # A session that continues after it does other operations and finds its rows.
    driver.close(session)
    session = mixed.open(driver, TRANSACTIONS, first=300)
    ran = driver.expect("ran", "run", session=session, stop={"positions": [40]})
    assert not ran["errors"]


@of_tpcc
def test_each_query_finds_rows_and_has_a_plan(mixed: Mixed, driver: Driver) -> None:
    assert len(QUERIES) >= 8
    for query in QUERIES:
        session = mixed.open(driver, query)
        (plan,) = driver.expect("explained", "explain", session=session)["plans"]
        assert plan["plan"]
        ran = driver.expect("ran", "run", session=session, stop={"positions": [1]})
        assert not ran["errors"] and ran["rows"] > 0, query
        driver.close(session)
    session = mixed.open(driver, QUERY_SET)
    ran = driver.expect("ran", "run", session=session, stop={"positions": [1]})
    assert ran["statements"] == 3 * len(QUERIES), "BEGIN, a query, COMMIT"


def test_transactions_have_plans(mixed: Mixed, driver: Driver) -> None:
    session = mixed.open(driver, TRANSACTIONS)
    plans = driver.expect("explained", "explain", session=session)["plans"]
    described = mixed.data.test(TRANSACTIONS, family(mixed.target["dbms"]), 1)
    statements = {call.sql for each in described.transactions for call in each.calls}
    for verb in ("SELECT", "UPDATE", "DELETE"):  # MySQL has no plan for an INSERT of values
        explained = sum(plan["statement"].startswith(verb) for plan in plans)
        known = sum(sql.startswith(verb) for sql in statements)
        # MariaDB has no plan for what it knows to find no row.
        assert explained == known or (mixed.target["dbms"] == "mariadb" and 0 < explained < known)


@full
@of_postgres
def test_data_is_alike_after_many_transactions(mixed: Mixed, driver: Driver) -> None:
    """One in four transactions makes an order, and others deliver and remove as many."""
    before, found = mixed.count(driver), mixed.rows_of_queries(driver)
    assert found["q1"] == 15 and found["q4"] == found["q12"] == 10, "several groups"
    next_order = "SELECT SUM(d_next_o_id) FROM district"
    (was,) = driver.sql(mixed.target, next_order)
    session = mixed.open(driver, TRANSACTIONS, clients=2, first=1_000)
    pages = []
    for end in (500, 1_000, 1_500):
        ran = driver.expect("ran", "run", session=session, stop={"positions": [end, end]})
        assert not ran["errors"]
        # As maintenance after each test: without VACUUM it grows by an eighth each time.
        driver.sql(mixed.target, "VACUUM (ANALYZE) order_line", "VACUUM (ANALYZE) orders")
        (size,) = driver.sql(mixed.target, "SELECT pg_relation_size('order_line') / 8192")
        pages.append(int(size["rows"][0][0]))
    assert pages[2] < 1.1 * pages[0], pages
    (now,) = driver.sql(mixed.target, next_order)
    assert int(now["rows"][0][0]) - int(was["rows"][0][0]) > 0.22 * before["orders"]
    after = mixed.count(driver)
    for table, rows in before.items():
        assert 0.98 * rows <= after[table] < 1.07 * rows, table
    for query, rows in mixed.rows_of_queries(driver).items():
        # The rows of a filter are few and by chance; three deviations of either count.
        assert abs(rows - found[query]) <= 3 * (2 * found[query]) ** 0.5, query
    (balances,) = driver.sql(
        mixed.target,
        "SELECT COUNT(*), AVG(c_balance), MIN(c_balance), MAX(c_balance) FROM customer",
    )
    _, mean, least, most = map(float, balances["rows"][0])
    # Uniform from -500 to 500: the mean of 3,000 has a deviation of 5.3.
    assert abs(mean) < 25 and -500 <= least < -490 and 490 < most < 500


def beside(driver: Driver, main: str, other: str, rate: float | None = None) -> Event:
    paced = {} if rate is None else {"rate": {"per_second": rate, "arrivals": "uniform"}}
    return driver.expect(
        "ran", "run", session=main, stop={"seconds": 1.0}, beside=[{"session": other, **paced}]
    )


@of_tpcc
def test_queries_are_fresh_unless_their_snapshot_is_old(mixed: Mixed, driver: Driver) -> None:
    transactions = mixed.open(driver, TRANSACTIONS, clients=2, first=10_000)
    queries = mixed.open(driver, ANY_QUERY)
    ran = beside(driver, queries, transactions, 100.0)
    assert sum(ran["freshness"]["counts"]) == ran["operations"] > 0
    assert ran["freshness"]["max_ns"] == 0, "one server shows all that was committed"
    assert ran["beside"][0]["operations"] > 0
    # The last query of a report reads in the snapshot of the first one.
    report = mixed.open(driver, REPORT)
    ran = beside(driver, report, transactions, 100.0)
    stale = ran["freshness"]["max_ns"]
    assert 0 < stale <= ran["latency"]["max_ns"]
    alone = driver.run(queries)
    assert "freshness" not in alone
    ran = beside(driver, transactions, queries)
    assert sum(ran["freshness"]["counts"]) > 0, "also where the queries are beside"


@of_tpcc
def test_a_transaction_is_held_open_between_two_operations(mixed: Mixed, driver: Driver) -> None:
    open_transactions = {
        "postgres": "SELECT count(*) FROM pg_stat_activity WHERE state = 'idle in transaction'"
        " AND backend_xmin IS NOT NULL",
        "mariadb": "SELECT count(*) FROM information_schema.innodb_trx",
        "mysql": "SELECT count(*) FROM information_schema.innodb_trx",
    }[mixed.target["dbms"]]

    def held() -> int:
        time.sleep(0.2)  # InnoDB shows what it saw a tenth of a second ago
        return int(driver.sql(mixed.target, open_transactions)[0]["rows"][0][0])

    before = held()
    session = mixed.open(driver, HOLD)
    for position in (1, 2):
        driver.expect("ran", "run", session=session, stop={"positions": [position]})
        # An idle transaction of Postgres has a snapshot only with repeatable read.
        assert held() == before + 1
    driver.close(session)


@pytest.mark.parametrize("bases", [[], pytest.param(["postgres@15.8"], marks=full)], ids=len)
def test_an_experiment_has_both_sides_and_a_frontier(open_dir: Path, bases: list[str]) -> None:
    place = Workplace(open_dir)
    place.run(
        *("compare", *bases, "postgres@17.6", "--benchmark", "htap", "--name", "mixed"),
        *("--tests", "queries.beside,transactions.hold,mixed.t1q1,mixed.t0q1,mixed.t1q0"),
        # A block at least of each start: an interval needs two.
        *("--budget", "4s", "--slice", "50ms", "--incarnations", "2"),
        *("--warehouses", "1", "--rate", "50"),
        *("--hold", "1s", "--count", "off", "--yes"),
    )
    report = place.report("mixed")
    jsonschema.validate(report, json.loads(report_schema()))
    results = {(each["test"], each["contender"]): each for each in report["results"]}
    queries = results["queries.beside", "postgres@17.6"]
    assert queries["errors"] == queries["beside"]["errors"] == 0
    assert queries["beside"]["test"] == "transactions"
    assert queries["beside"]["rate"] == 50.0
    # A busy machine may not reach the rate; none exceeds it.
    assert 0 < queries["beside"]["qps"] < 1.3 * 50
    assert queries["beside"]["alone_qps"] > 0
    assert queries["beside"]["low"] < queries["beside"]["relative"] < queries["beside"]["high"]
    assert queries["beside"]["freshness_queries"] > 0
    assert queries["beside"]["stale_queries"] == 0
    verdicts = {"same", "more", "less", "unsure"}
    assert not bases or queries["compared"]["beside_rate"]["verdict"] in verdicts
    # Ten queries and all transactions: each was executed once, alone.
    assert queries["amounts"]["rows_read"] > 1000
    held = results["transactions.hold", "postgres@17.6"]
    assert held["amounts"]["rows_written"] > 0
    assert held["beside"]["test"] == "any-query"
    points = {
        (point["transaction_clients"], point["query_clients"]): point
        for point in report["frontier"]
        if point["contender"] == report["base"]
    }
    assert points.keys() == {(1, 1), (0, 1), (1, 0)}
    assert points[1, 0]["queries_per_s"] == points[0, 1]["transactions_per_s"] == 0
    assert min(points[1, 1]["queries_per_s"], points[1, 1]["transactions_per_s"]) > 0
    markdown = place.run("report", "mixed", "--md")
    assert "## Mixed load" in markdown and "## Frontier" in markdown
    page = open_dir / "page.html"
    place.run("report", "mixed", "--html", str(page))
    assert 'id="beside"' in page.read_text()
    header, *rows = place.run("report", "mixed", "--csv").splitlines()
    assert "beside_relative" in header.split(",") and len(rows) == len(report["results"])
    slices = Folder(open_dir / "results/mixed").read_slices()
    assert all(record.beside.alone_qps is not None for record in slices if record.beside)


def test_a_server_that_it_is_not_written_for_is_wrong_use(tmp_path: Path) -> None:
    place = Workplace(tmp_path)
    (tmp_path / "mixed.toml").write_text(
        'contenders = ["postgres@17.6", "sqlite@3.50.2"]\nbenchmark = "htap"\n'
    )
    message = place.errors("run", "mixed.toml", expect=2)
    assert message.startswith("slowdust: mixed.toml:1: contenders: ")
    assert "postgres, mysql and mariadb" in message
