"""The benchmark htap: its tests, its table and its commands to the driver."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from slowdust.analysis.stored import analyse
from slowdust.benchmarks import known_test
from slowdust.benchmarks.described import Call, Distinct, Draw, Same, Span
from slowdust.benchmarks.htap import HTAP, HtapTable, HtapTest
from slowdust.benchmarks.htap.tables import LINES
from slowdust.benchmarks.htap.tests import (
    ANY_QUERY,
    HOLD,
    QUERY_SET,
    REPORT,
    TRANSACTIONS,
    clients_of_point,
    steps_up_to,
)
from slowdust.benchmarks.htap.transactions import KINDS, HtapData
from slowdust.dbms import family
from slowdust.errors import UsageError
from slowdust.experiment.passes.slices import make_slice_method
from slowdust.experiment.passes.work_counts import counted_steps
from slowdust.experiment.plan import plan
from slowdust.experiment.spec.options import spec_from_options
from slowdust.experiment.spec.spec import parse_spec, read_spec
from slowdust.report.markdown.report import render
from tests.unit.synthetic import synthetic_experiment


def test_suites_follow_the_table() -> None:
    usual = HTAP.configured(HtapTable())
    assert usual.suites["default"] == (
        "queries",
        "transactions",
        "queries.beside",
        "transactions.beside",
    )
    held = HTAP.configured(HtapTable(hold=30.0, rate=250.0))
    assert held.suites["default"][4:] == ("queries.hold", "transactions.hold")
    test = held.test("queries.hold")
    assert test is not None and test.beside is not None
    assert (test.hold, test.beside.rate, test.beside.writes) == (30.0, 250.0, True)
    assert test.changes_data and not test.writes
    assert "queries.hold" not in usual.suites["full"]
    assert usual.test("queries.hold"), "it can be named all the same"


def test_a_grid_has_each_side_alone_and_all_pairs() -> None:
    assert [steps_up_to(most) for most in (1, 2, 3, 8)] == [
        [0, 1],
        [0, 1, 2],
        [0, 1, 2, 3],
        [0, 1, 2, 4, 8],
    ]
    wide = HTAP.configured(HtapTable(grid=(4, 1)))
    points = [clients_of_point(name) for name in wide.suites["frontier"]]
    assert points == [(0, 1), (1, 0), (1, 1), (2, 0), (2, 1), (4, 0), (4, 1)]
    pair, ends = wide.test("mixed.t4q1"), [wide.test("mixed.t4q0"), wide.test("mixed.t0q1")]
    assert pair is not None and pair.beside is not None
    assert (pair.driver_test, pair.beside.test, pair.beside.clients_beside(9)) == (
        TRANSACTIONS,
        ANY_QUERY,
        1,
    )
    assert [end and (end.driver_test, end.beside) for end in ends] == [
        (TRANSACTIONS, None),
        (ANY_QUERY, None),
    ]
    assert known_test("htap", "mixed.t64q32"), "records of any grid are known"
    assert known_test("htap", "mixed.t0q0") is None
    assert clients_of_point("mixed.t01q1") is None


def test_points_have_their_own_clients_and_only_what_runs_alone_is_counted() -> None:
    spec = parse_spec(
        {
            "name": "x",
            "contenders": ["postgres@17.6"],
            "benchmark": "htap",
            "tests": ["queries", "queries.beside", "mixed.t2q*"],
            "clients": [1, 8],
        }
    )
    steps = [(step.test.name, step.clients) for step in plan(spec)]
    assert steps == [
        ("queries", 1),
        ("queries", 8),
        ("queries.beside", 1),
        ("queries.beside", 8),
        ("mixed.t2q0", 2),
        ("mixed.t2q1", 2),
        ("mixed.t2q2", 2),
    ]
    assert [step.test.name for step in counted_steps(spec)] == ["queries"]


def test_options_and_files_set_the_same_keys(tmp_path: Path) -> None:
    options = {
        "benchmark": "htap",
        "transactions": "insert",
        "rate": 20.0,
        "warehouses": 3,
        "hold": "90s",
        "grid": "4x2",
        "name": "x",
    }
    spec = spec_from_options(["postgres@17.6"], options)
    assert spec.rate is None, "the rate is that of the benchmark's own table"
    assert vars(spec)["htap"] == HtapTable(
        transactions="insert", rate=20.0, warehouses=3, hold=90.0, grid=(4, 2)
    )
    file = tmp_path / "x.toml"
    file.write_text(spec.to_toml())
    assert read_spec(file) == spec


@pytest.mark.parametrize(
    ("lines", "place"),
    [
        ('[htap]\ngrid = "4"', "4: htap.grid: '4'"),
        ('[htap]\ngrid = "0x2"', "4: htap.grid: 0"),
        ("[htap]\nrate = 0", "4: htap.rate: 0"),
        ("[htap]\nhold = 0.5", "4: htap.hold: "),
        ("[htap]\nholds = 1", "4: htap.holds: "),
        ("rows = 1000", "3: rows: "),
        ("clients = [65]", "3: clients: "),
        ("[rate]\nper_second = 9", "rate: "),
        ("rate = 5", "3: rate: "),
    ],
)
def test_wrong_files_are_one_line_with_file_line_and_key(
    tmp_path: Path, lines: str, place: str
) -> None:
    file = tmp_path / "x.toml"
    file.write_text(f'contenders = ["postgres@17.6"]\nbenchmark = "htap"\n{lines}\n')
    with pytest.raises(UsageError) as caught:
        read_spec(file)
    (line,) = str(caught.value).splitlines()
    assert line.startswith(f"{file}:")
    assert place in line


def test_a_hold_belongs_to_two_benchmarks() -> None:
    with pytest.raises(UsageError) as caught:
        spec_from_options(["postgres@17.6"], {"benchmark": "micro", "hold": "5s"})
    assert str(caught.value).startswith("--hold ")
    assert "--benchmark insert or htap" in str(caught.value)


@pytest.mark.parametrize(
    ("kind", "phrase"),
    [
        ("tpcc", "2 warehouses, 60,000 order lines"),
        ("insert", "2 warehouses, 60,000 order lines, 20,000 rows of htap_purchases"),
    ],
)
def test_a_report_says_what_was_loaded(kind: str, phrase: str) -> None:
    spec = spec_from_options(
        ["postgres@17.6"], {"benchmark": "htap", "transactions": kind, "name": "x"}
    )
    method = make_slice_method(spec)
    assert (method.data, method.rows, method.tables) == (phrase, None, None)
    manifest, slices = synthetic_experiment(["a", "b"], ["queries"], blocks=4)
    manifest.method.data = method.data
    first, *_ = [line for line in render(analyse(manifest, slices)).splitlines() if phrase in line]
    assert "100,000" not in first


@pytest.mark.parametrize("dbms", ["postgres", "mysql", "mariadb"])
@pytest.mark.parametrize("kind", KINDS)
def test_each_statement_has_as_many_values_as_places(dbms: str, kind: str) -> None:
    data = HtapData(2, kind)
    for name in (TRANSACTIONS, QUERY_SET, ANY_QUERY, REPORT, HOLD, "q1"):
        for transaction in data.test(name, family(dbms), clients=2).transactions:
            places = 0
            for call in transaction.calls:
                drawn = [_places(value.draw) for value in call.values]
                assert sum(drawn) == call.sql.count("?"), call.sql
                for value in call.values:
                    if isinstance(value.draw, Same):
                        assert value.draw.place < places + sum(drawn), call.sql
                places += sum(drawn) * call.repeat


def _places(draw: object) -> int:
    if isinstance(draw, Distinct):
        return draw.count
    return 2 if isinstance(draw, Span) else 1


def test_values_that_are_the_same_are_those_that_are_meant() -> None:
    """The order's items, its district, and the id that is deleted and inserted again."""
    tpcc = HtapData(2, "tpcc").test(TRANSACTIONS, family("postgres"), clients=1)
    new_order = tpcc.transactions[0]
    drawn = _draws(new_order.calls)
    line = next(call for call in new_order.calls if call.sql.startswith("INSERT INTO order_line"))
    assert isinstance(item := line.values[0].draw, Same)
    assert drawn[item.place] == Distinct(low=1, high=10_000, count=LINES[0])
    read_write = HtapData(2, "read-write").test(TRANSACTIONS, family("postgres"), clients=1)
    (transaction,) = read_write.transactions
    insert = next(call for call in transaction.calls if call.sql.startswith("INSERT"))
    deleted = next(call for call in transaction.calls if call.sql.startswith("DELETE"))
    assert isinstance(same := insert.values[0].draw, Same)
    assert _draws(transaction.calls)[same.place] == deleted.values[0].draw


def _draws(calls: list[Call]) -> list[Draw]:
    return [
        value.draw
        for call in calls
        for _ in range(call.repeat)
        for value in call.values
        for _ in range(_places(value.draw))
    ]


def test_queries_leave_their_last_transaction_open_for_freshness() -> None:
    data = HtapData(2, "tpcc")

    def texts(name: str) -> list[str]:
        (transaction,) = data.test(name, family("mysql"), 1).transactions
        return [call.sql.split()[0] for call in transaction.calls]

    assert texts(QUERY_SET)[:4] == ["BEGIN", "SELECT", "COMMIT", "BEGIN"]
    assert texts(QUERY_SET)[-1] == "SELECT" and texts(QUERY_SET).count("BEGIN") == 10
    assert texts(REPORT) == ["BEGIN", *["SELECT"] * 10], "one snapshot for all"
    assert texts(HOLD) == ["COMMIT", "BEGIN", "SELECT"]
    any_query = data.test(ANY_QUERY, family("mysql"), 1)
    assert len(any_query.transactions) == 10
    written = msgspec.json.decode(msgspec.json.encode(any_query))
    assert written["freshness"]["kind"] == "reads"
    assert not HTAP.suits(family("sqlite")), "all queries would not see one snapshot"


def test_sizes_are_proportional_to_the_warehouses() -> None:
    mysql = family("mysql")
    rows = [
        {table.name: table.rows for table in HtapData(count, "insert").tables(mysql).tables}
        for count in (1, 3)
    ]
    assert rows[0]["order_line"] == 10 * rows[0]["orders"] == 30_000
    assert rows[0]["stock"] == rows[0]["htap_purchases"] == 10_000
    for name in ("warehouse", "customer", "order_line", "stock", "htap_purchases"):
        assert rows[1][name] == 3 * rows[0][name]
    assert rows[1]["item"] == rows[0]["item"]
    assert HtapData(1, "insert").rows == sum(rows[0].values())
    assert isinstance(HTAP.test("q1"), HtapTest)
