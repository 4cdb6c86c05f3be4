import random

import pytest

from slowdust.experiment.engine.schedule import (
    Budget,
    block_order,
    following_order,
    rounds,
    turns_left,
)


@pytest.mark.parametrize("contenders", [1, 2, 3, 7])
def test_a_linear_drift_adds_the_same_to_every_contender(contenders: int) -> None:
    rng = random.Random(3)
    for _ in range(20):
        order = block_order(contenders, rng)
        places = {
            who: [slot for slot, place in enumerate(order) if place == who]
            for who in range(contenders)
        }
        assert {len(slots) for slots in places.values()} == {2}
        assert len({sum(slots) for slots in places.values()}) == 1


def test_both_orders_occur() -> None:
    rng = random.Random(5)
    assert {tuple(block_order(2, rng)) for _ in range(20)} == {(0, 1, 1, 0), (1, 0, 0, 1)}


def test_the_rest_of_a_settled_tests_budget_goes_to_the_others() -> None:
    budget = Budget(total=80.0)
    first = budget.share(turns_left(4, 4, 1))
    assert first == pytest.approx(10.0)
    budget.spent = 2.0  # the first of four tests settled after 2 s
    assert budget.share(turns_left(3, 3, 1)) == pytest.approx(13.0)


def test_an_overspent_budget_has_nothing_left() -> None:
    assert Budget(total=10.0, spent=12.0).share(3) == 0.0


def test_there_are_at_least_three_starts_and_four_of_few_tests() -> None:
    assert rounds(10.0, 40) == 3
    assert rounds(10.0, 3) == 3
    assert rounds(10.0, 2) == rounds(10.0, 1) == 4


def test_a_usual_budget_affords_six_starts() -> None:
    assert rounds(60.0, 3) == 4
    assert rounds(60.0, 2) == 6
    assert rounds(600.0, 42) == 3
    assert rounds(36000.0, 1) == 6


@pytest.mark.parametrize("contenders", [2, 3, 5])
def test_two_blocks_give_each_contender_each_place_and_its_opposite(contenders: int) -> None:
    first = block_order(contenders, random.Random(3))
    second = following_order(first)
    assert second == second[::-1]
    assert second[:contenders] == first[:contenders][::-1]
