"""Tests have shares of the budget by the calibrations of the hosts."""

from __future__ import annotations

import math

import pytest

from slowdust.experiment.spec.spec import Spec, parse_spec
from slowdust.fleet.model import HostFacts, Weight
from slowdust.fleet.planning.sizing import EQUAL, sizing_by

TESTS = ["point-query", "hot-points", "scan", "random-points.10"]


def spec_of(**changes: object) -> Spec:
    contenders = ["postgres@15.8", "postgres@17.6"]
    return parse_spec(
        {"name": "night", "contenders": contenders, "tests": TESTS, "rows": 1000, **changes}
    )


def host(*weights: float, clients: int = 1, dbms: str = "postgres", rows: int = 1000) -> HostFacts:
    """A host that keeps the weights of the first tests."""
    return HostFacts(
        slowdust="0",
        weights=[
            Weight(test=test, clients=clients, dbms=dbms, rows=rows, weight=weight)
            for test, weight in zip(TESTS, weights, strict=False)
        ],
    )


def test_without_calibrations_all_tests_have_the_same() -> None:
    assert sizing_by([], spec_of()) == EQUAL
    assert sizing_by([host()], spec_of()) == EQUAL
    assert sizing_by([host(1, 2, dbms="sqlite")], spec_of()) == EQUAL
    assert EQUAL.size(TESTS) == 4


def test_shares_are_proportional_to_the_medians_over_hosts() -> None:
    hosts = [host(1, 1, 1, 2), host(1, 2, 2, 4), host(9, 2, 2, 9), host(dbms="sqlite")]
    sizing = sizing_by(hosts, spec_of())
    assert sizing.hosts == 3
    expected = [1, 2, 2, 4]
    assert [sizing.shares[test] for test in TESTS] == pytest.approx(
        [each * 4 / sum(expected) for each in expected], rel=1e-4
    )


def test_a_test_that_nobody_calibrated_has_a_typical_share() -> None:
    sizing = sizing_by([host(1, 2, 3)], spec_of())
    assert sizing.shares["random-points.10"] == pytest.approx(sizing.shares["hot-points"])


def test_no_share_is_beyond_its_bounds_and_they_add_up() -> None:
    sizing = sizing_by([host(1, 1, 1, 1000)], spec_of())
    assert [sizing.shares[test] for test in TESTS] == pytest.approx([1 / 3, 1 / 3, 1 / 3, 3])
    sizing = sizing_by([host(1, 1000, 1000, 1000)], spec_of())
    assert sizing.shares["point-query"] == pytest.approx(1 / 3)
    assert sizing.size(TESTS) == pytest.approx(4)


def test_rows_and_clients_of_the_experiment_come_first() -> None:
    own, other = host(1, 2), host(2, 1, clients=8)
    both = HostFacts(slowdust="0", weights=[*own.weights, *other.weights])
    shares = sizing_by([both], spec_of()).shares
    assert shares["hot-points"] > shares["point-query"]
    shares = sizing_by([both], spec_of(clients=[8])).shares
    assert shares["hot-points"] < shares["point-query"]
    more_rows = host(2, 1, rows=5000)
    both = HostFacts(slowdust="0", weights=[*own.weights, *more_rows.weights])
    assert sizing_by([both], spec_of()).shares["hot-points"] > 1
    assert sizing_by([more_rows], spec_of()).hosts == 1, "else those of other rows count"


@pytest.mark.parametrize("weight", [0.0, -1.0, math.nan, math.inf])
def test_a_weight_that_is_none_does_not_count(weight: float) -> None:
    assert sizing_by([host(weight)], spec_of()) == EQUAL
