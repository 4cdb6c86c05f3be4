"""Calibration of a host: the results of its trials, and the time needed to find a difference.

The true ratio of a slowed contender comes from its own slices. In a slice of length T with C
clients, each with a server process of its own, the processes waited W in total before their
replies. Without the delay the same operations would have taken T C - W of the clients' time, so

    rqps = (1 - W / (T C)) of the contender / the same of the base.

The base's library reads the clock as often and waits almost nothing. The base's speed is not
assumed, but clients and servers must not compete for CPUs. With more clients than CPUs, one
client's wait is another's turn. If other programs take CPUs, a server that waits by spinning uses
up its turns sooner and loses more than it waited. In both cases the true ratio is unknown.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean, median

from slowdust.analysis.comparison import judge, step_of
from slowdust.analysis.model import CalibratedTest, Calibration, NeededTime, Resolution, Tally
from slowdust.ratios import Basis, Ratio
from slowdust.stats.blocks import Step
from slowdust.stats.verdict import FEWEST_INCARNATIONS, MINIMUM_BLOCKS
from slowdust.store.manifest import Manifest
from slowdust.store.measured import DELAY, Measured
from slowdust.store.slice import Slice
from slowdust.units import Second, grouped, known

_LEVEL = 0.95
DIFFERENCES = (0.01, 0.02, 0.03, 0.05)
"""The differences for which a calibration reports the time needed."""
_FURTHEST = 20
"""The largest multiple of a trial's time that is forecast."""
_RESOLVED = "2%"
"""The difference in the sentence about a host."""
_TO_BE_FOUND = 1 + 1.2816 / 1.9600
"""Half-widths that a difference must have to be found in nine of ten cases: 1.96 standard errors
from 1, and 1.28 more for chance."""


def calibration_of(manifest: Manifest, slices: Sequence[Slice]) -> Calibration | None:
    """Return an experiment as a calibration; None if it is not one, or has no slices."""
    facts = {contender.name: contender for contender in manifest.contenders}
    base = facts[manifest.base]
    trials = judge_trials(manifest, slices) if base.slowed == 0 else []
    if not trials:
        return None
    groups = groups_of_incarnations(manifest, slices)
    by_cell = grouped(trials, lambda trial: (trial.step, trial.slowed))
    tests = [_tested(step, share, found) for (step, share), found in by_cell.items()]
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
        tallies=tally_tests(tests),
    )


def tally_tests(tests: Iterable[CalibratedTest]) -> list[Tally]:
    """Return counts over the tests of one or more calibrations, by injected slowdown."""
    by_share = grouped(tests, lambda test: test.slowed)
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
    """Return the upper 95% bound of a probability, after `count` of `of` independent trials.

    Clopper and Pearson 1934, Biometrika 26, one-sided.
    """
    from scipy.special import betaincinv

    return 1.0 if count >= of else float(betaincinv(count + 1, of - count, _LEVEL))


def seconds_to_find(difference: float, half_width: float, seconds: Second) -> Second:
    """Return the time needed for a difference, if `seconds` of measuring gave that half-width.

    An estimate: half-widths shrink with the square root of the time if restarts are added with it.
    """
    wanted = -math.log(1 - difference) / _TO_BE_FOUND
    return seconds * (half_width / wanted) ** 2


def resolution(needed: Sequence[NeededTime]) -> Resolution | None:
    """Return the resolution of a host in the tests with the fewest clients; None without tests."""
    fewest = min((need.clients for need in needed), default=0)
    times = [
        (need.test, need.to_find[_RESOLVED], need.furthest)
        for need in needed
        if need.clients == fewest
    ]
    return Resolution(_RESOLVED, sorted(times, key=lambda time: time[1])) if times else None


def _tested(step: Step, share: float, trials: Sequence[Trial]) -> CalibratedTest:
    covers = known(trial.covers_truth for trial in trials)
    truths = known(trial.truth for trial in trials)
    false = known(trial.is_false for trial in trials)
    ratios = known(trial.ratio for trial in trials)
    half_widths = known(ratio.half_width for ratio in ratios)
    return CalibratedTest(
        test=step.test,
        clients=step.clients,
        slowed=share,
        trials=len(trials),
        known=len(truths),
        false=sum(false),
        found=None if share == 0 else sum(ratio.verdict == "slower" for ratio in ratios),
        intervals=len(covers),
        covered=sum(covers),
        truth=median(truths) if truths else None,
        ratio=median(ratio.value for ratio in ratios) if ratios else None,
        half_width=median(half_widths) if half_widths else None,
    )


def _needed(
    manifest: Manifest, slices: Sequence[Slice], trials: Sequence[Trial], count: int
) -> list[NeededTime]:
    half_widths: dict[Step, list[float]] = defaultdict(list)
    for trial in trials:
        if trial.ratio is not None and trial.ratio.half_width is not None:
            half_widths[trial.step].append(trial.ratio.half_width)
    of_step = grouped(slices, step_of)
    needed = [
        _needed_time(manifest, step, median(widths), of_step[step], count)
        for step, widths in half_widths.items()
    ]
    return sorted(needed, key=lambda n: (manifest.tests.index(n.test), n.clients))


def _needed_time(
    manifest: Manifest, step: Step, half_width: float, slices: Sequence[Slice], trials: int
) -> NeededTime:
    turns = grouped(slices, lambda record: record.place.incarnation)
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
    """Return the wall-clock time from a turn's first slice to the end of its last one."""
    begins = [record.measured.started or 0.0 for record in turn]
    ends = [
        begin + (record.measured.probe_seconds or record.measured.seconds or 0.0)
        for begin, record in zip(begins, turn, strict=True)
    ]
    return max(ends) - min(begins) + discard


MOST_TAKEN = 0.05
"""Largest share of the clients' time that others may take for the truth to count as known. The
error is about this share of the delay: 0.5% of throughput if the delay takes 10%."""

_MORE_THAN_ALL = 0.01
"""Allowed error of clocks, as a share of the clients' time: servers that use more than all of it
work on other CPUs, too."""


@dataclass(frozen=True, kw_only=True)
class Trial:
    """One step of one contender compared with the base, in a few starts that are judged
    separately."""

    step: Step
    slowed: float
    ratio: Ratio | None
    """None if no block could be paired."""
    truth: float | None
    """The true ratio; None if unknown."""
    measured: Second
    """Seconds for which the contender was measured."""
    taken: float | None = None
    """Largest share of the clients' time that others may have taken; None if unknown."""

    @property
    def covers_truth(self) -> bool | None:
        if self.ratio is None or self.ratio.interval is None or self.truth is None:
            return None
        low, high = self.ratio.interval
        return low <= self.truth <= high

    @property
    def is_false(self) -> bool | None:
        """Whether the verdict contradicts the truth; None if the truth is unknown."""
        if self.truth is None:
            return None
        if self.ratio is None:
            return False
        if self.slowed == 0:
            return self.ratio.verdict in ("faster", "slower")
        if self.ratio.verdict == "same":
            return self.truth * (1 + (self.ratio.margin or 0.0)) < 1
        return self.ratio.verdict == "faster"


def judge_trials(manifest: Manifest, slices: Sequence[Slice]) -> list[Trial]:
    """Return the trials of an experiment, each judged like one of two contenders."""
    shares = {facts.name: facts.slowed for facts in manifest.contenders}
    return [
        trial
        for together in groups_of_incarnations(manifest, slices)
        for contender, share in shares.items()
        if contender != manifest.base and share is not None
        for trial in _judged(manifest, together, contender, share)
    ]


def groups_of_incarnations(manifest: Manifest, slices: Sequence[Slice]) -> list[list[Slice]]:
    """Return the slices of each trial; the method sets its number of starts.

    Remaining starts belong to the last trial. By default a trial has the fewest starts that give a
    verdict.
    """
    trial = manifest.method.trial or FEWEST_INCARNATIONS
    numbers = sorted({record.place.incarnation for record in slices})
    groups = max(1, len(numbers) // trial)
    group_of = {number: min(place // trial, groups - 1) for place, number in enumerate(numbers)}
    result: list[list[Slice]] = [[] for _ in range(groups)]
    for record in slices:
        result[group_of[record.place.incarnation]].append(record)
    return result


def true_ratio(
    slices: Sequence[Slice], base_slices: Sequence[Slice], basis: Basis = "typical"
) -> float | None:
    """Return the relative throughput that follows from the waits of contender and base alone.

    For the typical ratio it is the median over slices, for the ratio of totals their mean; None
    without slices with recorded waits.
    """
    own, base = known(map(_share_at_work, slices)), known(map(_share_at_work, base_slices))
    middle = median if basis == "typical" else fmean
    return middle(own) / middle(base) if own and base else None


def _share_at_work(record: Slice) -> float | None:
    """Return the share of a slice's time during which no process waited."""
    waited, seconds = record.measured.used(DELAY, "waited_s"), record.measured.seconds
    if waited is None or not seconds:
        return None
    return 1 - waited / (seconds * record.place.clients)


def taken_share(slices: Iterable[Slice], at_work: int) -> float | None:
    """Return the largest share of the clients' time that others may have used their CPUs.

    Each of `at_work` concurrent clients, with its server process, has one CPU. There are two upper
    bounds. First, the clients' time minus the CPU time that they used: it was taken, or they waited
    for something other than a CPU. Second, the CPU time that the rest of the host ran plus steal,
    on these or other CPUs. The smaller bound counts; neither contains idle CPUs. The first holds
    only if servers do little on other CPUs: if they used more time than the clients' CPUs have,
    only the second counts. None if it was not measured.
    """
    unused = others = whole = 0.0
    for record in slices:
        measured = record.measured
        ours = _cpu_of_pairs(measured)
        ran = measured.used("host", "cpu_user_s", "cpu_system_s", "cpu_steal_s")
        if ours is None or ran is None or not measured.seconds:
            return None
        whole += measured.seconds * at_work
        unused += measured.seconds * at_work - ours
        others += ran - ours
    if not whole:
        return None
    at_most = others if unused < -_MORE_THAN_ALL * whole else min(unused, others)
    return max(0.0, at_most / whole)


def _cpu_of_pairs(measured: Measured) -> Second | None:
    server = measured.used("server", "cpu_s")
    client = measured.used("client", "cpu_user_s", "cpu_system_s")
    return None if server is None or client is None else server + client


def _judged(
    manifest: Manifest, slices: Sequence[Slice], contender: str, share: float
) -> Iterator[Trial]:
    pair = [manifest.base, contender]
    ours = [record for record in slices if record.place.contender in pair]
    cpus = len(manifest.cpus)
    for judgement in judge(ours, pair, manifest.method.margins):
        estimate = judgement.estimate
        step = estimate.step
        of_step = [record for record in ours if step_of(record) == step]
        own = [record for record in of_step if record.place.contender == contender]
        base = [record for record in of_step if record.place.contender == manifest.base]
        taken = taken_share(of_step, step.clients) if step.clients <= cpus else None
        undisturbed = taken is not None and taken <= MOST_TAKEN
        truth = true_ratio(own, base, judgement.basis) if undisturbed else None
        yield Trial(
            step=step,
            slowed=share,
            ratio=judgement.ratio,
            truth=1.0 if share == 0 else truth,
            measured=sum(known(record.measured.seconds for record in own)),
            taken=taken,
        )
