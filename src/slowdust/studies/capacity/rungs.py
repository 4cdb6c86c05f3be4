"""The trials of each contender in steps of the offered rate, for tables and curves."""

from __future__ import annotations

import math
from collections import defaultdict
from dataclasses import dataclass
from statistics import median

from slowdust.store.trial import Trial
from slowdust.studies.capacity.outcome import Outcome
from slowdust.studies.capacity.sla import meets
from slowdust.units import Second

_PER_DOUBLING = 4
"""Steps for each doubling of the rate."""


@dataclass(frozen=True)
class Rung:
    """The trials of a contender at nearly the same rate."""

    contender: str
    low: float
    """Lowest rate of a trial."""
    high: float
    rate: float
    """Geometric mean of the rates."""
    trials: int
    met: int
    """Trials that met the SLA."""
    times: dict[str, Second]
    """Percentile -> median of the trials."""


def rungs(outcome: Outcome) -> list[Rung]:
    """Return the steps of each contender, from the lowest rate to the highest."""
    return [
        _rung(outcome, capacity.contender, trials)
        for capacity in outcome.capacities
        for trials in _grouped(outcome, capacity.contender)
    ]


def _grouped(outcome: Outcome, contender: str) -> list[list[Trial]]:
    groups: dict[int, list[Trial]] = defaultdict(list)
    for trial in outcome.trials:
        if trial.contender == contender:
            groups[math.floor(math.log2(trial.rate) * _PER_DOUBLING)].append(trial)
    return [groups[place] for place in sorted(groups)]


def _rung(outcome: Outcome, contender: str, trials: list[Trial]) -> Rung:
    rates = [trial.rate for trial in trials]
    names = [term.name for term in outcome.sla.times]
    values = {
        name: [trial.times[name] for trial in trials if name in trial.times] for name in names
    }
    return Rung(
        contender,
        low=min(rates),
        high=max(rates),
        rate=math.exp(sum(map(math.log, rates)) / len(rates)),
        trials=len(trials),
        met=sum(meets(outcome.sla, trial) for trial in trials),
        times={name: median(times) for name, times in values.items() if times},
    )
