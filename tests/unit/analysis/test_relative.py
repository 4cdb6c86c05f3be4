from __future__ import annotations

import math

import numpy as np
import pytest

from slowdust.analysis.comparison import block_ratios
from slowdust.stats.blocks import BlockRatios, Step
from slowdust.store.slice import Slice
from tests.unit.synthetic import QUIET, synthetic_experiment, synthetic_slice


def block(rates: dict[str, list[float]], number: int = 0, incarnation: int = 1) -> list[Slice]:
    slices = []
    for contender, values in rates.items():
        for qps in values:
            record = synthetic_slice(contender=contender, qps=max(qps, 1.0))
            record.qps, record.place.block, record.place.incarnation = qps, number, incarnation
            slices.append(record)
    return slices


def only(slices: list[Slice]) -> BlockRatios:
    [ratios] = block_ratios(slices, "a", ["a", "b"])
    return ratios


def test_a_block_is_the_ratio_of_geometric_means() -> None:
    ratios = only(block({"a": [100.0, 400.0], "b": [100.0, 100.0]}))

    assert ratios.step == Step("micro", "point-query", 1)
    assert math.exp(ratios.by_incarnation[0].mean()) == pytest.approx(100 / 200)


def test_a_linear_drift_over_a_block_cancels() -> None:
    # A B B A while the machine slows down: ln QPS falls by the same amount each slice.
    speeds = [math.exp(-0.1 * slot) for slot in range(4)]
    ratios = only(block({"a": [speeds[0], speeds[3]], "b": [speeds[1], speeds[2]]}))

    assert ratios.by_incarnation[0].sum() == pytest.approx(0.0)


def test_a_killed_block_is_dropped_and_counted() -> None:
    ratios = only(
        block({"a": [100.0, 100.0], "b": [90.0, 90.0]})
        + block({"a": [100.0], "b": [50.0, 50.0]}, number=1)
    )

    assert ratios.blocks == 1
    assert ratios.incomplete == 1
    assert math.exp(ratios.by_incarnation[0].mean()) == pytest.approx(0.9)


def test_a_slice_without_throughput_takes_its_block_out() -> None:
    ratios = only(
        block({"a": [100.0, 100.0], "b": [0.0, 90.0]})
        + block({"a": [100.0, 100.0], "b": [90.0, 90.0]}, number=1)
    )

    assert (ratios.blocks, ratios.with_zero, ratios.incomplete) == (1, 1, 0)


def test_a_failed_contender_leaves_the_others_their_blocks() -> None:
    slices = block({"a": [100.0, 100.0], "b": [90.0], "c": [80.0, 80.0]})

    failed, whole = block_ratios(slices, "a", ["a", "b", "c"])

    assert (failed.blocks, failed.incomplete) == (0, 1)
    assert (whole.blocks, whole.incomplete) == (1, 0)


def test_blocks_of_two_starts_stay_separate() -> None:
    slices = block({"a": [1.0, 1.0], "b": [2.0, 2.0]}, incarnation=2) + block(
        {"a": [1.0, 1.0], "b": [4.0, 4.0]}, incarnation=1
    )

    first, second = only(slices).by_incarnation

    assert np.exp(first) == pytest.approx(np.array([[4.0, 4.0]]))
    assert np.exp(second) == pytest.approx(np.array([[2.0, 2.0]]))


def test_the_base_can_be_any_contender() -> None:
    _, slices = synthetic_experiment(
        ["a", "b"], ["point-query"], shifts={"b": 0.5}, noise=QUIET, blocks=3
    )

    [ratios] = block_ratios(slices, "b", ["a", "b"])

    assert ratios.contender == "a"
    assert np.exp(np.concatenate(ratios.by_incarnation)) == pytest.approx(
        np.full((6, 2), 2.0), rel=0.02
    )
