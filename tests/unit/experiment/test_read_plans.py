"""Plans are read with the work of the same operations on all contenders."""

from __future__ import annotations

from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any, cast

from slowdust.benchmarks.micro import MICRO
from slowdust.dbms import family
from slowdust.experiment.driver.process import Data
from slowdust.experiment.driver.protocol import PlanText
from slowdust.experiment.engine.open_test import OpenTest, Pace
from slowdust.experiment.plan import PlannedStep
from slowdust.store.manifest import Executed

IN_TIME = {"fast": 10, "slow": 3, "silent": 0}
"""Contender -> the operations that its server executes in time; 0 where it tells nothing."""


def test_the_slowest_contender_decides_how_many_operations_are_compared() -> None:
    asked: list[tuple[str, int]] = []

    def explain(session: str, operations: int) -> list[PlanText]:
        name = next(name for name in IN_TIME if session.startswith(name))
        asked.append((name, operations))
        done = min(operations, IN_TIME[name])
        executed = Executed(operations=done, executions=done, amounts={}) if done else None
        return [PlanText("SELECT", "scan", executed)]

    sqlite = family("sqlite")
    running = [SimpleNamespace(name=name, family=sqlite) for name in IN_TIME]
    contenders = SimpleNamespace(
        driver=SimpleNamespace(explain=explain),
        having=lambda _: running,
        running=lambda: running,
        guard=nullcontext,
    )
    (test,) = MICRO.matching(["point-query"])
    sessions = OpenTest(
        cast(Any, contenders),
        PlannedStep(test, 1),
        1,
        Pace(discard=0.01, warmup=0.1, rate=None),
        data=Data(tables=1, rows=10, seed=1),
    )
    kept: dict[str, list[PlanText]] = {}

    sessions.read_plans(lambda name, plans: kept.update({name: plans}))

    assert asked == [("fast", 10), ("slow", 10), ("silent", 10), ("fast", 3)]
    operations = {name: plan.executed and plan.executed.operations for name, [plan] in kept.items()}
    assert operations == {"fast": 3, "slow": 3, "silent": None}
