"""A directory of locks for each test."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture(autouse=True)
def claims(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The directory of locks."""
    directory = tmp_path / "claims"
    monkeypatch.setenv("SLOWDUST_CLAIMS", str(directory))
    return directory
