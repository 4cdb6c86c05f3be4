"""Notes on one result: facts that a reader should know before trusting it."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

import numpy as np

from slowdust.analysis.model import Writers
from slowdust.analysis.results.noise import use_of_others, window, writes_of_others
from slowdust.analysis.results.per_op import CLOCK
from slowdust.analysis.sla import achieved_rates
from slowdust.ratios import change, ratio
from slowdust.stats.common_shift import CommonShift
from slowdust.stats.relative import Estimate
from slowdust.stats.verdict import Judgement, stalls
from slowdust.store.measured import IDLE
from slowdust.store.slice import Slice
from slowdust.units import Second, known
from slowdust.wording import counted

BUSY_CLIENT = 0.9
"""CPU share of the client's busiest thread above which the client was the limit."""
FEW_BLOCKS = 5
"""Blocks per start below which outliers are not trimmed."""
REPORTED_DRIFT = 1.25
"""Smallest reported ratio of the base's fast slices to its slow ones."""

BUSY_IDLE = 0.05
"""Smallest reported CPU share, of one core, of contenders that should be idle."""
BUSY_OTHERS = 0.05
"""Smallest number of CPUs used by other programs, for each CPU in use, that disturbs a slice or a
long step. One CPU is in use for each client, up to the number of CPUs: on a large host, a program
on the CPU of the only client is a small share of all CPUs."""
BUSY_SLICES = 0.05
"""Smallest share of disturbed slices for a note."""
LARGE_WRITES = 10 << 20
"""Least Bytes/s written by others during a contender's chunks for a note..."""
LARGE_SHARE_OF_WRITES = 0.2
"""...if they are also at least this share of all bytes that the disk wrote."""
OTHER_CLOCK = 0.02
"""Smallest reported relative difference of clock rates."""
_MB = 1 << 20

_BASED_ON_ALL_TIME = "; the verdict is based on all time"
OPEN_LOOP = "the rate was fixed: compare response times and hardware per operation"
NO_BASE = "not compared: the base has no rate here"
ONE_RUN = "one run: no interval, no verdict"
ONE_START = "one start of the servers is not enough for a verdict"
FAILING = "not compared: it fails"
"""Beginning of the note on a test with too many failed executions."""
BUSY_PROGRAMS = "other programs used"
"""Beginning of the note on busy other programs."""
PLAN_OF_WRITERS_DIFFERS = "the plan of the background writers differs from the base's"


def notes_about_slices(slices: Sequence[Slice], busiest_thread: float | None) -> list[str]:
    """Return notes on the slices of one step and contender."""
    printed = known(record.printed for record in slices)
    notes = list(dict.fromkeys(note for run in printed for note in run.notes))
    if busiest_thread is not None and busiest_thread > BUSY_CLIENT:
        notes.append(f"client was the limit: its busiest thread used {busiest_thread:.0%} of a CPU")
    notes += notes_about_idle_cpu(slices)
    notes += notes_about_others(slices)
    if errors := sum(sum(record.measured.errors.values()) for record in slices):
        notes.append(f"errors: {errors:,}")
    if retries := sum(record.measured.retries for record in slices):
        notes.append(f"retries: {retries:,}")
    if late := sum(
        record.measured.schedule.late_operations for record in slices if record.measured.schedule
    ):
        notes.append(f"late operations: {late:,}")
    notes += [f"did nothing in start {number}" for number in silent_incarnations(slices)]
    if empty := sum(record.qps <= 0 for record in slices):
        notes.append(f"slices without throughput: {empty} of {len(slices)}")
    if skipped := sorted({probe for record in slices for probe in record.measured.skipped_probes}):
        notes.append(f"not measured: {', '.join(skipped)}")
    return notes


def outlasts_slices(slices: Sequence[Slice]) -> bool:
    """Return whether each slice lasted for at most one operation of each client."""
    amounts = known(record.measured.operations for record in slices if record.step is None)
    clients = slices[0].place.clients
    return bool(amounts) and 0 < sum(amounts) <= clients * len(amounts)


def silent_incarnations(slices: Sequence[Slice]) -> list[int]:
    active = {record.place.incarnation for record in slices if record.qps > 0}
    return sorted({record.place.incarnation for record in slices} - active)


def notes_about_estimate(estimate: Estimate) -> list[str]:
    if estimate.ratio is None and estimate.all_time is None:
        return ["not comparable: no complete block"]
    notes = []
    if estimate.incarnations == 1:
        notes.append("one start of the servers: the effect of restarts is assumed, not measured")
    if estimate.blocks < FEW_BLOCKS * estimate.incarnations:
        starts = counted(estimate.incarnations, "start")
        notes.append(f"few blocks: {estimate.blocks} in {starts}")
    if estimate.restarts_disagree:
        notes.append(f"starts disagree: rqps varies by {estimate.restart_spread:.1%} between them")
    if estimate.incomplete:
        notes.append(f"incomplete blocks excluded: {estimate.incomplete}")
    if estimate.with_zero:
        notes.append(f"blocks without throughput excluded: {estimate.with_zero}")
    return notes


def notes_about_totals(judgement: Judgement, *, outlasts_slices: bool) -> list[str]:
    """Return a note if the ratio of totals contradicts the typical ratio.

    If operations outlast slices, the difference is between operations, and not a stall.
    """
    estimate, all_time = judgement.estimate, judgement.estimate.all_time
    if all_time is None or all_time.ratio is None:
        return []
    typical = "none" if estimate.ratio is None else ratio(estimate.ratio)
    ratios = f"typical {typical}, all time {ratio(all_time.ratio)}"
    if all_time.to_typical is None:
        reason = (
            "one of the two did nothing during a whole start"
            if all_time.silent
            else "too few blocks without silence"
        )
        return [f"{ratios}: {reason}{_BASED_ON_ALL_TIME}"]
    if not stalls(all_time, judgement.margin):
        return []
    if outlasts_slices:
        return [] if judgement.basis == "typical" else [f"{ratios}{_BASED_ON_ALL_TIME}"]
    if judgement.basis == "typical":
        return [f"{ratios}: stalls, too few to attribute them to a contender"]
    stalled = "stalls" if all_time.to_typical < 1 else "the base stalls"
    return [f"{ratios}: {stalled}{_BASED_ON_ALL_TIME}"]


def notes_about_restarts(moves: Sequence[CommonShift], base: str) -> list[str]:
    return [
        f"{_restart(move)} moved all {move.tests} tests of {move.contender} by "
        f"{move.ratio - 1:+.1%} relative to {base}: it affects the whole server, not single tests"
        for move in moves
    ]


def _restart(move: CommonShift) -> str:
    if len(move.others) == 1:
        return f"The restart between starts {move.others[0]} and {move.incarnation}"
    return f"Start {move.incarnation} of the servers"


def notes_about_step(slices: Sequence[Slice], writers: Writers | None) -> list[str]:
    """Return notes on long steps of one contender that `notes_about_slices` does not have."""
    notes = []
    if writers is not None and not writers.sla_met:
        notes.append(f"SLA missed, not compared: {achieved_rates(writers)}{_backlog(writers)}")
    for record in slices:
        if (step := record.step) is None or step.rows_counted is None:
            continue
        if step.rows_expected is not None and step.rows_counted != step.rows_expected:
            notes.append(
                f"rows in start {record.place.incarnation}: {step.rows_counted:,} counted, "
                f"{step.rows_expected:,} expected"
            )
    return notes


def _backlog(writers: Writers) -> str:
    if writers.insert_backlog is None or writers.delete_backlog is None:
        return ""
    return (
        f"; rows due but not written: {writers.insert_backlog:,} to insert, "
        f"{writers.delete_backlog:,} to delete"
    )


def notes_about_pairs(estimate: Estimate) -> list[str]:
    if estimate.ratio is None:
        return ["not comparable: no start has both contenders"]
    notes = []
    if estimate.blocks == 1:
        notes.append("one pair: the variation between pairs is unknown")
    if estimate.restarts_disagree:
        notes.append(f"starts disagree: rqps varies by {estimate.restart_spread:.1%} between them")
    if estimate.incomplete:
        notes.append(f"starts excluded because one of the two failed: {estimate.incomplete}")
    if estimate.with_zero:
        notes.append(f"starts without throughput excluded: {estimate.with_zero}")
    return notes


def notes_about_drift(slices: Sequence[Slice]) -> list[str]:
    rates = [record.qps for record in slices if record.qps > 0]
    if len(rates) < FEW_BLOCKS:
        return []
    slow, fast = np.quantile(rates, [0.05, 0.95])
    if fast < REPORTED_DRIFT * slow:
        return []
    return [f"the machine drifted: the base's QPS varied between {slow:,.0f} and {fast:,.0f}"]


def notes_about_clock(relative: dict[str, float] | None) -> list[str]:
    ratio = (relative or {}).get(CLOCK, 1.0)
    if abs(ratio - 1) < OTHER_CLOCK:
        return []
    return [f"clock rate {change(ratio)} from the base's: rates and counters are not comparable"]


def idle_cpu_share(slices: Sequence[Slice]) -> float | None:
    """Return the CPU share, of one core, of contenders that should have been idle.

    It is the mean over `slices`; None if it was not measured.
    """
    shares = [_idle_share(record) for record in slices if _has_idle_cpu(record)]
    return fmean(shares) if shares else None


def notes_about_idle_cpu(slices: Sequence[Slice]) -> list[str]:
    """Return a note if idle contenders were busy during the slices of one test and contender.

    For slices the mean counts. For long steps, which are few, the worst start counts: it alone can
    move the estimate.
    """
    steps = [record for record in slices if record.step is not None and _has_idle_cpu(record)]
    if steps:
        worst = max(steps, key=_idle_share)
        share, where = _idle_share(worst), f" in start {worst.place.incarnation}"
    else:
        share, where = idle_cpu_share(slices) or 0.0, ""
    return [f"idle contenders were busy: {share:.0%} of a CPU{where}"] if share > BUSY_IDLE else []


def notes_about_others(slices: Sequence[Slice]) -> list[str]:
    """Return a note if other programs were busy during the slices of one test and contender."""
    uses = [
        (use, min(record.place.clients, use.cpus))
        for record in slices
        if (use := use_of_others(record)) is not None
    ]
    busy = [use.busy for use, in_use in uses if use.busy >= BUSY_OTHERS * in_use]
    if not busy or len(busy) < BUSY_SLICES * len(uses):
        return []
    unit = "slices" if slices[0].step is None else "starts"
    return [
        f"{BUSY_PROGRAMS} {fmean(busy):.2f} CPUs during {len(busy) / len(uses):.0%} of the {unit}"
    ]


def notes_about_writes_of_others(slices: Sequence[Slice]) -> list[str]:
    """Return a note if others wrote much to the disk during one contender's chunks of a step.

    It is about the worst start.
    """
    measured = [
        (others / seconds, others / disk, record.place.incarnation)
        for record in slices
        if (others := writes_of_others(record))
        and (disk := record.measured.used("host", "write_bytes"))
        and (seconds := window(record))
    ]
    rate, share, incarnation = max(measured, default=(0.0, 0.0, 0))
    if rate < LARGE_WRITES or share < LARGE_SHARE_OF_WRITES:
        return []
    return [
        f"the disk wrote {rate / _MB:,.0f} MB/s during its chunks that its server did not write "
        f"({share:.0%} of all, in start {incarnation}): pages of suspended servers or of other "
        f"programs"
    ]


def _has_idle_cpu(record: Slice) -> bool:
    return bool(_idle_cpu_s(record) and window(record))


def _idle_share(record: Slice) -> float:
    return sum(_idle_cpu_s(record)) / window(record)


def _idle_cpu_s(record: Slice) -> list[Second]:
    return [use["cpu_s"] for probe, use in record.measured.uses.items() if probe.startswith(IDLE)]
