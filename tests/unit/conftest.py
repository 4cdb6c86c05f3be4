"""What all unit tests share."""

from __future__ import annotations

import pytest
from syrupy.assertion import SnapshotAssertion

from tests.unit.golden import PlainText


@pytest.fixture
def snapshot(snapshot: SnapshotAssertion) -> SnapshotAssertion:
    """The golden text of the test, which `make golden` renews."""
    return snapshot.use_extension(PlainText)
