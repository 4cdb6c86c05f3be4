"""What would decide the unsure results, in multiples of what was measured and in time."""

from __future__ import annotations

import math
from collections.abc import Sequence

from slowdust.analysis.comparison.forecast import Forecast, forecast_all
from slowdust.analysis.comparison.relative import Step, step_of
from slowdust.analysis.comparison.verdict import Judgement
from slowdust.analysis.model import Needed
from slowdust.store.manifest import Method
from slowdust.store.slice import Slice
from slowdust.units import Second, known
from slowdust.wording import short_duration


def needed_of(
    judgements: Sequence[Judgement], slices: Sequence[Slice], method: Method
) -> dict[tuple[Step, str], Needed]:
    """Return step and contender -> what would decide it, of the unsure ones with an interval."""
    forecasts = forecast_all(judgements, method.margin)
    keys = [(judgement.estimate.step, judgement.estimate.contender) for judgement in judgements]
    times = _times(slices)
    whole = sum(times.values())
    return {
        key: _needed(forecast, each.estimate.incarnations, times.get(key[0], 0.0), whole, method)
        for key, forecast, each in zip(keys, forecasts, judgements, strict=True)
        if forecast is not None
    }


def _times(slices: Sequence[Slice]) -> dict[Step, Second]:
    """Return step -> the time that was measured of all its contenders."""
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
        needed.seconds = forecast.factor * (method.budget_s or all_steps) or None
        needed.options = f"--incarnations {needed.incarnations}"
        if method.budget_s and needed.seconds:
            needed.options = f"--budget {short_duration(needed.seconds)}"
    elif method.budget_s is not None:
        needed.seconds = forecast.factor * method.budget_s
        budget = short_duration(needed.seconds)
        needed.options = f"--budget {budget} --incarnations {needed.incarnations}"
        needed.alone_s = needed.seconds * own / all_steps if own else None
    return needed
