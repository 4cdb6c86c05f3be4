"""Searches find known capacities, with intervals that cover them."""

from __future__ import annotations

import math

import pytest

from slowdust.store.trial import Trial
from slowdust.studies.capacity.search import BUDGET, PRECISION, Plan, Search
from slowdust.studies.capacity.sla import meets
from tests.tiers.selection import full
from tests.unit.synthetic_capacity import SLA, Machine, SimulatedServers, run_start, searched

NAMES = ["A", "B"]
QUIET = Machine(start=0.005, drift=0.01, noise=0.05, stalls=0.0)
EQUAL = {"A": 100e-6, "B": 100e-6}


def held(search: Search, servers: SimulatedServers) -> list[bool]:
    """Return whether the 99.9% intervals hold both capacities and their ratio."""
    curve = search.curve()
    truths = [math.log(servers.capacity(name)) for name in NAMES]
    known = [(curve.capacity(0), truths[0]), (curve.capacity(1), truths[1])]
    known.append((curve.log_ratio(1, 0), truths[1] - truths[0]))
    intervals = [(each.interval(0.999), truth) for each, truth in known]
    return [low <= truth <= high for (low, high), truth in intervals]


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=full)])
def test_capacities_on_a_quiet_machine_are_found(seed: int) -> None:
    servers = SimulatedServers({"A": 100e-6, "B": 130e-6}, QUIET, seed=seed)
    search, ended = searched(servers, NAMES, Plan(40.0, 0.001, starts=3, seed=seed))
    assert ended == BUDGET
    assert 38 < search.spent < 42
    assert all(held(search, servers))
    low, high = search.curve().log_ratio(1, 0).interval(0.95)
    assert high < 0, "30% more service time is seen"
    assert high - low < 0.25


@pytest.mark.parametrize("seed", [0, pytest.param(1, marks=full)])
def test_stalls_and_drift_widen_the_intervals_and_they_hold(seed: int) -> None:
    machine = Machine(start=0.03, drift=0.2, noise=0.15, stalls=0.15)
    servers = SimulatedServers(EQUAL, machine, seed=seed)
    search, _ = searched(servers, NAMES, Plan(40.0, 0.001, starts=3, seed=seed))
    assert all(held(search, servers))
    assert search.curve().lapse > 0.03


@pytest.fixture(scope="module")
def precise() -> Search:
    """Return a search that ended since it was precise."""
    search, ended = searched(SimulatedServers(EQUAL, QUIET), NAMES, Plan(60.0, 0.3, starts=4))
    assert ended == PRECISION
    return search


def test_a_search_ends_when_it_is_precise_but_not_before_the_third_start(precise: Search) -> None:
    assert precise.over == PRECISION
    assert precise.last_start == 3
    assert precise.spent < 54


def test_trials_of_a_turn_are_in_balanced_order_and_each_contender_has_one() -> None:
    servers = SimulatedServers(EQUAL, QUIET)
    search, _ = searched(servers, NAMES, Plan(10.0, 0.001, starts=1))
    turns = [[t.contender for t in search.trials if t.turn == turn] for turn in range(4)]
    assert turns == [["A", "B"], ["B", "A"], ["A", "B"], ["B", "A"]]


def test_a_search_resumes_where_it_was() -> None:
    servers = SimulatedServers(EQUAL, QUIET)
    first, _ = searched(servers, NAMES, Plan(15.0, 0.001, starts=2))
    again = Search(NAMES, SLA, Plan(40.0, 0.001, starts=3), [*first.trials])
    assert (again.last_start, again.wants_start) == (2, True)
    servers.start()
    run_start(again, servers)
    assert again.ended == BUDGET
    assert again.spent > 35
    assert again.trials[len(first.trials)].turn == first.trials[-1].turn + 1


def test_contenders_that_miss_the_sla_are_tried_down_to_the_lowest_rate() -> None:
    servers = SimulatedServers({"A": 100e-6, "B": 5.5e-3}, QUIET)
    search, _ = searched(servers, NAMES, Plan(30.0, 0.001, starts=1))
    rates = [trial.rate for trial in search.trials if trial.contender == "B"]
    assert not any(meets(SLA, t) for t in search.trials if t.contender == "B")
    assert min(rates) == servers.lowest
    low, high = search.curve().capacity(0).interval(0.999)
    assert low <= math.log(servers.capacity("A")) <= high


def test_dropped_contenders_have_no_more_trials_and_the_others_continue() -> None:
    class Failing(SimulatedServers):
        def turn(self, number: int, rates: dict[str, float]) -> list[Trial]:  # type: ignore[override]
            left = {name: rate for name, rate in rates.items() if name != "B" or number < 8}
            return super().turn(number, left)

    search, _ = searched(Failing(EQUAL, QUIET), NAMES, Plan(15.0, 0.001, starts=1))
    assert max(t.turn for t in search.trials if t.contender == "B") == 7
    assert max(t.turn for t in search.trials if t.contender == "A") > 15


def test_a_rate_that_is_missed_is_no_capacity() -> None:
    trial = Trial(
        contender="A", start=1, turn=0, rate=100.0, seconds=1.0, took=2.0, operations=100,
        times={"p99": 0.001}, kept_up=0.5,
    )  # fmt: skip
    assert not meets(SLA, trial)


def test_contenders_without_a_trial_in_the_interrupted_turn_take_part_again() -> None:
    servers = SimulatedServers(EQUAL, QUIET)
    first, _ = searched(servers, NAMES, Plan(15.0, 0.001, starts=2))
    last = first.trials[-1]
    cut = first.trials[:-1]
    assert [trial.contender for trial in cut if trial.turn == last.turn] != NAMES
    again = Search(NAMES, SLA, Plan(40.0, 0.001, starts=3), cut)
    servers.start()
    run_start(again, servers)
    trials = [trial.contender for trial in again.trials if trial.start == 3]
    assert trials.count("A") == trials.count("B") > 10


def test_dropped_contenders_take_part_in_later_starts() -> None:
    both = SimulatedServers(EQUAL, QUIET)
    alone = SimulatedServers({"A": EQUAL["A"]}, QUIET)
    search = Search(NAMES, SLA, Plan(30.0, 0.001, starts=3))
    for number, servers in enumerate([both, alone, both], start=1):
        servers.start()
        servers.start_number = number
        run_start(search, servers)
    starts = {name: {t.start for t in search.trials if t.contender == name} for name in NAMES}
    assert starts == {"A": {1, 2, 3}, "B": {1, 3}}


def test_a_start_without_contenders_is_not_precise() -> None:
    servers = SimulatedServers({}, QUIET)
    search = Search(NAMES, SLA, Plan(5.0, 0.5, starts=1))
    first, _ = searched(SimulatedServers(EQUAL, QUIET), NAMES, Plan(15.0, 0.001, starts=1))
    search.trials = first.trials
    assert run_start(search, servers) == []
    assert search.ended == BUDGET


def test_a_search_is_not_over_before_the_ratio_that_is_reported_is_precise(
    precise: Search, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "slowdust.studies.capacity.search.interval_of_ratio", lambda *_, **__: (-1, 1)
    )
    assert precise.over is None
