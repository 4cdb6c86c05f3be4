"""Searches for known changes, with random measurements."""

from __future__ import annotations

import random
from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from itertools import pairwise

from slowdust.studies.bisect.outcome import Outcome, summarize_search
from slowdust.studies.bisect.posterior import Belief, Direct, MeasuredRatio, Sum
from slowdust.studies.bisect.record import Question, Record
from slowdust.studies.bisect.search import Search, StepWanted, Wanted
from slowdust.studies.candidates import Candidate, Candidates
from slowdust.studies.engine import Unfit


class SimulatedLaboratory:
    """Measures candidates whose log costs are known, with normal errors and some wrong answers."""

    def __init__(
        self,
        costs: Sequence[float],
        error: float,
        *,
        seed: int = 0,
        wrong: float = 0.0,
        unfit: Collection[int] = (),
        extends: bool = True,
    ) -> None:
        """Begin with `error`, the standard error of a measurement that was not extended.

        `wrong` is the probability that a ratio has an error of 10% on top of its own.
        """
        self.extends = extends
        self.measured: set[int] = set()
        """Places of the candidates that were measured."""
        self.prepared: set[int] = set()
        """Places of the candidates that were to be built ahead."""
        self.effort = 0.0
        """Measuring of one candidate, in units of a step that was not extended."""
        self.orders = 0
        self.confirmed = 0
        """Direct measurements of changes."""
        self._costs = costs
        self._error = error
        self._wrong = wrong
        self._unfit = unfit
        self._random = random.Random(seed)

    def measure(self, step: StepWanted) -> list[MeasuredRatio] | Unfit:
        """Draw the ratios between neighbours again."""
        self.prepared |= {*step.ahead}
        self.orders += 1
        for number, place in enumerate(step.places):
            if place in self._unfit:
                return Unfit(number, "it does not compile")
        self.measured |= {*step.places}
        times = 2**step.extensions
        self.effort += len(step.places) * (1 if step.extensions == 0 else times / 2)
        return [self._drawn(before, after, times) for before, after in pairwise(step.places)]

    def confirm(self, before: int, after: int, number: int) -> Direct | Unfit | None:
        """Draw the ratio of a change again, as precisely as after extending a step twice."""
        del number
        self.measured |= {before, after}
        self.confirmed += 1
        self.effort += 2 * 4
        drawn = self._drawn(before, after, 4)
        return Direct(drawn.log_ratio, drawn.error)

    def _drawn(self, before: int, after: int, times: int) -> MeasuredRatio:
        error = self._error / times**0.5
        value = self._costs[after] - self._costs[before] + self._random.gauss(0, error)
        if self._random.random() < self._wrong:
            value += self._random.gauss(0, 0.1)
        return MeasuredRatio(before, after, value, error)


def decide(search: Search, laboratory: SimulatedLaboratory) -> Iterator[Wanted]:
    """Run a search to its end; yield the candidates before they are measured."""
    while (wanted := search.next()) is not None:
        yield wanted
        if isinstance(wanted, StepWanted):
            search.learn_step(wanted, laboratory.measure(wanted))
        else:
            direct = laboratory.confirm(wanted.before, wanted.after, wanted.number)
            search.learn_direct(wanted, direct)


def run_search(
    record: Record, laboratory: SimulatedLaboratory, say: Callable[[str], None] = lambda _: None
) -> Search:
    """Run a search to its end; return it."""
    search = Search(record, say, extends=laboratory.extends)
    for _ in decide(search, laboratory):
        pass
    return search


def costs_with(changes: Mapping[int, float], candidates: int) -> list[float]:
    """Return the log cost of each candidate, where `changes` has place -> log ratio."""
    costs = [0.0]
    for place in range(1, candidates):
        costs.append(costs[-1] + changes.get(place, 0.0))
    return costs


def record_of(candidates: int, *, metric: str = "time", margin: float = 0.03) -> Record:
    """Return the record of a search that has not begun, over candidates c0, c1, ..."""
    listed = [Candidate(contender=f"postgres@{n}", name=f"c{n}") for n in range(candidates)]
    question = Question(
        range="postgres@1..9",
        metric=metric,
        margin=None,
        most_candidates=20,
        options={"tests": "point-query"},
        good=None,
        bad=None,
    )
    return Record(
        question=question, candidates=Candidates(listed=listed), metric=metric, margin=margin
    )


BELIEFS = [
    Belief(before=0, after=4, changed=0.01, log_ratio=0.0, error=0.002),
    Belief(before=4, after=5, changed=0.997, log_ratio=0.0953, error=0.003),
    Belief(before=5, after=7, changed=0.8, log_ratio=-0.05, error=0.01),
    Belief(before=7, after=8, changed=0.2, log_ratio=0.01, error=0.01),
]


COSTS = [
    Sum(4, 0.0, 0.002),
    Sum(5, 0.0953, 0.003),
    Sum(7, 0.0453, 0.01),
    Sum(8, 0.0553, 0.012),
]


def outcome_of_test() -> Outcome:
    """Return a search by work with two changes, a doubtful interval and a skipped commit."""
    record = record_of(9, metric="work")
    record.candidates.listed[5] = Candidate(
        contender="postgres@git:0123456789abcdef",
        name="0123456789ab",
        commit="0123456789abcdef",
        author="Ann <script>",
        date="2026-03-01T12:00:00+00:00",
        subject="Check *twice* before <b>every</b> row",
    )
    record.skipped[6] = "it does not compile"
    return summarize_search(record, BELIEFS, COSTS, {}, {})
