"""How often a watch opens a false alarm, and how soon it opens one for a change.

    python -m bench.watch_year [--years 1] [--sizes 3,5,10,-3]

Prints the tables of docs/statistics.md. A year has 365 nights, 50 tests, and a new subject in four
of five nights; in the others a doubtful subject is measured again. A contender's deviation in a
night is drawn from Student's t with 4 degrees of freedom, so that the ratio of two contenders has a
standard deviation of 0.5%, 1% or 2%, which includes restarts and the host. Twice a year the host
changes, which changes each test's level relative to the base by a standard deviation of 2%. The
nights are judged by the functions of `slowdust watch`.
"""

from __future__ import annotations

import argparse
import math
import random
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from statistics import median

from slowdust.analysis.results.log_ratio import LogRatio
from slowdust.studies.candidates import Candidate
from slowdust.studies.watch.alarms import Fate, State, last_good
from slowdust.studies.watch.judging import judge
from slowdust.studies.watch.series import Measured, Night, Tonight
from slowdust.studies.watch.study import MOST_AGAIN

SMALLEST = ("--years", "1", "--tests", "3", "--nights", "60", "--sizes", "3")
NOISES = (0.005, 0.01, 0.02)
SIZES = "3,5,10,-3"
_HOSTS_A_YEAR = 2
_HOST_MOVES = 0.02
_MEASURED = 0.8
"""The share of nights with a new subject."""
_REPORTED_ERROR = 0.7
"""An experiment's reported standard error / standard deviation between nights."""
_QUARTER = 91
_FEWEST_NIGHTS = 60
_FREEDOM = 4
_TESTS_OF_THE_RATE = 50


@dataclass
class Year:
    """The truth of a year: the levels of all tests."""

    nights: int
    tests: int
    noise: float
    random: random.Random
    changes: dict[int, tuple[int, float]] = field(default_factory=dict)
    """Test -> the number of the subject that changes it, and the size of the change."""
    first: dict[int, int] = field(default_factory=dict)
    """Number of a subject -> its first night."""

    def judged(self) -> Iterator[tuple[State, Sequence[Night]]]:
        """Yield the state after each measured night, and all nights so far."""
        state, nights = State(), list[Night]()
        offsets = [0.0] * self.tests
        moves = sorted(self.random.sample(range(30, self.nights), _HOSTS_A_YEAR))
        for day in range(self.nights):
            if day in moves:
                offsets = [self.random.gauss(0, _HOST_MOVES) for _ in range(self.tests)]
            is_new = self.random.random() <= _MEASURED
            if not is_new and not self._is_again(nights, state):
                continue
            subject = len(self.first) + is_new
            number = len(nights) + 1
            self.first.setdefault(subject, number)
            host = f"host {sum(day >= move for move in moves)}"
            good = last_good(nights, state)
            plan = Tonight(
                number=number,
                date="",
                experiment="",
                subject=_candidate(subject),
                base="base",
                good=None if good is None else good[0],
                good_night=0 if good is None else good[1],
                again=not is_new,
            )
            measured = self._measured(subject, plan.good, offsets)
            nights.append(Night(plan=plan, host=host, segment=host, measured=measured))
            judge(state, nights, lambda _: "")
            yield state, nights

    def _is_again(self, nights: Sequence[Night], state: State) -> bool:
        """Return whether the last subject is in doubt and is measured again."""
        if not nights or not state.doubts:
            return False
        last = nights[-1].plan.subject
        return sum(night.plan.subject == last for night in nights) <= MOST_AGAIN

    def _measured(
        self, subject: int, good: Candidate | None, offsets: Sequence[float]
    ) -> list[Measured]:
        measured = []
        for test in range(self.tests):
            cost = self._level(test, subject) + offsets[test] + self._drawn()
            before = 0 if good is None else _number(good)
            reference = self._level(test, before) + offsets[test] + self._drawn()
            error = self.noise * _REPORTED_ERROR
            measured.append(
                Measured(
                    test=f"test-{test}",
                    clients=1,
                    metric="time",
                    base=LogRatio(log=cost - self._drawn(), error=error),
                    good=None if good is None else LogRatio(log=cost - reference, error=error),
                )
            )
        return measured

    def _level(self, test: int, subject: int) -> float:
        changed, size = self.changes.get(test, (0, 0.0))
        return math.log1p(size) if changed and subject >= changed else 0.0

    def _drawn(self) -> float:
        """Return a contender's random deviation in a night."""
        normal = self.random.gauss(0, 1)
        squares = self.random.gammavariate(_FREEDOM / 2, 2)
        of_variance_1 = normal * math.sqrt((_FREEDOM - 2) / squares)
        return of_variance_1 * self.noise / math.sqrt(2)


@dataclass
class Tally:
    """Results for the changes of many years."""

    changes: int = 0
    delays: list[int] = field(default_factory=list)
    """Measured nights from a change to its alarm; 0 for the same night."""
    right: int = 0
    """Changes with the right subject named."""
    near: int = 0
    """Changes with the right subject or a neighbour named."""


@dataclass
class Quiet:
    """Results for years without changes."""

    nights: int = 0
    worse: int = 0
    better: int = 0
    measured: int = 0
    again: int = 0
    """Nights that measured a subject again."""
    doubtful: int = 0
    """Nights that ended with a doubt."""
    ages: list[int] = field(default_factory=list)
    """Nights since the last good subject."""


def quiet(noise: float, options: argparse.Namespace) -> Quiet:
    """Count the alarms of tests that never change."""
    tally = Quiet()
    for seed in range(options.years):
        year = Year(options.nights, options.tests, noise, random.Random(seed))
        for state, nights in year.judged():
            tally.measured += 1
            tally.again += nights[-1].plan.again
            tally.doubtful += bool(state.doubts)
            good = last_good(nights, state)
            tally.ages.append(nights[-1].number - (0 if good is None else good[1]))
            last = state
        tally.worse += sum(change.is_worse for change in last.changes)
        tally.better += sum(change.fate is Fate.FASTER for change in last.changes)
        tally.nights += options.nights
    return tally


def _candidate(subject: int) -> Candidate:
    return Candidate(contender=f"c{subject}", name=f"c{subject}")


def _number(subject: Candidate) -> int:
    return int(subject.name[1:])


def found(noise: float, size: float, options: argparse.Namespace) -> Tally:
    """Count the found changes, in years with a change of every test."""
    tally = Tally()
    for seed in range(options.years):
        draw = random.Random(seed)
        year = Year(options.nights, options.tests, noise, random.Random(seed + 1000))
        last_subject = int(options.nights * _MEASURED)
        year.changes = {
            test: (draw.randrange(5, last_subject - 35), size) for test in range(options.tests)
        }
        for state, _ in year.judged():
            last = state
        tally.changes += len(year.changes)
        for test, (subject, _) in year.changes.items():
            night = year.first[subject]
            named = [
                change
                for change in last.changes
                if change.test == f"test-{test}"
                and change.is_worse == (size > 0)
                and change.found >= night
                and abs(change.night - night) < _QUARTER
            ]
            if named:
                tally.delays.append(named[0].found - night)
                distance = abs(_number(named[0].subject) - subject)
                tally.right += distance == 0
                tally.near += distance <= 1
    return tally


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the tables; return 1 if there is more than one false alarm per quarter."""
    parser = argparse.ArgumentParser(prog="bench.watch_year", description=__doc__)
    parser.add_argument("--years", type=int, default=1)
    parser.add_argument("--tests", type=int, default=50)
    parser.add_argument("--nights", type=int, default=365)
    parser.add_argument("--sizes", type=_sizes, default=SIZES, help="of changes, in percent")
    options = parser.parse_args(arguments)
    if options.nights < _FEWEST_NIGHTS:
        parser.error(f"--nights must be at least {_FEWEST_NIGHTS}, so that changes can be found")
    print(
        "| noise of a night | false alarms a quarter | false improvements a quarter "
        "| nights with a doubt | measured again | age of the last good one |"
    )
    print("| --: | --: | --: | --: | --: | --: |")
    highest = 0.0
    for noise in NOISES:
        tally = quiet(noise, options)
        quarters = tally.nights / _QUARTER * options.tests / _TESTS_OF_THE_RATE
        highest = max(highest, tally.worse / quarters)
        print(
            f"| {noise:.1%} | {tally.worse / quarters:.2f} | {tally.better / quarters:.2f} "
            f"| {tally.doubtful / tally.measured:.0%} | {tally.again / tally.measured:.0%} "
            f"| {median(tally.ages):g} |",
            flush=True,
        )
    print(
        "\n| noise | change | found | median delay | 90% within | subject named | or next to it |"
    )
    print("| --: | --: | --: | --: | --: | --: | --: |")
    for noise in NOISES:
        for size in options.sizes:
            print(_row(noise, size, found(noise, size, options)), flush=True)
    return 1 if highest > 1 else 0


def _sizes(text: str) -> list[float]:
    return [float(size) / 100 for size in text.split(",")]


def _row(noise: float, size: float, tally: Tally) -> str:
    head = f"| {noise:.1%} | {size:+.0%} | {len(tally.delays) / tally.changes:.1%}"
    if not tally.delays:
        return f"{head} | - | - | - | - |"
    delays = sorted(tally.delays)
    late = delays[math.ceil(0.9 * len(delays)) - 1]
    share = [f"{count / len(delays):.0%}" for count in (tally.right, tally.near)]
    return f"{head} | {median(delays):g} | {late} | {share[0]} | {share[1]} |"


if __name__ == "__main__":
    sys.exit(main())
