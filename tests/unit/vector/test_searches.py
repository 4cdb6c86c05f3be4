"""Tests, suites and the table of the benchmark."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path

import h5py
import numpy as np
import pytest
from syrupy.assertion import SnapshotAssertion

from slowdust.benchmarks import known_test
from slowdust.benchmarks.model import Candidate, Group
from slowdust.benchmarks.vector import VECTOR
from slowdust.benchmarks.vector.options import VectorTable
from slowdust.benchmarks.vector.options import test_called as called
from slowdust.dbms import family
from slowdust.errors import UsageError
from slowdust.experiment.setup import refuse_by_name
from slowdust.experiment.spec.options import spec_from_options
from slowdust.experiment.spec.spec import parse_spec, read_spec

PAIR = ("postgres@16.2-pgvector0.6.2", "postgres@18.4-pgvector0.8.5")


def test_every_test_is_found_by_its_name() -> None:
    for test in VECTOR.tests:
        assert called(test.name) == test
    assert called("hnsw.ef35.filter7") is not None


@pytest.mark.parametrize("name", ["hnsw", "hnsw.probes4", "ivfflat.ef4", "hnsw.ef4.filter", "x"])
def test_other_names_are_no_tests(name: str) -> None:
    assert called(name) is None


def test_efforts_and_filters_match_the_table() -> None:
    table = VectorTable(efforts=[40, 10], probes=[3], filters=[25])
    names = [test.name for test in VECTOR.configured(table).tests]
    assert names == [
        *("hnsw.ef10", "hnsw.ef40", "hnsw.ef10.filter25", "hnsw.ef40.filter25"),
        *("ivfflat.probes3", "ivfflat.probes3.filter25"),
        *("exact", "build-hnsw", "build-ivfflat"),
    ]


def test_default_suite_has_no_filters_and_quick_only_hnsw() -> None:
    assert all(test.group is not Group.FILTERED for test in VECTOR.suite("default"))
    assert {test.curve for test in VECTOR.suite("quick")} == {"hnsw"}
    assert len(VECTOR.suite("full")) == len(VECTOR.tests)


def test_a_record_s_test_has_its_curve_and_effort() -> None:
    test = known_test("vector", "hnsw.ef40.filter10")
    assert test is not None
    assert (test.curve, test.effort, test.writes) == ("hnsw.filter10", 40, False)
    build = known_test("vector", "build-hnsw")
    assert build is not None
    assert (build.builds_index, build.countable, build.curve) == ("hnsw", False, None)


def test_builds_have_one_client() -> None:
    tests = VECTOR.matching(["hnsw.ef10", "build-hnsw"])
    sequence = [(test.name, clients) for test, clients in VECTOR.sequence(tests, [1, 4])]
    assert sequence == [("hnsw.ef10", 1), ("hnsw.ef10", 4), ("build-hnsw", 1)]


def test_mariadb_lacks_ivfflat_and_says_why() -> None:
    reasons = {
        test.name.partition(".")[0]: reason
        for test in VECTOR.tests
        if (reason := test.lack(family("mariadb"), "innodb")) is not None
    }
    assert reasons.keys() == {"ivfflat", "build-ivfflat"}
    assert all("IVFFlat" in str(reason) for reason in reasons.values())
    assert not any(test.lack(family("postgres"), None) for test in VECTOR.tests)


@pytest.mark.parametrize(
    ("candidate", "metric", "refusal"),
    [
        (Candidate(family("mysql"), "9.7.4"), "l2", "mysql"),
        (Candidate(family("sqlite"), "3.50.2"), "l2", "sqlite"),
        (Candidate(family("mariadb"), "11.4.5"), "l2", "MariaDB 11.4.5"),
        (
            Candidate(family("mariadb"), "11.8.9", engine="rocksdb"),
            "l2",
            "rocksdb",
        ),
        (Candidate(family("mariadb"), "11.8.9", engine="innodb"), "ip", "metric ip"),
        (Candidate(family("mariadb"), "11.8.9", engine="innodb"), "cosine", None),
        (Candidate(family("postgres")), "ip", None),
    ],
)
def test_refusals(candidate: Candidate, metric: str, refusal: str | None) -> None:
    benchmark = VECTOR.configured(VectorTable.model_validate({"metric": metric}))
    found = benchmark.refusal(candidate)
    assert found is None if refusal is None else refusal in str(found)


def test_postgres_without_the_extension_is_refused(tmp_path: Path) -> None:
    refusal = VECTOR.refusal(Candidate(family("postgres"), "17.6", tmp_path))
    assert "pgvector" in str(refusal)
    control = tmp_path / "share/postgresql/extension/vector.control"
    control.parent.mkdir(parents=True)
    control.touch()
    assert VECTOR.refusal(Candidate(family("postgres"), "17.6", tmp_path)) is None


def test_rows_are_fewer_than_in_other_benchmarks_unless_given() -> None:
    assert spec_from_options(PAIR, {"benchmark": "vector"}).rows == 10_000
    assert spec_from_options(PAIR, {"benchmark": "vector", "rows": "500"}).rows == 500
    assert spec_from_options(PAIR, {}).rows == 100_000


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"shape": "sift"}, "--shape: 'sift'"),
        ({"metric": "l2", "dataset": "x"}, ": x "),
        ({"dataset": __file__}, "HDF5"),
        ({"k": 0}, "--k: "),
        ({"m": 50}, "--m: 50 "),
        ({"m": 50, "ef_construction": 80}, "--ef-construction: 80 "),
        ({"ef_construction": 20}, "--ef-construction: 20 "),
        ({"k": 20}, "--k: "),
        ({"k": 20, "efforts": "15,40"}, "--efforts: "),
        ({"dataset": str(Path(__file__).parent)}, "directory"),
        ({"clients": "4", "tests": "build-hnsw"}, "--clients: build-hnsw "),
        ({"rows": 999, "suite": "full"}, "--rows: hnsw.ef10.filter10 "),
        ({"efforts": "10,10"}, "--efforts: "),
        ({"efforts": "2000"}, "--efforts"),
        ({"filters": "0"}, "--filters"),
        ({"lists": 0}, "--lists"),
    ],
)
def test_wrong_options_are_reported_by_name(options: dict[str, object], message: str) -> None:
    with pytest.raises(UsageError) as error:
        spec_from_options(PAIR, {"benchmark": "vector", **options})
    assert message in str(error.value)
    assert "\n" not in str(error.value)


def test_options_of_the_benchmark_need_it(snapshot: SnapshotAssertion) -> None:
    with pytest.raises(UsageError) as error:
        spec_from_options(PAIR, {"efforts": "10"})
    assert str(error.value) == snapshot


def test_a_wrong_key_of_a_file_is_reported_with_its_line(tmp_path: Path) -> None:
    path = tmp_path / "x.toml"
    path.write_text(
        f'contenders = {list(PAIR)}\nbenchmark = "vector"\n[vector]\nk = 10\ndataset = "a.hdf5"\n'
    )
    with pytest.raises(UsageError, match=r"x\.toml:5: vector\.dataset: .*a\.hdf5"):
        read_spec(path)


@pytest.fixture
def dataset(tmp_path: Path) -> Callable[[int], str]:
    def make(rows: int) -> str:
        path = tmp_path / f"{rows}.hdf5"
        rng = np.random.default_rng(1)
        with h5py.File(path, "w") as file:
            file.create_dataset("train", data=rng.standard_normal((rows, 4)))
            file.create_dataset("test", data=rng.standard_normal((5, 4)))
            file.attrs["distance"] = "angular"
        return str(path)

    return make


def test_a_file_brings_its_rows_and_metric(dataset: Callable[[int], str]) -> None:
    spec = spec_from_options(PAIR, {"benchmark": "vector", "dataset": dataset(300)})
    assert spec.rows == 300
    table = getattr(spec, "vector")  # noqa: B009
    assert table.distance.name == "cosine"
    assert parse_spec(tomllib.loads(spec.to_toml())) == spec


def test_a_file_is_where_the_experiment_file_says(
    dataset: Callable[[int], str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made = Path(dataset(300))
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    path = tmp_path / "x.toml"
    path.write_text(
        f'contenders = {list(PAIR)}\nbenchmark = "vector"\n[vector]\ndataset = "{made.name}"\n'
    )
    spec = read_spec(path)
    assert spec.rows == 300
    assert getattr(spec, "vector").dataset == str(made)  # noqa: B009


def test_wrong_values_of_a_file_are_reported_with_the_option(tmp_path: Path) -> None:
    path = tmp_path / "nan.hdf5"
    with h5py.File(path, "w") as file:
        file.create_dataset("train", data=np.full((300, 4), np.nan))
        file.create_dataset("test", data=np.ones((5, 4)))
        file.attrs["distance"] = "angular"
    with pytest.raises(UsageError, match=r"^--dataset: .*nan\.hdf5: train"):
        spec_from_options(PAIR, {"benchmark": "vector", "dataset": str(path)})


@pytest.mark.parametrize(
    "contender",
    [
        "sqlite@3.50.2",
        "postgres@17.6",
        "mariadb@11.4.5",
    ],
)
def test_names_alone_say_that_a_contender_is_refused(
    contender: str, snapshot: SnapshotAssertion
) -> None:
    spec = spec_from_options([PAIR[0], contender], {"benchmark": "vector"})
    with pytest.raises(UsageError) as error:
        refuse_by_name(spec)
    assert str(error.value) == snapshot


def test_names_alone_refuse_no_other_contender() -> None:
    names = [*PAIR, "mariadb@11.8.9", "postgres@git:REL_17_5", "./build"]
    refuse_by_name(spec_from_options(names, {"benchmark": "vector"}))


def test_more_rows_than_a_file_has_are_refused(
    dataset: Callable[[int], str], snapshot: SnapshotAssertion
) -> None:
    with pytest.raises(UsageError) as error:
        spec_from_options(PAIR, {"benchmark": "vector", "dataset": dataset(300), "rows": "301"})
    assert str(error.value) == snapshot


def test_a_file_and_a_shape_contradict_each_other(dataset: Callable[[int], str]) -> None:
    with pytest.raises(UsageError, match=r"--metric: .*dataset"):
        options = {"benchmark": "vector", "dataset": dataset(300), "metric": "l2"}
        spec_from_options(PAIR, options)


def test_a_report_says_how_many_vectors_there_are() -> None:
    spec = spec_from_options(["postgres@17.6"], {"benchmark": "vector", "rows": "5000"})
    assert spec.configured_benchmark().loaded(spec.rows) == "5,000 vectors of 128 dimensions"
