"""Plans are read with the work of the same operations on all contenders."""

from __future__ import annotations

from pathlib import Path

from slowdust.experiment.driver.protocol import PlanText
from tests.unit.simulated_servers import Machine, opened


def test_the_slowest_contender_decides_how_many_operations_are_compared(tmp_path: Path) -> None:
    """Three operations of the slow one fit into the half second that plans may take."""
    machine = Machine({"fast": 1e-3, "slow": 0.2, "silent": 1e-3}, plans=("fast", "slow"))
    kept: dict[str, list[PlanText]] = {}
    with opened(machine, "point-query", tmp_path) as test:
        test.read_plans(lambda name, plans: kept.update({name: plans}))
    operations = {
        name: [plan.executed.operations for plan in plans if plan.executed]
        for name, plans in kept.items()
    }
    assert operations == {"fast": [3], "slow": [3], "silent": []}
