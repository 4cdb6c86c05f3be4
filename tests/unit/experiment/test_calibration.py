"""The specification of a calibration, its delays, and its stored summary."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import msgspec
import pytest
from syrupy.assertion import SnapshotAssertion

from slowdust.analysis.calibration import calibration_of
from slowdust.analysis.model import Calibration
from slowdust.errors import UsageError
from slowdust.experiment import host_calibrations
from slowdust.experiment.passes.slices import delay_for, time_per_send
from slowdust.experiment.plan import plan
from slowdust.experiment.spec.options import calibration_specs
from slowdust.experiment.spec.spec import parse_spec, read_spec
from slowdust.places import data_root
from slowdust.store.manifest import ContenderFacts
from slowdust.store.measured import DELAY
from tests.unit.synthetic import SLICE_S
from tests.unit.synthetic_calibration import SENDS, synthetic_calibration

ROWS = 100_000
POSTGRES, MYSQL = "postgres@17.6", "mysql@9.7.4"


def test_a_build_is_compared_with_itself_and_itself_slowed() -> None:
    (spec,) = calibration_specs([POSTGRES], {"name": "night", "patience": "2m"})
    planned = spec.planned_contenders()
    assert [contender.slowed for contender in planned] == [0.0, 0.0, 0.03, 0.05, 0.10]
    titles = [contender.title(None) for contender in planned]
    assert titles == [POSTGRES, POSTGRES, *(f"{POSTGRES} slowed={p}%" for p in (3, 5, 10))]
    assert (spec.name, spec.suite, spec.budget, spec.incarnations) == ("night", "quick", 300, 3)
    assert spec.patience == 120
    assert spec.is_calibration


def test_a_budget_has_whole_trials() -> None:
    tests = {"tests": "scan,point-query", "trial": "10s", "slowed": "10"}
    for budget, trial, trials in (("1s", 4, 1), ("119s", 4, 1), ("120s", 4, 2), ("10m", 4, 10)):
        (spec,) = calibration_specs([POSTGRES], {**tests, "budget": budget})
        assert (spec.trial, spec.incarnations) == (trial, trial * trials)


def test_a_trial_has_the_starts_of_a_comparison_as_long() -> None:
    for trial, incarnations in (("5s", 3), ("12s", 5), ("60s", 6)):
        (spec,) = calibration_specs([POSTGRES], {"trial": trial, "budget": "8h"})
        assert spec.trial == incarnations


def test_several_contenders_share_the_budget() -> None:
    specs = calibration_specs([POSTGRES, MYSQL], {"name": "n", "budget": "8h", "clients": "1,4"})
    assert [spec.name for spec in specs] == ["n-postgres-17.6", "n-mysql-9.7.4"]
    assert [spec.budget for spec in specs] == [4 * 3600] * 2
    assert all(spec.clients == [1, 4] for spec in specs)


def test_a_build_may_be_compared_with_itself_alone() -> None:
    (spec,) = calibration_specs([POSTGRES], {"slowed": "none"})
    assert [contender.slowed for contender in spec.contenders] == [0.0, 0.0]


@pytest.mark.parametrize(
    "options",
    [
        {"slowed": "0"},
        {"slowed": "100"},
        {"slowed": "5,5"},
        {"slowed": "much"},
        {"budget": "long"},
        {"trial": "0s"},
        {"tests": "scan", "suite": "quick"},
        {"rows": "many"},
    ],
)
def test_wrong_options_are_named(options: dict[str, str], snapshot: SnapshotAssertion) -> None:
    with pytest.raises(UsageError) as error:
        calibration_specs([POSTGRES], options)
    assert str(error.value) == snapshot


def test_a_contender_is_given_once() -> None:
    with pytest.raises(UsageError, match="given twice"):
        calibration_specs([POSTGRES, POSTGRES], {})


def test_a_calibration_survives_its_file(tmp_path: Path) -> None:
    (spec,) = calibration_specs([POSTGRES], {"name": "night"})
    (tmp_path / "experiment.toml").write_text(spec.to_toml())
    assert read_spec(tmp_path / "experiment.toml") == spec


def test_long_steps_cannot_be_slowed() -> None:
    data = {"name": "x", "benchmark": "insert", "contenders": [{"contender": MYSQL, "slowed": 0.1}]}
    with pytest.raises(UsageError, match="long steps"):
        parse_spec(data)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    "contenders",
    [
        [{"contender": POSTGRES, "slowed": 0.1}, {"contender": POSTGRES, "slowed": 0}],
        [{"contender": POSTGRES, "slowed": 0}, POSTGRES],
        [{"contender": POSTGRES, "slowed": 0}, {"contender": MYSQL, "slowed": 0}],
        [
            {"contender": POSTGRES, "slowed": 0},
            {"contender": POSTGRES, "slowed": 0, "set": {"work_mem": "1MB"}},
        ],
    ],
)
def test_contenders_of_a_calibration_differ_in_their_delays_alone(
    contenders: list[object], snapshot: SnapshotAssertion
) -> None:
    with pytest.raises(UsageError) as error:
        parse_spec({"name": "x", "contenders": contenders})
    assert str(error.value) == snapshot


def test_each_number_of_clients_is_calibrated() -> None:
    (spec,) = calibration_specs([POSTGRES], {"clients": "1,4", "slowed": "none", "tests": "scan"})
    assert [(step.test.name, step.clients) for step in plan(spec)] == [("scan", 1), ("scan", 4)]


def test_a_delay_takes_its_share() -> None:
    per_send = 90.0
    delay = delay_for(0.1, per_send)
    assert per_send / (per_send + delay) == pytest.approx(0.9)


def test_the_time_of_a_send_matches_the_clients_at_work() -> None:
    _, slices = synthetic_calibration(["scan"], incarnations=1, blocks=1)
    alone = 1e6 * SLICE_S / SENDS
    assert time_per_send(slices, clients=1, cpus=2) == pytest.approx(alone)
    _, beside = synthetic_calibration(["scan"], incarnations=1, blocks=1, taken=0.25)
    assert time_per_send(beside, clients=1, cpus=2) == pytest.approx(0.75 * alone, rel=0.01)
    _, waiting = synthetic_calibration(["scan"], incarnations=1, blocks=1, asleep=0.5)
    assert time_per_send(waiting, clients=1, cpus=2) == pytest.approx(alone)
    _, crowded = synthetic_calibration(["scan"], incarnations=1, blocks=1, clients=(64,))
    assert time_per_send(crowded, clients=64, cpus=2) == pytest.approx(2 * alone, rel=0.01)
    for record in slices:
        record.measured.uses[DELAY]["sends"] = 0
    assert time_per_send(slices, clients=1, cpus=2) == 0


def base_of(contender: str, engine: str | None = None) -> ContenderFacts:
    manifest, _ = synthetic_calibration()
    facts = manifest.contenders[0]
    facts.name, facts.dbms, facts.engine = contender, contender.partition("@")[0], engine
    return facts


def keep(
    contender: str,
    engine: str | None = None,
    day: str = "2026-11-22",
    rows: int = ROWS,
    **how: object,
) -> Calibration:
    """Keep a calibration, `how` it is measured as of `synthetic_calibration`; return it."""
    manifest, slices = synthetic_calibration(**how)  # type: ignore[arg-type]
    manifest.started = f"{day}T03:04:05+00:00"
    manifest.method.rows = rows
    calibration = calibration_of(manifest, slices)
    assert calibration is not None
    calibration.contender, calibration.engine = contender, engine
    calibration.dbms = contender.partition("@")[0]
    host_calibrations.keep(manifest, calibration)
    return calibration


@pytest.fixture
def _own_data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLOWDUST_DATA", str(tmp_path / "data"))


@pytest.mark.usefixtures("_own_data")
def test_later_experiments_know_what_their_host_resolves() -> None:
    assert host_calibrations.host_fact(base_of(POSTGRES), ROWS) == {}
    keep(POSTGRES)
    keep(MYSQL, "innodb", day="2026-11-23")
    (postgres,) = host_calibrations.host_fact(base_of("postgres@15.8"), ROWS).values()
    assert postgres.startswith(f"2026-11-22 with {POSTGRES}, 100,000 rows: ")
    assert " 2% " in postgres
    (mysql,) = host_calibrations.host_fact(base_of("mysql@5.6.24", "innodb"), ROWS).values()
    (other,) = host_calibrations.host_fact(base_of("mariadb@11.4.5", "rocksdb"), ROWS).values()
    assert mysql == other
    assert mysql.startswith(f"2026-11-23 with {MYSQL}")


def sentence(rows: int = ROWS) -> str:
    (text,) = host_calibrations.host_fact(base_of(POSTGRES), rows).values()
    return text


@pytest.mark.usefixtures("_own_data")
def test_a_calibration_as_long_replaces_that_of_the_same_system() -> None:
    keep(POSTGRES)
    keep("postgres@18.4", day="2026-12-01")
    assert sentence().startswith("2026-12-01 with postgres@18.4")


@pytest.mark.usefixtures("_own_data")
def test_a_short_calibration_leaves_a_long_one() -> None:
    keep(POSTGRES, incarnations=6)
    keep("postgres@18.4", day="2026-12-01", blocks=5)
    assert sentence().startswith(f"2026-11-22 with {POSTGRES}")


@pytest.mark.usefixtures("_own_data")
def test_tests_clients_and_rows_are_separate() -> None:
    keep(POSTGRES)
    keep(POSTGRES, day="2026-12-01", tests=["scan"])
    keep(POSTGRES, day="2026-12-02", clients=[4])
    keep(POSTGRES, day="2026-12-03", rows=500, tests=["scan"])
    assert "point-query" in sentence()
    assert "scan" in sentence()
    assert sentence(rows=500).startswith("2026-12-03")
    assert "point-query" not in sentence(rows=500)
    assert sentence(rows=7) == sentence(rows=500), "no such rows: those that were calibrated last"


@pytest.mark.usefixtures("_own_data")
def test_calibrations_that_end_at_once_are_all_kept() -> None:
    tests = ["scan", "point-query", "update-index", "range-covered-pk"]
    measured = [synthetic_calibration([test], blocks=2) for test in tests]
    with ThreadPoolExecutor(len(tests)) as threads:
        for manifest, slices in measured:
            manifest.method.rows = ROWS
            calibration = calibration_of(manifest, slices)
            assert calibration is not None
            threads.submit(host_calibrations.keep, manifest, calibration)
    (file,) = (data_root() / "calibrations").glob("*.json")
    kept = msgspec.json.decode(file.read_bytes(), type=list[host_calibrations.KeptTest])
    assert sorted(test.needed.test for test in kept) == sorted(tests)


@pytest.mark.usefixtures("_own_data")
def test_a_damaged_file_is_as_none(tmp_path: Path) -> None:
    keep(POSTGRES)
    (file,) = (tmp_path / "data" / "calibrations").glob("*.json")
    file.write_text("{")
    assert host_calibrations.host_fact(base_of(POSTGRES), ROWS) == {}


@pytest.mark.usefixtures("_own_data")
def test_another_host_and_another_slowdust_know_nothing_of_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    keep(POSTGRES)
    monkeypatch.setattr(host_calibrations, "__version__", "99.0")
    assert host_calibrations.host_fact(base_of(POSTGRES), ROWS) == {}
    monkeypatch.undo()
    monkeypatch.setattr(host_calibrations, "identity", lambda: {"CPU": "another"})
    assert host_calibrations.host_fact(base_of(POSTGRES), ROWS) == {}
