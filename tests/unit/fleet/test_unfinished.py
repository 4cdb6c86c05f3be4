"""What a manifest tells of how far a host has come."""

from __future__ import annotations

import json

import pytest

from slowdust.fleet.planning.cutting import Cut
from slowdust.fleet.unfinished import Turns, turns_of

CUT = Cut(contenders=[], tests=["scan", "point-query"], clients=[1])


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
    assert turns_of(manifest(scan=3, point_query=2), CUT) == Turns(2, 6, 3)
    assert turns_of(manifest(scan=3), CUT) == Turns(0, 6, 3)


def test_a_settled_test_needs_no_more_turns() -> None:
    settled = manifest(settled=("scan@1",), scan=3, point_query=5)
    assert turns_of(settled, CUT) == Turns(5, 6, 5)
    all_settled = manifest(settled=("scan@1", "point-query@1"), scan=3, point_query=4)
    assert turns_of(all_settled, CUT) == Turns(6, 6, 4)


@pytest.mark.parametrize("content", [b"", b"{}", b'{"method": 3}', b"\xff"])
def test_a_damaged_manifest_tells_nothing(content: bytes) -> None:
    assert turns_of(content, CUT) is None
