"""What a manifest tells of how far a host has come."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from slowdust.experiment.spec.spec import parse_spec
from slowdust.fleet.planning.cutting import Cut
from slowdust.fleet.planning.plan import Plan
from slowdust.fleet.planning.queue import Shard
from slowdust.fleet.record import Placement, Record, Wanted
from slowdust.fleet.unfinished import Turns, Unfinished, turns_of

STEPS = ["scan@1", "point-query@1"]


def manifest(planned: int = 6, settled: tuple[str, ...] = (), **done: int) -> bytes:
    keys = {f"{test.replace('_', '-')}@1": turns for test, turns in done.items()}
    return json.dumps(
        {
            "method": {"incarnations": planned, "rows": 9},
            "turns_done": keys,
            "settled": list(settled),
            "benchmark": "of no interest",
        }
    ).encode()


def test_a_turn_is_done_when_all_tests_have_had_it() -> None:
    assert turns_of(manifest(scan=3, point_query=2), STEPS) == Turns(2, 6, 3)
    assert turns_of(manifest(scan=3), STEPS) == Turns(0, 6, 3)


def test_a_settled_test_needs_no_more_turns() -> None:
    settled = manifest(settled=("scan@1",), scan=3, point_query=5)
    assert turns_of(settled, STEPS) == Turns(5, 6, 5)
    all_settled = manifest(settled=("scan@1", "point-query@1"), scan=3, point_query=4)
    assert turns_of(all_settled, STEPS) == Turns(6, 6, 4)


@pytest.mark.parametrize("content", [b"", b"{}", b'{"method": 3}', b"\xff"])
def test_a_damaged_manifest_tells_nothing(content: bytes) -> None:
    assert turns_of(content, STEPS) is None


def test_a_level_that_a_test_does_not_have_is_no_turn_that_is_missing(tmp_path: Path) -> None:
    tests = ["build-hnsw", "exact"]
    spec = parse_spec(
        {
            "name": "vectors",
            "benchmark": "vector",
            "contenders": ["postgres@17.6"],
            "tests": tests,
            "clients": [1, 2],
        }
    )
    cut = Cut(contenders=[], tests=tests, clients=[1, 2])
    shard = Shard(name="s001", seconds=1.0)
    record = Record(id="x", wanted=Wanted(), shards=[shard], cuts={"s001": cut})
    unfinished = Unfinished(tmp_path, spec, record, Plan([shard]))
    turns = {"build-hnsw@1": 2, "exact@1": 2, "exact@2": 2}
    content = json.dumps({"method": {"incarnations": 6}, "turns_done": turns}).encode()
    placement = Placement(shard="s001", host="a", folder="s001", begun=0.0)
    assert unfinished.turns_of(placement, content) == Turns(2, 6, 2)
