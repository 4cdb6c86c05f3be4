"""The decisions of a search: what to measure next, what follows from it, and when it is over.

First the range is divided into quarters, which shows two changes that cancel each other unless they
are in the same quarter. Then intervals with a change are halved, the largest change first, until
they have one candidate. At the end intervals without a change are halved, the doubtful and the
widest ones first, up to the allowed number of measured candidates: they may contain changes that
cancel each other.

A noisy measurement is extended until it is clear on which side the change is, each time to twice
its length, at most `MOST_EXTENSIONS` times. After that the search continues with the likelier side.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from slowdust.builds.model import Progress
from slowdust.errors import SlowdustError
from slowdust.studies.bisect.posterior import SURE, Belief, Direct, MeasuredRatio, beliefs
from slowdust.studies.bisect.record import Record, Step, describe_metric
from slowdust.studies.bisect.words import cost_in_words, place_in_words, sureness
from slowdust.studies.candidates import Candidate
from slowdust.studies.engine import Unfit
from slowdust.units import known
from slowdust.wording import listing

MOST_EXTENSIONS = 3
_QUARTERS = 4
_FEWEST_TO_QUARTER = 16
_WIDE = 16
"""An interval without a change is halved if it is longer than the range divided by this."""


@dataclass(frozen=True)
class Measured:
    """One experiment of the search: candidates side by side."""

    places: tuple[int, ...]
    """Their places in the range, ascending."""
    extensions: int
    """Number of its extensions."""


@dataclass(frozen=True)
class Measure:
    """An order to compare candidates."""

    places: tuple[int, ...]


@dataclass(frozen=True)
class Extend:
    """An order to extend an experiment to twice its length."""

    experiment: int
    """The index of the experiment in the search."""


Order = Measure | Extend


def first_order(last: int, skipped: Collection[int]) -> Measure:
    """Return the candidates to measure first: both ends, and the quarters of a long range."""
    parts = _QUARTERS if last >= _FEWEST_TO_QUARTER else 1
    inner = [_nearest(last * part // parts, 0, last, skipped) for part in range(1, parts)]
    return Measure(tuple(sorted({0, last, *(place for place in inner if place is not None)})))


def likely_next(order: Measure, skipped: Collection[int]) -> list[int]:
    """Return candidates that may be measured after an order: the middles of its intervals."""
    middles = [
        _nearest((before + after) // 2, before, after, skipped)
        for before, after in pairwise(order.places)
    ]
    return known(middles)


def next_order(
    beliefs: Sequence[Belief], measured: Sequence[Measured], skipped: Collection[int], most: int
) -> Order | None:
    """Return the next order; None if the search is over.

    `skipped` has the places of the candidates that cannot be measured; `most` is the number of
    measured candidates up to which intervals without a change are halved.
    """
    unclear = [belief for belief in beliefs if 1 - SURE < belief.changed < SURE]
    for belief in sorted(unclear, key=lambda each: abs(each.changed - 0.5)):
        if (place := _extensible(belief, measured)) is not None:
            return Extend(place)
    changed = [belief for belief in beliefs if belief.changed >= 0.5]
    by_size = sorted(changed, key=lambda each: -abs(each.log_ratio))
    last = beliefs[-1].after
    quiet = [
        each
        for each in beliefs
        if each.changed < 0.5 and (each.changed > 1 - SURE or each.candidates * _WIDE > last)
    ]
    # The likelier ones first: they include intervals whose changes nearly cancel each other.
    quiet.sort(key=lambda each: (-max(each.changed, 1 - SURE), -each.candidates))
    for belief in (*by_size, *(quiet if len(beliefs) + 1 < most else ())):
        middle = (belief.before + belief.after) // 2
        place = _nearest(middle, belief.before, belief.after, skipped)
        if place is not None:
            return Measure((belief.before, place, belief.after))
    return None


def _extensible(belief: Belief, measured: Sequence[Measured]) -> int | None:
    """Return the most informative of the experiments that may be extended, if any."""
    informative = [
        place
        for place, each in enumerate(measured)
        if each.extensions < MOST_EXTENSIONS
        and any(
            before <= belief.before and belief.after <= after
            for before, after in pairwise(each.places)
        )
    ]
    return informative[-1] if informative else None


def _nearest(wanted: int, before: int, after: int, skipped: Collection[int]) -> int | None:
    """Return the measurable place between two others that is nearest to the wanted one."""
    inner = [place for place in range(before + 1, after) if place not in skipped]
    return min(inner, key=lambda place: (abs(place - wanted), place), default=None)


_MOST_CONFIRMATIONS = 2
"""Maximum number of direct comparisons of a change with the candidate before it."""
_DRIFT = 0.25
"""Standard deviation of builds without a change, relative to the smallest change."""


@dataclass(frozen=True)
class StepWanted:
    """A step of the search that is to be measured."""

    number: int
    """0-based."""
    places: tuple[int, ...]
    """Places of the candidates to measure side by side."""
    extensions: int
    ahead: tuple[int, ...] = ()
    """Places of candidates that may be measured next."""


@dataclass(frozen=True)
class DirectWanted:
    """A direct comparison of a change with the candidate before it."""

    before: int
    after: int
    number: int
    """Number of the comparison, 1-based: each is an experiment of its own."""


Wanted = StepWanted | DirectWanted


class Search:
    """A search, which can be stopped and resumed at any time.

    Each change is compared directly with the candidate before it, and so is a doubtful change that
    was never measured directly. If the comparison contradicts the change, the search continues, and
    the change is compared once more.
    """

    def __init__(self, record: Record, say: Progress, *, extends: bool) -> None:
        """`extends` says whether a longer measurement makes a result more certain."""
        self._record = record
        self._say = say
        self._extends = extends
        self._evidence: list[Sequence[MeasuredRatio]] = [() for _ in record.steps]
        """The evidence of each step."""
        self._unmeasured = [n for n, step in enumerate(record.steps) if len(step.places) > 1]
        """Steps to measure, or to read again."""
        self._unconfirmed: list[Belief] = []
        """Changes to compare directly next."""
        self._confirmed: dict[tuple[int, int], list[Direct | None]] = {}
        """Interval -> the direct measurements of its change, None for each that failed."""
        self._judged: list[MeasuredRatio] = []
        self._beliefs: list[Belief] = []
        """The posterior of `_judged`, the evidence that was used last."""

    @property
    def last(self) -> int:
        """The place of the last candidate."""
        return len(self._record.candidates.listed) - 1

    def next(self) -> Wanted | None:
        """Return the next measurement; None at the end."""
        if not self._unconfirmed:
            ahead: Sequence[int] = ()
            while not self._unmeasured and (order := self._order()) is not None:
                ahead = self._begin(order)
            if self._unmeasured:
                number = self._unmeasured[0]
                step = self._record.steps[number]
                return StepWanted(number, tuple(step.places), step.extensions, tuple(ahead))
            self._unconfirmed = [each for each in self.beliefs() if self._is_to_confirm(each)]
        return self._confirmation() if self._unconfirmed else None

    def learn_step(self, wanted: StepWanted, found: Sequence[MeasuredRatio] | Unfit) -> None:
        """Store the ratios of neighbours among the places of a step.

        A candidate that cannot be measured is skipped from now on.

        Raises:
            SlowdustError: an end of the range cannot be measured.
        """
        number = wanted.number
        step = self._record.steps[number]
        if not isinstance(found, Unfit):
            found = self._find_missing(step, found) or found
        if isinstance(found, Unfit):
            self._skip(step.places[found.place], found.reason, step)
            # Without the candidate between the ends there is nothing to learn.
            if number == 0 and len(step.places) > 1:
                return
        else:
            self._evidence[number] = found
        step.done = step.extensions
        self._unmeasured.remove(number)

    def learn_direct(self, wanted: DirectWanted, found: Direct | Unfit | None) -> None:
        """Store a direct measurement; None if it has no ratio."""
        self._unconfirmed.pop(0)
        unconfirmed = self._record.unconfirmed
        unconfirmed.pop(wanted.after, None)
        if found is None:
            unconfirmed[wanted.after] = self._without_ratio
        elif isinstance(found, Unfit):
            unconfirmed[wanted.after] = found.reason
        direct = found if isinstance(found, Direct) else None
        self._confirmed.setdefault((wanted.before, wanted.after), []).append(direct)
        self._say_outcome(wanted.after)

    def beliefs(self) -> list[Belief]:
        """Return the posterior of each interval."""
        if self.evidence != self._judged:
            self._judged = self.evidence
            self._beliefs = beliefs(self._judged, self.last, self.drift)
        return self._beliefs

    @property
    def evidence(self) -> list[MeasuredRatio]:
        """All measured ratios."""
        steps = [each for evidence in self._evidence for each in evidence]
        confirmed = [
            MeasuredRatio(*place, each.log_ratio, each.error)
            for place, tries in self._confirmed.items()
            for each in tries
            if each is not None
        ]
        return [*steps, *confirmed]

    @property
    def contradicted(self) -> Mapping[int, Direct]:
        """Place of a change -> its last direct measurement, if that contradicts the change."""
        return {
            belief.after: direct
            for belief in self.beliefs()
            if belief.changed >= 0.5 and (direct := self._contradiction(belief)) is not None
        }

    def _contradiction(self, belief: Belief) -> Direct | None:
        """Return the last direct measurement of an interval if it contradicts the posterior."""
        direct = self._direct(belief)
        if direct is None or not direct.contradicts(belief.log_ratio, self._record.margin):
            return None
        return direct

    def _direct(self, belief: Belief) -> Direct | None:
        """Return the last direct measurement of an interval, from a confirmation or else a step."""
        place = (belief.before, belief.after)
        if confirmed := [each for each in self._confirmed.get(place, []) if each is not None]:
            return confirmed[-1]
        steps = [each for evidence in self._evidence for each in evidence]
        own = [each for each in steps if (each.before, each.after) == place]
        return Direct(own[-1].log_ratio, own[-1].error) if own else None

    @property
    def drift(self) -> float:
        """Standard deviation of the log ratio of an interval without a change."""
        return _DRIFT * self._record.margin

    def _is_to_confirm(self, belief: Belief) -> bool:
        tries = self._confirmed.get((belief.before, belief.after), [])
        if len(tries) >= _MOST_CONFIRMATIONS or None in tries:
            return False
        if belief.changed < 0.5:
            # A doubt that follows from other measurements is decided by a direct one.
            doubtful = belief.changed > 1 - SURE and belief.candidates == 1
            return doubtful and self._direct(belief) is None
        if not tries and belief.candidates == 1:
            return True
        return self._contradiction(belief) is not None

    def _confirmation(self) -> DirectWanted:
        belief = self._unconfirmed[0]
        listed = self._record.candidates.listed
        tries = self._confirmed.get((belief.before, belief.after), [])
        again = " once more" if tries else ""
        before = listed[belief.before].name
        self._say(f"comparing {listed[belief.after].title} with {before}{again}")
        return DirectWanted(belief.before, belief.after, len(tries) + 1)

    def _say_outcome(self, after: int) -> None:
        """Report a change after its direct comparison with the candidate before it."""
        belief = next(each for each in self.beliefs() if each.after == after)
        if belief.changed < 0.5:
            name = place_in_words(self._candidates_of(belief))
            self._say(f"{name}: no change, {sureness(1 - belief.changed)}")
        elif (direct := self._contradiction(belief)) is not None:
            measured = self._cost(direct.log_ratio)
            self._say(f"{self._found(belief)}, but this measurement contradicts it: {measured}")
        else:
            self._say(f"found: {self._found(belief)}")

    def _candidates_of(self, belief: Belief) -> Sequence[Candidate]:
        return self._record.candidates.listed[belief.before + 1 : belief.after + 1]

    def _cost(self, log_ratio: float) -> str:
        return cost_in_words(math.exp(log_ratio), self._record.metric)

    def _found(self, belief: Belief) -> str:
        """Return a change in words: 'c7: 5.1% more work, 97% sure'."""
        name = place_in_words(self._candidates_of(belief))
        return f"{name}: {self._cost(belief.log_ratio)}, {sureness(belief.changed)}"

    def _order(self) -> Order | None:
        skipped = self._record.skipped
        if not self._record.steps:
            return first_order(self.last, skipped)
        measured = [
            Measured(
                tuple(step.places),
                step.extensions if self._extends else MOST_EXTENSIONS,
            )
            for step in self._record.steps
        ]
        return next_order(self.beliefs(), measured, skipped, self._record.question.most_candidates)

    def _begin(self, order: Order) -> Sequence[int]:
        """Add a step, or extend one; return the candidates that may follow."""
        steps = self._record.steps
        ahead: Sequence[int] = ()
        if isinstance(order, Extend):
            number = order.experiment
            steps[number].extensions += 1
        else:
            number = len(steps)
            steps.append(Step(places=self._measured_of(order)))
            ahead = likely_next(order, self._record.skipped)
            self._evidence.append(())
        self._say(self._announcement(number, order))
        self._unmeasured.append(number)
        return ahead

    def _measured_of(self, order: Measure) -> list[int]:
        """Return the places to measure, without the last one if it was measured already."""
        halves = bool(self._record.steps)
        return [*order.places[:2]] if halves and not self._extends else [*order.places]

    def _announcement(self, number: int, order: Order) -> str:
        listed = self._record.candidates.listed
        names = ", ".join(listed[place].name for place in self._record.steps[number].places)
        what = "comparing" if isinstance(order, Measure) else "extending"
        left = f"; {self._left()}" if self.evidence else ""
        return f"step {number + 1}: {what} {names}{left}"

    def _left(self) -> str:
        """Return the changes found so far, in words."""
        found = [self._found(belief) for belief in self.beliefs() if belief.changed >= 0.5]
        return f"found so far: {'; '.join(found)}" if found else "no change found so far"

    def _find_missing(self, step: Step, evidence: Sequence[MeasuredRatio]) -> Unfit | None:
        """Return the first candidate without a ratio. Raises SlowdustError if an end has none."""
        seen = {place for each in evidence for place in (each.before, each.after)}
        lacking = [place for place in step.places if place not in seen]
        if not lacking:
            return None
        known = {place for each in self.evidence for place in (each.before, each.after)}
        for place in lacking:
            if place not in known and place not in (0, self.last):
                return Unfit(step.places.index(place), self._without_ratio)
        names = [self._record.candidates.listed[place].name for place in lacking]
        raise SlowdustError(f"{listing(names)} cannot be compared: {self._without_ratio}")

    @property
    def _without_ratio(self) -> str:
        return f"no {describe_metric(self._record.metric)} in this test"

    def _skip(self, place: int, reason: str, step: Step) -> None:
        name = self._record.candidates.listed[place].name
        if place in (0, self.last):
            raise SlowdustError(f"{name}, one end of the range, cannot be measured: {reason}")
        self._say(f"skipped {name}: {reason}")
        self._record.skipped[place] = reason
        step.places.remove(place)
