"""Made vectors: clusters of the dimensions and the metric of a public set."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from slowdust.benchmarks.vector.metric import METRICS, Metric, Vectors, metric_in_files
from slowdust.wording import listing

PUBLIC = (
    "sift-128-euclidean",
    "glove-25-angular",
    "glove-100-angular",
    "deep-image-96-angular",
    "nytimes-256-angular",
    "gist-960-euclidean",
    "fashion-mnist-784-euclidean",
    "lastfm-64-dot",
)
"""Names of public sets; the first is the default shape."""
MOST_DIMENSIONS = 2000
"""Dimensions of a vector that pgvector can index."""
_NAME = re.compile(r"[a-z0-9-]+?-(?P<dimensions>\d{1,4})-(?P<metric>[a-z]+)")
_BLOCK = 20_000
"""Vectors that are made at once."""
_DECAY = 0.2
"""How fast the spread shrinks from one principal axis to the next, as a power of its number. With
0.6, searches with the least effort find nearly everything among 10,000 vectors."""
_WITHIN = 1.0
"""Spread within a cluster, relative to that of the clusters' centres."""


@dataclass(frozen=True)
class Shape:
    """The dimensions and the metric of vectors, called as the public set that has them."""

    name: str
    dimensions: int
    metric: Metric


def shape_called(name: str) -> Shape:
    """Return the shape of a name like `sift-128-euclidean`. Raises ValueError for another name."""
    match = _NAME.fullmatch(name)
    metric = metric_in_files(match["metric"]) if match else None
    if match is None or metric is None:
        metrics = listing([metric.in_files for metric in METRICS.values()], "or")
        raise ValueError(
            f"'{name}' is no shape: write NAME-DIMENSIONS-METRIC with {metrics}, for example "
            f"{PUBLIC[0]}"
        )
    dimensions = int(match["dimensions"])
    if not 2 <= dimensions <= MOST_DIMENSIONS:
        raise ValueError(f"'{name}': vectors have 2 to {MOST_DIMENSIONS} dimensions")
    return Shape(name, dimensions, metric)


def clustered(shape: Shape, count: int, seed: int) -> Iterator[Vectors]:
    """Yield blocks of vectors: a mixture of Gaussians whose clusters' sizes follow a power law.

    The spread along the principal axes decays by a power law too, as that of the public sets does:
    of vectors that spread alike in all dimensions, all are about equally far away.
    """
    rng = np.random.default_rng([seed, shape.dimensions])
    clusters = max(2, round(count**0.5 / 2))
    spread = np.arange(1, shape.dimensions + 1) ** -_DECAY
    axes = np.linalg.qr(rng.standard_normal((shape.dimensions, shape.dimensions)))[0]
    centers = rng.standard_normal((clusters, shape.dimensions)) * spread
    sizes = 1 / np.arange(1, clusters + 1)
    shares = sizes / sizes.sum()
    for begin in range(0, count, _BLOCK):
        block = min(_BLOCK, count - begin)
        places = centers[rng.choice(clusters, size=block, p=shares)]
        noise = rng.standard_normal((block, shape.dimensions)) * (spread * _WITHIN)
        vectors: Vectors = ((places + noise) @ axes).astype(np.float32)
        yield vectors
