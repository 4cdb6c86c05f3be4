"""Exact neighbours compared with a naive search, and the recall of answers."""

from __future__ import annotations

import numpy as np
import pytest

from slowdust.benchmarks.vector import data as module
from slowdust.benchmarks.vector.data import METRICS, Metric, Vectors, nearest, recall

ALL = pytest.mark.parametrize("metric", METRICS.values(), ids=METRICS)


def made(rows: int, seed: int = 1) -> Vectors:
    return np.random.default_rng(seed).standard_normal((rows, 5)).astype(np.float32)


def naive(metric: Metric, query: Vectors, vector: Vectors) -> float:
    left, right = query.astype(float), vector.astype(float)
    match metric.name:
        case "l2":
            return float(np.sqrt(sum((a - b) ** 2 for a, b in zip(left, right, strict=True))))
        case "cosine":
            return float(1 - left @ right / np.sqrt((left @ left) * (right @ right)))
        case _:
            return float(-(left @ right))


@ALL
def test_the_nearest_match_a_naive_search(metric: Metric, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "BLOCK_BYTES", 8 * 4 * 7)  # several blocks, the last one short
    queries, vectors = made(4), made(100, seed=2)
    found = nearest(queries, vectors, 6, metric)
    for query, rows, distances in zip(queries, found.rows, found.distances, strict=True):
        expected = sorted((naive(metric, query, vector), row) for row, vector in enumerate(vectors))
        assert [row for _, row in expected[:6]] == rows.tolist()
        assert distances == pytest.approx([distance for distance, _ in expected[:6]], abs=1e-12)


def test_only_some_rows_are_searched() -> None:
    queries, vectors = made(3), made(50, seed=2)
    among = np.arange(0, 50, 7)
    found = nearest(queries, vectors, 3, METRICS["l2"], among)
    assert set(found.rows.ravel().tolist()) <= set(among.tolist())


def test_there_may_be_fewer_rows_than_asked_for() -> None:
    found = nearest(made(2), made(3), 10, METRICS["l2"])
    assert found.rows.shape == (2, 3)


@ALL
def test_recall_is_the_share_of_the_right_rows(metric: Metric) -> None:
    queries, vectors = made(2), made(60, seed=2)
    exact = nearest(queries, vectors, 10, metric)
    first, second = exact.rows.tolist()
    wrong = nearest(queries, vectors, 60, metric).rows[1, 40:45].tolist()
    answers = [first, [*second[:4], *wrong]]
    assert recall(exact, answers, queries, vectors, metric) == pytest.approx((10 + 4) / 20)
    assert recall(exact, [[], []], queries, vectors, metric) == 0.0


def test_a_row_that_is_returned_twice_counts_once() -> None:
    queries, vectors = made(1), made(20, seed=2)
    exact = nearest(queries, vectors, 2, METRICS["l2"])
    best = exact.rows[0, 0]
    assert recall(exact, [[best, best]], queries, vectors, METRICS["l2"]) == 0.5


def test_any_of_the_rows_at_one_distance_is_right() -> None:
    vectors = np.array([[0, 1], [1, 0], [0, -1], [5, 5]], dtype=np.float32)
    queries = np.zeros((1, 2), dtype=np.float32)
    exact = nearest(queries, vectors, 1, METRICS["l2"])
    for row in range(3):
        assert recall(exact, [[row]], queries, vectors, METRICS["l2"]) == 1.0
    assert recall(exact, [[3]], queries, vectors, METRICS["l2"]) == 0.0
