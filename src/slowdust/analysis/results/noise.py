"""Noise in an experiment of slices: the cause of the widths of its intervals."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import chain, pairwise
from statistics import fmean, median, variance
from typing import NamedTuple

import numpy as np

from slowdust.analysis.comparison import block_ratios
from slowdust.analysis.model import Noise
from slowdust.stats.blocks import BlockRatios
from slowdust.stats.hosts import ONE_HOST, Hosts, by_host
from slowdust.stats.location import FloatArray
from slowdust.store.measured import IDLE, OTHERS
from slowdust.store.slice import Place, Slice
from slowdust.units import Second, grouped, known

FEWEST_NEIGHBOURS = 10
"""Fewest pairs of neighbouring slices for a median difference."""
_BUSY = ("cpu_user_s", "cpu_system_s")
_REST = ("cpu_iowait_s", "cpu_idle_s")


def measure_noise(
    slices: Sequence[Slice], contenders: Sequence[str], hosts: Hosts = ONE_HOST
) -> Noise | None:
    """Return the noise of an experiment; None unless it was measured in slices."""
    timed = [record for record in slices if record.step is None and record.printed is None]
    if not timed:
        return None
    difference, apart = _neighbours(timed)
    cells = block_ratios(timed, contenders[0], contenders)
    return Noise(
        slices=difference,
        slices_apart_s=apart,
        restarts=restart_noise(chain.from_iterable(by_host(cells, hosts))),
        other_cpu=_other_cpu(timed),
        steal=_share_of_cpus(timed, "cpu_steal_s"),
    )


def _neighbours(slices: Iterable[Slice]) -> tuple[float | None, Second | None]:
    """Return the median difference of neighbours, as a share, and the time between them.

    Neighbours are two slices of one contender without another contender's slice between them: those
    in the middle of a block (A B B A).
    """
    blocks = grouped(slices, lambda record: _block_of(record.place))
    pairs = []
    for block in blocks.values():
        block.sort(key=lambda record: record.place.slot)
        pairs += [
            (first, second)
            for first, second in pairwise(block)
            if first.place.contender == second.place.contender and min(first.qps, second.qps) > 0
        ]
    if len(pairs) < FEWEST_NEIGHBOURS:
        return None, None
    differences = [abs(math.log(second.qps / first.qps)) for first, second in pairs]
    times = [
        second.measured.started - first.measured.started
        for first, second in pairs
        if first.measured.started is not None and second.measured.started is not None
    ]
    return math.expm1(median(differences)), median(times) if times else None


def _block_of(place: Place) -> tuple[object, ...]:
    return place.benchmark, place.test, place.clients, place.incarnation, place.block


def restart_noise(cells: Iterable[BlockRatios]) -> float | None:
    """Return the effect of a restart on ln rqps, as a standard deviation over all tests.

    It is the variance between starts beyond the noise of their blocks (an analysis of variance); 0
    if the noise explains it all, None unless a test has two starts with blocks.
    """
    excesses: list[float] = []
    for cell in cells:
        several = [ratios for ratios in cell.by_incarnation if len(ratios) > 1]
        if len(several) > 1:
            between = variance(float(np.median(ratios)) for ratios in several)
            # The median of n normal values has the variance pi / 2 * sigma^2 / n.
            within = fmean(np.pi / 2 * _variance(ratios) / len(ratios) for ratios in several)
            excesses.append(between - within)
    return math.sqrt(max(0.0, fmean(excesses))) if excesses else None


def _variance(values: FloatArray) -> float:
    """Return the variance estimated from the median absolute deviation, robust to outliers."""
    deviation = float(np.median(np.abs(values - np.median(values)))) / 0.6745
    return deviation**2


def _other_cpu(slices: Sequence[Slice]) -> float | None:
    """Return the share of CPU time that programs outside the experiment used.

    It is measured by the probe of other programs. For records from before that probe existed it is
    the host's busy time less the time of the experiment's programs, including kernel threads.
    """
    uses = known(use_of_others(record) for record in slices)
    if uses:
        return sum(use.busy * use.seconds for use in uses) / sum(
            use.cpus * use.seconds for use in uses
        )
    return _other_cpu_by_host(slices)


def _other_cpu_by_host(slices: Iterable[Slice]) -> float | None:
    others = total = 0.0
    for record in slices:
        measured = record.measured
        busy, rest = measured.used("host", *_BUSY), measured.used("host", *_REST)
        own = known((measured.used("server", "cpu_s"), measured.used("client", *_BUSY)))
        if busy is None or rest is None or len(own) < 2:
            continue
        idle = [use["cpu_s"] for probe, use in measured.uses.items() if probe.startswith(IDLE)]
        others += busy - sum(own) - sum(idle)
        total += busy + rest + (measured.used("host", "cpu_steal_s") or 0.0)
    return max(0.0, others / total) if total else None


def _share_of_cpus(slices: Iterable[Slice], quantity: str) -> float | None:
    part = total = 0.0
    for record in slices:
        amount = record.measured.used("host", quantity)
        rest = record.measured.used("host", *_BUSY, *_REST)
        if amount is not None and rest is not None:
            part += amount
            total += rest + amount
    return part / total if total else None


class OthersUse(NamedTuple):
    """Resources that programs outside the experiment used in one window."""

    cpu_s: Second
    """CPU time on the CPUs of the experiment."""
    cpus: float
    """Number of these CPUs."""
    seconds: Second
    """Length of the window."""

    @property
    def busy(self) -> float:
        return min(self.cpus, self.cpu_s / self.seconds)


def use_of_others(record: Slice) -> OthersUse | None:
    cpu_s, cpus = record.measured.used(OTHERS, "cpu_s"), record.measured.used(OTHERS, "cpus")
    seconds = window(record)
    return OthersUse(cpu_s, cpus, seconds) if cpu_s is not None and cpus and seconds else None


def window(record: Slice) -> Second:
    """Return the length of a slice's window; 0 if unknown."""
    return record.measured.probe_seconds or record.measured.seconds or 0.0


def writes_of_others(record: Slice) -> float | None:
    """Return the bytes that the disk wrote during a contender's chunks beyond its server's writes.

    The kernel continues to write pages of a suspended server. It is not known whose pages a disk
    writes, but how much it wrote and how much the server submitted; the excess belongs to others.
    This is a lower bound, since the server's own pages may be written during the turns of others.
    None if either was not measured, and for steps without chunks.
    """
    if record.step is None or not record.step.chunks:
        return None
    disk = record.measured.used("host", "write_bytes")
    server = record.measured.used("server", "write_bytes")
    return None if disk is None or server is None else max(0.0, disk - server)
