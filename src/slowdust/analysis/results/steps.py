"""Long steps one by one: the work of each role on each contender in each start of the servers.

A stall is a second during which a role achieved almost nothing, with the probes' readings of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from statistics import fmean, median

import numpy as np

from slowdust.analysis.comparison import step_of
from slowdust.analysis.model import BUCKETS_US, Result, RoleReport, Stall, StepRun
from slowdust.analysis.results.latency import latency_us
from slowdust.analysis.results.noise import writes_of_others
from slowdust.analysis.sla import paced_seconds, rate_of
from slowdust.benchmarks.steps import Role, in_order
from slowdust.stats.blocks import Step
from slowdust.store.latency import Histogram
from slowdust.store.slice import Slice
from slowdust.store.step import RoleSecond, RoleUse, Sample, StepDetail
from slowdust.units import Second

STALL_SHARE = 0.1
"""Share of the role's median second below which a second is a stall."""
DENSE = 10
"""Smallest number of statements in the median second that rules out empty seconds by chance."""
HANGING_NS = 1_000_000_000
"""Shortest response time of a statement that was hanging rather than waiting for its schedule."""
_MB = 1 << 20
_NS_PER_US = 1000
_NS_PER_S = 1e9
_US_PER_S = 1e6


def list_step_runs(results: Iterable[Result], slices: Sequence[Slice], base: str) -> list[StepRun]:
    """Return the slices that are long steps, in the order of `results`, then by start."""
    by_result: dict[tuple[Step, str], list[StepRun]] = {}
    for record in sorted(slices, key=lambda record: record.place.incarnation):
        if record.step is not None:
            key = step_of(record), record.place.contender
            by_result.setdefault(key, []).append(_step_run(record, record.step))
    for (step, _), runs in by_result.items():
        _compare_sizes(runs, by_result.get((step, base), []))
    keys = ((Step.of(each), each.contender) for each in results)
    return [run for key in keys for run in by_result.get(key, ())]


def _compare_sizes(runs: Sequence[StepRun], base: Sequence[StepRun]) -> None:
    sizes = {run.incarnation: run.data_bytes for run in base}
    for run in runs:
        if run.data_bytes is not None and (of_base := sizes.get(run.incarnation)):
            run.size_ratio = run.data_bytes / of_base


def _step_run(record: Slice, step: StepDetail) -> StepRun:
    return StepRun(
        benchmark=record.place.benchmark,
        test=record.place.test,
        clients=record.place.clients,
        contender=record.place.contender,
        incarnation=record.place.incarnation,
        seconds=record.measured.seconds,
        qps=record.qps,
        unit=record.unit,
        roles=[_role(role, step.roles[role.name], record) for role in in_order(step.roles)],
        stalls=find_stalls(record),
        rows_expected=step.rows_expected,
        rows_counted=step.rows_counted,
        data_bytes=step.data_bytes,
        table_bytes=step.table_bytes,
        index_bytes=step.index_bytes,
        history_length=step.history_length,
        dead_rows=step.dead_rows,
        settled_s=step.settled_s,
        chunks=len(step.chunks) or None,
        writes_of_others_bytes=writes_of_others(record),
    )


def _role(role: Role, use: RoleUse, record: Slice) -> RoleReport:
    unit = role.unit or record.unit
    done: int | None = getattr(use, role.counts)
    report = RoleReport(
        role=role.name,
        connections=use.connections,
        rate=record.qps if unit == record.unit else _rate(done, use, record),
        unit=unit,
        statements=use.statements,
        rows=use.rows,
        client_cpu_us=(
            use.client_cpu_s * _US_PER_S / done if done and use.client_cpu_s is not None else None
        ),
        errors=sum(use.errors.values()) if record.printed is None else None,
        retries=use.retries if record.printed is None else None,
    )
    if use.latency is not None:
        report.buckets = classic_buckets(use.latency)
        if (latency := latency_us([use.latency])) is not None:
            report.p50_us, report.p99_us, report.max_us = latency.p50, latency.p99, latency.max
    elif (printed := use.printed) is not None:
        report.buckets = printed.buckets
        if (times := printed.response) is not None:
            report.p50_us, report.p99_us, report.max_us = times.p50, times.p99, times.max
        if record.step is not None and role.paced:
            report.target = record.step.target
    if (schedule := use.schedule) is not None:
        report.target, report.backlog = schedule.rate, schedule.backlog
        report.late_statements = schedule.late_statements
        report.max_lag_s = schedule.max_lag_ns / _NS_PER_S
        report.mean_lag_s = schedule.mean_lag_ns / _NS_PER_S
    return report


def _rate(done: int | None, use: RoleUse, record: Slice) -> float | None:
    """Return the rate over the time that the role worked; 0 if it completed nothing."""
    if done == 0:
        return 0.0
    if use.printed is not None:
        return use.printed.rate
    seconds = paced_seconds(use, record.measured.seconds) if use.schedule else use.seconds
    return rate_of(done, seconds)


def classic_buckets(histogram: Histogram) -> list[int]:
    """Return counts by the bounds of `BUCKETS_US`, with the rest at the end.

    A bucket of the histogram counts where its representative value belongs. Values within its two
    significant digits of a bound may be counted on the wrong side.
    """
    bounds = np.array(BUCKETS_US) * _NS_PER_US
    places = np.searchsorted(bounds, histogram.values_ns)
    counts = np.bincount(places, weights=histogram.counts, minlength=len(bounds) + 1)
    return [int(count) for count in counts]


def find_stalls(record: Slice) -> list[Stall]:
    """Return the stalls of a long step, by second.

    Only whole seconds count. A role with few statements per second (a writer at 100 rows/s with 50
    rows per commit has two) has empty seconds without any trouble. For such a role a second is a
    stall only if nothing completed in it and the next statement to complete took at least a second.
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
    if not seconds or (use.latency is not None and use.latency.mean_ns > _NS_PER_S):
        return []
    rates = [float(getattr(second, role.counts)) for second in seconds]
    is_dense = median(second.statements for second in seconds) >= DENSE
    usual = median(rates) if is_dense else median(rates) or fmean(rates)
    return [
        Stall(role=role.name, second=place, rate=rate, median=usual)
        for place, rate in enumerate(rates)
        if rate < STALL_SHARE * usual and (is_dense or _was_hanging(seconds[place:], use))
    ]


def _whole_seconds(role: RoleUse, window: Second | None) -> list[RoleSecond]:
    """Return the whole seconds of the window, which are empty after a role's last completion.

    Empty if nothing was recorded by second.
    """
    length = paced_seconds(role, window)
    if length is None or not role.per_second:
        return []
    count = int(length)
    empty = [RoleSecond(0, 0, 0, 0)] * (count - len(role.per_second))
    return [*role.per_second[:count], *empty]


def _was_hanging(rest: Sequence[RoleSecond], role: RoleUse) -> bool:
    """Return whether the first statement to complete in `rest` took as long as a hanging one."""
    last = role.latency.max_ns if role.latency else 0
    ended_by = next((second.max_ns for second in rest if second.statements), last)
    return ended_by >= HANGING_NS


def _add_sample(stall: Stall, samples: Sequence[Sample]) -> None:
    """Add the probes' readings that cover most of that second, as rates per second."""
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
