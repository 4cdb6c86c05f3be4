"""Restarts that move the tests of a contender together."""

from __future__ import annotations

import math

import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from slowdust.analysis.results.notes import notes_about_restarts
from slowdust.analysis.stored import analyse
from slowdust.stats.blocks import BlockRatios, Step
from slowdust.stats.common_shift import (
    CommonShift,
    find_common_shifts,
    find_shifts,
    independent_share,
)
from tests.unit.synthetic import QUIET, FloatArray, synthetic_experiment

MARGIN = 0.03
_NAMES = ["b"] * 8


def cells(means: FloatArray, contender: str = "b") -> list[BlockRatios]:
    """Return tests by incarnation whose blocks all have the same ratio."""
    return [
        BlockRatios(
            step=Step("micro", f"t{test}", 1),
            contender=contender,
            by_incarnation=tuple(np.full((6, 2), mean) for mean in of_test),
            numbers=tuple(range(1, 1 + len(of_test))),
        )
        for test, of_test in enumerate(means)
    ]


def small_noise(incarnations: int, seed: int = 1) -> FloatArray:
    return np.random.default_rng(seed).normal(0, 0.004, (8, incarnations))


def test_tests_that_move_together_are_one_reading() -> None:
    together = np.tile(np.array([0.0, 0.01, -0.02]), (8, 1))

    assert independent_share(together, np.ones((8, 3)), _NAMES) == pytest.approx(0.0)


def test_tests_that_move_differently_count_in_full() -> None:
    shares = [independent_share(small_noise(3, seed), np.ones((8, 3)), _NAMES) for seed in range(9)]

    assert np.median(shares) > 0.6


def test_contenders_whose_base_moved_move_together() -> None:
    def share(seed: int) -> float:
        means = small_noise(4, seed)
        both = np.concatenate((means, means))
        return independent_share(both, np.ones((16, 4)), [*_NAMES, *["c"] * 8])

    assert np.median([share(seed) for seed in range(20)]) < 0.8


def test_a_test_alone_cannot_borrow() -> None:
    assert independent_share(np.array([[0.1, 0.2]]), np.ones((1, 2)), ["b"]) == 0.0


def test_a_test_with_one_start_says_nothing_about_restarts() -> None:
    means, present = small_noise(3), np.ones((8, 3))
    present[1:, 1:] = 0

    assert independent_share(means, present, _NAMES) == 0.0


def test_many_contenders_are_many_looks() -> None:
    rng = np.random.default_rng(1)

    def named(contenders: int) -> int:
        """Count the runs of noise that report one of five hosts as moved."""
        return sum(
            any(
                find_shifts(
                    f"c{contender}",
                    [dict(enumerate(rng.normal(0, 0.05, 5))) for _ in range(8)],
                    MARGIN,
                    contenders=contenders,
                )
                for contender in range(contenders)
            )
            for _ in range(60)
        )

    assert named(19) <= 3, "1% is promised"


def test_a_restart_that_moved_all_tests_is_reported() -> None:
    means = small_noise(3)
    means[:, 2] += math.log(1.04)

    [move] = find_common_shifts(cells(means), MARGIN)

    assert (move.contender, move.incarnation, move.others, move.tests) == ("b", 3, (1, 2), 8)
    assert move.ratio == pytest.approx(1.04, abs=0.006)


def test_of_two_starts_either_may_be_the_odd_one(snapshot: SnapshotAssertion) -> None:
    means = small_noise(2)
    means[:, 0] -= 0.05

    [move] = find_common_shifts(cells(means), MARGIN)
    [note] = notes_about_restarts([move], "a")

    assert note == snapshot


def test_restarts_that_move_tests_differently_are_no_common_move() -> None:
    means = small_noise(3)
    means[::2, 1] += 0.05
    means[1::2, 1] -= 0.05

    assert find_common_shifts(cells(means), MARGIN) == []


def test_a_small_move_is_not_reported() -> None:
    means = small_noise(3) / 10
    means[:, 1] += 0.01

    assert find_common_shifts(cells(means), MARGIN) == []


def test_three_tests_are_not_all() -> None:
    means = small_noise(3)[:3]
    means[:, 1] += 0.05

    assert find_common_shifts(cells(means), MARGIN) == []


def test_the_note_names_the_start(snapshot: SnapshotAssertion) -> None:
    move = CommonShift("postgres@17.6", 3, (1, 2), 1.04, 8)

    [note] = notes_about_restarts([move], "postgres@15.8")

    assert note == snapshot


def test_a_report_notes_a_restart_that_moved_all(snapshot: SnapshotAssertion) -> None:
    manifest, slices = synthetic_experiment(
        ["a", "b"],
        ["point-query", "scan", "update-index", "insert"],
        noise=QUIET,
        incarnations=3,
    )
    for record in slices:
        if record.place.contender == "b" and record.place.incarnation == 2:
            record.qps *= 1.06

    assert analyse(manifest, slices).notes == snapshot
