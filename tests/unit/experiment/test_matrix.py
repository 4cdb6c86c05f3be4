import tomllib
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from slowdust.errors import UsageError
from slowdust.experiment.spec.contenders import (
    PlannedContender,
    parse_contender,
    short_axis_names,
)
from slowdust.experiment.spec.spec import Spec, parse_spec, read_spec


def spec_of(toml: str) -> Spec:
    return parse_spec({"name": "x", **tomllib.loads(toml)})


def titles(toml: str) -> list[str]:
    return [contender.title(None) for contender in spec_of(toml).planned_contenders()]


def test_without_a_matrix_contenders_are_as_written() -> None:
    spec = spec_of(
        'contenders = ["a@1", { contender = "a@2", name = "jit", set = { jit = true } }]'
    )
    assert spec.planned_contenders() == [
        PlannedContender(parse_contender("a@1"), None, "", {}),
        PlannedContender(parse_contender("a@2"), "jit", "", {"jit": "on"}),
    ]
    titles = [contender.title("1.5") for contender in spec.planned_contenders()]
    assert titles == ["a@1.5", "jit"]


def test_settings_are_crossed_and_the_first_combination_of_the_first_contender_is_the_base() -> (
    None
):
    toml = """
        contenders = ["mysql@9.7.4", "mysql@5.6.24"]
        matrix = { innodb_doublewrite = ["ON", "OFF"], sync_binlog = [0, 1] }
    """
    assert titles(toml) == [
        "mysql@9.7.4 doublewrite=on sync_binlog=0",
        "mysql@9.7.4 doublewrite=on sync_binlog=1",
        "mysql@9.7.4 doublewrite=off sync_binlog=0",
        "mysql@9.7.4 doublewrite=off sync_binlog=1",
        "mysql@5.6.24 doublewrite=on sync_binlog=0",
        "mysql@5.6.24 doublewrite=on sync_binlog=1",
        "mysql@5.6.24 doublewrite=off sync_binlog=0",
        "mysql@5.6.24 doublewrite=off sync_binlog=1",
    ]
    assert spec_of(toml).planned_contenders()[2].set == {
        "innodb_doublewrite": "OFF",
        "sync_binlog": "0",
    }


def test_booleans_are_on_and_off() -> None:
    (on, off) = spec_of(
        'contenders = ["a@1"]\nmatrix = { fsync = [true, false] }'
    ).planned_contenders()
    assert (on.set, on.label) == ({"fsync": "on"}, "fsync=on")
    assert (off.set, off.label) == ({"fsync": "off"}, "fsync=off")


def test_named_points_vary_several_settings_at_once() -> None:
    contenders = spec_of("""
        contenders = ["mysql@9.7.4"]
        [matrix.fsync]
        off = { innodb_flush_log_at_trx_commit = 2, sync_binlog = 0 }
        on = { innodb_flush_log_at_trx_commit = 1, sync_binlog = 1 }
    """).planned_contenders()
    assert [contender.label for contender in contenders] == ["fsync=off", "fsync=on"]
    assert contenders[1].set == {"innodb_flush_log_at_trx_commit": "1", "sync_binlog": "1"}


def test_parts_of_the_contender_are_axes_too() -> None:
    assert titles("""
        contenders = ["mariadb@11.4"]
        [matrix]
        engine = ["innodb", "rocksdb"]
        environment = ["", "glibc+MALLOC_ARENA_MAX=1", "jemalloc"]
    """) == [
        "mariadb@11.4/innodb",
        "mariadb@11.4/innodb+glibc+MALLOC_ARENA_MAX=1",
        "mariadb@11.4/innodb+jemalloc",
        "mariadb@11.4/rocksdb",
        "mariadb@11.4/rocksdb+glibc+MALLOC_ARENA_MAX=1",
        "mariadb@11.4/rocksdb+jemalloc",
    ]


def test_a_name_of_ones_own_is_followed_by_all_that_varies() -> None:
    assert titles("""
        contenders = [{ contender = "mariadb@11.4", name = "mine" }]
        matrix = { engine = ["rocksdb"], sync_binlog = [0, 1] }
    """) == ["mine rocksdb sync_binlog=0", "mine rocksdb sync_binlog=1"]


def test_a_contenders_own_axes_come_after_the_common_ones_or_in_their_place() -> None:
    assert titles("""
        matrix = { a = [1, 2] }
        contenders = [
          "x@1",
          { contender = "x@2", matrix = { b = [3] } },
          { contender = "x@3", matrix = { a = [9] } },
        ]
    """) == ["x@1 a=1", "x@1 a=2", "x@2 a=1 b=3", "x@2 a=2 b=3", "x@3 a=9"]


def test_prefixes_stay_where_names_would_collide() -> None:
    assert short_axis_names(["innodb_doublewrite", "sync_binlog"]) == {
        "innodb_doublewrite": "doublewrite",
        "sync_binlog": "sync_binlog",
    }
    both = ["innodb_flush_log_at_trx_commit", "rocksdb_flush_log_at_trx_commit"]
    assert short_axis_names(both) == {name: name for name in both}


def test_values_keep_their_case_where_it_distinguishes_them() -> None:
    assert titles('contenders = ["a@1"]\nmatrix = { path = ["A", "a", "B"] }') == [
        "a@1 path=A",
        "a@1 path=a",
        "a@1 path=b",
    ]


def test_a_label_holds_nothing_that_separates_names() -> None:
    assert titles('contenders = ["a@1"]\nmatrix = { mode = ["x y|z", "w"] }')[0] == "a@1 mode=x_y_z"


def test_a_directory_can_have_a_matrix_of_settings(tmp_path: Path) -> None:
    contenders = parse_spec(
        {"name": "x", "contenders": [str(tmp_path)], "matrix": {"jit": [True, False]}}
    ).planned_contenders()
    assert [contender.name.text for contender in contenders] == [str(tmp_path)] * 2


def test_a_specification_with_matrices_survives_its_file(tmp_path: Path) -> None:
    spec = spec_of("""
        matrix = { fsync = [true, false], n = [1], p = { x = { a = 1 }, y = { a = 2, b = "z" } } }
        contenders = [{ contender = "a@1", matrix = { engine = ["innodb", "rocksdb"] } }]
    """)
    (tmp_path / "x.toml").write_text(spec.to_toml())
    assert read_spec(tmp_path / "x.toml") == spec
    assert read_spec(tmp_path / "x.toml").planned_contenders() == spec.planned_contenders()
    assert len(spec.planned_contenders()) == 8


@pytest.mark.parametrize(
    "toml",
    [
        'contenders = ["a@1"]\nmatrix = { fsync = [] }',
        'contenders = ["a@1"]\nmatrix = { fsync = {} }',
        'contenders = ["a@1"]\nmatrix = { fsync = [true, "on"] }',
        'contenders = ["a@1"]\nmatrix = { fsync = [[1]] }',
        'contenders = ["a@1"]\nmatrix = { fsync = "on" }',
        f'contenders = ["a@1"]\nmatrix = {{ n = {list(range(9))}, m = {list(range(8))} }}',
        f'contenders = ["a@1", "a@2"]\nmatrix = {{ n = {list(range(40))} }}',
        'contenders = [{ contender = "a@1", set = { fsync = "on" } }]\n'
        'matrix = { fsync = ["on", "off"] }',
        'contenders = ["a@1"]\nset = { innodb-x = 1 }\nmatrix = { INNODB_X = [1, 2] }',
        'contenders = ["a@1"]\nmatrix = { a-b = [1], p = { x = { a_b = 3 } } }',
        'contenders = ["a@1"]\nmatrix = { a-b = [1], a_b = [2] }',
        'contenders = ["a@1"]\nmatrix = { a-b = [1], a_b = { x = { c = 1 } } }',
        'contenders = ["a@1"]\nset = { a-b = 1, a_b = 2 }',
        'contenders = ["a@1"]\nmatrix = { n = [1, 2], p = { x = { n = 3 }, y = { n = 4 } } }',
        'contenders = ["a@1/innodb"]\nmatrix = { engine = ["rocksdb"] }',
        'contenders = ["/opt/build"]\nmatrix = { engine = ["rocksdb"] }',
    ],
)
def test_a_matrix_that_cannot_be_crossed_is_refused(toml: str, snapshot: SnapshotAssertion) -> None:
    with pytest.raises(UsageError) as error:
        spec_of(toml)
    assert str(error.value) == snapshot


def test_an_absurd_product_is_refused_before_it_is_made() -> None:
    axes = ", ".join(f"s{number} = {list(range(10))}" for number in range(12))
    with pytest.raises(UsageError, match="1,000,000,000,000 contenders"):
        spec_of(f'contenders = ["a@1"]\nmatrix = {{ {axes} }}')


def test_an_axis_keeps_its_place_and_a_name_of_ones_own_its_spelling() -> None:
    assert titles("""
        contenders = ["a@1"]
        [matrix]
        innodb-x = [1]
        My-Axis.On = { B-c = 2 }
        z = [3]
    """) == ["a@1 x=1 My-Axis=On z=3"]


def test_a_directory_can_have_a_matrix_of_environments(tmp_path: Path) -> None:
    contenders = parse_spec(
        {"name": "x", "contenders": [f"{tmp_path}:small"], "matrix": {"environment": ["jemalloc"]}}
    ).planned_contenders()
    assert [contender.name.text for contender in contenders] == [f"{tmp_path}:small+jemalloc"]
