"""The calibration of a host: what its trials show, and how long a difference takes to be found."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from statistics import median

from slowdust.analysis.calibration.model import (
    CalibratedTest,
    Calibration,
    NeededTime,
    Resolution,
    Tally,
)
from slowdust.analysis.calibration.trials import Trial, groups_of_incarnations, trials_of
from slowdust.analysis.comparison.relative import Step, step_of
from slowdust.analysis.comparison.verdict import FEWEST_INCARNATIONS, MINIMUM_BLOCKS
from slowdust.store.manifest import Manifest
from slowdust.store.slice import Slice
from slowdust.units import Second, known

_LEVEL = 0.95
DIFFERENCES = (0.01, 0.02, 0.03, 0.05)
"""The differences for which a calibration says how long they take."""
_FURTHEST = 20
"""The multiple of a trial's time up to which times are foretold."""
_RESOLVED = "2%"
"""The difference that the sentence about a host speaks of."""
_TO_BE_FOUND = 1 + 1.2816 / 1.9600
"""A difference is found nine times out of ten if it is as large as so many half-widths: 1.96
standard errors from 1, and 1.28 more for what chance takes away."""


def calibration_of(manifest: Manifest, slices: Sequence[Slice]) -> Calibration | None:
    """Return what an experiment shows as a calibration; None if it is none, or has no slices."""
    facts = {contender.name: contender for contender in manifest.contenders}
    base = facts[manifest.base]
    trials = trials_of(manifest, slices) if base.slowed == 0 else []
    if not trials:
        return None
    groups = groups_of_incarnations(manifest, slices)
    by_cell: dict[tuple[Step, float], list[Trial]] = defaultdict(list)
    for trial in trials:
        by_cell[trial.step, trial.slowed].append(trial)
    margin = manifest.method.margin
    tests = [_tested(step, share, found, margin) for (step, share), found in by_cell.items()]
    tests.sort(key=lambda test: (manifest.tests.index(test.test), test.clients, test.slowed))
    taken = known(trial.taken for trial in trials)
    return Calibration(
        contender=base.name,
        dbms=base.dbms,
        engine=base.engine,
        trials=len(groups),
        incarnations=len({record.place.incarnation for record in groups[0]}),
        seconds=median(trial.measured for trial in trials),
        taken=median(taken) if taken else None,
        tests=tests,
        needed=_needed(manifest, slices, trials, len(groups)),
        tallies=tallies_of(tests),
    )


def tallies_of(tests: Iterable[CalibratedTest]) -> list[Tally]:
    """Return the counts over tests of one or several calibrations, by the share that was taken."""
    by_share: dict[float, list[CalibratedTest]] = defaultdict(list)
    for test in tests:
        by_share[test.slowed].append(test)
    return [
        Tally(
            slowed=share,
            results=sum(test.trials for test in alike),
            known=sum(test.known for test in alike),
            false=sum(test.false for test in alike),
            found=None if share == 0 else sum(test.found or 0 for test in alike),
            intervals=sum(test.intervals for test in alike),
            covered=sum(test.covered for test in alike),
        )
        for share, alike in sorted(by_share.items())
    ]


def upper_bound(count: int, of: int) -> float:
    """Return the upper bound at 95% of a share of which `count` of `of` independent ones were seen.

    Clopper and Pearson 1934, Biometrika 26, one-sided.
    """
    from scipy.special import betaincinv

    return 1.0 if count >= of else float(betaincinv(count + 1, of - count, _LEVEL))


def seconds_to_find(difference: float, half_width: float, seconds: Second) -> Second:
    """Return how long a difference takes, if `seconds` of measuring gave that half-width.

    An estimate: half-widths shrink with the root of the time, as long as restarts become more
    with it.
    """
    wanted = -math.log(1 - difference) / _TO_BE_FOUND
    return seconds * (half_width / wanted) ** 2


def resolution(needed: Sequence[NeededTime]) -> Resolution | None:
    """Return what a host resolves in the tests with the fewest clients; None if there are none."""
    fewest = min((need.clients for need in needed), default=0)
    times = [
        (need.test, need.to_find[_RESOLVED], need.furthest)
        for need in needed
        if need.clients == fewest
    ]
    return Resolution(_RESOLVED, sorted(times, key=lambda time: time[1])) if times else None


def _tested(step: Step, share: float, trials: Sequence[Trial], margin: float) -> CalibratedTest:
    covers = known(trial.covers_truth for trial in trials)
    truths = known(trial.truth for trial in trials)
    false = known(trial.is_false(margin) for trial in trials)
    ratios = known(trial.ratio for trial in trials)
    half_widths = known(trial.half_width for trial in trials)
    return CalibratedTest(
        test=step.test,
        clients=step.clients,
        slowed=share,
        trials=len(trials),
        known=len(truths),
        false=sum(false),
        found=None if share == 0 else sum(trial.verdict == "slower" for trial in trials),
        intervals=len(covers),
        covered=sum(covers),
        truth=median(truths) if truths else None,
        ratio=median(ratios) if ratios else None,
        half_width=median(half_widths) if half_widths else None,
    )


def _needed(
    manifest: Manifest, slices: Sequence[Slice], trials: Sequence[Trial], count: int
) -> list[NeededTime]:
    half_widths: dict[Step, list[float]] = defaultdict(list)
    for trial in trials:
        if trial.half_width is not None:
            half_widths[trial.step].append(trial.half_width)
    of_step: dict[Step, list[Slice]] = defaultdict(list)
    for record in slices:
        of_step[step_of(record)].append(record)
    needed = [
        _needed_time(manifest, step, median(widths), of_step[step], count)
        for step, widths in half_widths.items()
    ]
    return sorted(needed, key=lambda n: (manifest.tests.index(n.test), n.clients))


def _needed_time(
    manifest: Manifest, step: Step, half_width: float, slices: Sequence[Slice], trials: int
) -> NeededTime:
    turns: dict[int, list[Slice]] = defaultdict(list)
    for record in slices:
        turns[record.place.incarnation].append(record)
    share = 2 / len(manifest.contenders)
    warmup = 2 * (manifest.method.warmup_s or 0.0)
    spans = [_span(turn, manifest.method.discard_s or 0.0) * share for turn in turns.values()]
    blocks = sum(len({record.place.block for record in turn}) for turn in turns.values())
    seconds = (sum(spans) + len(spans) * warmup) / trials
    shortest = FEWEST_INCARNATIONS * (warmup + MINIMUM_BLOCKS * sum(spans) / blocks)
    furthest = _FURTHEST * seconds
    return NeededTime(
        test=step.test,
        clients=step.clients,
        half_width=half_width,
        seconds=seconds,
        shortest=shortest,
        furthest=furthest,
        to_find={
            difference_label(d): min(
                furthest, max(shortest, seconds_to_find(d, half_width, seconds))
            )
            for d in DIFFERENCES
        },
    )


def difference_label(difference: float) -> str:
    """Return the key of a difference in `NeededTime.to_find`: '1%'."""
    return f"{difference:.0%}"


def _span(turn: Sequence[Slice], discard: Second) -> Second:
    """Return the wall clock from the first slice of a turn to the end of its last one."""
    begins = [record.measured.started or 0.0 for record in turn]
    ends = [
        begin + (record.measured.probe_seconds or record.measured.seconds or 0.0)
        for begin, record in zip(begins, turn, strict=True)
    ]
    return max(ends) - min(begins) + discard
