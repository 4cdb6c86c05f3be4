"""Shards that fail are tried elsewhere while anybody may, and again when the head goes on."""

from __future__ import annotations

from pathlib import Path

import pytest

from slowdust.errors import SlowdustError
from slowdust.experiment.journal import StartMode
from slowdust.fleet.record import Asked
from tests.unit.fleet.laboratory import TESTS, Laboratory, spec_of
from tests.unit.synthetic_fleet import SimulatedFleet, SimulatedHost

FAILS = {"scan": "no such table"}


@pytest.mark.parametrize("other", ["x", "y"])
def test_a_copy_that_nobody_else_may_measure_is_given_up(tmp_path: Path, other: str) -> None:
    """A third host of another CPU model, or of one that --hosts keeps out, is none for it."""
    hosts = {
        "a": SimulatedHost(cpu="x"),
        "bad": SimulatedHost(cpu="x", fails=FAILS),
        "z": SimulatedHost(cpu=other),
    }
    wanted = Asked(replicate=2, hosts=2 if other == "x" else None)
    laboratory = Laboratory(tmp_path, SimulatedFleet(hosts), wanted)
    laboratory.run()
    record = laboratory.record
    [shard] = record.given_up
    assert "scan" in record.cuts[shard].tests
    assert any(text.startswith(f"{shard} (scan") for text in laboratory.view.warnings)
    assert record.finished
    assert {each.place.test for each in laboratory.slices()} == {*TESTS}


def test_a_shard_that_failed_is_given_up_when_the_last_host_for_it_is_lost(tmp_path: Path) -> None:
    hosts = {
        "a": SimulatedHost(),
        "bad": SimulatedHost(fails=FAILS),
        "c": SimulatedHost(dies=15.0),
    }
    laboratory = Laboratory(tmp_path, SimulatedFleet(hosts), Asked(replicate=2))
    laboratory.run()
    assert "no such table" in laboratory.record.given_up.values()


def test_what_was_given_up_is_tried_again_when_the_head_goes_on(tmp_path: Path) -> None:
    hosts = {name: SimulatedHost(fails=FAILS) for name in "ab"}
    laboratory = Laboratory(tmp_path, SimulatedFleet(hosts))
    laboratory.run()
    assert laboratory.record.given_up
    for host in hosts.values():
        host.fails = {}
    laboratory.run(StartMode.RESUME)
    laboratory.check_complete()
    assert not laboratory.record.given_up
    assert laboratory.record.finished


def test_where_every_shard_is_given_up_the_reason_is_the_error(tmp_path: Path) -> None:
    laboratory = Laboratory(tmp_path, SimulatedFleet({"a": SimulatedHost(fails=FAILS)}))
    laboratory.spec = spec_of(tests=["scan"])
    with pytest.raises(SlowdustError, match="no shard could be measured: no such table"):
        laboratory.run()
