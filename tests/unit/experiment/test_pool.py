"""The page cache that an experiment gives all of its contenders."""

from __future__ import annotations

from pathlib import Path

import pytest

from slowdust.dbms import family
from slowdust.errors import UsageError
from slowdust.experiment.setup import refuse_by_name
from slowdust.experiment.spec.options import spec_from_options
from slowdust.experiment.spec.spec import read_spec

MB = 1 << 20


@pytest.mark.parametrize(
    ("contender", "settings"),
    [
        ("postgres@17.6", {"shared_buffers": "1MB"}),
        ("mysql@9.7.4", {"innodb_buffer_pool_size": "1M"}),
        ("mariadb@10.11.18/rocksdb", {"rocksdb_block_cache_size": "1M"}),
        ("sqlite@3.50.2", {"cache_size": "-1024"}),
        ("ferretdb@1.24.0", {"cache_size": "-1024"}),
        ("ferretdb@1.24.0/postgres", {"shared_buffers": "1MB"}),
    ],
)
def test_each_dbms_has_its_own_word_for_it(contender: str, settings: dict[str, str]) -> None:
    spec = spec_from_options([contender], {"pool": "1MB"})
    (planned,) = spec.planned_contenders()
    kind = family(planned.name.dbms or "")
    assert spec.settings_of_pool(planned, kind, planned.name.engine) == settings


def test_the_cache_of_mongod_is_in_gigabytes() -> None:
    settings = family("mongodb").pool_settings(512 * MB, "wiredtiger")
    assert settings == {"storage.wiredTiger.engineConfig.cacheSizeGB": "0.5"}


def test_the_pool_survives_its_file(tmp_path: Path) -> None:
    spec = spec_from_options(["postgres@17.6"], {"benchmark": "io", "pool": "64MB", "name": "a"})
    assert (spec.benchmark, spec.suite, spec.pool) == ("io", "default", 64 * MB)
    path = tmp_path / "a.toml"
    path.write_text(spec.to_toml())
    assert read_spec(path) == spec


@pytest.mark.parametrize(
    ("contender", "given", "complaint"),
    [
        ("postgres@17.6", {"pool": "1500kB"},
            "--pool: 1500kB is not a whole number of megabytes: write 1MB, 64MB or more"),
        ("postgres@17.6", {"pool": "much"},
            "--pool: 'much' is not a size: write 64kB, 256MB, 2GB or 1TB"),
        ("postgres@17.6", {"pool": "64MB", "settings": ["shared_buffers=1GB"]},
            "--set: --pool already sets shared_buffers: remove one of them"),
        ("mysql@9.7.4",
            {"pool": "64MB",
                "settings": ["innodb-buffer-pool-size=1G", "innodb-buffer-pool-size=2G"]},
            "--set: --pool already sets innodb_buffer_pool_size: remove one of them"),
        ("mysql@9.7.4/memory", {"pool": "64MB"},
            "--pool: mysql@9.7.4/memory: the engine memory has no page cache: its rows are in "
            "memory"),
        ("mongodb@7.0.14", {"pool": "64MB"},
            "--pool: mongodb@7.0.14: the cache of WiredTiger cannot be smaller than 256MB"),
        ("postgres://ann@db/bench", {"pool": "64MB"},
            "--pool: postgres://ann@db/bench is a running server and is used as it is: remove "
            "pool, which applies only to servers that Slowdust starts"),
    ],
)  # fmt: skip
def test_pools_that_cannot_be_are_refused(
    contender: str, given: dict[str, object], complaint: str
) -> None:
    with pytest.raises(UsageError) as error:
        spec_from_options([contender], given)
    assert str(error.value) == complaint


@pytest.mark.parametrize(
    ("contenders", "given", "complaint"),
    [
        (1, {"pool": "4097MB"}, "4,097 MB exceeds the host's memory of 4,096 MB"),
        (2, {"pool": "2049MB"},
            "2,049 MB for each of 2 contenders exceeds the host's memory of 4,096 MB"),
        (1, {"pool": "2GB", "memory": "1GB"},
            "2,048 MB exceeds a contender's memory of 1,024 MB"),
        (2, {"pool": "3GB", "memory": "3GB"},
            "3,072 MB for each of 2 contenders exceeds the host's memory of 4,096 MB"),
        (1, {"pool": "4GB"}, None),
        (2, {"pool": "2GB"}, None),
        (2, {"pool": "1GB", "memory": "1GB"}, None),
    ],
)  # fmt: skip
def test_pools_larger_than_the_memory_are_refused(
    monkeypatch: pytest.MonkeyPatch, contenders: int, given: dict[str, str], complaint: str | None
) -> None:
    monkeypatch.setattr("slowdust.experiment.spec.spec.host_memory_bytes", lambda: 4096 * MB)
    names = ["postgres@17.6", "postgres@15.8"][:contenders]
    if complaint is None:
        assert spec_from_options(names, given).pool is not None
        return
    with pytest.raises(UsageError) as error:
        spec_from_options(names, given)
    assert str(error.value) == f"--pool: {complaint}"


def test_a_pool_of_a_file_is_refused_at_its_line(tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    path.write_text('contenders = ["postgres@17.6"]\npool = "1000TB"\n')
    with pytest.raises(UsageError) as error:
        read_spec(path)
    told = f"{path}:2: pool: 1,048,576,000 MB exceeds the host's memory of "
    assert str(error.value).startswith(told)


def test_a_matrix_of_the_same_setting_is_refused_at_its_line(tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    path.write_text(
        'contenders = ["postgres@17.6"]\npool = "64MB"\n[matrix]\nshared_buffers = ["1GB", "2GB"]\n'
    )
    with pytest.raises(UsageError) as error:
        read_spec(path)
    assert str(error.value) == (
        f"{path}:4: matrix.shared_buffers: --pool already sets shared_buffers: remove one of them"
    )


@pytest.mark.parametrize("other", [{}, {"benchmark": "micro"}, {"benchmark": "slap"}])
def test_a_benchmark_is_no_suite(other: dict[str, str]) -> None:
    told = "--suite: 'io' is a benchmark, not a suite: write --benchmark io, or benchmark = \"io\""
    with pytest.raises(UsageError, match=told):
        spec_from_options(["postgres@17.6"], {"suite": "io", **other})
    told = "--benchmark: 'quick' is a suite of micro.*, not a benchmark: see --suite"
    with pytest.raises(UsageError, match=told):
        spec_from_options(["postgres@17.6"], {"benchmark": "quick"})


@pytest.mark.parametrize("key", ["pool", "memory"])
def test_a_size_that_no_machine_has_is_told_as_it_was_written(key: str) -> None:
    with pytest.raises(UsageError, match=f"--{key}: 99999TB is too much: write at most 1024TB"):
        spec_from_options(["postgres@17.6"], {key: "99999TB"})


def test_a_server_that_reads_whole_tables_is_refused() -> None:
    spec = spec_from_options(["ferretdb@1.24.2/sqlite"], {"benchmark": "io", "pool": "8MB"})
    with pytest.raises(UsageError, match="cannot run the benchmark io: it reads the whole table"):
        refuse_by_name(spec)
