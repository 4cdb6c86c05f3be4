"""The command that makes the pictures of the documentation."""

from __future__ import annotations

from pathlib import Path

import pytest

from slowdust.store.folder import Folder, writing
from tests.browser import pictures
from tests.unit.synthetic import synthetic_experiment


@pytest.mark.usefixtures("browser")
def test_it_takes_a_picture_of_each_thing(tmp_path: Path) -> None:
    for name in ("night-1", "night-2"):
        manifest, slices = synthetic_experiment(["a@1", "a@2"], ["scan"], blocks=4)
        manifest.experiment = name
        with writing(Folder(tmp_path / "results" / name)) as writer:
            for record in slices:
                writer.append(record)
            writer.write_manifest(manifest)
    to = tmp_path / "pictures"

    assert pictures.main([str(tmp_path / "results"), "--to", str(to)]) == 0

    taken = {path.stem: path.read_bytes() for path in to.iterdir()}
    assert set(taken) == {
        *("page", "page-narrow", "page-dark", "terminal"),
        *("site", "diff"),
    }
    assert all(content.startswith(b"\x89PNG") for content in taken.values())
    assert len(set(taken.values())) == len(taken), "no two of them show the same"
