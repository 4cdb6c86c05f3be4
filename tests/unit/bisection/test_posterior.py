"""The posterior of where a test changed."""

from __future__ import annotations

import math

import pytest

from slowdust.bisection.posterior import Evidence, beliefs

DRIFT = 0.0025


def test_without_evidence_there_is_no_belief() -> None:
    assert beliefs([], 8, DRIFT) == []


def test_an_exact_difference_is_a_change_and_an_exact_1_is_none() -> None:
    seen = beliefs([Evidence(0, 4, 0.05, 1e-4), Evidence(4, 8, 0.0, 1e-4)], 8, DRIFT)
    assert [(each.before, each.after) for each in seen] == [(0, 4), (4, 8)]
    assert seen[0].changed > 0.95
    assert seen[1].changed < 0.05
    assert seen[0].log_ratio == pytest.approx(0.05, abs=2e-3)


def test_one_candidate_agrees_with_the_formula_of_two_hypotheses() -> None:
    """One interval of one gap: Bayes' rule with the two marginal densities, wrong ones included."""
    y, error, last = 0.02, 0.01, 3
    prior = min(0.5, 1.5 / last)

    def density(variance: float) -> float:
        return math.exp(-(y**2) / (2 * variance)) / math.sqrt(variance)

    def marginal(own: float) -> float:
        return 0.98 * density(own + error**2) + 0.02 * density(own + error**2 + 0.1**2)

    changed = prior * marginal(DRIFT**2 + 0.1**2)
    unchanged = (1 - prior) * marginal(DRIFT**2)
    (belief,) = beliefs([Evidence(0, 1, y, error)], last, DRIFT)
    assert belief.changed == pytest.approx(changed / (changed + unchanged), rel=1e-6)


def test_a_wrong_measurement_is_outvoted() -> None:
    agreed = [Evidence(0, 8, 0.06, 0.003), Evidence(0, 4, 0.06, 0.003), Evidence(4, 8, 0.0, 0.003)]
    contradicted = [*agreed, Evidence(0, 4, 0.0, 0.003), Evidence(0, 4, 0.061, 0.003)]
    seen = beliefs(contradicted, 8, DRIFT)
    assert seen[0].changed > 0.9
    assert seen[1].changed < 0.2


def test_a_longer_interval_is_more_likely_to_have_a_change() -> None:
    evidence = [Evidence(0, 1, 0.012, 0.01), Evidence(1, 40, 0.012, 0.01)]
    short, long = beliefs(evidence, 40, DRIFT)
    assert long.changed > short.changed
