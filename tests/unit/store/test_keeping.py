"""Renaming and removing experiments, and their notes."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

from slowdust.errors import SlowdustError, UsageError
from slowdust.store.experiments import (
    Annotation,
    find_experiment,
    read_annotation,
    remove_experiment,
    rename_experiment,
    write_annotation,
)
from slowdust.store.folder import Folder, experiments
from tests.unit.synthetic_history import keep, measured


@pytest.fixture
def results(tmp_path: Path) -> Path:
    for hour, name in enumerate(("first", "second")):
        keep(tmp_path, *measured(name, {"8.0.28": 1.0, "8.0.40": 0.9}, tests=["scan"]))
        (tmp_path / name / "experiment.toml").write_text(f'name = "{name}"\nrows = 10\n')
        os.utime(tmp_path / name / "manifest.json", (hour, hour))
    return tmp_path


def test_a_renamed_experiment_has_its_name_everywhere_and_its_place_in_lists(results: Path) -> None:
    records = (results / "first/slices.ndjson").read_bytes()
    folder = rename_experiment(find_experiment(results, "first"), "night-1")
    assert not (results / "first").exists()
    assert folder.read_manifest().experiment == "night-1"
    assert folder.spec_file.read_text() == 'name = "night-1"\nrows = 10\n'
    assert (folder.path / "slices.ndjson").read_bytes() == records
    assert [each.name for each in experiments(results)] == ["second", "night-1"]


def test_fields_of_a_newer_slowdust_survive_a_new_name(results: Path) -> None:
    path = results / "first/manifest.json"
    path.write_text(json.dumps(json.loads(path.read_bytes()) | {"moon": "full"}))
    folder = rename_experiment(Folder(results / "first"), "third")
    assert json.loads((folder.path / "manifest.json").read_bytes())["moon"] == "full"


def test_shards_of_a_fleet_are_renamed_and_removed_with_it(results: Path) -> None:
    fleet = results / "first.fleet"
    fleet.mkdir()
    (fleet / "fleet.toml").write_text('name = "first"\nrows = 10\n')
    (results / "taken.fleet").mkdir()
    with pytest.raises(UsageError, match=r"'taken\.fleet'"):
        rename_experiment(Folder(results / "first"), "taken")
    folder = rename_experiment(Folder(results / "first"), "third")
    renamed = results / "third.fleet"
    assert (renamed / "fleet.toml").read_text() == 'name = "third"\nrows = 10\n'
    assert not fleet.exists()
    with Folder(renamed).locked(), pytest.raises(UsageError, match="'third' is running"):
        remove_experiment(folder)
    remove_experiment(folder)
    assert sorted(path.name for path in results.iterdir()) == ["second", "taken.fleet"]


def test_no_experiment_takes_the_place_of_another(results: Path) -> None:
    with pytest.raises(UsageError, match="'second'"):
        rename_experiment(Folder(results / "first"), "second")
    assert Folder(results / "first").read_manifest().experiment == "first"


@pytest.mark.parametrize("name", ["../first", "", "a/b", ".hidden", "two words"])
def test_names_that_leave_the_folder_are_refused(results: Path, name: str) -> None:
    with pytest.raises(UsageError, match="name"):
        find_experiment(results, name)
    with pytest.raises(UsageError, match="name"):
        rename_experiment(Folder(results / "first"), name)


def test_a_folder_without_records_is_no_experiment(results: Path) -> None:
    (results / "mine").mkdir()
    (results / "mine/thesis.txt").touch()
    with pytest.raises(UsageError, match="no experiment 'mine'"):
        find_experiment(results, "mine")


def test_a_running_experiment_is_neither_renamed_nor_removed(results: Path) -> None:
    folder = Folder(results / "first")
    with folder.locked():
        with pytest.raises(UsageError, match="'first' is running: wait"):
            rename_experiment(folder, "third")
        with pytest.raises(UsageError, match="'first' is running: wait"):
            remove_experiment(folder)
    assert folder.read_manifest().experiment == "first"
    remove_experiment(folder)
    assert [each.name for each in experiments(results)] == ["second"]


def test_notes_and_tags_are_kept_next_to_the_experiment(results: Path) -> None:
    folder = Folder(results / "first")
    assert read_annotation(folder) == Annotation()
    annotation = Annotation(note="first night, <b>new</b> kernel", tags=["nightly"])
    write_annotation(folder, annotation)
    assert read_annotation(folder) == annotation
    assert read_annotation(rename_experiment(folder, "third")) == annotation


def test_a_damaged_note_is_said_to_be_one(results: Path) -> None:
    (results / "first/annotation.json").write_text("{")
    with pytest.raises(SlowdustError, match=r"annotation\.json is damaged"):
        read_annotation(Folder(results / "first"))
