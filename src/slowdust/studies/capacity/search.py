"""The search for capacities: which rates to try next, and when it is over.

In each start of the servers all contenders take turns, A B B A, each at its own rates. The first
start brackets the capacity: with rates that double up to the contender's peak, beyond it if the
peak meets the SLA, and below it until a rate meets the SLA. A later start tries two of these rates
again, so that a stall of the machine at a bad moment does not keep the search far from the
capacity. Then each pair of turns refines: one trial at a rate that most trials are expected to
meet, and one at a rate that most are expected to miss, in random order. These two rates are the
most informative about the threshold and the spread of a probit curve (the D-optimal design: Ford,
Torsney & Wu 1992, J. R. Stat. Soc. B 54). The search is over when every interval is narrow enough,
or the budget is spent.
"""

from __future__ import annotations

import math
import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from slowdust.experiment.engine.schedule import rounds
from slowdust.experiment.passes.trials import Turns
from slowdust.experiment.spec.spec import Spec
from slowdust.stats.relative import CONFIDENCE
from slowdust.store.trial import Trial
from slowdust.studies.capacity.curve import Curve, fit_curve, interval_of_ratio
from slowdust.studies.capacity.sla import Sla, meets, parse_sla
from slowdust.units import Second

PRECISION, BUDGET = "precision", "budget"
"""Why a search ends."""
FEWEST_STARTS = 3
"""Minimum number of starts before a search may end by precision: restarts change capacities."""
_Z = 1.138
"""Distance of the two rates from the threshold, in spreads: 87% and 13% meet the SLA."""
_FACTOR = 2.0
"""Ratio of two rates while bracketing."""
_LADDER = (1 / 8, 1 / 4, 1 / 2, 1.0)
"""Rates of the first start, relative to the peak."""
_AROUND = ((1 / 4, 1 / 2), (1 / 8, 3 / 4))
"""Rates that later starts try again, in turn, relative to the peak."""
_MOST_RUNGS = 24
_CHECK_EVERY = 4
"""The intervals are computed after this many pairs of turns, because that takes a moment."""
_MOST_BEYOND = 1.5
"""Largest rate to try, relative to the largest rate tried so far."""


_SPENT = 0.97
"""Share of the budget after which another start is not worthwhile."""


@dataclass(frozen=True)
class Plan:
    """The budget of a search, and its precision."""

    budget: Second
    precision: float
    starts: int
    """Planned starts of the servers."""
    seed: int = 1


@dataclass
class Search:
    """A search, which can be stopped and resumed between any two turns."""

    names: Sequence[str]
    sla: Sla
    plan: Plan
    trials: list[Trial] = field(default_factory=list)
    """All trials, including those before an interruption."""
    peaks: dict[str, float] = field(default_factory=dict)
    _running: list[str] = field(default_factory=list)
    """The contenders of the current start that have not failed in it."""
    _lowest: float = 0.0
    ended: str | None = None
    """Why the current start is the last one."""

    @property
    def operations(self) -> int:
        """The operations that a trial needs so that every percentile of the SLA exists."""
        return self.sla.operations

    @property
    def fewest(self) -> float:
        """The operations of the trial with the lowest rate."""
        return self.sla.fewest

    @property
    def spent(self) -> Second:
        """Seconds of the budget that trials took."""
        return sum(trial.wall for trial in self.trials)

    @property
    def last_start(self) -> int:
        """The number of the last start with trials; 0 without trials."""
        return max((trial.start for trial in self.trials), default=0)

    @property
    def wants_start(self) -> bool:
        """Whether another start of the servers is needed."""
        return self.ended is None and self._has_budget

    @property
    def _has_budget(self) -> bool:
        return self.spent < self.plan.budget * _SPENT

    def ratio(self, curve: Curve, number: int, confidence: float) -> tuple[float, float]:
        """Return the ends of the interval of a contender's ln ratio to the base's."""
        return interval_of_ratio(
            self.trials, self.names, self.sla, curve, number, confidence=confidence
        )

    @property
    def over(self) -> str | None:
        """Why no other start is needed; None if one is."""
        measured = [name for name in self.names if self.met(name)]
        if measured and self._precise(self.last_start, measured):
            return PRECISION
        return None if self._has_budget else BUDGET

    def turns(self, start: int, peaks: Mapping[str, float], lowest: float) -> Turns:
        """Decide the turns of a start until its share of the budget is spent."""
        begun = self.spent
        left = max(1, self.plan.starts - start + 1)
        until = begun + (self.plan.budget - begun) / left
        rng = random.Random(f"{self.plan.seed}/{start}")
        self._lowest, self.peaks = lowest, {**peaks, **self.peaks}
        self._running = [name for name in self.names if name in peaks]
        around = _LADDER if start == 1 else _AROUND[start % len(_AROUND)]
        for share in around:
            rates = {name: self.peaks[name] * share for name in self._running}
            yield from self._turn(rates)
        yield from self._bracket()
        pairs = 0
        longest: Second = 0.0
        while self._running and self.spent + longest <= until:
            before = self.spent
            yield from self._pair(start, rng)
            longest = max(longest, self.spent - before)
            pairs += 1
            if pairs % _CHECK_EVERY == 0 and self._precise(start, self._running):
                break
        if self._precise(start, self._running):
            self.ended = PRECISION
        elif start >= self.plan.starts or not self._running:
            self.ended = BUDGET

    def curve(self) -> Curve:
        """Return the posterior from all trials."""
        return fit_curve(self.trials, self.names, self.sla)

    def met(self, name: str) -> set[bool]:
        """Return {True}, {False} or both: whether trials of a contender met the SLA."""
        return {meets(self.sla, trial) for trial in self.trials if trial.contender == name}

    def _turn(self, rates: Mapping[str, float]) -> Turns:
        if not rates:
            return
        number = max((trial.turn for trial in self.trials), default=-1) + 1
        trials = yield number, {name: max(rate, self._lowest) for name, rate in rates.items()}
        self.trials += trials
        had = {trial.contender for trial in trials}
        self._running = [name for name in self._running if name in had or name not in rates]

    def _bracket(self) -> Turns:
        """Double or halve the rates until each contender has met the SLA and has missed it.

        Meanwhile contenders that have both get trials at half of their threshold.
        """
        for _ in range(_MOST_RUNGS):
            rungs = {name: self._rung(name) for name in self._running}
            wanting = {name: rate for name, rate in rungs.items() if rate is not None}
            if not wanting:
                return
            half = {name: self._half(name) for name in rungs if name not in wanting}
            yield from self._turn({**wanting, **half})

    def _rung(self, name: str) -> float | None:
        """Return the next rate that brackets a contender; None if it is bracketed."""
        met, missed = self._rates(name)
        if not missed:
            return max(met) * _FACTOR if met else None
        if met or min(missed) <= self._lowest:
            return None
        return min(missed) / _FACTOR

    def _half(self, name: str) -> float:
        met, missed = self._rates(name)
        return (max(met) if met else min(missed)) / _FACTOR

    def _rates(self, name: str) -> tuple[list[float], list[float]]:
        """Return the rates at which a contender met the SLA, and at which it missed the SLA."""
        own = [trial for trial in self.trials if trial.contender == name]
        met = [trial.rate for trial in own if meets(self.sla, trial)]
        return met, [trial.rate for trial in own if not meets(self.sla, trial)]

    def _pair(self, start: int, rng: random.Random) -> Turns:
        """Run one trial below and one above the threshold of each contender, in random order."""
        sides = [_Z, -_Z]
        rng.shuffle(sides)
        curve = self.curve()
        for side in sides:
            rates = {name: self._rate(curve, name, start, side) for name in self._running}
            yield from self._turn(rates)

    def _rate(self, curve: Curve, name: str, start: int, side: float) -> float:
        theta, sigma = curve.threshold_now(self.names.index(name), start - 1)
        own = [trial.rate for trial in self.trials if trial.contender == name]
        return min(math.exp(theta - side * sigma), _MOST_BEYOND * max(own))

    def _precise(self, start: int, names: Sequence[str]) -> bool:
        """Return whether all intervals of the contenders are narrow enough."""
        if start < min(FEWEST_STARTS, self.plan.starts):
            return False
        curve = self.curve()
        numbers = [self.names.index(name) for name in names]
        half = math.log1p(self.plan.precision)
        if not numbers or not curve.may_be_within(numbers, half):
            return False
        known = [curve.capacity(number).interval(CONFIDENCE) for number in numbers]
        if any(high - low > 2 * half for low, high in known):
            return False
        ratios = [self.ratio(curve, number, CONFIDENCE) for number in numbers if number]
        return 0 not in numbers or all(high - low <= 2 * half for low, high in ratios)


def make_search(spec: Spec, names: Sequence[str], trials: Sequence[Trial]) -> Search:
    """Return the search of a specification, with its trials so far."""
    assert spec.trials is not None
    starts = spec.planned_starts(rounds(spec.budget, tests=1))
    plan = Plan(spec.budget, spec.trials.precision, starts, spec.seed)
    return Search(names, parse_sla(spec.trials.sla), plan, [*trials])
