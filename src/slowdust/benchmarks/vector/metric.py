"""Distances between vectors, as the servers' indexes and the public sets have them."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Vectors = NDArray[np.float32]
"""Vectors, one a row."""
Distances = NDArray[np.float64]


@dataclass(frozen=True)
class Metric:
    """A distance: the nearest vectors are those with the smallest."""

    name: str
    in_files: str
    """The word for it in the names of the public sets, and in the attribute of their files."""
    between: Callable[[Vectors, Vectors], Distances]
    """Function of queries and vectors: their distances, of shape (queries, vectors)."""


def _euclidean(queries: Vectors, vectors: Vectors) -> Distances:
    left, right = queries.astype(np.float64), vectors.astype(np.float64)
    squares = np.square(left).sum(axis=1)[:, None] + np.square(right).sum(axis=1)[None, :]
    distances: Distances = np.sqrt(np.maximum(squares - 2 * left @ right.T, 0))
    return distances


def _angular(queries: Vectors, vectors: Vectors) -> Distances:
    distances: Distances = 1 - _unit(queries) @ _unit(vectors).T
    return distances


def _unit(vectors: Vectors) -> NDArray[np.float64]:
    double = vectors.astype(np.float64)
    lengths = np.linalg.norm(double, axis=1, keepdims=True)
    return double / np.where(lengths > 0, lengths, 1)


def _inner_product(queries: Vectors, vectors: Vectors) -> Distances:
    distances: Distances = -(queries.astype(np.float64) @ vectors.astype(np.float64).T)
    return distances


METRICS = {
    metric.name: metric
    for metric in (
        Metric("l2", "euclidean", _euclidean),
        Metric("cosine", "angular", _angular),
        Metric("ip", "dot", _inner_product),
    )
}
"""The metrics by their names in the table `[vector]`."""


def metric_in_files(name: str) -> Metric | None:
    """Return the metric that the public sets call so; None for one that no index has."""
    return next((metric for metric in METRICS.values() if metric.in_files == name), None)
