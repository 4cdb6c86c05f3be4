"""The results of a calibration, as reports show them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import msgspec

from slowdust.units import Second


class CalibratedTest(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A test of the build against itself, slowed by one share or not at all, over all trials."""

    test: str
    clients: int
    slowed: float
    """The share of throughput that the delay was chosen to take; 0 for the build against itself."""
    trials: int
    """Verdicts: each trial is judged like an experiment of two contenders."""
    known: int
    """Trials whose truth is known."""
    false: int
    """Verdicts of those that are not true: `faster` or `slower` of equals, `faster` of what is
    slower, and `same` where the truth lies outside the margin."""
    found: int | None = None
    """Verdicts `slower`, of all trials; absent for the build against itself."""
    intervals: int
    """Trials with an interval and a known truth, whose coverage is counted."""
    covered: int
    """Intervals that cover the truth."""
    truth: float | None = None
    """Median of the trials' true ratio; absent where other work on the CPUs made it unknown."""
    ratio: float | None = None
    """Median of the trials' measured ratio."""
    half_width: float | None = None
    """Median half-width of the intervals, in ln rqps."""


class NeededTime(msgspec.Struct, kw_only=True):
    """The time in which a test of two contenders finds a difference, nine times out of ten."""

    test: str
    clients: int
    half_width: float
    """Median half-width over all trials, slowed or not."""
    seconds: Second
    """Wall clock of both contenders together in one trial: their warm-up, and their blocks with
    all that is between the slices. Opening connections, restarts and loading are left out."""
    shortest: Second
    """The time of the fewest incarnations that a verdict needs, with the fewest blocks in each."""
    furthest: Second
    """The longest time that is foretold: 20 times `seconds`."""
    to_find: dict[str, Second]
    """Difference ('1%') -> time of both contenders together, as in `seconds`; at least `shortest`,
    and at most `furthest`, which stands for more than that."""


@dataclass(frozen=True)
class Resolution:
    """The time in which a host finds one difference, over its tests with the fewest clients."""

    difference: str
    times: Sequence[tuple[str, Second, Second]]
    """Test, time, and the longest time that is foretold, from the quickest test to the longest."""


class Tally(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Counts over all tests that were slowed by the same share."""

    slowed: float
    results: int
    known: int
    false: int
    found: int | None = None
    intervals: int
    covered: int


class Calibration(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What a build against itself, and against itself slowed, shows of a host."""

    contender: str
    dbms: str
    engine: str | None = None
    trials: int
    incarnations: int
    """Starts of the servers in each trial."""
    seconds: Second
    """Median time that one contender was measured in one test of one trial."""
    taken: float | None = None
    """Largest share of the clients' time in which others may have had their CPUs: the median of the
    tests, trial by trial; absent where it was not measured, or with more clients than CPUs."""
    tests: list[CalibratedTest]
    needed: list[NeededTime]
    tallies: list[Tally]
