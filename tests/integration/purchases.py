"""The tables of the Insert Benchmark, and steps on them."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from tests.integration.conftest import GetBuildOf
from tests.integration.driver_process import Driver, Event, Target
from tests.integration.servers import Server, new_instance

CLIENTS = 2
SEED = 7
LOADED = 3_050

Work = dict[str, Any]


def load(rows: int = LOADED, rows_per_commit: int = 100) -> Work:
    return {"kind": "load", "rows": rows, "rows_per_commit": rows_per_commit}


def replace(rows: int, rows_per_commit: int = 50) -> Work:
    return {"kind": "replace", "rows": rows, "rows_per_commit": rows_per_commit}


def query(what: str, seconds: float, rate: float, rows_per_commit: int = 50) -> Work:
    return {
        "kind": "query",
        "query": what,
        "seconds": seconds,
        "writes_per_second": rate,
        "rows_per_commit": rows_per_commit,
    }


@contextlib.contextmanager
def running_server(name: str, builds: GetBuildOf) -> Iterator[Server]:
    contender, _, engine = name.partition("/")
    build = builds(*contender.split("@"))
    with new_instance(build, {}, engine=engine or None) as instance:
        instance.start()
        yield Server(instance)


@dataclass
class Purchases:
    """The tables of some clients, and what was done to them."""

    driver: Driver
    target: Target
    clients: int = CLIENTS
    tables: int = CLIENTS
    inserted: list[int] = field(default_factory=list)
    statements: str = "prepared"

    def create(self, **fields: object) -> None:
        self.driver.expect("created", "create", target=self.target, tables=self.tables, **fields)
        self.inserted = [0] * self.tables

    def prepare(self, work: Work, **fields: object) -> Event:
        return self.driver.expect(
            "prepared", "prepare", session="step", target=self.target, clients=self.clients,
            tables=self.tables, seed=SEED, inserted=self.inserted, statements=self.statements,
            work=work, **fields,
        )  # fmt: skip

    def perform(self, work: Work, **fields: object) -> Event:
        """Do a step; the tables have as many rows after it as it says."""
        before = self.counts()
        self.prepare(work, **fields)
        performed = self.driver.expect("performed", "perform", session="step")
        self.driver.close("step")
        grown = [after - old for after, old in zip(self.counts(), before, strict=True)]
        assert performed["growth"] == grown
        inserts = performed["roles"].get("insert", {"rows": 0})["rows"]
        for table in range(self.tables):
            self.inserted[table] += inserts // self.tables
        assert not any(role["errors"] for role in performed["roles"].values())
        return performed

    def numbers(self, sql: str) -> list[int]:
        """Return the number that the statement gives for each table, which is `{}` in it."""
        statements = (sql.format(f"purchases{table + 1}") for table in range(self.tables))
        return [int(rows["rows"][0][0]) for rows in self.driver.sql(self.target, *statements)]

    def counts(self) -> list[int]:
        return self.numbers("SELECT COUNT(*) FROM {}")
