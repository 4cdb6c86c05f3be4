"""Notes about one result: what a reader has to know before believing it."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from slowdust.analysis.comparison.estimate import Estimate
from slowdust.analysis.model import Writers
from slowdust.analysis.results.idle_cpu import notes_about_idle_cpu
from slowdust.analysis.sla import achieved
from slowdust.store.slice import Slice
from slowdust.units import known
from slowdust.wording import counted

BUSY_CLIENT = 0.9
"""CPU share of the client's busiest thread from which the client was the limit."""
FEW_BLOCKS = 5
"""Fewer are not even trimmed of an outlier."""
REPORTED_DRIFT = 1.25
"""Ratio of the base's fast slices to its slow ones from which the drift is reported."""

OPEN_LOOP = "the rate was given: compare response times and hardware per operation"
NO_BASE = "not compared: the base has no rate here"
ONE_RUN = "one run: no interval, no verdict"
PLAN_DIFFERS = "plan differs from the base's: this compares plans, not code"


def notes_about_slices(slices: Sequence[Slice], busiest_thread: float | None) -> list[str]:
    """What the slices of one step and contender say about themselves."""
    archived = known(record.archived for record in slices)
    notes = list(dict.fromkeys(note for run in archived for note in run.notes))
    if busiest_thread is not None and busiest_thread > BUSY_CLIENT:
        notes.append(f"client was the limit: its busiest thread used {busiest_thread:.0%} of a CPU")
    notes += notes_about_idle_cpu(slices)
    if errors := sum(sum(record.measured.errors.values()) for record in slices):
        notes.append(f"errors: {errors:,}")
    if retries := sum(record.measured.retries for record in slices):
        notes.append(f"retries: {retries:,}")
    if late := sum(
        record.measured.schedule.late_operations for record in slices if record.measured.schedule
    ):
        notes.append(f"late operations: {late:,}")
    if silent := sum(record.qps <= 0 for record in slices):
        notes.append(f"slices without throughput: {silent} of {len(slices)}")
    if skipped := sorted({probe for record in slices for probe in record.measured.skipped_probes}):
        notes.append(f"not measured: {', '.join(skipped)}")
    return notes


def notes_about_estimate(estimate: Estimate, margin: float) -> list[str]:
    """What the comparison with the base rests on."""
    notes = []
    if estimate.ratio is None:
        return ["not comparable: no complete block"]
    if estimate.incarnations == 1:
        notes.append("one incarnation: what a restart does is assumed, not measured")
    if estimate.blocks < FEW_BLOCKS * estimate.incarnations:
        incarnations = counted(estimate.incarnations, "incarnation")
        notes.append(f"few blocks: {estimate.blocks} in {incarnations}")
    if estimate.restart_spread is not None and estimate.restart_spread > margin:
        notes.append(
            f"incarnations disagree: rqps varies by {estimate.restart_spread:.1%} between restarts"
        )
    if estimate.torn:
        notes.append(f"blocks left out that were cut short: {estimate.torn}")
    if estimate.silent:
        notes.append(f"blocks left out for lack of throughput: {estimate.silent}")
    return notes


def notes_about_step(slices: Sequence[Slice], writers: Writers | None) -> list[str]:
    """What the long steps of one contender say about themselves, beside `notes_about_slices`."""
    notes = []
    if writers is not None and not writers.sla_met:
        notes.append(f"SLA missed, not compared: {achieved(writers)}{_backlog(writers)}")
    for record in slices:
        if (step := record.step) is None or step.rows_counted is None:
            continue
        if step.rows_expected is not None and step.rows_counted != step.rows_expected:
            notes.append(
                f"rows in incarnation {record.place.incarnation}: {step.rows_counted:,} "
                f"were counted, {step.rows_expected:,} were expected"
            )
    return notes


def _backlog(writers: Writers) -> str:
    if writers.insert_backlog is None or writers.delete_backlog is None:
        return ""
    return (
        f"; rows that were due and not written: {writers.insert_backlog:,} to insert, "
        f"{writers.delete_backlog:,} to delete"
    )


def notes_about_pairs(estimate: Estimate, margin: float) -> list[str]:
    """What the comparison of a long step with the base rests on: a pair in each incarnation."""
    if estimate.ratio is None:
        return ["not comparable: no incarnation has both contenders"]
    notes = []
    if estimate.blocks == 1:
        notes.append("one pair: how far another would be from it is not known")
    if estimate.restart_spread is not None and estimate.restart_spread > margin:
        notes.append(
            f"incarnations disagree: rqps varies by {estimate.restart_spread:.1%} between them"
        )
    if estimate.torn:
        notes.append(f"incarnations left out in which one of the two failed: {estimate.torn}")
    if estimate.silent:
        notes.append(f"incarnations left out for lack of throughput: {estimate.silent}")
    return notes


def notes_about_drift(slices: Sequence[Slice]) -> list[str]:
    """How far the throughput of the base drifted, if it did: a fact about the machine."""
    rates = [record.qps for record in slices if record.qps > 0]
    if len(rates) < FEW_BLOCKS:
        return []
    slow, fast = np.quantile(rates, [0.05, 0.95])
    if fast < REPORTED_DRIFT * slow:
        return []
    return [f"the machine drifted: QPS of the base wandered between {slow:,.0f} and {fast:,.0f}"]
