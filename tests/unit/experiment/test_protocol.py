"""Both programs mean the same protocol: driver/schema.json, which the driver prints of itself."""

import json
from pathlib import Path
from typing import Any, get_args

import jsonschema
import msgspec
import pytest

from slowdust.benchmarks.insert import INSERT
from slowdust.benchmarks.steps import Server
from slowdust.dbms.access import Target
from slowdust.experiment.driver import protocol
from slowdust.experiment.driver.protocol import (
    Close,
    Command,
    Create,
    Explain,
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
    Open(session="s", target=TARGET, test="scan", clients=1, tables=1, rows=1000, seed=1),
    Explain(session="s"),
    Run(session="s", stop=Stop(seconds=0.25)),
    Run(session="s", stop=Stop(seconds=0.25, positions=[3])),
    Run(session="s", stop=Stop(positions=[3, 4]), rate=Rate(100.0, "poisson")),
    Close(session="s"),
    Sql(target=TARGET, statements=["CHECKPOINT"]),
    Sample(target=TARGET, statement="SELECT 1", every=0.01, seconds=1.0),
]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: type(command).__name__)
def test_the_driver_understands_every_command(command: Command) -> None:
    schema = {"$ref": "#/$defs/Command", "$defs": SCHEMA["$defs"]}
    jsonschema.validate(json.loads(msgspec.json.encode(command)), schema)


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
def test_what_slowdust_reads_is_what_the_driver_writes(event: type[msgspec.Struct]) -> None:
    written = _events()[str(event.__struct_config__.tag)]
    required = {field.name for field in msgspec.structs.fields(event) if field.required}
    assert required <= set(written["required"])
    fields = {field.name for field in msgspec.structs.fields(event)}
    assert set(written["properties"]) - {"event"} <= fields
