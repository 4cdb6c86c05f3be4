"""The decisions of a search: what to measure next, what follows from it, and when it is over.

The range is cut into quarters first: two changes that cancel each other are seen where they are
not in the same one. Then an interval that holds a change is halved, the one with the largest change
first, until it has one candidate. At last the intervals without a change are halved, the doubtful
and the widest ones first, as far as the number of candidates to measure allows: they may hold
changes that cancel each other.

A noisy measurement is extended until it is clear on which side the change is, each time to twice
its length, `MOST_EXTENSIONS` times at most; the search then goes on by what is likely.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

from slowdust.builds.model import Progress
from slowdust.errors import SlowdustError
from slowdust.studies.bisect.posterior import SURE, Belief, Direct, MeasuredRatio, beliefs
from slowdust.studies.bisect.record import Record, Step, words_for
from slowdust.studies.bisect.words import cost_in_words, place_in_words, sureness
from slowdust.studies.candidates import Candidate
from slowdust.studies.engine import Unfit
from slowdust.units import known
from slowdust.wording import listing

MOST_EXTENSIONS = 3
_QUARTERS = 4
_FEWEST_TO_QUARTER = 16
_WIDE = 16
"""An interval without a change is halved if it has more than the range's candidates / this."""


@dataclass(frozen=True)
class Measured:
    """One experiment of the search: candidates side by side."""

    places: tuple[int, ...]
    """Their places in the range, ascending."""
    extensions: int
    """How often it has been extended."""


@dataclass(frozen=True)
class Measure:
    """The order to measure candidates side by side."""

    places: tuple[int, ...]


@dataclass(frozen=True)
class Extend:
    """The order to measure on what an experiment has measured, as long again."""

    experiment: int
    """The place of the experiment among those of the search."""


Order = Measure | Extend


def first_order(last: int, skipped: Collection[int]) -> Measure:
    """Return the candidates that are measured first: both ends, of a long range also quarters."""
    parts = _QUARTERS if last >= _FEWEST_TO_QUARTER else 1
    inner = [_nearest(last * part // parts, 0, last, skipped) for part in range(1, parts)]
    return Measure(tuple(sorted({0, last, *(place for place in inner if place is not None)})))


def likely_next(order: Measure, skipped: Collection[int]) -> list[int]:
    """Return the candidates of which some will be measured after an order: the next middles."""
    middles = [
        _nearest((before + after) // 2, before, after, skipped)
        for before, after in pairwise(order.places)
    ]
    return known(middles)


def next_order(
    beliefs: Sequence[Belief], measured: Sequence[Measured], skipped: Collection[int], most: int
) -> Order | None:
    """Return what to measure next; None where the search is over.

    `skipped` has the places of the candidates that cannot be measured; `most` is the number of
    candidates up to which intervals without a change are halved.
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
    # The more likely ones first: among them are those whose changes nearly cancel each other.
    quiet.sort(key=lambda each: (-max(each.changed, 1 - SURE), -each.candidates))
    for belief in (*by_size, *(quiet if len(beliefs) + 1 < most else ())):
        middle = (belief.before + belief.after) // 2
        place = _nearest(middle, belief.before, belief.after, skipped)
        if place is not None:
            return Measure((belief.before, place, belief.after))
    return None


def _extensible(belief: Belief, measured: Sequence[Measured]) -> int | None:
    """Return the experiment that tells most of an interval and may be extended, if any."""
    telling = [
        place
        for place, each in enumerate(measured)
        if each.extensions < MOST_EXTENSIONS
        and any(
            before <= belief.before and belief.after <= after
            for before, after in pairwise(each.places)
        )
    ]
    return telling[-1] if telling else None


def _nearest(wanted: int, before: int, after: int, skipped: Collection[int]) -> int | None:
    """Return the place nearest to the wanted one between two that can be measured."""
    inner = [place for place in range(before + 1, after) if place not in skipped]
    return min(inner, key=lambda place: (abs(place - wanted), place), default=None)


_MOST_CONFIRMATIONS = 2
"""Number of times that a change is measured beside the candidate before it, at most."""
_DRIFT = 0.25
"""Standard deviation of what builds differ by without a change / the smallest change."""


@dataclass(frozen=True)
class StepWanted:
    """A step of the search that is to be measured, as far as its record says."""

    number: int
    """0-based."""
    places: tuple[int, ...]
    """Places of the candidates to measure side by side."""
    extensions: int
    ahead: tuple[int, ...] = ()
    """Places of candidates of which some will be measured next."""


@dataclass(frozen=True)
class DirectWanted:
    """The direct measurement of a change and the candidate before it."""

    before: int
    after: int
    number: int
    """How many there were before, and this one: each is another experiment."""


Wanted = StepWanted | DirectWanted


class Search:
    """A search, which can be stopped and continued at any time.

    Each change that is found is measured beside the candidate before it, as is one that is only
    doubtful if it never was. If that contradicts a change, the search continues, and the change is
    measured once more.
    """

    def __init__(self, record: Record, say: Progress, *, extends: bool) -> None:
        """`extends` says whether measuring on makes a result surer."""
        self._record = record
        self._say = say
        self._extends = extends
        self._evidence: list[Sequence[MeasuredRatio]] = [() for _ in record.steps]
        """The evidence of each step."""
        self._unmeasured = [n for n, step in enumerate(record.steps) if len(step.places) > 1]
        """Steps that are to be measured, or to be read again."""
        self._unconfirmed: list[Belief] = []
        """Changes that are measured directly next."""
        self._confirmed: dict[tuple[int, int], list[Direct | None]] = {}
        """Interval -> the measurements of its change, one for each that was tried."""
        self._judged: list[MeasuredRatio] = []
        self._beliefs: list[Belief] = []
        """What follows from the evidence that was judged last."""

    @property
    def last(self) -> int:
        """The place of the last candidate."""
        return len(self._record.candidates.listed) - 1

    def next(self) -> Wanted | None:
        """Return what to measure next; None at the end."""
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
        """Note the ratios of neighbours among the places of a step.

        A candidate that cannot be measured is left out from now on.

        Raises:
            SlowdustError: an end of the range cannot be measured.
        """
        number = wanted.number
        step = self._record.steps[number]
        if not isinstance(found, Unfit):
            found = self._lacking(step, found) or found
        if isinstance(found, Unfit):
            self._leave_out(step.places[found.place], found.reason, step)
            # Without the candidate between the ends there is nothing to learn.
            if number == 0 and len(step.places) > 1:
                return
        else:
            self._evidence[number] = found
        step.done = step.extensions
        self._unmeasured.remove(number)

    def learn_direct(self, wanted: DirectWanted, found: Direct | Unfit | None) -> None:
        """Note a direct measurement; None if it has no ratio."""
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
        """Return what is known of each interval."""
        if self.evidence != self._judged:
            self._judged = self.evidence
            self._beliefs = beliefs(self._judged, self.last, self.drift)
        return self._beliefs

    @property
    def evidence(self) -> list[MeasuredRatio]:
        """All that was measured."""
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
        """Place of a change -> its last direct measurement, where that contradicts it."""
        return {
            belief.after: direct
            for belief in self.beliefs()
            if belief.changed >= 0.5 and (direct := self._contradiction(belief)) is not None
        }

    def _contradiction(self, belief: Belief) -> Direct | None:
        """Return the last direct measurement of an interval if it contradicts what is known."""
        direct = self._direct(belief)
        if direct is None or not direct.contradicts(belief.log_ratio, self._record.margin):
            return None
        return direct

    def _direct(self, belief: Belief) -> Direct | None:
        """Return the last direct measurement of an interval, by a confirmation or else a step."""
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
            # What only follows from other measurements is settled by one of its own.
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
        self._say(f"measuring {listed[belief.after].title} beside {before}{again}")
        return DirectWanted(belief.before, belief.after, len(tries) + 1)

    def _say_outcome(self, after: int) -> None:
        """Say what is known of a change after it was measured beside the candidate before it."""
        belief = next(each for each in self.beliefs() if each.after == after)
        if belief.changed < 0.5:
            name = place_in_words(self._candidates_of(belief))
            self._say(f"{name}: no change, {sureness(1 - belief.changed)}")
        elif (direct := self._contradiction(belief)) is not None:
            measured = self._cost(direct.log_ratio)
            self._say(f"{self._found(belief)}, is contradicted by this measurement: {measured}")
        else:
            self._say(f"found: {self._found(belief)}")

    def _candidates_of(self, belief: Belief) -> Sequence[Candidate]:
        return self._record.candidates.listed[belief.before + 1 : belief.after + 1]

    def _cost(self, log_ratio: float) -> str:
        return cost_in_words(math.exp(log_ratio), self._record.metric)

    def _found(self, belief: Belief) -> str:
        """Write a change: 'c7: 5.1% more work, 97% sure'."""
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
        """Add a step, or extend one; return the candidates that are likely to follow."""
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
        """Return the places to measure: what needs no more measuring is known of a last one."""
        halves = bool(self._record.steps)
        return [*order.places[:2]] if halves and not self._extends else [*order.places]

    def _announcement(self, number: int, order: Order) -> str:
        listed = self._record.candidates.listed
        names = ", ".join(listed[place].name for place in self._record.steps[number].places)
        what = "measuring" if isinstance(order, Measure) else "measuring on"
        left = f"; {self._left()}" if self.evidence else ""
        return f"step {number + 1}: {what} {names}{left}"

    def _left(self) -> str:
        """Name each change that is known so far, with the candidates where it may be."""
        found = [self._found(belief) for belief in self.beliefs() if belief.changed >= 0.5]
        return f"found so far: {'; '.join(found)}" if found else "no change found so far"

    def _lacking(self, step: Step, evidence: Sequence[MeasuredRatio]) -> Unfit | None:
        """Return the first candidate without a ratio; raise SlowdustError if an end has none."""
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
        return f"it has no {words_for(self._record.metric)} in this test"

    def _leave_out(self, place: int, reason: str, step: Step) -> None:
        name = self._record.candidates.listed[place].name
        if place in (0, self.last):
            raise SlowdustError(f"{name}, an end of the range, cannot be measured: {reason}")
        self._say(f"{name} is left out: {reason}")
        self._record.skipped[place] = reason
        step.places.remove(place)
