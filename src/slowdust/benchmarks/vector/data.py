"""The vectors of an experiment, their queries and the exact answers: computed once, then cached.

Vectors are generated as clusters, with the dimensions and the metric of a public set, or come from
an HDF5 file of ann-benchmarks: `train`, `test`, and a distance. Its `neighbors` are not read:
recall is relative to computed answers. Files are in the cache directory, in a folder named by a
hash of everything that determines their content: later experiments with the same data find them,
and a change of the generator or the file invalidates them.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from slowdust.errors import UsageError
from slowdust.places import cache_root, check_regular
from slowdust.temporary import becoming, temporary_folder
from slowdust.wording import listing

if TYPE_CHECKING:
    import h5py

_BLOCK = 20_000
"""Vectors to generate or check at a time."""
_INSTALL = "pip install 'slowdust[hdf5]'"


@dataclass(frozen=True)
class Header:
    """The properties of a file, without its vectors."""

    path: Path
    metric: Metric
    dimensions: int
    rows: int
    queries: int


def read_header(path: Path) -> Header:
    """Read the header of a file. Raises ValueError for an invalid file."""
    with _opened(path) as file:
        train, test = _vectors(file, "train"), _vectors(file, "test")
        if train.shape[1] != test.shape[1]:
            raise ValueError(
                f"{path}: train has {train.shape[1]} dimensions, test has {test.shape[1]}"
            )
        if not 2 <= train.shape[1] <= MOST_DIMENSIONS:
            raise ValueError(
                f"{path}: vectors have {train.shape[1]:,} dimensions: indexes support 2 to "
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
    """Check all values of a file. Raises ValueError for invalid ones."""
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
    """Return vectors of 32-bit floats, as servers store them. Raises ValueError."""
    with np.errstate(over="ignore"):  # too large values become infinite
        vectors: Vectors = values.astype(np.float32)
    if not np.isfinite(vectors).all():
        raise ValueError(f"{path}: {name} has values that are not finite 32-bit floats")
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
        raise ValueError(f"{path} is not a readable HDF5 file: {reason}") from None


def _vectors(file: h5py.File, name: str) -> h5py.Dataset:
    import h5py

    vectors = file.get(name)
    if not isinstance(vectors, h5py.Dataset):
        raise ValueError(f"{file.filename} has no data set '{name}'")  # noqa: TRY004
    if vectors.ndim != 2 or vectors.dtype.kind not in "fiu" or 0 in vectors.shape:
        raise ValueError(
            f"{file.filename}: {name} is not a matrix of numbers, but {vectors.dtype} of shape "
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
        raise ValueError(f"{path}: {what}: it must be one of {known}")
    return metric


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
"""The most dimensions that pgvector can index."""
_NAME = re.compile(r"[a-z0-9-]+?-(?P<dimensions>\d{1,4})-(?P<metric>[a-z]+)")
_DECAY = 0.2
"""The exponent of the power law for the spread along the principal axes. With 0.6, even
searches with the least effort find nearly all of 10,000 vectors."""
_WITHIN = 1.0
"""Spread within a cluster, relative to the spread of the clusters' centres."""


@dataclass(frozen=True)
class Shape:
    """The dimensions and the metric of vectors, named like a public set."""

    name: str
    dimensions: int
    metric: Metric


def shape_called(name: str) -> Shape:
    """Return the shape of a name like `sift-128-euclidean`. Raises ValueError."""
    match = _NAME.fullmatch(name)
    metric = metric_in_files(match["metric"]) if match else None
    if match is None or metric is None:
        metrics = listing([metric.in_files for metric in METRICS.values()], "or")
        raise ValueError(
            f"'{name}' is not a shape: write NAME-DIMENSIONS-METRIC with {metrics}, for example "
            f"{PUBLIC[0]}"
        )
    dimensions = int(match["dimensions"])
    if not 2 <= dimensions <= MOST_DIMENSIONS:
        raise ValueError(f"'{name}': vectors have 2 to {MOST_DIMENSIONS} dimensions")
    return Shape(name, dimensions, metric)


def clustered(shape: Shape, count: int, seed: int) -> Iterator[Vectors]:
    """Yield blocks of vectors: a mixture of Gaussians whose cluster sizes follow a power law.

    The spread along the principal axes also decays by a power law, like in the public sets: without
    it, all vectors would be at about the same distance.
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


BLOCK_BYTES = 64 << 20
"""Size of the distances in memory at a time."""
TIE = 1e-5
"""Relative difference of distances that count as equal: servers compute in 32 bits."""
_TIE_AT_ZERO = 1e-6


@dataclass(frozen=True)
class Exact:
    """The exact answers: for each query the rows of its nearest vectors, and their distances.

    Rows are numbered from 0. Both arrays have the shape (queries, k); k is smaller if there are
    fewer vectors.
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
    """Return the `k` nearest vectors for each query, the nearest first.

    `among` has the rows to search; None for all.
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
    """Return the share of the nearest vectors that the answers contain, over all queries.

    An answer is the rows that a server returned. As in ann-benchmarks, a row is correct if it is no
    farther than the last one of the exact answer, so that ties count as correct.
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


Vectors = NDArray[np.float32]
"""One vector per row."""
Distances = NDArray[np.float64]


@dataclass(frozen=True)
class Metric:
    """A distance function."""

    name: str
    in_files: str
    """The name in names of public sets, and in the attribute of their files."""
    between: Callable[[Vectors, Vectors], Distances]
    """A function: queries, vectors -> distances of shape (queries, vectors)."""


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


def metric_in_files(name: str) -> Metric | None:
    """Return the metric with this name in public sets; None if no index supports it."""
    return next((metric for metric in METRICS.values() if metric.in_files == name), None)


_LAYOUT = np.dtype("<f4")
"""The format of vectors in the driver's files: little-endian, without a header."""
BUCKETS = 100
"""Row `i` is in bucket `i % BUCKETS`; queries filter by it. Each has a percent of the rows."""
LEAST_FILTERED_ROWS = 10 * BUCKETS
"""The fewest rows for filters: sizes of buckets then differ by a tenth at most."""


@dataclass(frozen=True)
class Dataset:
    """Files of vectors and queries, with the exact answers."""

    name: str
    folder: Path
    dimensions: int
    metric: Metric
    file: Header | None = None
    """The file of ann-benchmarks, if the data are all of its vectors."""

    @property
    def vectors_file(self) -> Path:
        return self.folder / "vectors.f32"

    @property
    def queries_file(self) -> Path:
        return self.folder / "queries.f32"

    def vectors(self) -> Vectors:
        """Return the vectors, memory-mapped."""
        return self._mapped(self.vectors_file)

    def queries(self) -> Vectors:
        return self._mapped(self.queries_file)

    def exact(self, k: int, percent: int | None) -> Exact:
        name = f"exact-{self.metric.name}-{k}" + (f"-{percent}-of-{BUCKETS}" if percent else "")
        kept = self.folder / f"{name}.npz"
        if not kept.is_file():
            vectors = self.vectors()
            numbers = np.arange(len(vectors))
            among = None if percent is None else numbers[numbers % BUCKETS < percent]
            found = nearest(self.queries(), vectors, k, self.metric, among)
            with becoming(kept) as path, path.open("wb") as file:
                np.savez(file, rows=found.rows, distances=found.distances)
        with np.load(kept) as arrays:
            return Exact(arrays["rows"], arrays["distances"])

    def _mapped(self, path: Path) -> Vectors:
        return np.memmap(path, dtype=_LAYOUT, mode="r").reshape(-1, self.dimensions)


def generated(shape: Shape, rows: int, queries: int, seed: int) -> Dataset:
    """Return clustered vectors of a shape: equal for equal arguments, on every machine."""

    def make(folder: Path) -> None:
        generator = clustered(shape, rows + queries, seed)
        # The queries come first, so that a larger set begins with the rows of a smaller one.
        with (folder / "queries.f32").open("wb") as asked, (folder / "vectors.f32").open("wb") as f:
            left = queries
            for block in generator:
                head, tail = block[:left], block[left:]
                left -= len(head)
                asked.write(head.astype(_LAYOUT).tobytes())
                f.write(tail.astype(_LAYOUT).tobytes())

    facts = {
        "made": 1,  # increase it with every change of the generator
        "dimensions": shape.dimensions,
        "rows": rows,
        "queries": queries,
        "seed": seed,
    }
    return Dataset(shape.name, _kept(facts, make), shape.dimensions, shape.metric)


def of_file(header: Header, rows: int, queries: int) -> Dataset:
    """Return the first vectors and queries of a file of ann-benchmarks."""
    queries = min(queries, header.queries)

    def make(folder: Path) -> None:
        for place, name, count in (("vectors", "train", rows), ("queries", "test", queries)):
            vectors = read_vectors(header, name, count)
            (folder / f"{place}.f32").write_bytes(vectors.astype(_LAYOUT).tobytes())

    with header.path.open("rb") as file:
        content = hashlib.file_digest(file, "sha256").hexdigest()
    folder = _kept({"file": content, "rows": rows, "queries": queries}, make)
    whole = header if rows == header.rows else None
    return Dataset(header.path.stem, folder, header.dimensions, header.metric, whole)


def _kept(facts: Mapping[str, object], make: Callable[[Path], None]) -> Path:
    """Return the folder of the data with these facts; `make` fills a missing one."""
    key = hashlib.sha256(json.dumps(facts, sort_keys=True).encode()).hexdigest()[:16]
    folder = cache_root() / "vectors" / key
    if not folder.is_dir():
        folder.parent.mkdir(parents=True, exist_ok=True)
        with temporary_folder(folder.parent) as place:
            staged = place / key
            staged.mkdir()
            make(staged)
            (staged / "facts.json").write_text(json.dumps(facts) + "\n", encoding="utf-8")
            try:
                staged.rename(folder)
            except OSError:
                if not folder.is_dir():  # else another process was faster
                    raise
    return folder
