"""Stalls: seconds of a long step in which a role did next to nothing, and the probes' readings."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean, median

from slowdust.analysis.model import Stall
from slowdust.analysis.sla import paced_seconds
from slowdust.benchmarks.roles import Role, in_order
from slowdust.store.slice import Slice
from slowdust.store.step import RoleSecond, RoleUse, Sample
from slowdust.units import Second

SHARE = 0.1
"""Share of the role's median second below which a second is a stall."""
DENSE = 10
"""Statements of the median second from which an empty second cannot be chance."""
HANGING_NS = 1_000_000_000
"""Response time of a statement that was waiting, not the schedule."""
_MB = 1 << 20


def stalls_of(record: Slice) -> list[Stall]:
    """Return the stalls of a long step, by second.

    Only whole seconds count. A role with few statements a second (a writer at 100 rows/s with 50
    rows per commit has two) has empty seconds without any trouble: then a second is a stall only
    if nothing was finished in it and the next statement to end took a second or more.
    """
    if record.step is None:
        return []
    stalls = [
        stall
        for role in in_order(record.step.roles)
        if role.by_second
        for stall in _of_role(role, record.step.roles[role.name], record.measured.seconds)
    ]
    for stall in stalls:
        _add_sample(stall, record.step.samples)
    return sorted(stalls, key=lambda stall: (stall.second, stall.role))


def _of_role(role: Role, use: RoleUse, window: Second | None) -> list[Stall]:
    seconds = _whole_seconds(use, window)
    if not seconds:
        return []
    rates = [float(getattr(second, role.counts)) for second in seconds]
    is_dense = median(second.statements for second in seconds) >= DENSE
    usual = median(rates) if is_dense else median(rates) or fmean(rates)
    return [
        Stall(role=role.name, second=place, rate=rate, median=usual)
        for place, rate in enumerate(rates)
        if rate < SHARE * usual and (is_dense or _was_hanging(seconds[place:], use))
    ]


def _whole_seconds(role: RoleUse, window: Second | None) -> list[RoleSecond]:
    """Return the whole seconds of the window; after a role's last completion they are empty.

    There are none if nothing was recorded by the second.
    """
    length = paced_seconds(role, window)
    if length is None or not role.per_second:
        return []
    count = int(length)
    empty = [RoleSecond(0, 0, 0, 0)] * (count - len(role.per_second))
    return [*role.per_second[:count], *empty]


def _was_hanging(rest: Sequence[RoleSecond], role: RoleUse) -> bool:
    """Return whether the first statement to end in `rest` took as long as a hanging one."""
    last = role.latency.max_ns if role.latency else 0
    ended_by = next((second.max_ns for second in rest if second.statements), last)
    return ended_by >= HANGING_NS


def _add_sample(stall: Stall, samples: Sequence[Sample]) -> None:
    """Add the probes' readings of most of that second, as rates per second."""
    sample = max(samples, key=lambda sample: _overlap(sample, stall.second), default=None)
    if sample is None or _overlap(sample, stall.second) < 0.5:
        return
    stall.log = sample.log
    stall.server_cpu = sample.per_second("server", "cpu_s")
    stall.read_mb = _mb_per_second(sample, "server", "read_bytes")
    stall.write_mb = _mb_per_second(sample, "server", "write_bytes")
    stall.context_switches = sample.per_second("server", "context_switches")
    stall.host_cpu = sample.per_second("host", "cpu_user_s", "cpu_system_s")
    stall.iowait = sample.per_second("host", "cpu_iowait_s")
    stall.steal = sample.per_second("host", "cpu_steal_s")
    stall.host_write_mb = _mb_per_second(sample, "host", "write_bytes")


def _mb_per_second(sample: Sample, probe: str, quantity: str) -> float | None:
    rate = sample.per_second(probe, quantity)
    return None if rate is None else rate / _MB


def _overlap(sample: Sample, second: int) -> Second:
    return min(sample.start + sample.seconds, second + 1) - max(sample.start, second)
