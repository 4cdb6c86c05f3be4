"""Own workloads on real servers, from files and from the servers' logs."""

from __future__ import annotations

import random
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
from msgspec import structs

from slowdust.dbms.access import Access, Auth, Listen
from slowdust.experiment.driver.process import Driver
from slowdust.workloads.workload import read_workload
from tests.integration.conftest import GetBuildOf
from tests.integration.running_servers import Running
from tests.integration.servers import new_instance
from tests.integration.slowdust_command import Workplace, stop_after_slices
from tests.tiers.selection import full

SHOP = Path(__file__).parents[2] / "examples" / "workloads" / "shop.toml"
TESTS = ["customer", "lines", "best-sellers", "visits", "shop"]
GROUPS = ["point", "range", "range with aggregation", "write", "write"]


def shop(workplace: Workplace, *changes: tuple[str, str]) -> Path:
    """Write the example, with few rows and what else is changed."""
    text = SHOP.read_text()
    for old, new in (
        *(("rows = 10_000", "rows = 1_000"), ("rows = 50_000", "rows = 5_000")),
        *(("rows = 150_000", "rows = 15_000"), ("count = 50_000", "count = 5_000")),
        *changes,
    ):
        assert old in text
        text = text.replace(old, new)
    path = workplace.folder / "shop.toml"
    path.write_text(text)
    return path


def embedded_shop(workplace: Workplace, *changes: tuple[str, str]) -> Path:
    """Write the example for SQLite too, which starts in no time."""
    return shop(
        workplace, ("sql.mysql = ", 'sql.sqlite = "SELECT :product"\nsql.mysql = '), *changes
    )


def experiment(workplace: Workplace, contenders: str, *lines: str) -> None:
    """Write an experiment's file in a folder below the workload's."""
    folder = workplace.folder / "experiments"
    folder.mkdir(exist_ok=True)
    text = f'contenders = [{contenders}]\nworkload = "../shop.toml"\ncount = "off"\n'
    (folder / "bought.toml").write_text("\n".join([text, 'slice = "50ms"', *lines]))


@pytest.mark.parametrize(
    "contenders",
    [
        ("postgres@15.8", "postgres@17.6"),
        pytest.param(("postgres@15.8", "postgres@17.6", "mariadb@11.8.9"), marks=full),
        pytest.param(("postgres@15.8", "postgres@17.6", "mysql@9.7.4"), marks=full),
    ],
)
def test_it_is_a_benchmark_as_the_built_in_ones(
    workplace: Workplace, builds: GetBuildOf, contenders: tuple[str, ...]
) -> None:
    """Statements of a file may be written for each DBMS."""
    for contender in contenders:
        builds(*contender.split("@"))
    shop(workplace)
    quoted = ", ".join(f'"{contender}"' for contender in contenders)
    experiment(workplace, quoted, 'budget = "3s"', "incarnations = 2")
    workplace.run("run", "experiments/bought.toml")
    report = workplace.report("bought")
    of_base = [result for result in report["results"] if result["contender"] == report["base"]]
    assert [(result["benchmark"], result["test"]) for result in of_base] == [
        ("shop", test) for test in TESTS
    ]
    assert [result["group"] for result in of_base] == GROUPS
    for result in report["results"]:
        assert result["errors"] == 0, result
        assert result["qps"] > 0
        assert result["incarnations"] == 2
    manifest = workplace.manifest("bought")
    assert manifest["workload"]["rows"]["order_lines"] == 15_000
    assert {plan["test"] for plan in manifest["plans"]} == set(TESTS)
    # Slices of writes run up to the same positions, so both contenders have aged alike.
    assert set(manifest["aged_to"]) == {"visits@1", "shop@1"}
    assert not [text for text in report["warnings"] if "start " in text]
    assert "workload shop, 4" in workplace.run("report", "bought")
    assert "| customer" in workplace.run("report", "bought", "--md")
    assert f",shop,customer,point,1,{contenders[1]}," in workplace.run("report", "bought", "--csv")
    assert "best-sellers" in workplace.page("bought")
    assert "benchmark shop; workload " in workplace.run("history")
    assert workplace.nothing_is_left()
    refused = workplace.errors(
        *("compare", contenders[1], "sqlite@3.50.2", "--workload", "shop.toml"), expect=2
    )
    assert "shop.toml:77: statements.count-visit.sql: " in refused


@full
def test_it_continues_with_the_file_it_began_with(workplace: Workplace, builds: GetBuildOf) -> None:
    builds("sqlite", "3.50.2")
    embedded_shop(workplace)
    pair = '"sqlite@3.50.2", "sqlite@3.50.2"'
    experiment(workplace, pair, 'budget = "6s"', 'tests = ["customer", "shop"]')
    process = workplace.start("run", "experiments/bought.toml")
    stop_after_slices(workplace, process, "bought", signal.SIGTERM)
    before = workplace.slice_lines("bought")

    embedded_shop(workplace, ("weights = [5, 3, 1]", "weights = [5, 3, 2]"))
    refused = workplace.errors("run", "experiments/bought.toml", "--resume", expect=2)
    assert "'bought'" in refused
    assert "workload" in refused
    (workplace.folder / "shop.toml").unlink()
    workplace.run("run", "bought", "--resume")
    assert workplace.slice_lines("bought")[: len(before)] == before
    assert workplace.manifest("bought")["finished"]
    workplace.run("more", "bought", "--tests", "customer", "--budget", "1s")
    workplace.run("bundle", "bought", "-o", "bought.slowdust")
    workplace.run("import", "bundle", "bought.slowdust", "--name", "again")
    assert (
        (workplace.folder / "results/again/workload.toml").read_text().startswith('name = "shop"')
    )


@full
def test_repetitions_before_a_value_that_is_used_again(
    workplace: Workplace, builds: GetBuildOf
) -> None:
    builds("postgres", "17.6")
    buying = 'statements = ["BEGIN", "customer", "new-order"'
    repeated = '{ statement = "take-from-stock", repeat = 3 }'
    shop(workplace, (buying, f'statements = ["BEGIN", {repeated}, "customer", "new-order"'))
    experiment(workplace, '"postgres@17.6"', 'budget = "1s"', 'tests = ["shop"]')
    workplace.run("run", "experiments/bought.toml")
    (result,) = workplace.report("bought")["results"]
    assert result["errors"] == 0
    plans = [plan["statement"] for plan in workplace.manifest("bought")["plans"]]
    assert sum("INSERT INTO orders" in statement for statement in plans) == 1
    assert sum("UPDATE products" in statement for statement in plans) == 1, "of four executions"


def test_wrong_results_are_errors(workplace: Workplace, builds: GetBuildOf) -> None:
    builds("sqlite", "3.50.2")
    embedded_shop(workplace, ("result = { rows = 3 }", "result = { rows = 4 }"))
    options = ("--tests", "lines", "--budget", "1s", "--slice", "50ms", "--count", "off")
    arguments = ("sqlite@3.50.2", "--workload", "shop.toml", *options, "--name", "w")
    workplace.run("compare", *arguments, expect=1)
    [result] = workplace.report("w")["results"]
    assert result["errors"] > 0
    assert result["errors_by_state"] == {"wrong-row-count": result["errors"]}
    tried = workplace.run("workloads", "check", "shop.toml", "--on", "sqlite@3.50.2", expect=1)
    assert [line.split()[0] for line in tried.splitlines() if line.endswith("(100)")] == [
        *("lines", "shop"),
    ]


@pytest.mark.parametrize("dbms", ["postgres", "mysql"])
def test_all_statements_that_a_server_does_not_take_are_named(
    workplace: Workplace, request: pytest.FixtureRequest, dbms: str
) -> None:
    seen: Seen = request.getfixturevalue(dbms)
    shop(
        workplace,
        ("SELECT name, country FROM customers", "SELECT no_function(name), 1 FROM customers"),
        ("UPDATE products SET", "UPDATE no_products SET"),
    )
    url = seen.trial_url
    refused = workplace.errors("workloads", "check", "shop.toml", "--on", url, expect=2)
    lines = [line for line in refused.splitlines() if "shop.toml:" in line]
    assert [line.removeprefix("slowdust: ").split(": ")[:2] for line in lines] == [
        ["shop.toml:40", "statements.customer.sql"],
        ["shop.toml:61", "statements.take-from-stock.sql"],
    ]
    unknown = workplace.errors("workloads", "check", "shop.toml", "--on", f"{dbms}@99.9", expect=2)
    assert f"{dbms}@99.9 " in unknown


@pytest.mark.parametrize(
    ("old", "new", "place"),
    [
        ('"varchar(40)", by', '"jsonbb", by', ["shop.toml:6", "tables.customers"]),
        (
            '"varchar(40)", by = "text", length = [8, 30]',
            '"jsonb", by = "choice", values = ["x"]',
            ["shop.toml:6", "tables.customers"],
        ),
        (
            '[{ columns = ["product"] }]',
            '[{ columns = ["amount"] }, { sql = "CREATE INDEX x ON order_lines (nope)" }]',
            ["shop.toml:37", "tables.order_lines.indexes"],
        ),
        (
            "[tables.customers]",
            'before.postgres = [\n    "SELECT 1",\n    "CREATE EXTENSION nope",\n]'
            "\n[tables.customers]",
            ["shop.toml:8", "before.postgres"],
        ),
    ],
)
def test_tables_that_a_server_does_not_take_are_named(
    workplace: Workplace, postgres: Seen, old: str, new: str, place: list[str]
) -> None:
    shop(workplace, (old, new))
    url = postgres.trial_url
    told = workplace.errors("workloads", "check", "shop.toml", "--on", url, expect=2)
    [line] = [line for line in told.splitlines() if "server error" in line]
    assert line.removeprefix("slowdust: ").split(": ")[:2] == place


BOOKS = (
    "CREATE TABLE books (id int PRIMARY KEY, title varchar(40) NOT NULL, price decimal(8,2), "
    "bought timestamp NULL)",
    "CREATE INDEX by_title ON books (title)",
)
READS = "SELECT title, price FROM books WHERE id = {key}"
RANGES = "SELECT count(*), max(price) FROM books WHERE id BETWEEN {key} AND {last}"
WRITES = "UPDATE books SET title = 'what? it''s {key}' WHERE id = {key}"
INSERTS = "INSERT INTO books (id, title, price, bought) VALUES ({new}, 'new {key}', 2.5, NULL)"


def with_rows(seen: Seen, rows: str, analyze: str) -> None:
    """Make a table of 500 books."""
    with Driver() as driver:
        driver.sql(seen.running.target, [*BOOKS, rows, analyze])


def use(seen: Seen) -> None:
    """Log statements: 100 reads of a book, 40 updates, 20 reads of 51, and 10 inserts."""
    rng = random.Random(1)
    with Driver() as driver:
        for number in range(100):
            key = rng.randint(1, 400)
            statements = [READS]
            statements += [WRITES] if number % 5 < 2 else []
            statements += [RANGES] if number % 5 == 0 else []
            statements += [INSERTS] if number % 10 == 0 else []
            values = {"key": key, "last": key + 50, "new": 600 + number}
            driver.sql(seen.running.target, [text.format(**values) for text in statements])


@contextmanager
def server(builds: GetBuildOf, dbms: str, version: str, **settings: str) -> Iterator[Seen]:
    access = Access.make(Listen.LOOPBACK, Auth.TRUST)
    with new_instance(builds(dbms, version), settings, access=access) as instance:
        instance.start()
        seen = Seen(Running(instance.target()), instance.log_path)
        seen.rows("CREATE DATABASE trial")
        yield seen


SLOW_LOG = {"slow_query_log": "ON", "long_query_time": "0"}


@pytest.fixture(scope="module")
def postgres(builds: GetBuildOf) -> Iterator[Seen]:
    settings = {"shared_preload_libraries": "pg_stat_statements", "log_min_duration_statement": "0"}
    with server(builds, "postgres", "17.6", **settings) as seen:
        seen.rows("CREATE EXTENSION pg_stat_statements")
        yield seen


@pytest.fixture(scope="module")
def mysql(builds: GetBuildOf) -> Iterator[Seen]:
    with server(builds, "mysql", "9.7.4", performance_schema="ON", **SLOW_LOG) as seen:
        yield seen


@pytest.fixture(scope="module")
def mariadb(builds: GetBuildOf) -> Iterator[Seen]:
    with server(builds, "mariadb", "11.8.9", **SLOW_LOG) as seen:
        yield seen


@dataclass(frozen=True)
class Seen:
    """A server that logs its statements."""

    running: Running
    log: Path

    @property
    def trial_url(self) -> str:
        """The address of a database without tables of others, where workloads are tried."""
        return Running(structs.replace(self.running.target, database="trial")).url()

    def rows(self, statement: str) -> list[list[str | None]]:
        with Driver() as driver:
            (answer,) = driver.sql(self.running.target, [statement])
        return answer.rows

    def export(self, statement: str, names: str, path: Path) -> None:
        """Write a result as the clients of servers do: a line of names, and tabs."""
        lines = [
            "\t".join("NULL" if cell is None else cell for cell in row)
            for row in self.rows(statement)
        ]
        path.write_text("\n".join([names, *(line.replace("\n", "\\n") for line in lines)]) + "\n")

    def slow_log(self) -> Path:
        [[folder, name]] = self.rows("SELECT @@datadir, @@slow_query_log_file")
        return Path(str(folder)) / str(name)


def check_replay(workplace: Workplace, seen: Seen) -> None:
    """The file has the weights of what was executed, and is a workload without errors."""
    text = (workplace.folder / "seen.toml").read_text()
    assert 'by = "new", of = "books.id"' in text
    mix = text.partition("mix = ")[2]
    weights = [float(part.split("=")[1]) for part in mix.strip("{} \n").split(",")]
    assert weights == [100, 40, 20, 10]
    checked = workplace.run("workloads", "check", "seen.toml", "--on", seen.trial_url)
    outline, tried = checked.split("executed 100 times")
    groups = {line.split()[1] for line in outline.splitlines() if line[:1] == "q"}
    assert groups == {"point", "range", "write"}  # the second is "range with aggregation"
    rows = {line.split()[0]: line.split()[2:] for line in tried.splitlines() if line[:1] == "q"}
    assert rows["q1"] == ["1", "none"]
    assert rows["q2"] == ["1", "none"]
    assert rows["q3"] == ["1", "none"]
    assert rows["q4"] == ["1", "none"]


def test_statements_of_postgres_are_replayed(workplace: Workplace, postgres: Seen) -> None:
    rows = "INSERT INTO books SELECT g, md5(g::text), g, now() FROM generate_series(1, 500) g"
    with_rows(postgres, rows, "ANALYZE books")
    begun = postgres.log.stat().st_size
    postgres.rows("SELECT pg_stat_statements_reset()")
    use(postgres)
    postgres.rows('CREATE TABLE "Odd Table" (id int PRIMARY KEY)')
    postgres.rows('SELECT count(*) FROM "Odd Table"')
    (workplace.folder / "postgres.log").write_bytes(postgres.log.read_bytes()[begun:])
    url = postgres.running.url()
    told = workplace.errors("workloads", "from", url, "postgres.log", "-o", "seen.toml")
    assert "no table of the schema" in told
    assert 'SELECT count(*) FROM "Odd Table" (1)' in told
    alone = workplace.errors("workloads", "from", url, "-o", "x.toml", expect=2)
    assert "values" in alone
    statement = "SELECT query, calls FROM pg_stat_statements"
    postgres.export(statement, "query\tcalls", workplace.folder / "export.tsv")
    check_replay(workplace, postgres)
    workplace.run(
        *("workloads", "from", "export.tsv", "postgres.log", "--tables", "seen.toml"),
        *("-o", "again.toml", "--most", "4"),
    )
    again = workplace.run("workloads", "check", "again.toml")
    assert again.splitlines()[0] == "again: 1 table, 4 statements and 5 tests, for postgres"


NUMBERS = "WITH RECURSIVE g(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM g WHERE n < 500) "
NUMBERED_BOOKS = f"INSERT INTO books {NUMBERS} SELECT n, concat('title ', n), n, now() FROM g"


@pytest.mark.parametrize("dbms", ["mysql", "mariadb"])
def test_the_slow_log_is_replayed(
    workplace: Workplace, request: pytest.FixtureRequest, dbms: str
) -> None:
    seen: Seen = request.getfixturevalue(dbms)
    with_rows(seen, NUMBERED_BOOKS, "ANALYZE TABLE books")
    log = seen.slow_log()
    begun = log.stat().st_size
    if dbms == "mysql":
        seen.rows("TRUNCATE TABLE performance_schema.events_statements_summary_by_digest")
    use(seen)
    (workplace.folder / "slow.log").write_bytes(log.read_bytes()[begun:])
    url = seen.running.url()
    workplace.run("workloads", "from", "slow.log", "--tables", url, "-o", "seen.toml")
    check_replay(workplace, seen)
    if dbms == "mysql":
        check_digests(workplace, seen)


def check_digests(workplace: Workplace, mysql: Seen) -> None:
    """Statements of the performance schema have their values from the log, or one of each."""
    url = mysql.running.url()
    (workplace.folder / "seen.toml").unlink()
    workplace.run("workloads", "from", url, "slow.log", "-o", "seen.toml")
    workplace.run("workloads", "from", url, "-o", "by_example.toml")
    check_replay(workplace, mysql)
    # The server keeps one execution of each digest, whose values are the only ones then.
    workplace.run("workloads", "check", "by_example.toml", "--on", mysql.trial_url)


FILLED_IN = {
    "postgres": [
        "CREATE TABLE posts (id bigserial PRIMARY KEY, slug varchar(40), author int, "
        "made timestamptz NOT NULL DEFAULT now(), waits interval NOT NULL DEFAULT '1 day', "
        "tags int[] NOT NULL DEFAULT '{}')",
        "CREATE UNIQUE INDEX by_slug ON posts (slug) INCLUDE (author)",
        "CREATE UNIQUE INDEX by_name ON posts (lower(slug))",
        "CREATE INDEX by_author ON posts (author DESC, slug text_pattern_ops)",
        'CREATE TABLE "order" (id serial PRIMARY KEY, n int)',
        "CREATE TABLE things (id uuid PRIMARY KEY, n int)",
    ],
    "mysql": [
        "CREATE TABLE posts (id int AUTO_INCREMENT PRIMARY KEY, slug varchar(40) UNIQUE, "
        "author int, made datetime NOT NULL DEFAULT now(), year year NOT NULL DEFAULT 2025, "
        "body text, flag bit(1) NOT NULL DEFAULT b'0', KEY start (body(20)), "
        "KEY by_author (author DESC, id), FULLTEXT KEY words (body))",
        "CREATE TABLE `order` (id int AUTO_INCREMENT PRIMARY KEY, n int)",
        "CREATE TABLE things (id int PRIMARY KEY, n point NOT NULL)",
    ],
}
INDEXES = {
    "postgres": {
        "CREATE UNIQUE INDEX by_slug ON posts USING btree (slug) INCLUDE (author)",
        "CREATE INDEX by_name ON posts USING btree (lower((slug)::text))",
        "CREATE INDEX by_author ON posts USING btree (author DESC, slug text_pattern_ops)",
    },
    "mysql": {
        "CREATE INDEX `start` ON posts (body(20))",
        "CREATE INDEX `by_author` ON posts (author DESC, id)",
        "CREATE FULLTEXT INDEX `words` ON posts (body)",
    },
}
THINGS = {
    "postgres": "SELECT n FROM things WHERE id = '00000000-0000-0000-0000-000000000001'",
    "mysql": "SELECT n FROM things WHERE id = 1",
}
UPSERTS = {
    "postgres": "ON CONFLICT (slug) DO UPDATE SET author = 1",
    "mysql": "ON DUPLICATE KEY UPDATE author = 1",
}


@pytest.mark.parametrize("dbms", ["postgres", "mysql"])
def test_values_that_the_server_filled_in_are_in_the_replay(
    workplace: Workplace, request: pytest.FixtureRequest, dbms: str
) -> None:
    seen: Seen = request.getfixturevalue(dbms)
    mark = '"' if dbms == "postgres" else "`"
    with Driver() as driver:
        driver.sql(seen.running.target, FILLED_IN[dbms])
        log = seen.log if dbms == "postgres" else seen.slow_log()
        begun = log.stat().st_size
        for number in range(4):
            insert = f"INSERT INTO posts (slug) VALUES ('s{number}')"
            statements = [
                *(insert, f"{insert} {UPSERTS[dbms]}", THINGS[dbms]),
                f"INSERT INTO {mark}order{mark} (n) VALUES ({number})",
            ]
            driver.sql(seen.running.target, statements)
    (workplace.folder / "the.log").write_bytes(log.read_bytes()[begun:])
    url = seen.running.url()
    told = workplace.errors("workloads", "from", "the.log", "--tables", url, "-o", "seen.toml")
    assert "'order'" in told
    assert "table things" in told
    posts = read_workload(workplace.folder / "seen.toml").file.tables["posts"]
    assert {each.sql[dbms] for each in posts.indexes if each.sql} == INDEXES[dbms]
    tried = workplace.run("workloads", "check", "seen.toml", "--on", seen.trial_url)
    rows = [line.split() for line in tried.splitlines() if line[:1] == "q" and "%" not in line]
    assert [(name, errors) for name, _, _, errors in rows] == [("q1", "none"), ("q2", "none")]


MIXED = """\
name = "mixed"
[tables.t]
rows = 1_000
primary_key = "id"
columns.id = { type = "int", by = "serial" }
columns.v = { type = "int", by = "serial" }
[statements.one]
sql = "SELECT v FROM t WHERE id = :i"
parameters.i = { by = "uniform", low = 1, high = 1_000 }
[statements.all]
sql = "SELECT sum(v) FROM t"
[tests.mixed]
group = "range"
mix = { one = 3, all = 1 }
"""


def test_the_work_of_an_operation_follows_the_weights_of_transactions(
    workplace: Workplace, builds: GetBuildOf
) -> None:
    """Each transaction is executed once to count its work, however seldom it comes."""
    builds("sqlite", "3.50.2")
    (workplace.folder / "mixed.toml").write_text(MIXED)
    workplace.run(
        *("compare", "sqlite@3.50.2", "sqlite@3.50.2", "--workload", "mixed.toml"),
        *("--budget", "1s", "--incarnations", "2", "--count", "off", "--yes", "--name", "mixed"),
    )

    plans = workplace.manifest("mixed")["plans"]
    weights = {plan["statement"]: plan["executed"].get("weight") for plan in plans}
    assert sorted(weights.values()) == [0.25, 0.75]
    [sums] = {
        plan["executed"]["amounts"]["vm_steps"] / plan["executed"]["operations"]
        for plan in plans
        if "sum" in plan["statement"]
    }
    amounts = workplace.report("mixed")["results"][0]["amounts"]
    assert amounts["vm_steps"] == pytest.approx(sums / 4, rel=0.05)
