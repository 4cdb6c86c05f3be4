"""Shared by all unit tests."""

from __future__ import annotations

import os

import pytest
from syrupy.assertion import SnapshotAssertion

from tests.unit.golden import PlainText

# Texts are for a terminal of 80 columns without colours, in any terminal that runs the tests.
os.environ["COLUMNS"] = "80"
os.environ.pop("FORCE_COLOR", None)


@pytest.fixture
def snapshot(snapshot: SnapshotAssertion) -> SnapshotAssertion:
    """The golden text of the test, which `make golden` renews."""
    return snapshot.use_extension(PlainText)
