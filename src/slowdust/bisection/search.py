"""The search itself: from one order of the strategy to the next, until none is left."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Protocol

from slowdust.bisection.candidates import Candidate
from slowdust.bisection.contradiction import Direct
from slowdust.bisection.metrics import words_for
from slowdust.bisection.posterior import Belief, MeasuredRatio, beliefs
from slowdust.bisection.record import Record, Step
from slowdust.bisection.strategy import (
    MOST_EXTENSIONS,
    SURE,
    Extend,
    Measure,
    Measured,
    Order,
    first_order,
    likely_next,
    next_order,
)
from slowdust.bisection.words import cost_in_words, place_in_words, sureness
from slowdust.errors import SlowdustError
from slowdust.wording import listing

_MOST_CONFIRMATIONS = 2
"""Number of times that a change is measured beside the candidate before it, at most."""
_DRIFT = 0.25
"""Standard deviation of what builds differ by without a change / the smallest change."""


class UnfitError(SlowdustError):
    """A candidate that cannot be measured: its build fails, or its server does not run."""

    def __init__(self, place: int, reason: str) -> None:
        super().__init__(reason)
        self.place = place


class Laboratory(Protocol):
    """Whoever measures candidates side by side."""

    extends: bool
    """Whether measuring on makes a result surer."""

    def prepare(self, places: Sequence[int]) -> None:
        """Build candidates that may be measured next, while others are measured."""
        ...

    def measure(self, number: int, step: Step) -> Sequence[MeasuredRatio]:
        """Measure a step as far as it is wanted, or read what was measured.

        Return the ratios of neighbours among its places, as far as there are any.

        Raises:
            UnfitError: one of its candidates cannot be measured.
            SlowdustError: the measuring itself failed.
        """
        ...

    def confirm(self, before: int, after: int, number: int) -> Direct | None:
        """Measure a change beside the candidate before it, for the `number`-th time from 1.

        Return None where it has no ratio.

        Raises:
            UnfitError: one of the two cannot be measured this time.
        """
        ...


class Search:
    """A search, which can be stopped and continued at any time."""

    def __init__(
        self,
        record: Record,
        laboratory: Laboratory,
        save: Callable[[Record], None],
        say: Callable[[str], None],
    ) -> None:
        self._record = record
        self._laboratory = laboratory
        self._save = save
        self._say = say
        self._evidence: list[Sequence[MeasuredRatio]] = []
        """The evidence of each step."""
        self._confirmed: dict[tuple[int, int], list[Direct | None]] = {}
        """Interval -> the measurements of its change, one for each that was tried."""
        self._judged: list[MeasuredRatio] = []
        self._beliefs: list[Belief] = []
        """What follows from the evidence that was judged last."""

    @property
    def last(self) -> int:
        """The place of the last candidate."""
        return len(self._record.candidates.listed) - 1

    def run(self) -> list[Belief]:
        """Measure until nothing is left to order; return what is known of each interval.

        Each change that is found is measured beside the candidate before it, as is one that is
        only doubtful if it never was. If that contradicts a change, the search continues, and the
        change is measured once more.

        Raises:
            SlowdustError: an end of the range cannot be measured, or measuring failed.
        """
        for number, step in enumerate(self._record.steps):
            self._evidence.append(())
            self._carry_out(number, step)
        while True:
            while (order := self._order()) is not None:
                self._begin(order)
            found = [each for each in self.beliefs() if self._is_to_confirm(each)]
            if not found:
                return self.beliefs()
            for belief in found:
                self._confirm(belief)
                self._say_outcome(belief)

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

    def _confirm(self, belief: Belief) -> None:
        listed = self._record.candidates.listed
        change, before = listed[belief.after], listed[belief.before]
        tries = self._confirmed.setdefault((belief.before, belief.after), [])
        again = " once more" if tries else ""
        self._say(f"measuring {change.title} beside {before.name}{again}")
        direct = None
        self._record.unconfirmed.pop(belief.after, None)
        try:
            direct = self._laboratory.confirm(belief.before, belief.after, len(tries) + 1)
            if direct is None:
                self._record.unconfirmed[belief.after] = self._without_ratio
        except UnfitError as unfit:
            self._record.unconfirmed[belief.after] = str(unfit)
        tries.append(direct)
        self._save(self._record)

    def _say_outcome(self, confirmed: Belief) -> None:
        """Say what is known of a change after it was measured beside the candidate before it."""
        belief = next(each for each in self.beliefs() if each.after == confirmed.after)
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
                step.extensions if self._laboratory.extends else MOST_EXTENSIONS,
            )
            for step in self._record.steps
        ]
        return next_order(self.beliefs(), measured, skipped, self._record.question.most_candidates)

    def _begin(self, order: Order) -> None:
        steps = self._record.steps
        if isinstance(order, Extend):
            number = order.experiment
            steps[number].extensions += 1
        else:
            number = len(steps)
            steps.append(Step(places=self._measured_of(order)))
            self._laboratory.prepare(likely_next(order, self._record.skipped))
            self._evidence.append(())
        self._save(self._record)
        self._say(self._announcement(number, order))
        self._carry_out(number, steps[number])

    def _measured_of(self, order: Measure) -> list[int]:
        """Return the places to measure: what needs no more measuring is known of a last one."""
        halves = bool(self._record.steps)
        return [*order.places[:2]] if halves and not self._laboratory.extends else [*order.places]

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

    def _carry_out(self, number: int, step: Step) -> None:
        """Measure a step; a candidate that cannot be measured is left out from now on."""
        while len(step.places) > 1:
            try:
                evidence = self._laboratory.measure(number, step)
                self._check_complete(step, evidence)
            except UnfitError as unfit:
                self._leave_out(unfit, step)
                if number > 0:
                    break  # without the candidate between them there is nothing to learn
            else:
                self._evidence[number] = evidence
                break
        step.done = step.extensions
        self._save(self._record)

    def _check_complete(self, step: Step, evidence: Sequence[MeasuredRatio]) -> None:
        """Raise UnfitError for a candidate without a ratio; SlowdustError where an end has none."""
        seen = {place for each in evidence for place in (each.before, each.after)}
        lacking = [place for place in step.places if place not in seen]
        if not lacking:
            return
        known = {place for each in self.evidence for place in (each.before, each.after)}
        for place in lacking:
            if place not in known and place not in (0, self.last):
                raise UnfitError(place, self._without_ratio)
        names = [self._record.candidates.listed[place].name for place in lacking]
        raise SlowdustError(f"{listing(names)} cannot be compared: {self._without_ratio}")

    @property
    def _without_ratio(self) -> str:
        return f"it has no {words_for(self._record.metric)} in this test"

    def _leave_out(self, unfit: UnfitError, step: Step) -> None:
        name = self._record.candidates.listed[unfit.place].name
        if unfit.place in (0, self.last):
            raise SlowdustError(f"{name}, an end of the range, cannot be measured: {unfit}")
        self._say(f"{name} is left out: {unfit}")
        self._record.skipped[unfit.place] = str(unfit)
        step.places.remove(unfit.place)
        self._save(self._record)
