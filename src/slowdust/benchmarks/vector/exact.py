"""Exact nearest neighbours, and the recall of answers beside them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from slowdust.benchmarks.vector.metric import Distances, Metric, Vectors

BLOCK_BYTES = 64 << 20
"""Size of the distances that are in memory at once."""
TIE = 1e-5
"""Relative difference of two distances that are taken for one: servers calculate in 32 bits."""
_TIE_AT_ZERO = 1e-6


@dataclass(frozen=True)
class Exact:
    """The right answers: for each query the rows of its nearest vectors, and their distances.

    A row is that of the vectors, from 0. Both have the shape (queries, k); k is less than asked for
    where there are fewer vectors.
    """

    rows: NDArray[np.int64]
    distances: Distances


def nearest(
    queries: Vectors,
    vectors: Vectors,
    k: int,
    metric: Metric,
    among: NDArray[np.int64] | None = None,
) -> Exact:
    """Return the `k` nearest of the vectors for each query, the nearest first.

    `among` has the rows to choose from; None means all.
    """
    rows = np.arange(len(vectors)) if among is None else among
    kept_rows = np.empty((len(queries), 0), dtype=np.int64)
    kept: Distances = np.empty((len(queries), 0))
    step = max(1, BLOCK_BYTES // (8 * max(1, len(queries))))
    for begin in range(0, len(rows), step):
        block = rows[begin : begin + step]
        distances = metric.between(queries, vectors[block])
        kept = np.concatenate((kept, distances), axis=1)
        kept_rows = np.concatenate((kept_rows, np.broadcast_to(block, distances.shape)), axis=1)
        order = np.argsort(kept, axis=1, kind="stable")[:, :k]
        kept = np.take_along_axis(kept, order, axis=1)
        kept_rows = np.take_along_axis(kept_rows, order, axis=1)
    return Exact(kept_rows, kept)


def recall(
    exact: Exact,
    answers: Sequence[Sequence[int]],
    queries: Vectors,
    vectors: Vectors,
    metric: Metric,
) -> float:
    """Return the share of the nearest vectors that the answers have, over all queries.

    An answer is the rows that a server returned. As ann-benchmarks counts, a row is right if it is
    no farther than the last of the exact answer, so that of vectors at one distance any counts.
    """
    right = 0
    for number, returned in enumerate(answers):
        different = np.unique(np.asarray(returned, dtype=np.int64))
        if len(different) and exact.distances.shape[1]:
            (distances,) = metric.between(queries[number : number + 1], vectors[different])
            farthest = float(exact.distances[number, -1])
            limit = farthest + TIE * abs(farthest) + _TIE_AT_ZERO
            right += min(int((distances <= limit).sum()), exact.distances.shape[1])
    wanted = len(answers) * int(exact.distances.shape[1])
    return right / max(1, wanted)
