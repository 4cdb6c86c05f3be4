"""Time to add so that unsure results are decided."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from slowdust.analysis.comparison import step_of
from slowdust.analysis.model import Needed, Result
from slowdust.benchmarks import measured_in_steps
from slowdust.stats.blocks import Step
from slowdust.stats.forecast import Forecast, forecast_all
from slowdust.stats.verdict import Judgement
from slowdust.store.manifest import Method
from slowdust.store.slice import Slice
from slowdust.units import Second, known


def forecast_needed(
    judgements: Sequence[Judgement], slices: Sequence[Slice], method: Method
) -> dict[tuple[Step, str], Needed]:
    """Return step and contender -> forecast, for unsure results with an interval."""
    forecasts = forecast_all(judgements)
    keys = [judgement.estimate.place for judgement in judgements]
    times = _times(slices)
    whole = sum(times.values())
    return {
        key: _needed(forecast, each.estimate.incarnations, times.get(key[0], 0.0), whole, method)
        for key, forecast, each in zip(keys, forecasts, judgements, strict=True)
        if forecast is not None
    }


def _times(slices: Sequence[Slice]) -> dict[Step, Second]:
    """Return step -> time measured on all its contenders."""
    times: dict[Step, list[Second | None]] = {}
    for record in slices:
        times.setdefault(step_of(record), []).append(record.measured.seconds)
    return {step: sum(known(lengths)) for step, lengths in times.items()}


def _needed(
    forecast: Forecast, incarnations: int, own: Second, all_steps: Second, method: Method
) -> Needed:
    needed = Needed(
        factor=forecast.factor,
        more=forecast.more,
        incarnations=math.ceil(forecast.factor * incarnations),
    )
    if method.steps is not None:
        spent: Second | None = method.budget_s or all_steps
    else:  # this test's share of the budget
        spent = method.budget_s * own / all_steps if method.budget_s and all_steps else None
    if spent and not forecast.more:
        needed.extra_s = (forecast.factor - 1) * spent
    return needed


def time_to_decide(unsure: Iterable[Result], share: float = 1.0) -> Second | None:
    """Return the time to add that would decide a share of the unsure results.

    Unsure tests get equal parts of it until each has what it needs; the rest goes to the others.
    Long steps all get the whole of it. None if the forecast does not reach that share.
    """
    results = list(unsure)
    extras = sorted(map(_extra, _slowest_of_each_test(results)))
    if not extras:
        return None
    decided = math.ceil(share * len(extras))
    last = extras[decided - 1]
    if math.isinf(last):
        return None
    if measured_in_steps(results[0].benchmark):
        return last
    return sum(extras[:decided]) + (len(extras) - decided) * last


def _slowest_of_each_test(results: Sequence[Result]) -> list[Result]:
    """Return for each step the contender that needs most: all contenders are measured with it."""
    slowest: dict[tuple[str, int], Result] = {}
    for result in results:
        key = result.test, result.clients
        if key not in slowest or _extra(result) > _extra(slowest[key]):
            slowest[key] = result
    return list(slowest.values())


def _extra(result: Result) -> Second:
    if result.needed is None or result.needed.extra_s is None:
        return math.inf
    return result.needed.extra_s
