"""Which hosts are asked, and which of them measure."""

from __future__ import annotations

from slowdust.fleet.hosts.roster import Roster
from slowdust.fleet.model import HostFacts, Weight
from slowdust.fleet.record import Record, Wanted


def roster(wanted: Wanted | None = None, **cpus: str) -> Roster:
    """Hosts that have answered, each with its CPU."""
    hosts = Roster(Record(id="x", wanted=wanted or Wanted(), shards=[], cuts={}))
    for host in hosts.ask(cpus, 0.0):
        hosts.answer(host, HostFacts(slowdust="0", cpu=cpus[host]))
        hosts.ready.add(host)
    return hosts


def test_a_host_is_asked_once_and_a_lost_one_again_after_a_while() -> None:
    hosts = roster(a="x", b="x")
    assert hosts.ask("ab", 1.0) == []
    assert hosts.gone("b") == ["a"]
    assert hosts.lose("a", 1.0) == 1
    assert not hosts.takes_part("a")
    assert hosts.ask("ab", 30.9) == []
    assert hosts.ask("ab", 31.0) == ["a"]
    assert hosts.lose("a", 31.0) == 2


def test_a_host_that_was_left_out_is_not_asked() -> None:
    hosts = roster(a="x")
    hosts.leave_out("a", "no room")
    assert not hosts.takes_part("a")
    assert hosts.ask("a", 100.0) == []


def test_hosts_that_measure_come_first_and_then_the_largest_group() -> None:
    hosts = roster(Wanted(hosts=2), a="x", b="y", c="y")
    assert hosts.chosen() == ["b", "c"]
    hosts.worked.add("a")
    assert hosts.chosen() == ["a", "b"]


def test_the_record_keeps_no_weights_of_hosts() -> None:
    record = Record(id="x", wanted=Wanted(), shards=[], cuts={})
    weight = Weight(test="scan", clients=1, dbms="postgres", weight=1.0)
    Roster(record).answer("a", HostFacts(slowdust="0", cpus=2, weights=[weight]))
    assert record.hosts == {"a": HostFacts(slowdust="0", cpus=2)}
