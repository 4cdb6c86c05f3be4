"""The driver's binary as a process of its own; every line is checked against its schema."""

from __future__ import annotations

import functools
import json
import subprocess
from pathlib import Path
from typing import Any

import jsonschema

from slowdust.benchmarks.model import Benchmark
from slowdust.dbms import family
from slowdust.driver_program import find_driver

Event = dict[str, Any]
Target = dict[str, Any]

SCHEMA = Path(__file__).parents[2] / "driver/schema.json"
ROWS = 12_000
TABLES = 2
SHAPE = {"tables": TABLES, "rows": ROWS, "seed": 7}


@functools.cache
def validator(kind: str) -> jsonschema.Draft202012Validator:
    """Return the validator of what the committed schema calls a `Command` or an `Event`."""
    schema = json.loads(SCHEMA.read_text())
    return jsonschema.Draft202012Validator({"$ref": f"#/$defs/{kind}", "$defs": schema["$defs"]})


def keeping_rows(dbms: str, *benchmarks: Benchmark, engine: str | None = None) -> list[str]:
    """The driver's tests of benchmarks after which the tables have the rows that they had.

    Tests that the DBMS or the engine lacks are not among them.
    """
    tests = (
        test.driver_test
        for benchmark in benchmarks
        for test in benchmark.tests
        if test.lack(family(dbms), engine) is None
    )
    return [test for test in dict.fromkeys(tests) if test not in {"delete", "insert"}]


class Driver:
    """A driver process; each command returns its terminal event."""

    def __init__(self) -> None:
        self.process = subprocess.Popen(
            [find_driver()], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )
        self._commands = 0
        self.progress: list[Event] = []

    def send(self, command: str, **fields: object) -> int:
        assert self.process.stdin is not None
        self._commands += 1
        line = {"id": self._commands, "command": command, **fields}
        print(json.dumps(line), file=self.process.stdin, flush=True)
        return self._commands

    def receive(self) -> Event:
        assert self.process.stdout is not None
        event: Event = json.loads(self.process.stdout.readline())
        validator("Event").validate(event)
        return event

    def do(self, command: str, **fields: object) -> Event:
        number = self.send(command, **fields)
        self.progress = []
        while True:
            event = self.receive()
            assert event["id"] == number, event
            if event["event"] != "progress":
                return event
            self.progress.append(event)

    def expect(self, terminal: str, command: str, **fields: object) -> Event:
        event = self.do(command, **fields)
        assert event["event"] == terminal, event
        if terminal != "error":
            validator("Command").validate({"id": event["id"], "command": command, **fields})
        return event

    def open(self, target: Target, test: str, clients: int = 1, **fields: object) -> str:
        shape = SHAPE | fields
        self.expect(
            "opened", "open", session=test, target=target, test=test, clients=clients, **shape
        )
        return test

    def run(self, session: str, seconds: float = 0.1, **fields: object) -> Event:
        command = {"session": session, "stop": {"seconds": seconds}} | fields
        return self.expect("ran", "run", **command)

    def close(self, session: str) -> None:
        self.expect("closed", "close", session=session)

    def sql(self, target: Target, *statements: str, parallel: int = 1) -> list[Event]:
        event = self.expect(
            "rows", "sql", target=target, statements=list(statements), parallel=parallel
        )
        results: list[Event] = event["results"]
        return results

    def load(self, target: Target, **fields: object) -> Event:
        return self.expect("loaded", "load", target=target, parallel=2, **SHAPE | fields)

    def count(self, target: Target, tables: int = TABLES) -> int:
        """Rows of the first tables."""
        counts = (f"SELECT COUNT(*) FROM sbtest{n + 1}" for n in range(tables))
        return sum(int(result["rows"][0][0]) for result in self.sql(target, *counts))

    def collide(self, target: Target) -> Event:
        """A slice of four clients that write 8 rows and retried a transaction."""
        self.load(target, tables=1, rows=8)
        session = self.open(target, "write-only", 4, tables=1, rows=8)
        ran = self.run(session)
        while ran["retries"] == 0:
            ran = self.run(session)
        self.close(session)
        assert self.count(target, tables=1) == 8, "no row gets lost"
        return ran

    def __enter__(self) -> Driver:
        return self

    def __exit__(self, *_: object) -> None:
        self.end()

    def end(self) -> None:
        self.process.kill()
        self.process.wait()
        for stream in (self.process.stdin, self.process.stdout):
            assert stream is not None
            stream.close()
