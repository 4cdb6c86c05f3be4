"""Long steps, one by one: the work of each role on each contender in each incarnation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from slowdust.analysis.comparison.relative import Step, step_of
from slowdust.analysis.model import BUCKETS_US, Result, RoleReport, StepRun
from slowdust.analysis.origin import counts_errors, printed_role
from slowdust.analysis.results.latency import latency_us
from slowdust.analysis.results.stalls import stalls_of
from slowdust.analysis.sla import paced_seconds, rate_of
from slowdust.benchmarks.roles import Role, in_order
from slowdust.store.latency import Histogram
from slowdust.store.slice import Slice
from slowdust.store.step import RoleUse, StepDetail

_NS_PER_US = 1000
_NS_PER_S = 1e9
_US_PER_S = 1e6


def step_runs_of(results: Iterable[Result], slices: Sequence[Slice]) -> list[StepRun]:
    """Return the slices that are long steps, in the order of `results`, then by incarnation."""
    by_result: dict[tuple[Step, str], list[StepRun]] = {}
    for record in sorted(slices, key=lambda record: record.place.incarnation):
        if record.step is not None:
            key = step_of(record), record.place.contender
            by_result.setdefault(key, []).append(_step_run(record, record.step))
    keys = ((Step(each.benchmark, each.test, each.clients), each.contender) for each in results)
    return [run for key in keys for run in by_result.get(key, ())]


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
        stalls=stalls_of(record),
        rows_expected=step.rows_expected,
        rows_counted=step.rows_counted,
        data_bytes=step.data_bytes,
        table_bytes=step.table_bytes,
        index_bytes=step.index_bytes,
        settled_s=step.settled_s,
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
        errors=sum(use.errors.values()) if counts_errors([record]) else None,
        retries=use.retries if counts_errors([record]) else None,
    )
    if use.latency is not None:
        report.buckets = classic_buckets(use.latency)
        if (latency := latency_us([use.latency])) is not None:
            report.p50_us, report.p99_us, report.max_us = latency.p50, latency.p99, latency.max
    elif (printed := printed_role(use)) is not None:
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
    """Return the rate over the time that the role worked; 0 if it finished nothing."""
    if done == 0:
        return 0.0
    if (printed := printed_role(use)) is not None:
        return printed.rate
    seconds = paced_seconds(use, record.measured.seconds) if use.schedule else use.seconds
    return rate_of(done, seconds)


def classic_buckets(histogram: Histogram) -> list[int]:
    """Return its population by the bounds of `BUCKETS_US`, and in the last place the rest.

    A bucket of the histogram counts where its representative value belongs: what is within its two
    significant digits of a bound may be counted on the other side of it.
    """
    bounds = np.array(BUCKETS_US) * _NS_PER_US
    places = np.searchsorted(bounds, histogram.values_ns)
    counts = np.bincount(places, weights=histogram.counts, minlength=len(bounds) + 1)
    return [int(count) for count in counts]
