"""Seconds of a long step in which a role got next to nothing done, and what the probes saw then."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean, median

from slowdust.analysis.model import Stall
from slowdust.analysis.sla import paced_seconds
from slowdust.store.slice import Slice
from slowdust.store.step import RoleSecond, RoleUse, Sample
from slowdust.units import Second

SHARE = 0.1
"""Of the role's median second below which a second is a stall."""
DENSE = 10
"""Statements of the median second from which on an empty second cannot be chance."""
HANGING_NS = 1_000_000_000
"""Response time of a statement that was waiting, not the schedule."""
_COUNTED = {"insert": "rows", "delete": "rows", "query": "statements"}
"""Role -> what its rate counts; the others finish too little for a rate by the second."""
_MB = 1 << 20


def stalls_of(record: Slice) -> list[Stall]:
    """The stalls of a long step, by second.

    Only whole seconds count. A role with few statements a second (a writer at 100 rows/s with 50
    rows per commit has two) has empty seconds without any trouble: there a second is a stall only
    if nothing was finished in it and the statement that ended the silence took a second or more.
    """
    if record.step is None:
        return []
    found = [
        stall
        for name, role in record.step.roles.items()
        if name in _COUNTED
        for stall in _of_role(name, role, record.measured.seconds)
    ]
    for stall in found:
        _add_sample(stall, record.step.samples)
    return sorted(found, key=lambda stall: (stall.second, stall.role))


def _of_role(name: str, role: RoleUse, window: Second | None) -> list[Stall]:
    seconds = _whole_seconds(role, window)
    if not seconds:
        return []
    rates = [float(getattr(second, _COUNTED[name])) for second in seconds]
    dense = median(second.statements for second in seconds) >= DENSE
    usual = median(rates) if dense else median(rates) or fmean(rates)
    return [
        Stall(role=name, second=place, rate=rate, median=usual)
        for place, rate in enumerate(rates)
        if rate < SHARE * usual and (dense or _hung(seconds[place:], role))
    ]


def _whole_seconds(role: RoleUse, window: Second | None) -> list[RoleSecond]:
    """Those of the window that ended within it; after a role's last completion they are empty.

    None where nothing was written down second by second.
    """
    length = paced_seconds(role, window)
    if length is None or not role.per_second:
        return []
    count = int(length)
    silent = [RoleSecond(0, 0, 0, 0)] * (count - len(role.per_second))
    return [*role.per_second[:count], *silent]


def _hung(rest: Sequence[RoleSecond], role: RoleUse) -> bool:
    """Whether the statement that ended the silence at the beginning of `rest` took so long."""
    last = role.latency.max_ns if role.latency else 0
    ended_by = next((second.max_ns for second in rest if second.statements), last)
    return ended_by >= HANGING_NS


def _add_sample(stall: Stall, samples: Sequence[Sample]) -> None:
    """What the probes saw in most of that second, as rates per second."""
    sample = max(samples, key=lambda one: _overlap(one, stall.second), default=None)
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
