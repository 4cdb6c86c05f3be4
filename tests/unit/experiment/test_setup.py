"""Contenders before their servers are created."""

from __future__ import annotations

from pathlib import Path

import pytest

from slowdust.errors import UsageError
from slowdust.experiment.live import PlainView
from slowdust.experiment.setup import resolve_contenders, with_stored_names
from slowdust.experiment.spec.spec import parse_spec
from slowdust.store.folder import Folder, writing
from tests.unit.synthetic import synthetic_manifest
from tests.unit.synthetic_contenders import resolved


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("rocksdb", "slowdust builds add NAME DIRECTORY"),
        ("else", "/else"),
    ],
)
def test_an_engine_after_a_directory_is_not_a_missing_directory(
    tmp_path: Path, name: str, why: str
) -> None:
    spec = parse_spec({"name": "x", "contenders": [str(tmp_path / name)]})
    with pytest.raises(UsageError, match=why):
        resolve_contenders(spec, PlainView())


def test_a_resumed_experiment_keeps_the_spelling_of_its_names(tmp_path: Path) -> None:
    folder = Folder(tmp_path / "x")
    now = [resolved(f"mysql@8.4 work_mem={size}") for size in ("1MB", "2MB")]
    assert with_stored_names(now, folder) == now
    before = ["mysql@8.4 work_mem=1mb", "mysql@8.4 work_mem=2mb"]
    with writing(folder) as writer:
        writer.write_manifest(synthetic_manifest(before, ["scan"], (1,), 3, 1))
    assert [contender.name for contender in with_stored_names(now, folder)] == before
    others = [now[0], resolved("mysql@8.4 work_mem=4MB")]
    assert with_stored_names(others, folder) == others, "which is refused afterwards"
