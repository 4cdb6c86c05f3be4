"""The length of a slice, for machines whose speed changes in a known way."""

from __future__ import annotations

import numpy as np
import pytest

from slowdust.experiment.engine.slice_length import (
    LENGTHS,
    RUN,
    USUAL,
    SpeedRecord,
    choose_length,
    interval_widths,
    record_seconds,
    usual_length,
)

DISCARD = 0.01
OVERHEAD = 0.002


def record(speeds: np.ndarray, per_second: float = 20_000) -> SpeedRecord:
    """Return a record of runs at these relative speeds."""
    return SpeedRecord(
        operations=speeds * per_second * RUN,
        seconds=np.full(len(speeds), RUN),
        overhead=OVERHEAD,
    )


def regimes(length: float, seconds: float = 20.0, seed: int = 1) -> np.ndarray:
    """Return speeds of runs that are 1 or 2, each for an exponential time of mean `length`."""
    rng = np.random.default_rng(seed)
    count = int(seconds / RUN)
    switches = rng.random(count) < RUN / length
    fast = np.cumsum(switches) % 2
    return np.where(fast, 2.0, 1.0) * np.exp(rng.normal(0, 0.02, count))


def white(spread: float, seconds: float = 20.0) -> np.ndarray:
    """Return speeds of runs that have nothing to do with each other."""
    rng = np.random.default_rng(2)
    return np.exp(rng.normal(0, spread, int(seconds / RUN)))


def test_shot_noise_wants_long_slices() -> None:
    widths = interval_widths(record(white(0.1)), DISCARD)
    assert list(widths) == sorted(widths)
    assert widths[0.25] < widths[0.025]


def test_shot_noise_has_the_width_of_arithmetic() -> None:
    """The variance of a slice of n runs is spread^2 / n; a block has the variance of one slice."""
    spread, length = 0.05, 0.1
    width = interval_widths(record(white(spread, 200.0)), DISCARD, [length])[length]
    slot = OVERHEAD + DISCARD + length
    assert width == pytest.approx(np.sqrt(spread**2 / (length / RUN) * 4 * slot), rel=0.1)


@pytest.mark.parametrize("regime", [0.2, 0.5, 1.0])
def test_regimes_longer_than_a_block_want_short_slices(regime: float) -> None:
    widths = interval_widths(record(regimes(regime, 120.0)), DISCARD)
    assert widths[0.25] > 1.5 * widths[0.05]
    assert choose_length(record(regimes(regime, 120.0)), DISCARD) <= USUAL


def test_a_regime_of_half_a_minute_is_seldom_a_reason_for_an_extreme_length() -> None:
    chosen = [choose_length(record(regimes(30.0, 2.0, seed)), DISCARD) for seed in range(40)]
    assert chosen.count(LENGTHS[0]) < 6
    assert LENGTHS[-1] not in chosen


def test_regimes_shorter_than_any_slice_are_noise() -> None:
    widths = interval_widths(record(regimes(0.01, 120.0)), DISCARD)
    assert widths[0.1] < widths[0.025]


def test_a_slice_has_ten_operations_or_is_as_long_as_slices_get() -> None:
    speeds = regimes(0.3)
    assert choose_length(record(speeds, per_second=20_000), DISCARD) == 0.025
    assert choose_length(record(speeds, per_second=110), DISCARD) == 0.1
    assert choose_length(record(speeds, per_second=2), DISCARD) == LENGTHS[-1]
    assert usual_length(150) == 0.1
    assert usual_length(20_000) == USUAL


def test_slow_operations_take_longer_than_a_run() -> None:
    steady = np.full(100, 0.02)
    slow = SpeedRecord(operations=np.ones(100), seconds=steady, overhead=OVERHEAD)
    assert slow.per_second == pytest.approx(50)
    assert choose_length(slow, DISCARD) == 0.25


def test_unrecorded_facts_are_omitted() -> None:
    half = record(regimes(0.3, 0.5))
    assert 0.25 not in interval_widths(half, DISCARD)
    assert choose_length(record(white(0.1, 0.1)), DISCARD) == USUAL


def test_a_record_takes_a_small_share_of_the_budget() -> None:
    assert record_seconds(5.0, 2) == 0.0
    assert record_seconds(15.0, 2) == pytest.approx(0.9)
    assert record_seconds(600.0, 2) == pytest.approx(2.0)
    assert record_seconds(60.0, 10) == pytest.approx(1.2)
