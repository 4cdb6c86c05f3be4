"""Turns of long steps, and how long they will go on."""

from __future__ import annotations

import pytest

from slowdust.benchmarks.steps import StepWork
from slowdust.experiment.plan import plan
from slowdust.experiment.spec.spec import parse_spec
from slowdust.experiment.steps.forecast import Forecast
from slowdust.experiment.steps.loop import turn_order
from slowdust.experiment.steps.turn import Tables, level_of


def test_turns_alternate_by_step_and_by_incarnation() -> None:
    assert [turn_order(2, place, 1) for place in range(3)] == [[0, 1], [1, 0], [0, 1]]
    assert [turn_order(2, place, 2) for place in range(3)] == [[1, 0], [0, 1], [1, 0]]
    assert turn_order(3, 1, 1) == [2, 1, 0]


def test_a_forecast_learns_from_the_turns_that_were() -> None:
    steps = plan(parse_spec({"name": "x", "contenders": ["a@1"], "benchmark": "insert"}))[:3]
    forecast = Forecast(steps, 10.0)
    assert forecast.left(2, 2) == 3 * 2 * 2 * 10
    forecast.took(steps[0], 1.0)
    steps[0].turns_done = 1
    assert forecast.left(2, 2) == 2 * (1 * 1 + 2 * 10 + 2 * 10)
    assert 0 <= forecast.elapsed < 5


def test_a_resumed_incarnation_runs_all_steps_again() -> None:
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
