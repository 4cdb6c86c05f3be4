"""Long steps, one by one: what each role did on each contender in each incarnation."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from slowdust.analysis.comparison.relative import Step, step_of
from slowdust.analysis.model import BUCKETS_US, FailedStep, Result, RoleReport, StepRun
from slowdust.analysis.results.latency import latency_us
from slowdust.analysis.results.stalls import stalls_of
from slowdust.analysis.sla import paced_seconds, rate_of
from slowdust.store.manifest import StepFailure
from slowdust.store.records import Histogram, RoleUse, Slice, StepDetail

ROLES = ("query", "insert", "delete", "index", "transaction")
"""In the order in which a report shows them."""
_UNITS = {
    "insert": "inserts/s",
    "delete": "deletes/s",
    "index": "indexed rows/s",
    "transaction": "transactions/s",
}
"""Of queries it is the step's own."""
_WRITERS = {"insert", "delete"}
BY_STATEMENT = {"query", "transaction"}
"""Roles whose rates count statements; the others' count rows."""
_NS_PER_US = 1000
_NS_PER_S = 1e9
_US_PER_S = 1e6


def step_runs_of(results: Iterable[Result], slices: Sequence[Slice]) -> list[StepRun]:
    """The slices that are long steps, in the order of `results`, then by incarnation."""
    by_result: dict[tuple[Step, str], list[Slice]] = {}
    for piece in slices:
        if piece.step is not None:
            by_result.setdefault((step_of(piece), piece.contender), []).append(piece)
    return [
        _step_run(piece, piece.step)
        for result in results
        for piece in sorted(
            by_result.get(
                (Step(result.benchmark, result.test, result.clients), result.contender), []
            ),
            key=lambda piece: piece.incarnation,
        )
        if piece.step is not None
    ]


def failed_steps_of(failures: Iterable[StepFailure]) -> list[FailedStep]:
    """The manifest's failures as the report has them."""
    return [
        FailedStep(
            test=failure.test,
            clients=failure.clients,
            contender=failure.contender,
            incarnation=failure.incarnation,
            reason=failure.reason,
            after_s=failure.after_s,
        )
        for failure in failures
    ]


def _step_run(piece: Slice, step: StepDetail) -> StepRun:
    return StepRun(
        benchmark=piece.benchmark,
        test=piece.test,
        clients=piece.clients,
        contender=piece.contender,
        incarnation=piece.incarnation,
        seconds=piece.seconds,
        qps=piece.qps,
        unit=piece.unit,
        roles=[_role(name, step.roles[name], piece) for name in ROLES if name in step.roles],
        stalls=stalls_of(piece),
        rows_expected=step.rows_expected,
        rows_counted=step.rows_counted,
        data_bytes=step.data_bytes,
        table_bytes=step.table_bytes,
        index_bytes=step.index_bytes,
        settled_s=step.settled_s,
    )


def _role(name: str, use: RoleUse, piece: Slice) -> RoleReport:
    unit = _UNITS.get(name, piece.unit)
    done = use.statements if name in BY_STATEMENT else use.rows
    report = RoleReport(
        role=name,
        connections=use.connections,
        rate=piece.qps if unit == piece.unit else _rate(done, use, piece),
        unit=unit,
        statements=use.statements,
        rows=use.rows,
        client_cpu_us=(
            use.client_cpu_s * _US_PER_S / done if done and use.client_cpu_s is not None else None
        ),
        errors=None if piece.archived else sum(use.errors.values()),
        retries=None if piece.archived else use.retries,
    )
    if use.latency is not None:
        report.buckets = classic_buckets(use.latency)
        if (latency := latency_us([use.latency])) is not None:
            report.p50_us, report.p99_us, report.max_us = latency.p50, latency.p99, latency.max
    elif (times := use.response) is not None:
        report.buckets = times.buckets
        report.p50_us, report.p99_us, report.max_us = times.p50_us, times.p99_us, times.max_us
    if use.rate is not None and piece.step is not None and name in _WRITERS:
        report.target = piece.step.target
    if (schedule := use.schedule) is not None:
        report.target, report.backlog = schedule.rate, schedule.backlog
        report.late_statements = schedule.late_statements
        report.max_lag_s = schedule.max_lag_ns / _NS_PER_S
        report.mean_lag_s = schedule.mean_lag_ns / _NS_PER_S
    return report


def _rate(done: int | None, use: RoleUse, piece: Slice) -> float | None:
    """Over the time that the role was at work; 0 for one that finished nothing."""
    if done == 0:
        return 0.0
    seconds = paced_seconds(use, piece.seconds) if use.schedule else use.seconds
    return use.rate if use.rate is not None else rate_of(done, seconds)


def classic_buckets(histogram: Histogram) -> list[int]:
    """Its population by the bounds of `BUCKETS_US`, and in the last place the rest.

    A bucket of the histogram goes where its representative value belongs, so that what lies within
    its two significant digits of a bound may be counted on the other side of it.
    """
    bounds = np.array(BUCKETS_US) * _NS_PER_US
    places = np.searchsorted(bounds, histogram.values_ns)
    counts = np.bincount(places, weights=histogram.counts, minlength=len(bounds) + 1)
    return [int(count) for count in counts]
