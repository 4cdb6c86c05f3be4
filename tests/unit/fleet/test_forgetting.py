"""Hosts keep nothing of an experiment that has ended."""

from __future__ import annotations

from pathlib import Path

import pytest

from slowdust.experiment.journal import StartMode
from slowdust.fleet.model import Part as PartOfFile
from tests.unit.fleet.laboratory import KilledError, Laboratory
from tests.unit.fleet.test_odd_hosts import OddHosts
from tests.unit.synthetic_fleet import SimulatedFleet, SimulatedHost


class HeadDiesAtTheEnd(SimulatedFleet):
    """A fleet whose head is killed before hosts forget anything."""

    forgets = False

    def forget(self, host: str, experiment: str) -> None:
        if not self.forgets:
            raise KilledError
        super().forget(host, experiment)


def test_a_host_that_was_left_out_forgets_what_it_had(tmp_path: Path) -> None:
    hosts = {"a": SimulatedHost(), "full": SimulatedHost(full=30.0), "odd": SimulatedHost()}
    odd = PartOfFile(file="x", content=b"")
    laboratory = Laboratory(tmp_path, OddHosts(hosts, "odd", odd))
    laboratory.run()
    assert laboratory.record.left_out.keys() == {"full", "odd"}
    assert not any(host.disk for host in hosts.values())
    assert not laboratory.record.keeping


def test_a_host_that_was_lost_forgets_when_it_is_met_again(tmp_path: Path) -> None:
    hosts = {"a": SimulatedHost(), "b": SimulatedHost(dies=57.0)}
    laboratory = Laboratory(tmp_path, SimulatedFleet(hosts))
    laboratory.run()
    assert laboratory.record.keeping == {"b"}
    assert hosts["b"].disk
    hosts["b"].dies = None
    laboratory.run(StartMode.RESUME)
    assert not hosts["b"].disk
    assert not laboratory.record.keeping


def test_a_head_that_was_killed_at_the_end_lets_hosts_forget_later(tmp_path: Path) -> None:
    hosts = {name: SimulatedHost() for name in "ab"}
    fleet = HeadDiesAtTheEnd(hosts)
    laboratory = Laboratory(tmp_path, fleet)
    with pytest.raises(KilledError):
        laboratory.run()
    assert laboratory.record.finished
    fleet.forget_head()
    fleet.forgets = True
    laboratory.run(StartMode.RESUME)
    assert not any(host.disk for host in hosts.values())
    laboratory.check_complete()
