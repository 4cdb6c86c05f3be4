"""The search itself: from one order of the strategy to the next, until none is left."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from slowdust.bisection.metrics import words_for
from slowdust.bisection.posterior import Belief, Evidence, beliefs
from slowdust.bisection.record import Record, Step
from slowdust.bisection.strategy import (
    MOST_EXTENSIONS,
    Extend,
    Measure,
    Measured,
    Order,
    first_order,
    likely_next,
    next_order,
)
from slowdust.errors import SlowdustError
from slowdust.wording import listing

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

    def measure(self, number: int, step: Step) -> Sequence[Evidence]:
        """Measure a step as far as it is wanted, or read what was measured.

        Return the ratios of neighbours among its places, as far as there are any.

        Raises:
            UnfitError: one of its candidates cannot be measured.
            SlowdustError: the measuring itself failed.
        """
        ...

    def confirm(self, before: int, after: int) -> Sequence[Evidence]:
        """Measure a change beside the candidate before it once more; return the ratio.

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
        self._evidence: list[Sequence[Evidence]] = []
        """The evidence of each step, then of each confirmation."""
        self._confirmed: dict[tuple[int, int], Sequence[Evidence]] = {}

    @property
    def last(self) -> int:
        """The place of the last candidate."""
        return len(self._record.candidates.listed) - 1

    def run(self) -> list[Belief]:
        """Measure until nothing is left to order; return what is known of each interval.

        Each change that is found is measured once more, beside the candidate before it. Where that
        contradicts what was known, the search goes on.

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

    def beliefs(self) -> list[Belief]:
        """Return what is known of each interval."""
        return beliefs(self.evidence, self.last, self.drift)

    @property
    def evidence(self) -> list[Evidence]:
        """All that was measured."""
        measured = [*self._evidence, *self._confirmed.values()]
        return [each for evidence in measured for each in evidence]

    @property
    def drift(self) -> float:
        """Standard deviation of the log ratio of an interval without a change."""
        return _DRIFT * self._record.margin

    def _is_to_confirm(self, belief: Belief) -> bool:
        place = (belief.before, belief.after)
        return belief.changed >= 0.5 and belief.candidates == 1 and place not in self._confirmed

    def _confirm(self, belief: Belief) -> None:
        listed = self._record.candidates.listed
        change, before = listed[belief.after], listed[belief.before]
        self._say(f"measuring {change.title} beside {before.name}")
        evidence: Sequence[Evidence] = ()
        self._record.unconfirmed.pop(belief.after, None)
        try:
            evidence = self._laboratory.confirm(belief.before, belief.after)
            if not evidence:
                self._record.unconfirmed[belief.after] = self._without_ratio
        except UnfitError as unfit:
            self._record.unconfirmed[belief.after] = str(unfit)
        self._confirmed[belief.before, belief.after] = evidence
        self._save(self._record)

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
        """Say how many candidates are left of each change that is known so far."""
        found = [belief for belief in self.beliefs() if belief.changed >= 0.5]
        if not found:
            return "no change found so far"
        counts = " and ".join(str(belief.candidates) for belief in found)
        return f"{len(found)} found so far, among {counts} candidates"

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

    def _check_complete(self, step: Step, evidence: Sequence[Evidence]) -> None:
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
