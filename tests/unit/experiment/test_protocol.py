"""Slowdust and the driver agree on the protocol in driver/schema.json."""

import json
from pathlib import Path
from typing import Any, get_args

import jsonschema
import msgspec
import pytest

from slowdust.benchmarks import described
from slowdust.benchmarks.insert import INSERT
from slowdust.benchmarks.steps import Server
from slowdust.dbms.access import Target
from slowdust.experiment.driver import protocol
from slowdust.experiment.driver.protocol import (
    Close,
    Command,
    Create,
    Explain,
    Fetch,
    Load,
    Open,
    Partitions,
    Perform,
    Prepare,
    Rate,
    Run,
    Sample,
    Sql,
    Stop,
)

SCHEMA: dict[str, Any] = json.loads(
    (Path(__file__).parents[3] / "driver" / "schema.json").read_text()
)
TARGET = Target(
    dbms="postgres", host=None, socket="/s", port=1, user="u", password=None, database="d"
)
DRAWS: list[described.Draw] = [
    described.Serial(start=1),
    described.Cycle(start=1, each=2, count=3),
    described.Uniform(low=1, high=9, scale=2),
    described.Zipf(low=1, high=9, exponent=0.8),
    described.Span(low=1, high=9, count=2),
    described.Distinct(low=1, high=9, count=2),
    described.Own(low=1, high=9),
    described.Letters(shortest=1, longest=2),
    described.Choice(values=[1, 0.5, "a", None], weights=[1.0, 2.0, 3.0, 4.0]),
    described.Same(place=0),
    described.Sample(set=0, column=0),
    described.Vectors(file="f"),
]
TYPES: list[described.Type] = [
    described.INT,
    described.BIGINT,
    described.REAL,
    described.TIMESTAMP,
    described.Type(kind="varchar", length=3),
    described.Type(kind="char", length=3),
    described.TEXT,
    described.Type(kind="vector", dimensions=3),
    described.Type(kind="sql", name="NUMERIC(9, 2)"),
]
TABLES = described.Tables(
    before=["SELECT 1"],
    tables=[
        described.Table(
            name="t",
            rows=3,
            columns=[
                described.Column(name="a", type=kind, values=described.Serial(start=1, step=2))
                for kind in TYPES
            ],
            primary_key=["a"],
            after=["CREATE INDEX i ON t (a){index_options}"],
        )
    ],
)
TEST = described.TestOnDbms(
    session=["SET a = 1"],
    transactions=[
        described.Transaction(
            name="x",
            calls=[
                described.Call(
                    sql="SELECT ?",
                    values=[described.Value(type=described.INT, draw=draw) for draw in DRAWS],
                    rows=1,
                    form="text",
                    repeat=2,
                )
            ],
        )
    ],
    samples=[[[1, "a", None]]],
)
WORKLOAD = INSERT.workload([Server(200, None)])
WORKS = [WORKLOAD.work(step.name, 2).command for step in INSERT.tests]
COMMANDS: list[Command] = [
    *(
        Prepare(
            session="s",
            target=TARGET,
            benchmark="insert",
            clients=1,
            tables=1,
            seed=1,
            inserted=[0],
            statements="text",
            work=work,
            long_transaction=30.0,
        )
        for work in WORKS
    ),
    Create(
        target=TARGET, benchmark="insert", tables=1, partitions=Partitions(count=2, rows_each=100)
    ),
    Perform(session="s"),
    Load(target=TARGET, benchmark="sbtest", tables=1, rows=1000, seed=1, parallel=1),
    Load(
        target=TARGET, benchmark="described", tables=1, rows=1, seed=1, parallel=1, described=TABLES
    ),
    Open(
        session="s",
        target=TARGET,
        benchmark="sbtest",
        test="scan",
        clients=1,
        tables=1,
        rows=1000,
        seed=1,
    ),
    Open(
        session="s",
        target=TARGET,
        benchmark="described",
        test="t",
        clients=1,
        tables=1,
        rows=1,
        seed=1,
        described=TEST,
    ),
    Explain(session="s"),
    Run(session="s", stop=Stop(seconds=0.25)),
    Run(session="s", stop=Stop(seconds=0.25, positions=[3])),
    Run(session="s", stop=Stop(positions=[3, 4]), rate=Rate(100.0, "poisson")),
    Close(session="s"),
    Sql(target=TARGET, statements=["CHECKPOINT"]),
    Sample(target=TARGET, statement="SELECT 1", every=0.01, seconds=1.0),
    Fetch(file="/data/16384", page_bytes=8192, threads=2, seconds=0.1, seed=1),
]


# One validator: each `jsonschema.validate` would check the whole schema again.
VALIDATOR = jsonschema.Draft202012Validator({"$ref": "#/$defs/Command", "$defs": SCHEMA["$defs"]})


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: type(command).__name__)
def test_the_driver_understands_every_command(command: Command) -> None:
    VALIDATOR.validate(json.loads(msgspec.json.encode(command)))


def test_the_schema_is_one() -> None:
    VALIDATOR.check_schema(VALIDATOR.schema)


def test_every_command_is_tried() -> None:
    assert {type(command) for command in COMMANDS} == set(get_args(Command))


def _events() -> dict[str, dict[str, Any]]:
    """Tag of an event -> its properties and what is required of them."""
    events = {}
    for variant in SCHEMA["$defs"]["Event"]["oneOf"]:
        shared = SCHEMA["$defs"].get(variant.get("$ref", "").rpartition("/")[2], {})
        events[variant["properties"]["event"]["const"]] = {
            "properties": {**variant["properties"], **shared.get("properties", {})},
            "required": [*variant["required"], *shared.get("required", [])],
        }
    return events


def test_every_event_is_known() -> None:
    known = {event.__struct_config__.tag for event in get_args(protocol.Event)}
    assert known == set(_events())


@pytest.mark.parametrize("event", get_args(protocol.Event), ids=lambda event: event.__name__)
def test_slowdust_reads_the_drivers_events(event: type[msgspec.Struct]) -> None:
    written = _events()[str(event.__struct_config__.tag)]
    required = {field.name for field in msgspec.structs.fields(event) if field.required}
    assert required <= set(written["required"])
    fields = {field.name for field in msgspec.structs.fields(event)}
    assert set(written["properties"]) - {"event"} <= fields
