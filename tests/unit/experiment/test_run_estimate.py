"""Expected duration and resolution of an experiment."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from slowdust.analysis.model import NeededTime
from slowdust.experiment import host_calibrations, run_estimate
from slowdust.experiment.host_calibrations import KeptTest
from slowdust.experiment.run_estimate import estimate_run
from slowdust.experiment.spec.spec import Spec, parse_spec
from slowdust.store.folder import Folder, writing
from slowdust.store.manifest import Counting, Manifest
from tests.unit.synthetic import synthetic_manifest

A, B = "postgres@15.8", "postgres@17.6"
TESTS = ["point-query", "scan"]


@pytest.fixture(autouse=True)
def _own_data_root(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SLOWDUST_DATA", str(tmp_path / "data"))
    monkeypatch.setattr(run_estimate, "usual_time", lambda *_: 0.0)


def spec(**keys: object) -> Spec:
    whole = {"name": "e", "contenders": [A, B], "tests": TESTS, "count": "off", "budget": "60s"}
    return parse_spec({**whole, **keys})


def store(results: Path, name: str, minutes: int, **parts: object) -> Manifest:
    """Store a manifest: 60 seconds were measured in three starts; the whole took `minutes`."""
    manifest = synthetic_manifest([A, B], TESTS, incarnations=3)
    manifest.experiment, manifest.spent_s = name, 60.0
    manifest.started = "2026-11-01T10:00:00+00:00"
    manifest.finished = f"2026-11-01T10:{minutes:02}:00+00:00"
    manifest.turns_done = {f"{test}@1": 3 for test in TESTS}
    for contender in manifest.contenders:
        contender.dbms = "postgres"
    manifest = msgspec.structs.replace(manifest, **parts)
    with writing(Folder(results / name)) as writer:
        writer.write_manifest(manifest)
    return manifest


def test_without_experience_there_are_usual_times(tmp_path: Path) -> None:
    postgres = estimate_run(spec(), tmp_path)
    mysql = estimate_run(spec(contenders=["mysql@8.0.40", "mysql@9.7.4"]), tmp_path)

    assert postgres.measuring == mysql.measuring == 60.0
    assert 60 < postgres.wall < mysql.wall
    assert postgres.half_width is None
    assert str(postgres).startswith("expected: ")


def test_the_time_around_measuring_is_learned(tmp_path: Path) -> None:
    for number, minutes in enumerate([4, 4, 40]):  # one was interrupted and resumed
        store(tmp_path, f"e{number}", minutes)

    learned = estimate_run(spec(incarnations=3), tmp_path)

    # 180 seconds in addition to the measuring of six starts, with 100,000 rows.
    assert learned.wall == pytest.approx(60 + 180)


def test_counting_is_learned_from_what_was_counted(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("shutil.which", lambda _: "/usr/bin/valgrind")
    store(tmp_path, "plain", 2)
    store(tmp_path, "counted", 6, counting=Counting(source="valgrind"))

    plain = estimate_run(spec(incarnations=3), tmp_path)
    counted = estimate_run(spec(incarnations=3, count="auto", count_budget="10m"), tmp_path)
    short = estimate_run(spec(incarnations=3, count="auto", count_budget="10s"), tmp_path)

    assert short.wall - plain.wall == pytest.approx(10)
    assert counted.wall - plain.wall == pytest.approx(240)


def test_the_open_tests_take_the_rest(tmp_path: Path) -> None:
    before = store(tmp_path, "e", 4)

    more = estimate_run(spec(budget="90s", incarnations=4, count="auto"), tmp_path, before)

    assert more.measuring == 30
    assert more.wall == pytest.approx(30 + 2 * 30)


def calibrated(half_width: float, seconds: float) -> KeptTest:
    needed = NeededTime(
        test="scan",
        clients=1,
        half_width=half_width,
        seconds=seconds,
        shortest=1.0,
        furthest=1000.0,
        to_find={"2%": 10.0},
    )
    return KeptTest(
        date="2026-11-20",
        experiment="night",
        contender=A,
        dbms="postgres",
        rows=100_000,
        measured=600.0,
        needed=needed,
    )


@pytest.mark.parametrize(("half_width", "short"), [(0.02, False), (0.2, True)])
def test_a_calibration_says_how_precise_it_will_be(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, half_width: float, *, short: bool
) -> None:
    kept = [calibrated(half_width, 30.0)]
    monkeypatch.setattr(host_calibrations, "all_kept", lambda: kept)

    same = estimate_run(spec(), tmp_path)
    longer = estimate_run(spec(budget="240s"), tmp_path)

    assert same.half_width == pytest.approx(half_width), "30 seconds for each of two tests"
    assert longer.half_width == pytest.approx(half_width / 2)
    assert "calibration of 2026-11-20" in str(same)
    assert bool(same.short_of) == short
    assert short == ("detects only differences of" in same.short_of)


def test_long_steps_take_what_they_took(tmp_path: Path) -> None:
    steps = parse_spec({"name": "e", "contenders": [A, B], "benchmark": "insert", "count": "off"})
    longer = steps.model_copy(update={"budget": 600.0})
    shorter = steps.model_copy(update={"budget": 40.0})

    assert estimate_run(steps, tmp_path).measuring == 2 * 3 * 55
    assert not estimate_run(steps, tmp_path).short_of
    assert estimate_run(longer, tmp_path).measuring == 600
    assert not estimate_run(longer, tmp_path).short_of
    assert estimate_run(shorter, tmp_path).measuring == 2 * 3 * 55, "planned starts are all made"
    assert "3 starts" in estimate_run(shorter, tmp_path).short_of


def test_steps_of_hours_are_not_taken_for_those_of_seconds(tmp_path: Path) -> None:
    data = {"name": "e", "contenders": [A, B], "benchmark": "insert", "count": "off"}
    cached = parse_spec({**data, "insert": {"workload": "cached"}})

    assert estimate_run(cached, tmp_path).measuring >= 2 * 2 * 6 * 1800
