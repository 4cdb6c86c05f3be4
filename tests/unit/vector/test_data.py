"""Generated vectors and their storage."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from slowdust.benchmarks.vector.data import (
    BUCKETS,
    PUBLIC,
    clustered,
    generated,
    nearest,
    shape_called,
)


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("SLOWDUST_CACHE", str(tmp_path))
    return tmp_path


SHAPE = shape_called("test-8-euclidean")


@pytest.mark.parametrize("name", PUBLIC)
def test_names_of_public_sets_are_shapes(name: str) -> None:
    shape = shape_called(name)
    assert f"-{shape.dimensions}-{shape.metric.in_files}" in name


@pytest.mark.parametrize("name", ["sift", "sift-128", "sift-128-hamming", "a-1-dot", "a-4000-dot"])
def test_other_names_are_refused(name: str) -> None:
    with pytest.raises(ValueError, match=f"'{name}'"):
        shape_called(name)


def test_the_same_numbers_are_made_for_the_same_seed_alone() -> None:
    (first,), (again,), (other,) = (clustered(SHAPE, 500, seed) for seed in (1, 1, 2))
    assert np.array_equal(first, again)
    assert not np.array_equal(first, other)


def test_vectors_are_clustered_in_clusters_of_different_sizes() -> None:
    """Neighbours are much nearer than they would be with the same spread and no clusters."""
    (vectors,) = clustered(shape_called("test-24-euclidean"), 4000, 1)
    rng = np.random.default_rng(1)
    alike = (rng.standard_normal(vectors.shape) * vectors.std(axis=0)).astype(np.float32)
    ratio = [
        np.median(nearest(each[:200], each, 5, SHAPE.metric).distances[:, 1:])
        for each in (vectors, alike)
    ]
    assert ratio[0] < 0.95 * ratio[1]


def test_files_separate_the_rows_and_the_queries() -> None:
    data = generated(SHAPE, 300, 20, 1)
    assert (data.vectors().shape, data.queries().shape) == ((300, 8), (20, 8))
    assert data.vectors_file.stat().st_size == 300 * 8 * 4
    everything = np.concatenate((data.queries(), data.vectors()))
    (made,) = clustered(SHAPE, 320, 1)
    assert np.array_equal(everything, made)


def test_data_are_made_once(cache: Path) -> None:
    first = generated(SHAPE, 300, 20, 1)
    first.exact(5, None)
    files = {path: path.stat().st_mtime_ns for path in cache.rglob("*") if path.is_file()}
    again = generated(SHAPE, 300, 20, 1)
    again.exact(5, None)
    assert {path: path.stat().st_mtime_ns for path in cache.rglob("*") if path.is_file()} == files
    assert generated(SHAPE, 300, 20, 2).folder != first.folder


def test_exact_answers_of_a_share_are_of_its_buckets() -> None:
    data = generated(SHAPE, 3000, 10, 1)
    rows = data.exact(5, 3).rows
    assert (rows % BUCKETS < 3).all()
    assert len(np.unique(np.arange(3000) % BUCKETS)) == 100
    assert not np.array_equal(rows, data.exact(5, None).rows)
