"""Direct measurements that contradict a change, and others that do not."""

from __future__ import annotations

import math

import pytest

from slowdust.studies.bisect.posterior import Direct

MARGIN = 0.03
SLOWER = math.log(1.13)
"""A change of 13%."""


@pytest.mark.parametrize(
    ("ratio", "error"),
    [
        (1.00, 0.02),  # no change
        (1.05, 0.026),  # perhaps none, and not 13%
        (0.90, 0.02),  # the opposite
        (1.06, 0.01),  # another size
        (1.30, 0.02),
    ],
)
def test_another_result_contradicts(ratio: float, error: float) -> None:
    assert Direct(math.log(ratio), error).contradicts(SLOWER, MARGIN)
    assert Direct(-math.log(ratio), error).contradicts(-SLOWER, MARGIN)


@pytest.mark.parametrize(
    ("ratio", "error"),
    [
        (1.13, 0.02),
        (1.05, 0.06),  # it includes no change, and this one too
        (1.11, 0.005),  # hardly another size
        (0.98, 0.2),  # it says nothing
    ],
)
def test_a_result_that_includes_the_change_does_not(ratio: float, error: float) -> None:
    assert not Direct(math.log(ratio), error).contradicts(SLOWER, MARGIN)


def test_large_factors_may_differ_by_more() -> None:
    assert not Direct(math.log(1500), 0.02).contradicts(math.log(2000), MARGIN)
    assert Direct(math.log(500), 0.02).contradicts(math.log(2000), MARGIN)


def test_work_that_changed_the_other_way_contradicts_a_time_that_shows_nothing() -> None:
    less, more = (-0.07, 0.002), (0.07, 0.002)
    unsure, sure = (0.05, 0.06), (SLOWER, 0.02)
    assert Direct(*unsure, work=less).contradicts(SLOWER, MARGIN)
    assert not Direct(*unsure, work=more).contradicts(SLOWER, MARGIN)
    assert not Direct(*sure, work=less).contradicts(SLOWER, MARGIN), "time itself is clear"
    assert Direct(-0.05, 0.06, work=more).contradicts(-SLOWER, MARGIN)
