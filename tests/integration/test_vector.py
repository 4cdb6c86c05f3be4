"""The vector benchmark on servers with vector indexes: Postgres with pgvector, and MariaDB."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import h5py
import numpy as np
import pytest

from slowdust.benchmarks.described import DRIVER_BENCHMARK
from slowdust.benchmarks.vector.data import METRICS, nearest
from slowdust.benchmarks.vector.options import VectorTable, search
from slowdust.benchmarks.vector.tables import VectorData
from slowdust.builds import Build, resolve
from slowdust.builds.catalog import find_catalog
from slowdust.cli.main import cli
from slowdust.dbms import family
from slowdust.errors import SlowdustError, UsageError
from slowdust.experiment.driver.process import Data, Driver
from tests.integration.servers import new_instance
from tests.integration.slowdust_command import Workplace
from tests.tiers.selection import ends_first, full, needs

OLD, NEW, OTHER = "postgres@16.2-pgvector0.6.2", "postgres@18.4-pgvector0.8.5", "mariadb@11.8.9"
WITH_PGVECTOR = [e.name for e in find_catalog("postgres").entries if "pgvector" in e.version]
SHORT = {"budget": "3s", "slice": "25ms", "warmup": "50ms", "incarnations": 2, "count": "off"}
SMALL: dict[str, object] = {"dimensions": 16, "queries": 40}


def build_of(name: str) -> Build:
    dbms, _, version = name.partition("@")
    try:
        return resolve(dbms, version, print)
    except SlowdustError as reason:
        pytest.skip(str(reason))


def specification(
    contenders: list[str], tests: list[str], vector: dict[str, object] = SMALL, **keys: object
) -> str:
    given = {"contenders": contenders, "tests": tests, "benchmark": "vector", **SHORT, **keys}
    lines = [f"{key} = {json.dumps(value)}" for key, value in given.items()]
    return "\n".join([*lines, "[vector]", *(f"{k} = {json.dumps(v)}" for k, v in vector.items())])


def measure(workplace: Workplace, text: str) -> dict[str, Any]:
    (workplace.folder / "x.toml").write_text(text + "\n")
    workplace.run("run", "x.toml", "--yes")
    return workplace.report("x")


@pytest.mark.parametrize("name", [*ends_first(WITH_PGVECTOR), OTHER])
def test_every_build_finds_nearly_everything_with_much_effort(name: str) -> None:
    build = build_of(name)
    table = VectorTable.model_validate({**SMALL, "metric": "cosine"})
    kinds = ("hnsw",) if name == OTHER else ("hnsw", "ivfflat")
    tests = [search(kind, 20) for kind in kinds]
    data = VectorData(table, 800, 1, tests)
    with new_instance(build, {}) as instance, Driver() as driver:
        instance.start()
        target = instance.target()
        driver.load(target, Data(1, 800, 1, DRIVER_BENCHMARK, described=data), lambda *_: None)
        for test in tests:
            questions = data.questions(test.name, family(build.dbms))
            assert questions is not None
            answers = driver.sql(target, [*questions.session, *questions.statements])
            numbers = [[int(str(row[0])) for row in each.rows] for each in answers]
            assert questions.recall(numbers[len(questions.session) :]) > 0.95
            statement = data.index_bytes(str(test.kind), family(build.dbms))
            assert int(float(str(driver.sql(target, [statement])[0].rows[0][0]))) > 800 * 16


@pytest.mark.parametrize("contenders", [[OLD, OTHER], pytest.param([OLD, NEW, OTHER], marks=full)])
def test_recall_qps_and_indexes(workplace: Workplace, contenders: list[str]) -> None:
    for name in contenders:
        build_of(name)
    tests = ["hnsw.ef10", "hnsw.ef40", "hnsw.ef40.filter10", "ivfflat.probes4", "exact", "build-*"]
    text = specification(contenders, tests, rows=1000)
    report = measure(workplace, text)
    of_test = {(r["test"], r["contender"]): r for r in report["results"]}
    for name in contenders:
        assert of_test["hnsw.ef40", name]["recall"] > of_test["hnsw.ef10", name]["recall"] - 0.01
        assert of_test["hnsw.ef40", name]["recall"] > 0.9
        assert "recall" not in of_test["exact", name]
        assert of_test["build-hnsw", name]["qps"] > 0
    # What one contender alone has is not measured.
    with_ivfflat = contenders[:-1] if len(contenders) > 2 else []
    assert [name for test, name in of_test if test == "ivfflat.probes4"] == with_ivfflat
    assert any(line.startswith(OTHER) and "ivfflat" in line for line in report["warnings"])
    curves = {each["curve"]: each["contenders"] for each in report["searches"]}
    assert [each["contender"] for each in curves["hnsw"]] == contenders
    assert [each["contender"] for each in curves.get("ivfflat", [])] == with_ivfflat
    indexes = {(each["index"], each["contender"]): each for each in report["indexes"]}
    assert set(indexes) == {
        *(("hnsw", name) for name in contenders),
        *(("ivfflat", name) for name in with_ivfflat),
    }
    assert all(each["build_s"] > 0 and each["bytes"] > 0 for each in indexes.values())
    incarnations = {each["incarnation"] for each in workplace.manifest("x")["recalls"]}
    assert incarnations == {1, 2}
    assert "## Recall and QPS" in workplace.run("report", "x", "--md")
    assert 'id="searches"' in workplace.page("x")
    preparations = workplace.manifest("x")["preparations"]
    assert {each["after"] for each in preparations} == {"load"}, "an index is made for each start"
    assert not [warning for warning in report["warnings"] if "preparation" in warning]


@full
@needs("valgrind")
def test_work_of_searches_is_counted_and_that_of_builds_is_not(workplace: Workplace) -> None:
    build_of(OLD)
    tests = ["hnsw.ef10", "build-ivfflat"]
    text = specification([OLD], tests, rows=500, count="valgrind", incarnations=1)
    report = measure(workplace, text)
    works = {r["test"]: r.get("work") for r in report["results"]}
    assert works["hnsw.ef10"]["instructions"] > 10_000
    assert works["build-ivfflat"] is None


def test_a_file_of_ann_benchmarks(workplace: Workplace) -> None:
    build_of(OLD)
    rng = np.random.default_rng(1)
    train, test = (rng.standard_normal((count, 8)).astype(np.float32) for count in (700, 30))
    exact = nearest(test, train, 10, METRICS["cosine"])
    with h5py.File(workplace.folder / "made.hdf5", "w") as file:
        contents = {"train": train, "test": test, "neighbors": exact.rows.astype(np.int32)}
        for name, values in {**contents, "distances": exact.distances}.items():
            file.create_dataset(name, data=values)
        file.attrs["distance"] = "angular"
    vector: dict[str, object] = {"dataset": "made.hdf5"}
    report = measure(workplace, specification([OLD], ["hnsw.ef160"], vector, incarnations=1))
    (result,) = report["results"]
    assert result["recall"] > 0.99
    (recall,) = workplace.manifest("x")["recalls"]
    assert recall["queries"] == 30
    assert workplace.manifest("x")["method"]["rows"] == 700


@pytest.mark.usefixtures("data_root")
def test_a_server_without_vector_indexes_is_refused() -> None:
    build_of("postgres@17.6")
    with pytest.raises(UsageError, match=r"^postgres@17\.6 .*vector: .*pgvector"):
        compare("postgres@17.6")


@pytest.mark.usefixtures("data_root")
def test_tests_that_the_only_contender_lacks_are_an_error() -> None:
    build_of(OTHER)
    with pytest.raises(UsageError, match=f"{OTHER} .*ivfflat"):
        compare(OTHER, "--tests", "ivf*")


@pytest.mark.usefixtures("data_root")
def test_a_file_that_is_none_is_one_line(tmp_path: Path) -> None:
    file = tmp_path / "bad.hdf5"
    file.write_text("no vectors")
    with pytest.raises(UsageError, match=f"{file} .*HDF5"):
        compare(OLD, "--dataset", str(file))


def compare(*arguments: str) -> None:
    command = ["compare", *arguments, "--benchmark", "vector", "--yes"]
    cli.main(command, standalone_mode=False)
