"""No contender is warmer than another when the length of slices has been chosen."""

from __future__ import annotations

from contextlib import nullcontext
from types import SimpleNamespace
from typing import Any, cast

import pytest

from slowdust.benchmarks.micro import MICRO
from slowdust.experiment.driver.process import Data
from slowdust.experiment.driver.protocol import Stop
from slowdust.experiment.engine.open_test import OpenTest, Pace
from slowdust.experiment.plan import PlannedStep


def test_all_contenders_run_as_long_as_the_record() -> None:

    def run(session: str, stop: Stop, _rate: object, _beside: object, *, begin: None) -> object:
        assert stop.seconds is not None
        seconds[session] = seconds.get(session, 0.0) + stop.seconds
        return SimpleNamespace(operations=10, seconds=stop.seconds, positions=[1])

    seconds: dict[str, float] = {}
    window = SimpleNamespace(open=lambda: None, close=lambda: None)
    running = [SimpleNamespace(name=name, window=lambda _: window) for name in ("a", "b", "c")]
    contenders = SimpleNamespace(
        driver=SimpleNamespace(run=run),
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

    assert sessions.record_speed(0.02) is not None

    base, *others = (PlannedStep(test, 1).session(name, 1) for name in ("a", "b", "c"))
    assert seconds[base] > 0
    assert [seconds[other] for other in others] == [pytest.approx(0.02)] * 2
