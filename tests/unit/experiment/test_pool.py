"""The page cache of all contenders of an experiment."""

from __future__ import annotations

from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

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
    ("contender", "given"),
    [
        ("postgres@17.6", {"pool": "1500kB"}),
        ("postgres@17.6", {"pool": "much"}),
        ("postgres@17.6", {"pool": "64MB", "settings": ["shared_buffers=1GB"]}),
        ("mysql@9.7.4",
            {"pool": "64MB",
                "settings": ["innodb-buffer-pool-size=1G", "innodb-buffer-pool-size=2G"]}),
        ("mysql@9.7.4/memory", {"pool": "64MB"}),
        ("mongodb@7.0.14", {"pool": "64MB"}),
        ("postgres://ann@db/bench", {"pool": "64MB"}),
    ],
)  # fmt: skip
def test_pools_that_cannot_be_are_refused(
    contender: str, given: dict[str, object], snapshot: SnapshotAssertion
) -> None:
    with pytest.raises(UsageError) as error:
        spec_from_options([contender], given)
    assert str(error.value) == snapshot


@pytest.mark.parametrize(
    ("contenders", "given", "sizes"),
    [
        (1, {"pool": "4097MB"}, "4,097 MB .*4,096 MB"),
        (2, {"pool": "2049MB"}, "2,049 MB .*2 contenders.*4,096 MB"),
        (1, {"pool": "2GB", "memory": "1GB"}, "2,048 MB .*contender.*1,024 MB"),
        (2, {"pool": "3GB", "memory": "3GB"}, "3,072 MB .*2 contenders.*4,096 MB"),
        (1, {"pool": "4GB"}, None),
        (2, {"pool": "2GB"}, None),
        (2, {"pool": "1GB", "memory": "1GB"}, None),
    ],
)  # fmt: skip
def test_pools_larger_than_the_memory_are_refused(
    monkeypatch: pytest.MonkeyPatch, contenders: int, given: dict[str, str], sizes: str | None
) -> None:
    monkeypatch.setattr("slowdust.experiment.spec.spec.host_memory_bytes", lambda: 4096 * MB)
    names = ["postgres@17.6", "postgres@15.8"][:contenders]
    if sizes is None:
        assert spec_from_options(names, given).pool is not None
        return
    with pytest.raises(UsageError, match=f"--pool: {sizes}"):
        spec_from_options(names, given)


def test_a_pool_of_a_file_is_refused_at_its_line(tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    path.write_text('contenders = ["postgres@17.6"]\npool = "1000TB"\n')
    with pytest.raises(UsageError) as error:
        read_spec(path)
    assert str(error.value).startswith(f"{path}:2: pool: ")
    assert "1,048,576,000 MB" in str(error.value)


def test_a_matrix_of_the_same_setting_is_refused_at_its_line(tmp_path: Path) -> None:
    path = tmp_path / "a.toml"
    path.write_text(
        'contenders = ["postgres@17.6"]\npool = "64MB"\n[matrix]\nshared_buffers = ["1GB", "2GB"]\n'
    )
    with pytest.raises(UsageError) as error:
        read_spec(path)
    assert str(error.value).startswith(f"{path}:4: matrix.shared_buffers: ")


@pytest.mark.parametrize("other", [{}, {"benchmark": "micro"}, {"benchmark": "slap"}])
def test_a_benchmark_is_no_suite(other: dict[str, str]) -> None:
    with pytest.raises(UsageError, match=r"--suite: 'io' .*--benchmark io"):
        spec_from_options(["postgres@17.6"], {"suite": "io", **other})
    with pytest.raises(UsageError, match=r"--benchmark: 'quick' .*--suite"):
        spec_from_options(["postgres@17.6"], {"benchmark": "quick"})


@pytest.mark.parametrize("key", ["pool", "memory"])
def test_a_size_that_no_machine_has_is_reported_as_it_was_written(key: str) -> None:
    with pytest.raises(UsageError, match=f"--{key}: 99999TB .*1024TB"):
        spec_from_options(["postgres@17.6"], {key: "99999TB"})


def test_a_server_that_reads_whole_tables_is_refused() -> None:
    spec = spec_from_options(["ferretdb@1.24.2/sqlite"], {"benchmark": "io", "pool": "8MB"})
    with pytest.raises(UsageError, match=r"benchmark io: .*whole table"):
        refuse_by_name(spec)
