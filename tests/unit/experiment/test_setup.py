"""Contenders before their servers are made."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest

from slowdust.errors import UsageError
from slowdust.experiment.setup import resolve_contenders
from slowdust.experiment.spec.spec import parse_spec
from slowdust.experiment.view import View


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("rocksdb", "slowdust builds add NAME DIRECTORY"),
        ("else", "is not a directory of binaries: it does not exist"),
    ],
)
def test_an_engine_behind_a_directory_is_told_from_a_missing_directory(
    tmp_path: Path, name: str, why: str
) -> None:
    spec = parse_spec({"name": "x", "contenders": [str(tmp_path / name)]})
    with pytest.raises(UsageError, match=why):
        resolve_contenders(spec, cast("View", None))  # nothing is fetched that could be shown
