"""Trials of a calibration: their verdicts and intervals beside the truth.

The truth of a slowed contender comes from its own slices. In a slice of length T with C clients,
each of which waits for a server process of its own, the processes waited W in all before their
replies. Without the delay the same operations would have taken T C - W of the clients' time, so

    rqps = (1 - W / (T C)) of the contender / the same of the base,

whose library reads the clock as often and waits next to nothing. Nothing is assumed of how fast
the base is, but that clients and servers need no CPU that another wants. Where more clients than
CPUs are at work, one client's wait is another's turn; and where other programs take the CPUs, a
server that waits by spinning uses up its turns sooner, and loses more than it waited. There the
truth of a slowed contender is not known.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from statistics import fmean, median

from slowdust.analysis.comparison.ratio import Interval
from slowdust.analysis.comparison.relative import Step, step_of
from slowdust.analysis.comparison.verdict import FEWEST_INCARNATIONS, judge
from slowdust.analysis.model import Basis
from slowdust.ratios import Verdict
from slowdust.store.manifest import Manifest
from slowdust.store.measured import DELAY, Measured
from slowdust.store.slice import Slice
from slowdust.units import Second, known

MOST_TAKEN = 0.05
"""The most of the clients' time that others may take from them and their servers. The truth is
off by about that share of the delay's: 0.5% of throughput where it takes 10%."""

_MORE_THAN_ALL = 0.01
"""The share of the clients' time by which clocks may be wrong: servers that use so much more than
all of it are at work on other CPUs, too."""


@dataclass(frozen=True, kw_only=True)
class Trial:
    """One step of one contender beside the base, in a few incarnations that are judged alone."""

    step: Step
    slowed: float
    verdict: Verdict
    ratio: float | None
    interval: Interval | None
    truth: float | None
    """The true ratio; None where it is not known."""
    measured: Second
    """Seconds that the contender was measured."""
    taken: float | None = None
    """Largest share of the clients' time that others may have taken; None if it is not known."""

    @property
    def half_width(self) -> float | None:
        """Half of the interval, in ln rqps."""
        return self.interval.half_width if self.interval else None

    @property
    def covers_truth(self) -> bool | None:
        if self.interval is None or self.truth is None:
            return None
        return self.interval.low <= self.truth <= self.interval.high

    def is_false(self, margin: float) -> bool | None:
        if self.truth is None:
            return None
        if self.slowed == 0:
            return self.verdict in ("faster", "slower")
        if self.verdict == "same":
            return self.truth * (1 + margin) < 1
        return self.verdict == "faster"


def trials_of(manifest: Manifest, slices: Sequence[Slice]) -> list[Trial]:
    """Return all trials of an experiment, each judged as if it were one of two contenders."""
    shares = {facts.name: facts.slowed for facts in manifest.contenders}
    return [
        trial
        for together in groups_of_incarnations(manifest, slices)
        for contender, share in shares.items()
        if contender != manifest.base and share is not None
        for trial in _judged(manifest, together, contender, share)
    ]


def groups_of_incarnations(manifest: Manifest, slices: Sequence[Slice]) -> list[list[Slice]]:
    """Return the slices of each trial, as many incarnations as the method says.

    What is left over is part of the last. Without a word of the method a trial is what the shortest
    experiment is that has a verdict.
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
    """Return the throughput beside the base that the contender's waits alone would leave it.

    What the typical ratio tells is the median over slices, what the ratio of totals tells their
    mean; None without slices that have their waits.
    """
    own, base = known(map(_share_at_work, slices)), known(map(_share_at_work, base_slices))
    middle = median if basis == "typical" else fmean
    return middle(own) / middle(base) if own and base else None


def _share_at_work(record: Slice) -> float | None:
    """Return the share of a slice's time in which no process waited."""
    waited, seconds = record.measured.used(DELAY, "waited_s"), record.measured.seconds
    if waited is None or not seconds:
        return None
    return 1 - waited / (seconds * record.place.clients)


def taken_share(slices: Iterable[Slice], at_work: int) -> float | None:
    """Return the largest share of the clients' time in which others may have had their CPUs.

    `at_work` clients at a time, each with its server process, have a CPU each. The time in which
    these used none was taken, or they waited for something else than a CPU. What the whole host ran
    beside them, and what its hypervisor took, may have been on their CPUs or on others. Each bounds
    what was taken from above, so the smaller one counts. CPUs that are idle are in neither. The
    first holds only while servers do little on CPUs of no client: where they used more time than
    the clients' CPUs have, the second counts alone. None where that was not measured.
    """
    unused = beside = whole = 0.0
    for record in slices:
        measured = record.measured
        ours = _cpu_of_pairs(measured)
        ran = measured.used("host", "cpu_user_s", "cpu_system_s", "cpu_steal_s")
        if ours is None or ran is None or not measured.seconds:
            return None
        whole += measured.seconds * at_work
        unused += measured.seconds * at_work - ours
        beside += ran - ours
    if not whole:
        return None
    at_most = beside if unused < -_MORE_THAN_ALL * whole else min(unused, beside)
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
        relative = judgement.relative
        yield Trial(
            step=step,
            slowed=share,
            verdict=judgement.verdict,
            ratio=relative.ratio,
            interval=relative.interval,
            truth=1.0 if share == 0 else truth,
            measured=sum(known(record.measured.seconds for record in own)),
            taken=taken,
        )
