"""The HDF5 files of ann-benchmarks: `train`, `test`, and a distance.

Their `neighbors` are not read: recall is relative to answers that are calculated, not believed.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from slowdust.benchmarks.vector.metric import METRICS, Metric, Vectors, metric_in_files
from slowdust.benchmarks.vector.shapes import MOST_DIMENSIONS
from slowdust.errors import UsageError
from slowdust.places import check_regular

if TYPE_CHECKING:
    import h5py

_BLOCK = 20_000
"""Vectors that are checked at once."""
_INSTALL = "pip install 'slowdust[hdf5]'"


@dataclass(frozen=True)
class Header:
    """What a file has, without its vectors."""

    path: Path
    metric: Metric
    dimensions: int
    rows: int
    queries: int


def read_header(path: Path) -> Header:
    """Read what a file has. Raises ValueError, which says what is wrong with it."""
    with _opened(path) as file:
        train, test = _vectors(file, "train"), _vectors(file, "test")
        if train.shape[1] != test.shape[1]:
            raise ValueError(
                f"{path}: train has {train.shape[1]} dimensions, test has {test.shape[1]}"
            )
        if not 2 <= train.shape[1] <= MOST_DIMENSIONS:
            raise ValueError(
                f"{path}: vectors have {train.shape[1]:,} dimensions: an index takes 2 to "
                f"{MOST_DIMENSIONS:,}"
            )
        return Header(
            path=path,
            metric=_metric(file, path),
            dimensions=train.shape[1],
            rows=train.shape[0],
            queries=test.shape[0],
        )


def check_values(header: Header) -> None:
    """Read all that a file has, without keeping it. Raises ValueError for what cannot be used."""
    with _opened(header.path) as file:
        for name in ("train", "test"):
            vectors = _vectors(file, name)
            for begin in range(0, len(vectors), _BLOCK):
                _in_32_bits(vectors[begin : begin + _BLOCK], header.path, name)


def read_vectors(header: Header, name: str, count: int) -> Vectors:
    """Return the first `count` vectors of `train` or `test`. Raises ValueError."""
    with _opened(header.path) as file:
        return _in_32_bits(_vectors(file, name)[:count], header.path, name)


def _in_32_bits(values: NDArray[np.generic], path: Path, name: str) -> Vectors:
    """Return vectors as servers keep them. Raises ValueError for values that are no numbers."""
    with np.errstate(over="ignore"):  # what is too large becomes infinite
        vectors: Vectors = values.astype(np.float32)
    if not np.isfinite(vectors).all():
        raise ValueError(f"{path}: {name} has values that are no numbers, or too large for 32 bits")
    return vectors


@contextmanager
def _opened(path: Path) -> Iterator[h5py.File]:
    try:
        import h5py
    except ImportError:
        raise ValueError(f"reading {path} needs h5py: run {_INSTALL}") from None
    try:
        check_regular(path)
    except UsageError as error:
        raise ValueError(str(error)) from None
    try:
        with h5py.File(path, "r") as file:
            yield file
    except FileNotFoundError:
        raise ValueError(f"{path} does not exist") from None
    except OSError as error:
        reason = str(error).partition("(")[2].rstrip(")") or str(error)
        raise ValueError(f"{path} is no HDF5 file that can be read: {reason}") from None


def _vectors(file: h5py.File, name: str) -> h5py.Dataset:
    import h5py

    vectors = file.get(name)
    if not isinstance(vectors, h5py.Dataset):
        raise ValueError(f"{file.filename}: it has no data set '{name}'")  # noqa: TRY004
    if vectors.ndim != 2 or vectors.dtype.kind not in "fiu" or 0 in vectors.shape:
        raise ValueError(
            f"{file.filename}: {name} is no matrix of numbers, but {vectors.dtype} of shape "
            f"{vectors.shape}"
        )
    return vectors


def _metric(file: h5py.File, path: Path) -> Metric:
    name = file.attrs.get("distance")
    text = name.decode(errors="replace") if isinstance(name, bytes) else str(name)
    metric = metric_in_files(text)
    if metric is None:
        known = ", ".join(metric.in_files for metric in METRICS.values())
        what = "it has no attribute 'distance'" if name is None else f"its distance is '{text}'"
        raise ValueError(f"{path}: {what}: it has to be one of {known}")
    return metric
