"""The vectors of an experiment, their queries and the exact answers: made once, then kept.

Files are in the cache directory, below a key of all that decides about their content, so that the
next experiment with the same data finds them, and a changed generator or file never does.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from slowdust.benchmarks.vector.exact import Exact, nearest
from slowdust.benchmarks.vector.hdf5 import Header, read_vectors
from slowdust.benchmarks.vector.metric import Metric, Vectors
from slowdust.benchmarks.vector.shapes import Shape, clustered
from slowdust.places import cache_root
from slowdust.temporary import becoming, temporary_folder

_LAYOUT = np.dtype("<f4")
"""Vectors in a file: little-endian, without a header, as the driver reads them."""
BUCKETS = 100
"""Row `i` is in bucket `i % BUCKETS`, by which queries filter: a percent of the rows each."""
LEAST_FILTERED_ROWS = 10 * BUCKETS
"""Rows from which the buckets are alike: with fewer, one row makes a bucket a tenth larger."""


@dataclass(frozen=True)
class Dataset:
    """Vectors and queries as files, with the exact answers."""

    name: str
    folder: Path
    dimensions: int
    metric: Metric
    file: Header | None = None
    """The file of ann-benchmarks that they are of, if they are all of it."""

    @property
    def vectors_file(self) -> Path:
        return self.folder / "vectors.f32"

    @property
    def queries_file(self) -> Path:
        return self.folder / "queries.f32"

    def vectors(self) -> Vectors:
        """Return the vectors, which stay on disk until they are read."""
        return self._mapped(self.vectors_file)

    def queries(self) -> Vectors:
        return self._mapped(self.queries_file)

    def exact(self, k: int, percent: int | None) -> Exact:
        """Return the exact answers among all vectors, or in `percent` of the buckets."""
        name = f"exact-{self.metric.name}-{k}" + (f"-{percent}-of-{BUCKETS}" if percent else "")
        kept = self.folder / f"{name}.npz"
        if not kept.is_file():
            found = self._found(k, percent)
            with becoming(kept) as path, path.open("wb") as file:
                np.savez(file, rows=found.rows, distances=found.distances)
        with np.load(kept) as arrays:
            return Exact(arrays["rows"], arrays["distances"])

    def _found(self, k: int, percent: int | None) -> Exact:
        queries, vectors = self.queries(), self.vectors()
        if percent is not None:
            numbers = np.arange(len(vectors))
            among = numbers[numbers % BUCKETS < percent]
            return nearest(queries, vectors, k, self.metric, among)
        return nearest(queries, vectors, k, self.metric)

    def _mapped(self, path: Path) -> Vectors:
        return np.memmap(path, dtype=_LAYOUT, mode="r").reshape(-1, self.dimensions)


def generated(shape: Shape, rows: int, queries: int, seed: int) -> Dataset:
    """Return clustered vectors of a shape: the same for the same numbers, on every machine."""

    def make(folder: Path) -> None:
        generator = clustered(shape, rows + queries, seed)
        # The queries come first: more rows are then the same rows and others behind them.
        with (folder / "queries.f32").open("wb") as asked, (folder / "vectors.f32").open("wb") as f:
            left = queries
            for block in generator:
                head, tail = block[:left], block[left:]
                left -= len(head)
                asked.write(head.astype(_LAYOUT).tobytes())
                f.write(tail.astype(_LAYOUT).tobytes())

    facts = {
        "made": 1,  # to be raised with every change of the generator
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
    """Return the folder of the data that these facts decide; `make` fills a missing one."""
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
