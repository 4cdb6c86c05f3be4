"""The trials of a search as what curves are made of."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from slowdust.capacity.curve import Curve, Outcomes
from slowdust.capacity.record import Trial
from slowdust.capacity.sla import Sla
from slowdust.units import Second


def curve_of(trials: Sequence[Trial], names: Sequence[str], sla: Sla) -> Curve:
    """Return what trials say of the contenders of these names."""
    return Curve(_outcomes_of(trials, names, sla))


def _outcomes_of(trials: Sequence[Trial], names: Sequence[str], sla: Sla) -> Outcomes:
    """Return the trials as arrays."""
    spent = 0.0
    began: dict[int, Second] = {}
    for trial in trials:
        began.setdefault(trial.turn, spent)
        spent += trial.wall
    rates = {name: [t.rate for t in trials if t.contender == name] for name in names}
    anybody = [trial.rate for trial in trials]
    middle = {name: math.sqrt(min(own) * max(own)) for name, own in rates.items() if own}
    return Outcomes(
        log_rate=np.log(anybody),
        met=np.array([trial.meets(sla) for trial in trials], dtype=bool),
        contender=np.array([names.index(trial.contender) for trial in trials], dtype=np.int64),
        start=np.array([trial.start - 1 for trial in trials], dtype=np.int64),
        time=np.array([began[trial.turn] for trial in trials]),
        contenders=len(names),
        expected=np.log([middle.get(name, max(anybody)) for name in names]),
    )
