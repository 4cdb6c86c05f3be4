"""The share of the budget that each test of an experiment has, by the calibrations of the hosts.

A test that needs four times as long for an interval as narrow gets four times as much, within
bounds: what a calibration says is as uncertain as any measurement.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from statistics import median

import msgspec

from slowdust.experiment.outlook import system_of
from slowdust.experiment.spec.spec import Spec
from slowdust.fleet.model import HostFacts, Weight

_LEAST = 1 / 3
_MOST = 3.0
"""Bounds of a test's share, as multiples of an equal one."""
_HALVINGS = 60


class Sizing(msgspec.Struct, kw_only=True, frozen=True, omit_defaults=True):
    """The shares that tests have of the budget."""

    hosts: int = 0
    """Hosts whose calibrations say so."""
    shares: dict[str, float] = {}
    """Test -> its share, as a multiple of an equal one; 1 for those that are not there."""

    def size(self, tests: Collection[str]) -> float:
        """Return the share of tests together, as a multiple of an equal share of one."""
        return sum(self.shares.get(test, 1.0) for test in tests)


EQUAL = Sizing()


def sizing_by(hosts: Collection[HostFacts], spec: Spec) -> Sizing:
    """Return the shares of an experiment's tests by what hosts keep of their calibrations.

    A test's weight is the median over hosts. One that no host has calibrated has a typical weight.
    """
    tests = [test.name for test in spec.chosen_tests()]
    system = system_of(spec)
    by_host = [_weights(host.weights, tests, system, spec) for host in hosts]
    by_host = [each for each in by_host if each]
    known = {
        test: median(each[test] for each in by_host if test in each)
        for test in tests
        if any(test in each for each in by_host)
    }
    if not known:
        return EQUAL
    typical = median(known.values())
    shares = _bounded({test: known.get(test, typical) for test in tests})
    return Sizing(hosts=len(by_host), shares=shares)


def _weights(
    kept: Sequence[Weight], tests: Collection[str], system: str, spec: Spec
) -> dict[str, float]:
    """Return test -> weight of one host, at the experiment's rows and clients where it has them."""
    usable = [
        each
        for each in kept
        if each.dbms == system and each.test in tests and 0 < each.weight < math.inf
    ]
    usable = [each for each in usable if each.rows == spec.rows] or usable
    weights = {}
    for test in {each.test for each in usable}:
        of_test = [each for each in usable if each.test == test]
        of_test = [each for each in of_test if each.clients in spec.clients] or of_test
        weights[test] = median(each.weight for each in of_test)
    return weights


def _bounded(weights: Mapping[str, float]) -> dict[str, float]:
    """Return shares of a mean of 1, proportional to weights where the bounds do not hold them."""

    def shares(factor: float) -> dict[str, float]:
        return {test: min(_MOST, max(_LEAST, factor * weight)) for test, weight in weights.items()}

    low, high = _LEAST / max(weights.values()), _MOST / min(weights.values())
    for _ in range(_HALVINGS):
        middle = math.sqrt(low * high)
        if sum(shares(middle).values()) < len(weights):
            low = middle
        else:
            high = middle
    return {test: round(share, 6) for test, share in shares(high).items()}
