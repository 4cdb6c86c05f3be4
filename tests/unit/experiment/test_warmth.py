"""All contenders are equally warm after the length of slices is chosen."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.unit.simulated_servers import Machine, opened


def test_all_contenders_run_as_long_as_the_record(tmp_path: Path) -> None:
    machine = Machine(dict.fromkeys(("a", "b", "c"), 1e-5), noise=0.0)
    with opened(machine, "point-query", tmp_path) as test:
        assert test.record_speed(0.02) is not None
    assert machine.ran["a"] > 0
    assert [machine.ran[other] for other in ("b", "c")] == [pytest.approx(0.02, rel=0.01)] * 2
