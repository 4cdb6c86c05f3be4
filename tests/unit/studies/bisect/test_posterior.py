"""The posterior of the place of a change."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest

from slowdust.studies.bisect.posterior import MeasuredRatio, beliefs

DRIFT = 0.0025
CHANGES = {DRIFT: 0.0, 0.08: 0.87, 0.4: 0.07, 1.6: 0.04, 6.4: 0.02}
"""Scale -> share of the changes; the first one has no change."""
ERRORS = {0.0: 0.98, 0.1: 0.019, 0.8: 0.001}
"""Scale of a measurement's error beyond its own -> share of the measurements."""


def test_without_evidence_there_is_no_belief() -> None:
    assert beliefs([], 8, DRIFT) == []


def test_an_exact_difference_is_a_change_and_an_exact_1_is_none() -> None:
    seen = beliefs([MeasuredRatio(0, 4, 0.05, 1e-4), MeasuredRatio(4, 8, 0.0, 1e-4)], 8, DRIFT)
    assert [(each.before, each.after) for each in seen] == [(0, 4), (4, 8)]
    assert seen[0].changed > 0.95
    assert seen[1].changed < 0.05
    assert seen[0].log_ratio == pytest.approx(0.05, abs=2e-3)


@pytest.mark.parametrize(
    "measured", [(0.02, 0.01, 0.012), (0.05, -0.06, 0.03), (3.0, 0.0, 2.8), (0.3, 0.0, 0.0)]
)
def test_it_agrees_with_bayes_rule_over_all_combinations(
    measured: tuple[float, float, float],
) -> None:
    evidence = [
        MeasuredRatio(before, after, value, 0.01)
        for (before, after), value in zip([(0, 1), (1, 3), (0, 3)], measured, strict=True)
    ]
    values, sums = np.array(measured), np.array([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]])
    prior = [0.5, 1 - 0.5**2]
    total, changed, mean = 0.0, np.zeros(2), np.zeros(2)
    for scales in product(CHANGES, repeat=2):
        for wrong in product(ERRORS, repeat=3):
            variances = np.array(
                [DRIFT**2 + (scale**2 if scale != DRIFT else 0) for scale in scales]
            )
            covariance = (sums * variances) @ sums.T + np.diag([0.01**2 + w**2 for w in wrong])
            weight = math.exp(-0.5 * values @ np.linalg.inv(covariance) @ values)
            weight /= math.sqrt(np.linalg.det(covariance))
            weight *= math.prod(ERRORS[each] for each in wrong)
            for scale, odds in zip(scales, prior, strict=True):
                weight *= 1 - odds if scale == DRIFT else odds * CHANGES[scale]
            total += weight
            changed += weight * np.array([scale != DRIFT for scale in scales])
            mean += weight * ((sums * variances).T @ np.linalg.inv(covariance) @ values)
    seen = beliefs(evidence, 3, DRIFT)
    assert [each.changed for each in seen] == pytest.approx(changed / total, abs=2e-3)
    assert [each.log_ratio for each in seen] == pytest.approx(mean / total, abs=2e-3)


@pytest.mark.parametrize("size", [1.5, 3.0, 10.0, 2000.0, 10_000.0, 1 / 2000])
@pytest.mark.parametrize("error", [1e-4, 0.01, 0.04])
def test_a_large_change_is_found_at_its_place_alone(size: float, error: float) -> None:
    measured = [(0, 4), (0, 2), (2, 4), (2, 3), (3, 4), (0, 1), (1, 2)]
    evidence = [
        MeasuredRatio(before, after, math.log(size) if before < 3 <= after else 0.0, error)
        for before, after in measured
    ]
    seen = beliefs(evidence, 4, 0.0075)
    assert [each.after for each in seen if each.changed >= 0.5] == [3]
    assert math.exp(seen[2].log_ratio) == pytest.approx(size, rel=0.1)
    assert all(abs(each.log_ratio) < 0.01 for each in seen if each.after != 3)


def test_a_wrong_measurement_is_outvoted() -> None:
    agreed = [
        MeasuredRatio(0, 8, 0.06, 0.003),
        MeasuredRatio(0, 4, 0.06, 0.003),
        MeasuredRatio(4, 8, 0.0, 0.003),
    ]
    contradicted = [*agreed, MeasuredRatio(0, 4, 0.0, 0.003), MeasuredRatio(0, 4, 0.061, 0.003)]
    seen = beliefs(contradicted, 8, DRIFT)
    assert seen[0].changed > 0.9
    assert seen[1].changed < 0.2


def test_a_longer_interval_is_more_likely_to_have_a_change() -> None:
    evidence = [MeasuredRatio(0, 1, 0.012, 0.01), MeasuredRatio(1, 40, 0.012, 0.01)]
    short, long = beliefs(evidence, 40, DRIFT)
    assert long.changed > short.changed
