"""Servers that do not answer and statements that never end: waits end with an error."""

from __future__ import annotations

import socket
import time
import tomllib
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest
import tomli_w

from slowdust.benchmarks import described
from tests.integration.conftest import GetBuildOf, MakeInstance
from tests.integration.driver_process import Driver, Event
from tests.integration.servers import Server
from tests.integration.slowdust_command import Workplace
from tests.tiers.selection import full

CASES = Path(__file__).parents[1] / "cases" / "limits"
SHORT = (
    *("--budget", "1s", "--patience", "2s", "--slice", "25ms", "--incarnations", "1"),
    *("--count", "off"),
)


@contextmanager
def silent_port() -> Iterator[int]:
    """A port that accepts connections and says nothing."""
    with socket.create_server(("127.0.0.1", 0), backlog=50) as listening:
        yield listening.getsockname()[1]


def test_a_server_has_ten_seconds_for_its_first_answer(workplace: Workplace) -> None:
    with silent_port() as port, ThreadPoolExecutor() as beside:
        urls = [f"postgres://{user}@127.0.0.1:{port}/b" for user in ("ann", "bob")]
        point = ("--tests", "point-query", "--budget", "1s")
        experiment = workplace.start("compare", *urls, *point)
        # Each of the others has ten seconds of its own.
        for failed in beside.map(partial(ask_first, port), ("postgres", "mysql", "mongodb")):
            assert failed["kind"] == "timeout"
            assert " 10 s" in failed["message"]
        _, errors = experiment.communicate(timeout=120)
    assert experiment.returncode == 1
    assert f"{urls[0]}: waiting for" in errors
    *_, last = errors.splitlines()
    assert last.startswith(f"slowdust: {urls[0]}: timeout error: ")
    assert " 10 s" in last


def ask_first(port: int, dbms: str) -> Event:
    target = {"dbms": dbms, "host": "127.0.0.1", "port": port, "user": "ann", "database": "b"}
    target |= {"foreign": True, "patience": 3600.0}
    with Driver() as driver:
        return driver.expect("error", "sql", target=target, statements=["SELECT 1"], parallel=1)


class Endless(NamedTuple):
    """A statement that does not end, and one that counts the others of its kind."""

    dbms: str
    version: str
    statement: str
    others: str


ENDLESS = [
    Endless(
        *("postgres", "17.6", "SELECT pg_sleep(3600)"),
        "SELECT count(*) FROM pg_stat_activity WHERE query LIKE '%sleep(36%' "
        "AND state = 'active' AND pid <> pg_backend_pid()",
    ),
    Endless(
        *("mysql", "5.6.24", "SELECT sleep(3600)"),
        "SELECT count(*) FROM information_schema.processlist "
        "WHERE info LIKE '%sleep(36%' AND id <> connection_id()",
    ),
]


@pytest.mark.parametrize("endless", ENDLESS, ids=lambda endless: endless.dbms)
def test_the_server_stops_what_is_not_waited_for(
    make_instance: MakeInstance, builds: GetBuildOf, driver: Driver, endless: Endless
) -> None:
    instance = make_instance(builds(endless.dbms, endless.version))
    instance.start()
    target = Server(instance).target()

    def statements_left() -> bool:
        for _ in range(200):  # a server takes a moment
            ((count,),) = driver.sql(target, endless.others)[0]["rows"]
            if count == "0":
                return False
            time.sleep(0.05)
        return True

    # One of several statements, which no slice has.
    impatient = {**target, "patience": 0.5}
    failed = driver.expect(
        "error", "sql", target=impatient, statements=[endless.statement], parallel=1
    )
    assert failed["kind"] == "timeout"
    assert " 0.5 s" in failed["message"]
    assert not statements_left()

    # An operation of a slice; clients of other sessions are left alone.
    driver.load(target)
    kept = driver.open(target, "point-query")
    call = described.Call(sql=endless.statement)
    test = described.TestOnDbms(transactions=[described.Transaction(name="t", calls=[call])])
    fields = {"benchmark": "described", "described": msgspec.to_builtins(test), "tables": 1}
    session = driver.open(target, "t", clients=3, rows=1, **fields)
    failed = driver.expect("error", "run", session=session, stop={"seconds": 0.1}, patience=0.5)
    assert failed["kind"] == "timeout"
    assert failed["message"].endswith(f" 0.6 s: {endless.statement}")
    assert not statements_left()
    driver.close(session)
    assert driver.run(kept, 0.05)["operations"] > 0
    driver.close(kept)


@full
def test_other_tests_continue_after_those_that_do_not_end(
    workplace: Workplace, builds: GetBuildOf
) -> None:
    builds("postgres", "17.6")
    waiting, answering = (
        tomllib.loads((CASES / f"{case}.toml").read_text()) for case in ("sleep", "series")
    )
    waiting["statements"]["b"] = answering["statements"]["a"]
    waiting["tests"]["u"] = {"group": "point", "statements": ["b"]}
    (workplace.folder / "endless.toml").write_text(tomli_w.dumps(waiting))
    arguments = ("postgres@17.6", "--workload", "endless.toml", "--name", "endless", *SHORT)
    errors = workplace.errors("compare", *arguments, expect=1)
    report = workplace.report("endless")
    failed = {each["test"]: each for each in report["failed_steps"]}
    assert [*failed] == ["t", "u"]
    for test, statement in (("t", "a"), ("u", "b")):
        sql = waiting["statements"][statement]["sql"]
        reason = failed[test]["reason"]
        assert reason.startswith("timeout error: ")
        assert reason.endswith(f" 2.5 s: {sql}")
        assert f"warning: {test} on postgres@17.6 failed: {reason}" in errors
        assert (failed[test]["contender"], failed[test]["incarnation"]) == ("postgres@17.6", 1)
    assert {result["test"] for result in report["results"] if result.get("qps")} == {"ok"}


RECURSIVE = """\
sql = "WITH RECURSIVE c(n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM c) SELECT count(*) FROM c"
"""


def test_a_library_that_does_not_return_is_ended_and_started_again(
    workplace: Workplace, builds: GetBuildOf
) -> None:
    pair = ("sqlite@3.45.0", "sqlite@3.50.2")
    for contender in pair:
        builds(*contender.split("@"))
    text = (CASES / "sleep.toml").read_text().replace('sql = "SELECT pg_sleep(3600)"\n', RECURSIVE)
    (workplace.folder / "endless.toml").write_text(text)
    arguments = ("--workload", "endless.toml", "--name", "e", *SHORT)
    errors = workplace.errors("compare", *pair, *arguments, expect=1)
    assert "dropped out" not in errors
    report = workplace.report("e")
    assert [(each["contender"], each["test"]) for each in report["failed_steps"]] == [
        (contender, "t") for contender in pair
    ]
    measured = {result["test"] for result in report["results"] if result.get("qps")}
    assert measured == {"ok"}


@full
def test_tables_made_before_are_maintained(workplace: Workplace, builds: GetBuildOf) -> None:
    """The tables of the case vector-filter, without the extension that it needs."""
    builds("postgres", "17.6")
    text = (CASES / "vector-filter.toml").read_text()
    for old, new in (
        ('  "CREATE EXTENSION IF NOT EXISTS vector",\n', ""),
        ("::vector(64)", ""),
        ('  "CREATE INDEX items_ivf ON items USING ivfflat (embedding vector_cosine_ops) '
         'WITH (lists = 100)",\n', ""),
        ("i.embedding <=> (SELECT embedding FROM items WHERE id = :q)",
         "abs(i.id - (SELECT id FROM items WHERE id = :q))"),
        ("20000", "2000"), ("20_000", "2_000"),
    ):  # fmt: skip
        assert old in text
        text = text.replace(old, new)
    (workplace.folder / "made.toml").write_text(text)
    pair = ("postgres@17.6", "postgres@17.6")
    arguments = ("--workload", "made.toml", "--name", "made", "--incarnations", "1")
    errors = workplace.errors("compare", *pair, *arguments, "--budget", "1s", "--count", "off")
    assert errors.count("loading postgres@17.6") == len(pair), errors
    assert not [line for line in errors.splitlines() if "differ" in line or "items" in line]
