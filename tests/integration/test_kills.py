"""Commands that are killed at any instant leave nothing behind."""

from __future__ import annotations

import pytest

from bench import kills
from tests.tiers.selection import full


@full
@pytest.mark.timeout(3600)
def test_nothing_is_left_of_a_hundred_commands_that_were_ended() -> None:
    assert kills.main(["--kills", "100", "--seed", "1"]) == 0
