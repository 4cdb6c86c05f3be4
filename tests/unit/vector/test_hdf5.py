"""Files of ann-benchmarks, made by the tests."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from slowdust.benchmarks.vector.data import (
    METRICS,
    Exact,
    check_values,
    nearest,
    of_file,
    read_header,
)

TRAIN = np.random.default_rng(1).standard_normal((50, 4)).astype(np.float32)
TEST = np.random.default_rng(2).standard_normal((6, 4)).astype(np.float32)


@pytest.fixture
def made(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., Path]:
    """Return a function that writes a file; None skips a part."""
    monkeypatch.setenv("SLOWDUST_CACHE", str(tmp_path / "cache"))

    def make(distance: str | None = "euclidean", **parts: object) -> Path:
        exact = nearest(TEST, TRAIN, 10, METRICS["l2"])
        path = tmp_path / "made.hdf5"
        content = {"train": TRAIN, "test": TEST, "neighbors": exact.rows.astype(np.int32)}
        with h5py.File(path, "w") as file:
            for name, values in {**content, "distances": exact.distances, **parts}.items():
                if values is not None:
                    file.create_dataset(name, data=values)
            if distance is not None:
                file.attrs["distance"] = distance
        return path

    return make


def test_header(made: Callable[..., Path]) -> None:
    header = read_header(made())
    assert (header.rows, header.queries, header.dimensions) == (50, 6, 4)
    assert header.metric is METRICS["l2"]


def test_answers_of_a_file_are_not_believed(made: Callable[..., Path]) -> None:
    wrong = np.random.default_rng(3).integers(0, 50, (6, 10))
    found = of_file(read_header(made(neighbors=wrong)), 50, 100).exact(5, None)
    expected = nearest(TEST, TRAIN, 5, METRICS["l2"])
    assert np.array_equal(found.rows, expected.rows)
    assert found.distances == pytest.approx(expected.distances)


@pytest.mark.parametrize(("rows", "k", "percent"), [(30, 5, None), (50, 20, None), (50, 5, 50)])
def test_answers_are_calculated(
    made: Callable[..., Path], rows: int, k: int, percent: int | None
) -> None:
    found = of_file(read_header(made()), rows, 100).exact(k, percent)
    assert np.array_equal(found.rows, nearest(TEST, TRAIN[:rows], k, METRICS["l2"]).rows)


def test_answers_of_another_file_of_that_name_are_its_own(made: Callable[..., Path]) -> None:
    def answers(train: np.ndarray[tuple[int, int], np.dtype[np.float32]]) -> Exact:
        return of_file(read_header(made(train=train, neighbors=None)), 50, 6).exact(5, None)

    assert not np.array_equal(answers(TRAIN).rows, answers(TRAIN[::-1]).rows)


@pytest.mark.parametrize(
    "parts",
    [
        {"train": None},
        {"test": None},
        {"train": np.arange(5)},
        {"train": np.array([[b"a"]])},
        {"train": np.empty((0, 4))},
        {"train": np.zeros((3, 3000)), "test": np.zeros((6, 3000))},
        {"test": TEST[:, :3]},
        {"distance": None},
        {"distance": "hamming"},
    ],
)
def test_wrong_files_are_refused_with_the_reason(
    made: Callable[..., Path], parts: dict[str, object], snapshot: SnapshotAssertion
) -> None:
    with pytest.raises(ValueError) as error:
        read_header(made(**parts))
    assert str(error.value) == snapshot


@pytest.mark.parametrize(
    "parts",
    [
        {"train": np.where(np.eye(50, 4, -40), np.nan, 1)},
        {"test": np.full((6, 4), np.inf)},
        {"train": np.full((50, 4), 1e300)},
    ],
)
def test_values_are_checked_before_anything_is_made_of_them(
    made: Callable[..., Path], parts: dict[str, object], snapshot: SnapshotAssertion
) -> None:
    with pytest.raises(ValueError) as error:
        check_values(read_header(made(**parts)))
    assert str(error.value) == snapshot


def test_a_right_file_has_right_values(made: Callable[..., Path]) -> None:
    check_values(read_header(made()))


def test_a_folder_is_no_file(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="directory"):
        read_header(tmp_path)


def test_values_that_are_none_are_refused_when_they_are_read(made: Callable[..., Path]) -> None:
    train = TRAIN.copy()
    train[3, 1] = np.nan
    with pytest.raises(ValueError, match=r"made\.hdf5: train "):
        of_file(read_header(made(train=train)), 50, 6)


def test_another_file_is_no_hdf5(tmp_path: Path) -> None:
    path = tmp_path / "text.hdf5"
    path.write_text("no vectors")
    with pytest.raises(ValueError, match=r"text\.hdf5 .*HDF5"):
        read_header(path)
    with pytest.raises(ValueError, match=r"none\.hdf5 "):
        read_header(tmp_path / "none.hdf5")


def test_without_the_library_the_command_is_reported(
    made: Callable[..., Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = made()
    monkeypatch.setitem(__import__("sys").modules, "h5py", None)
    with pytest.raises(ValueError, match=r"pip install 'slowdust\[hdf5\]'"):
        read_header(path)
