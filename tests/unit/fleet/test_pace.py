"""A host's pace is learned from what it has done, and tells how long the rest takes."""

from __future__ import annotations

import pytest

from slowdust.fleet.planning.pace import Paces, Teaches


def paces(**known: float) -> Paces:
    """Hosts of one team, each of a pace that it has shown by a shard of 100 seconds."""
    of = Paces()
    of.share(dict.fromkeys([*known, "unknown"], ""), 0.0)
    for host, pace in known.items():
        of.begin(host, "s", 100.0, 0.0, Teaches.YES)
        of.finish(host, 100.0 * pace)
    return of


def test_hosts_without_a_pace_have_the_mean_of_the_others() -> None:
    assert Paces().pace("a") == 1.0
    known = paces(a=1.0, b=2.0)
    assert [known.pace(host) for host in ("a", "b", "unknown")] == [1.0, 2.0, 1.5]
    assert known.speed("") == pytest.approx(1 + 1 / 2 + 1 / 1.5)
    assert known.is_slow("b")
    assert not known.is_slow("a")
    assert not paces(a=2.0, b=2.0).is_slow("b"), "what all take is none's slowness"


def test_turns_of_a_shard_teach_before_it_ends() -> None:
    known = paces(a=1.0)
    known.begin("b", "s", 100.0, 50.0, Teaches.YES)
    known.advance("b", 0.25, 125.0)
    assert known.pace("b") == 3.0
    assert known.left("b", 125.0) == 225.0
    known.advance("b", 0.25, 200.0)
    assert known.left("b", 200.0) == 150.0, "the turn is done once"
    known.leave("b")
    assert known.pace("b") == 3.0, "what it has shown stays known"


def test_what_takes_longer_than_expected_needs_as_long_again() -> None:
    known = paces(a=1.0)
    known.begin("b", "s", 100.0, 0.0, Teaches.YES)
    assert known.left("b", 40.0) == 60.0
    assert known.left("b", 130.0) == 130.0
    known.advance("b", 0.5, 200.0)
    assert known.left("b", 250.0) == 150.0
    assert known.left("b", 500.0) == 300.0, "since the last turn"
    known.advance("b", 1.0, 500.0)
    assert known.left("b", 550.0) == 0.0, "all its turns are done"


def test_a_shard_that_an_earlier_head_gave_out_teaches_nothing() -> None:
    known = paces(a=2.0)
    known.begin("b", "s", 100.0, 0.0, Teaches.NO)
    known.advance("b", 0.5, 0.0)
    assert known.left("b", 10.0) == 90.0, "half of it, at the mean pace"
    known.finish("b", 11.0)
    assert not known.known("b")


def test_the_work_of_the_busy_is_summed_as_time_goes_on() -> None:
    known = paces(a=1.0, b=2.0)
    known.begin("a", "s", 100.0, 0.0, Teaches.YES)
    known.begin("b", "t", 50.0, 0.0, Teaches.YES)
    assert known.left_of_team("", 0.0) == pytest.approx(150.0)
    assert known.left_of_team("", 60.0) == pytest.approx(40.0 + 20.0)
    assert known.next_end("", 60.0) == 100.0
    known.advance("b", 0.5, 60.0)  # a pace of (200 + 60) / (100 + 25)
    assert known.left_of_team("", 60.0) == pytest.approx(40.0 + 60.0 / (260 / 125))
    known.share({"a": "", "b": ""}, 60.0)
    assert known.left_of_team("", 60.0) == pytest.approx(40.0 + 60.0 / (260 / 125))
    known.finish("b", 110.0)
    assert known.left_of_team("", 110.0) == 0.0, "what is overdue has an unknown rest"
    assert known.next_end("", 110.0) is None


def test_a_shard_that_ended_early_teaches_by_what_was_done_of_it() -> None:
    known = paces(a=1.0)
    known.begin("b", "s", 100.0, 0.0, Teaches.YES)
    known.finish("b", 75.0, share=0.5)
    assert known.pace("b") == 1.5, "its tests were settled after half of the turns"
    known.begin("unknown", "s", 100.0, 0.0, Teaches.YES)
    known.finish("unknown", 1.0, share=0.0)
    assert not known.known("unknown"), "nothing could be measured"
