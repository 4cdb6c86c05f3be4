"""`slowdust more`: which tests continue and for how long. Nothing is measured."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from slowdust.experiment import local_lab
from slowdust.experiment.journal import StartMode
from slowdust.experiment.spec.spec import parse_spec
from slowdust.store.folder import Folder, writing
from slowdust.store.manifest import Counting, LeftOut
from tests.unit.cli.command import Slowdust, spoken
from tests.unit.cli.test_compare_and_run import Runs
from tests.unit.synthetic import Noise, synthetic_experiment

A, B = "postgres@15.8", "postgres@17.6"
TESTS = ["point-query", "scan", "insert"]


def stored(results: Path, name: str, *, noise: Noise, blocks: int = 6) -> Folder:
    """Store a finished experiment whose `scan` is half as fast."""
    manifest, slices = synthetic_experiment(
        [A, B], TESTS, shifts={B: {"scan": 0.5}}, noise=noise, blocks=blocks, seed=3
    )
    manifest.experiment, manifest.spent_s = name, 60.0
    manifest.turns_done = {f"{test}@1": 3 for test in TESTS}
    spec = parse_spec({"name": name, "contenders": [A, B], "tests": TESTS, "budget": "60s"})
    folder = Folder(results / name)
    with writing(folder) as writer:
        writer.write_spec(spec.to_toml())
        for record in slices:
            writer.append(record)
        writer.write_manifest(manifest)
    return folder


@pytest.fixture
def noisy(results: Path) -> Folder:
    return stored(results, "noisy", noise=Noise(slice=0.1))


@pytest.fixture
def runs(noisy: Folder, monkeypatch: pytest.MonkeyPatch) -> Runs:
    runs = Runs(noisy.path)
    monkeypatch.setattr(local_lab, "run_experiment", runs.run_experiment)
    return runs


def test_unsure_tests_continue_for_their_time_so_far(
    slowdust: Slowdust, runs: Runs, results: Path, snapshot: SnapshotAssertion
) -> None:
    outcome = slowdust("more", "noisy")

    [(spec, where, mode)] = runs.calls
    assert (where, mode) == (Path("results"), StartMode.RESUME)
    assert spec["only"] == ["insert", "point-query"]
    assert spec["budget"] == "120.000000s"
    assert spec["incarnations"] > 3
    assert outcome.err == snapshot
    assert outcome.code == 0


def test_the_budget_the_tests_and_the_path_can_be_given(slowdust: Slowdust, runs: Runs) -> None:
    slowdust("more", "results/noisy", "--budget", "5m", "--tests", "point*", "--no-wait")

    assert runs.spec["only"] == ["point-query"]
    assert runs.spec["budget"] == "360.000000s"


def test_a_stopped_experiment_resumes_to_its_end(
    slowdust: Slowdust, runs: Runs, noisy: Folder, snapshot: SnapshotAssertion
) -> None:
    manifest = noisy.read_manifest()
    manifest.finished, manifest.spent_s = None, 20.0
    with writing(noisy) as writer:
        writer.write_manifest(manifest)

    outcome = slowdust("more", "noisy")

    assert runs.spec["only"] == sorted(TESTS)
    assert runs.spec["budget"] == "600.000000s"
    assert outcome.err == snapshot


def test_until_decided_asks_for_what_the_forecast_says_and_ends(
    slowdust: Slowdust,
    runs: Runs,
    results: Path,
    noisy: Folder,
    monkeypatch: pytest.MonkeyPatch,
    *,
    snapshot: SnapshotAssertion,
) -> None:
    quiet = stored(results, "quiet", noise=Noise(slice=0.001, drift=0, restart=0), blocks=20)
    times = iter([noisy, quiet])

    def run_experiment(spec: object, where: Path, *rest: object, **also: object) -> Folder:
        """Measure enough to decide everything the second time."""
        runs.run_experiment(spec, where, *rest, **also)  # type: ignore[arg-type]
        folder = next(times)
        if folder is quiet:
            shutil.rmtree(noisy.path)
            shutil.copytree(quiet.path, noisy.path)
        return noisy

    monkeypatch.setattr(local_lab, "run_experiment", run_experiment)

    outcome = slowdust("more", "noisy", "--until-decided")

    budgets = [float(spec["budget"].removesuffix("s")) for spec, _, _ in runs.calls]
    assert len(budgets) == 2
    assert all(budget > 60 for budget in budgets)
    assert outcome.err.splitlines()[-1] == snapshot


def test_skipped_counts_are_made_up_without_measuring(
    slowdust: Slowdust, runs: Runs, noisy: Folder, snapshot: SnapshotAssertion
) -> None:
    with writing(noisy) as writer:
        manifest = noisy.read_manifest()
        left_out = LeftOut(tests=["scan"], budget_s=25.0, advised_s=300.0)
        manifest.counting = Counting(source="valgrind", left_out=left_out)
        writer.write_manifest(manifest)
    report = slowdust("report", "noisy", "--md")
    advice = "slowdust more noisy --count-budget 5m"
    assert [line for line in report.out.splitlines() if advice in line] == snapshot

    outcome = slowdust(*advice.split()[1:])

    assert outcome.code == 0
    assert runs.spec["count_budget"] == "300.000000s"
    assert runs.spec["budget"] == f"{manifest.spent_s:f}s"
    assert runs.spec["incarnations"] == min(manifest.turns_done.values(), default=1)


def test_named_tests_that_are_decided_are_left_as_they_are(
    slowdust: Slowdust, runs: Runs, results: Path, snapshot: SnapshotAssertion
) -> None:
    stored(results, "quiet", noise=Noise(slice=0.001, drift=0, restart=0), blocks=20)
    outcome = slowdust("more", "quiet", "--tests", "point-query", "--budget", "2s")
    assert runs.calls == []
    assert outcome.err == snapshot


@pytest.mark.parametrize(
    ("words", "named"),
    [
        (["none"], "'none'"),
        (["noisy", "--tests", "scn"], "'noisy'"),
        (["noisy", "--budget", "soon"], "'soon'"),
        (["noisy", "--budget", "1m", "--until-decided"], "--budget"),
    ],
    ids=spoken,
)
def test_wrong_use(
    slowdust: Slowdust, runs: Runs, words: list[str], named: str, snapshot: SnapshotAssertion
) -> None:
    outcome = slowdust("more", *words)

    assert (outcome.code, runs.calls) == (2, [])
    assert named in outcome.err
    assert outcome.err == snapshot


def test_imports_and_calibrations_cannot_be_resumed(
    slowdust: Slowdust, runs: Runs, noisy: Folder, snapshot: SnapshotAssertion
) -> None:
    manifest = noisy.read_manifest()
    manifest.contenders[1].slowed = 0.03
    with writing(noisy) as writer:
        writer.write_manifest(manifest)

    outcome = slowdust("more", "noisy")

    assert outcome.code == 2
    assert outcome.err == snapshot
