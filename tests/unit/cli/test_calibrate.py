"""`slowdust calibrate`: the experiments that it creates, resumes and shows together.

Nothing is measured: the lab stores a synthetic calibration.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from syrupy.assertion import SnapshotAssertion

from slowdust.builds.catalog import find_catalog
from slowdust.errors import SlowdustError
from slowdust.experiment.experiment import Experiment
from slowdust.experiment.journal import StartMode
from slowdust.experiment.local_lab import LocalLab
from slowdust.experiment.spec.spec import Spec
from slowdust.places import data_root
from slowdust.store.folder import Folder, writing
from slowdust.versions import version_order
from tests.unit.cli.command import Slowdust
from tests.unit.synthetic_calibration import synthetic_calibration

BROKEN = "postgres@16.10"
Calls = list[tuple[str, str, StartMode]]


def store(folder: Folder, contender: str = "postgres@17.6", *, finished: bool = True) -> None:
    """Store a calibration as if it had been measured."""
    manifest, slices = synthetic_calibration(incarnations=3, blocks=5)
    manifest.experiment = folder.name
    names = {
        facts.name: facts.name.replace("postgres@17.6", contender) for facts in manifest.contenders
    }
    manifest.base = names[manifest.base]
    for facts in manifest.contenders:
        facts.name = names[facts.name]
    for record in slices:
        record.place.contender = names[record.place.contender]
    manifest.finished = manifest.finished if finished else None
    with writing(folder) as writer:
        writer.write_manifest(manifest)
        writer.append(*slices)


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> Calls:
    """The calibrations that were run: name, contender and mode of each."""
    calls: Calls = []

    def measure(lab: LocalLab, experiment: Experiment) -> None:
        contender, mode = experiment.spec.contenders[0].contender, experiment.mode
        calls.append((experiment.name, contender, mode))
        if contender == BROKEN:
            raise SlowdustError("it does not start")
        if mode is StartMode.FRESH:
            store(experiment.folder, contender)

    monkeypatch.setattr(LocalLab, "measure", measure)
    monkeypatch.setattr(LocalLab, "prepare", lambda lab, spec: [])
    return calls


def test_without_a_contender_the_newest_postgres_is_calibrated(
    slowdust: Slowdust, calls: Calls
) -> None:
    slowdust("calibrate", "--name", "quick")
    newest = max((entry.version for entry in find_catalog("postgres").entries), key=version_order)
    assert calls == [("quick", f"postgres@{newest}", StartMode.FRESH)]


def test_the_newest_version_matches_the_order_of_versions(slowdust: Slowdust, calls: Calls) -> None:
    user_catalog = data_root() / "catalog"
    user_catalog.mkdir(parents=True)
    (user_catalog / "postgres.toml").write_text('[versions]\n"9.6.1" = { npm = "9.6.1" }\n')
    slowdust("calibrate", "--name", "quick")
    [(_, contender, _)] = calls
    assert contender != "postgres@9.6.1"


def test_a_contender_that_fails_does_not_end_the_others(
    slowdust: Slowdust, calls: Calls, snapshot: SnapshotAssertion
) -> None:
    outcome = slowdust("calibrate", BROKEN, "postgres@17.6", "--name", "night")
    assert [contender for _, contender, _ in calls] == [BROKEN, "postgres@17.6"]
    assert outcome.complaint == snapshot
    assert outcome.code == 1
    assert "| nothing   |       2 |" in outcome.out


def test_builds_are_there_before_anything_is_measured(
    slowdust: Slowdust, calls: Calls, monkeypatch: pytest.MonkeyPatch, snapshot: SnapshotAssertion
) -> None:
    def prepare(lab: LocalLab, spec: Spec) -> None:
        del lab
        if spec.contenders[0].contender == BROKEN:
            raise SlowdustError("no such build")

    monkeypatch.setattr(LocalLab, "prepare", prepare)
    outcome = slowdust("calibrate", "postgres@17.6", BROKEN, "--name", "night")
    assert outcome.complaint == snapshot
    assert not calls


def test_several_contenders_end_with_one_table(slowdust: Slowdust, calls: Calls) -> None:
    outcome = slowdust("calibrate", "postgres@17.6", "postgres@18.4", "--name", "night")
    assert [name for name, _, _ in calls] == ["night-postgres-17.6", "night-postgres-18.4"]
    assert "| nothing   |       4 |" in outcome.out
    assert "| postgres@18.4 | point-query " in outcome.out


def test_resuming_runs_what_is_not_finished(slowdust: Slowdust, calls: Calls) -> None:
    store(Folder(Path("results/night-postgres-15.8")))
    store(Folder(Path("results/night-postgres-17.6")), finished=False)
    contenders = ("postgres@15.8", "postgres@17.6", "postgres@18.4")
    slowdust("calibrate", *contenders, "--name", "night", "--resume")
    assert calls == [
        ("night-postgres-17.6", "postgres@17.6", StartMode.RESUME),
        ("night-postgres-18.4", "postgres@18.4", StartMode.FRESH),
    ]


def test_stored_calibrations_are_shown_together(
    slowdust: Slowdust, calls: Calls, results: Path, snapshot: SnapshotAssertion
) -> None:
    store(Folder(results / "night-1"))
    store(Folder(results / "night-2"))
    outcome = slowdust("calibrate", "--stored", "night*")
    assert "| 10%       |       4 |" in outcome.out
    assert slowdust("calibrate", "--stored", "night-1").out.count("point-query ") == 2
    assert slowdust("calibrate", "--stored", "mi*").complaint == snapshot
    assert not calls


def test_resuming_needs_a_name(slowdust: Slowdust) -> None:
    outcome = slowdust("calibrate", "--resume")
    assert outcome.code == 2
    assert "--name" in outcome.complaint


def test_a_report_of_a_calibration_is_its_tables(
    slowdust: Slowdust, results: Path, snapshot: SnapshotAssertion
) -> None:
    store(Folder(results / "night"))
    assert slowdust("report", "night").out == snapshot
