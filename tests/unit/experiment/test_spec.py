import tomllib
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from slowdust.errors import UsageError
from slowdust.experiment.engine.schedule import planned_starts
from slowdust.experiment.spec.options import spec_from_options
from slowdust.experiment.spec.spec import parse_spec, read_spec


def options(**given: object) -> dict[str, object]:
    return {"settings": (), **given}


def test_the_default_suite_has_every_test_but_the_early_reads() -> None:
    spec = parse_spec({"name": "x", "contenders": ["postgres@17.6"]})
    names = [test.name for test in spec.chosen_tests()]
    assert names[0] == "update-inlist"
    assert names[-1] == "insert"
    assert not any(name.endswith(".pre") for name in names)


def test_patterns_choose_tests_in_the_order_of_the_method() -> None:
    spec = spec_from_options(["postgres@17.6"], options(tests="update-index,point*"))
    assert [test.name for test in spec.chosen_tests()] == [
        "update-index",
        "point-query",
        "points-covered-pk",
        "points-covered-si",
        "points-notcovered-pk",
        "points-notcovered-si",
    ]


def test_early_reads_are_chosen_only_by_name() -> None:
    spec = spec_from_options(["postgres@17.6"], options(tests="point-query.pre,scan"))
    assert [test.name for test in spec.chosen_tests()] == ["point-query.pre", "scan"]


def test_a_specification_survives_its_file(tmp_path: Path) -> None:
    spec = spec_from_options(
        ["postgres@15.8", "postgres@17.6"],
        options(tests="scan", budget="3m", clients="1,8", margin="2%", rate=500.0),
    )
    file = tmp_path / "experiment.toml"
    file.write_text(spec.to_toml())
    assert read_spec(file) == spec


def test_the_shortest_slice_survives_its_file(tmp_path: Path) -> None:
    spec = spec_from_options(["postgres@17.6"], options(slice="0.4ms"))
    (tmp_path / "experiment.toml").write_text(spec.to_toml())
    assert read_spec(tmp_path / "experiment.toml").slice == pytest.approx(0.0004)


def test_a_directory_stays_where_it_is(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (contender,) = parse_spec({"name": "x", "contenders": ["./mine:small"]}).contenders
    assert contender.contender == f"{tmp_path}/mine:small"
    assert contender.name == "mine:small"


def test_flags_are_an_axis_of_what_is_compiled(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    given = options(flags="o2,o3", repo=".", settings=["work_mem=1MB", "work_mem=2MB"])
    spec = spec_from_options(["postgres@git:master"], given)
    assert spec.repo == str(tmp_path)
    assert [contender.title("git:master") for contender in spec.planned_contenders()] == [
        f"postgres@git:master+{flags} work_mem={size}"
        for size in ("1MB", "2MB")
        for flags in ("o2", "o3")
    ]
    with pytest.raises(UsageError, match=r"postgres@17\.6"):
        spec_from_options(["postgres@17.6"], options(flags="o3"))


def test_slap_has_tests_of_its_own_in_its_own_order() -> None:
    spec = spec_from_options(["a@1"], options(benchmark="slap", tests="update*,range-pk*"))
    assert [test.name for test in spec.chosen_tests()] == [
        "range-pk.10",
        "range-pk.1000",
        "update-same-indexed",
        "update-same-notindexed",
    ]
    assert {test.benchmark for test in spec.chosen_tests()} == {"slap"}


def test_a_margin_is_a_percentage() -> None:
    assert spec_from_options(["a@1"], options(margin="0.5%")).margin == pytest.approx(0.005)


def test_a_limit_of_memory_is_a_size() -> None:
    assert spec_from_options(["postgres@17.6"], {"memory": "256MB"}).memory == 256 << 20
    assert spec_from_options(["postgres@17.6"], {}).memory is None


def test_settings_are_written_as_a_server_writes_them() -> None:
    data = tomllib.loads('name="x"\ncontenders=["postgres@17"]\nset={fsync=true, work_mem=4096}')
    assert parse_spec(data).set == {"fsync": "on", "work_mem": "4096"}


@pytest.mark.parametrize(
    "given",
    [
        {"tests": "no-such-test"},
        {"clients": "0"},
        {"clients": "many"},
        {"budget": "banana"},
        {"suite": "huge"},
        {"benchmark": "tpcc"},
        {"benchmark": "slap", "tests": "point-query"},
        {"benchmark": "slap", "rows": 500},
        {"rows": 1},
        {"clients": "1,8,1"},
        {"rate": float("inf")},
        {"tests": ","},
        {"tests": "scan", "suite": "quick"},
        {"rows": 5000, "tests": "read-only.10000"},
        {"settings": ("fsync",)},
        {"margin": "wide"},
        {"name": "../escape"},
        {"arrivals": "uniform"},
        {"memory": "much"},
        {"memory": "1MB"},
    ],
)
def test_wrong_options_are_named(given: dict[str, object], snapshot: SnapshotAssertion) -> None:
    with pytest.raises(UsageError) as error:
        spec_from_options(["postgres@17.6"], options(**given))
    assert str(error.value) == snapshot


def test_unknown_keys_of_a_file_are_named(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('contenders = ["postgres@17"]\nbugdet = "3m"\n')
    with pytest.raises(UsageError, match="bugdet"):
        read_spec(file)


@pytest.mark.parametrize(
    "data",
    [
        {"set": {"work_mem": "8MB"}},
        {"memory": "512MB"},
        {"profile": True},
        {"waits": True},
        {"benchmark": "insert", "memory": "512MB"},
        {"contenders": [{"contender": "postgres://ann@db", "set": {"work_mem": "8MB"}}]},
        {"contenders": [{"contender": "postgres://ann@db", "slowed": 0}]},
        {"contenders": ["postgres@17.6"], "keep": True},
    ],
)
def test_running_servers_are_taken_as_they_are(
    data: dict[str, object], snapshot: SnapshotAssertion
) -> None:
    with pytest.raises(UsageError) as error:
        parse_spec({"name": "x", "contenders": ["postgres://ann@db", "postgres@17.6"], **data})
    assert str(error.value) == snapshot


def test_running_servers_are_measured_in_long_steps_too() -> None:
    contenders = ["postgres://ann@db", "postgres@17.6"]
    data: dict[str, object] = {"name": "x", "contenders": contenders, "benchmark": "insert"}
    assert parse_spec(data).planned_starts(usual=3) == 1
    assert parse_spec({**data, "incarnations": 2}).planned_starts(usual=3) == 2
    assert parse_spec({**data, "contenders": contenders[1:]}).planned_starts(usual=3) == 3


def test_running_servers_have_one_start_unless_more_are_wanted() -> None:
    contenders = ["postgres://ann@db", "postgres@17.6"]
    data: dict[str, object] = {"name": "x", "contenders": contenders, "budget": "10m"}
    assert planned_starts(parse_spec(data), tests=2) == 1
    assert planned_starts(parse_spec({**data, "incarnations": 3}), tests=2) == 3
    assert planned_starts(parse_spec({**data, "contenders": ["postgres@17.6"]}), tests=2) > 1
