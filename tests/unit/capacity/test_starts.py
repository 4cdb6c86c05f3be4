"""Intervals of capacity ratios cover the variation from start to start."""

from __future__ import annotations

import math
from collections.abc import Sequence

import msgspec
import pytest
from scipy.special import stdtrit

from slowdust.store.trial import Trial
from slowdust.studies.capacity.curve import fit_curve, interval_of_ratio
from slowdust.studies.capacity.search import Plan
from slowdust.studies.capacity.sla import meets
from tests.unit.synthetic_capacity import SLA, Machine, SimulatedServers, searched

NAMES = ["A", "B"]
QUIET = Machine(start=0.005, drift=0.01, noise=0.05, stalls=0.0)
EQUAL = {"A": 100e-6, "B": 100e-6}
UNLUCKY = 2
"""Trials of B that miss the SLA for nothing of its own, far below its capacity."""


@pytest.fixture(scope="module")
def trials() -> list[Trial]:
    """Return the trials of two equal contenders in three starts on a quiet machine."""
    servers = SimulatedServers(EQUAL, QUIET, seed=1)
    search, _ = searched(servers, NAMES, Plan(36.0, 0.001, starts=3, seed=1))
    return search.trials


def with_misses(trials: Sequence[Trial], start: int) -> list[Trial]:
    """Return the trials; at the lowest rates of a start some of B's miss the SLA."""
    low = sorted(
        (trial for trial in trials if trial.contender == "B" and trial.start == start),
        key=lambda trial: trial.rate,
    )[:UNLUCKY]
    assert all(meets(SLA, trial) for trial in low)
    spoilt = {(trial.turn, trial.contender) for trial in low}
    return [
        msgspec.structs.replace(trial, times={"p99": 0.4})
        if (trial.turn, trial.contender) in spoilt
        else trial
        for trial in trials
    ]


def ends(trials: Sequence[Trial]) -> tuple[float, float]:
    return interval_of_ratio(trials, NAMES, SLA, fit_curve(trials, NAMES, SLA), 1, confidence=0.95)


def log_ratio(trials: Sequence[Trial]) -> float:
    """Return the middle of the ln ratio, of trials in any starts."""
    starts = sorted({trial.start for trial in trials})
    renumbered = [
        msgspec.structs.replace(trial, start=starts.index(trial.start) + 1) for trial in trials
    ]
    return fit_curve(renumbered, NAMES, SLA).log_ratio(1, 0).quantile(0.5)


def of_the_model(trials: Sequence[Trial]) -> tuple[float, float]:
    return fit_curve(trials, NAMES, SLA).log_ratio(1, 0).interval(0.95)


@pytest.mark.parametrize("start", [1, 2])
def test_unlucky_trials_in_one_start_leave_equal_contenders_equal(
    trials: list[Trial], start: int
) -> None:
    low, high = ends(with_misses(trials, start))
    assert low < 0 < high


def test_unlucky_trials_hardly_widen_the_spread_of_their_contender_alone(
    trials: list[Trial],
) -> None:
    curve = fit_curve(with_misses(trials, 2), NAMES, SLA)
    # With a spread of its own for each contender, it would be above 1.2.
    assert curve.spread(1) / curve.spread(0) < 1.1


def test_misses_far_below_the_threshold_leave_the_search_for_the_mode_on_its_way(
    trials: list[Trial],
) -> None:
    later = [trial for trial in with_misses(trials, 2) if trial.start > 1]
    assert abs(log_ratio(later)) < 0.05


def test_a_ratio_reaches_as_far_as_the_jackknife_over_the_starts(trials: list[Trial]) -> None:
    unlucky = with_misses(trials, 2)
    without = [log_ratio([t for t in unlucky if t.start != start]) for start in (1, 2, 3)]
    mean = sum(without) / 3
    reach = stdtrit(2, 0.975) * math.sqrt(2 / 3 * sum((each - mean) ** 2 for each in without))
    sure = fit_curve(trials, NAMES, SLA)
    middle = sure.log_ratio(1, 0).quantile(0.5)
    low, high = sure.log_ratio(1, 0).interval(0.95)
    assert reach > max(high - middle, middle - low), "the starts reach further than the model"
    ends = interval_of_ratio(unlucky, NAMES, SLA, sure, 1, confidence=0.95)
    assert ends == pytest.approx((middle - reach, middle + reach))


def test_two_starts_say_nothing_of_how_much_they_differ(trials: list[Trial]) -> None:
    two = [trial for trial in trials if trial.start <= 2]
    assert ends(two) == of_the_model(two)


def test_starts_in_which_one_of_the_two_was_not_there_say_nothing(trials: list[Trial]) -> None:
    mostly_alone = [trial for trial in trials if trial.contender == "A" or trial.start <= 2]
    assert ends(mostly_alone) == of_the_model(mostly_alone)
