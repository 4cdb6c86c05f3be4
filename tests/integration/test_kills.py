"""Commands killed at any instant leave no servers, files or locks."""

from __future__ import annotations

import pytest

from bench import kills
from tests.tiers.selection import full


@full
@pytest.mark.timeout(3600)
def test_nothing_is_left_of_a_hundred_commands_that_were_ended() -> None:
    assert kills.main(["--kills", "100", "--seed", "1"]) == 0
