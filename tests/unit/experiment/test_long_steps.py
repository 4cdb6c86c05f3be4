"""Turns of long steps, and their remaining time."""

from __future__ import annotations

import pytest

from slowdust.benchmarks.steps import StepWork
from slowdust.experiment.engine.stepped import Tables, level_of
from slowdust.experiment.passes.chunks import Forecast
from slowdust.experiment.plan import plan
from slowdust.experiment.spec.spec import parse_spec


def test_a_forecast_learns_from_the_turns_that_were() -> None:
    steps = plan(parse_spec({"name": "x", "contenders": ["a@1"], "benchmark": "insert"}))[:3]
    forecast = Forecast(steps, 10.0)
    assert forecast.left(2, 2) == 3 * 2 * 2 * 10
    forecast.took(steps[0], 1.0)
    steps[0].turns_done = 1
    assert forecast.left(2, 2) == 2 * (1 * 1 + 2 * 10 + 2 * 10)
    assert 0 <= forecast.elapsed < 5


def test_a_resumed_start_runs_all_steps_again() -> None:
    steps = plan(parse_spec({"name": "x", "contenders": ["a@1"], "benchmark": "insert"}))[:3]
    steps[0].turns_done = 1
    forecast = Forecast(steps, 10.0)
    assert forecast.to_come(2, level_of(steps[0])) == 2
    assert forecast.left(2, 1) == 3 * 2 * 10
    steps[0].turns_done = 2
    assert forecast.left(2, 1) == (1 + 2 + 2) * 10


@pytest.mark.parametrize(("tables", "inserted"), [(["a", "b"], [300, 300]), (["a"], [600])])
def test_tables_keep_their_size_and_count_what_was_ever_inserted(
    tables: list[str], inserted: list[int]
) -> None:
    held = Tables(tables)
    for inserted_rows, deleted_rows in ((200, 0), (60, 60), (40, 40)):
        held.grow(StepWork({}, inserted_rows, deleted_rows, None), 2)
    assert held.rows == 400
    assert held.inserted == inserted
