"""Notes about one result: what a reader has to know before believing it."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

import numpy as np

from slowdust.analysis.model import Writers
from slowdust.analysis.results.noise import use_of_others, window, writes_of_others
from slowdust.analysis.results.per_op import CLOCK
from slowdust.analysis.sla import achieved_rates
from slowdust.ratios import change, ratio
from slowdust.stats.relative import Estimate
from slowdust.stats.together import CommonMove
from slowdust.stats.verdict import Judgement, stalls
from slowdust.store.measured import IDLE
from slowdust.store.slice import Slice
from slowdust.units import Second, known
from slowdust.wording import counted

BUSY_CLIENT = 0.9
"""CPU share of the client's busiest thread from which the client was the limit."""
FEW_BLOCKS = 5
"""Blocks of an incarnation below which not even an outlier is trimmed."""
REPORTED_DRIFT = 1.25
"""Ratio of the base's fast slices to its slow ones from which the drift is reported."""

BUSY_IDLE = 0.05
"""CPU share of the contenders that should be idle, of one core, from which it is reported."""
BUSY_OTHERS = 0.05
"""CPUs that other programs keep busy, for each CPU in use, from which they disturb a slice, or a
long step. A CPU is in use for each client, up to the number of CPUs: on a host with many of them a
program on the CPU of the only client is a small share of all."""
BUSY_SLICES = 0.05
"""Share of slices so disturbed from which they are reported."""
LARGE_WRITES = 10 << 20
"""Bytes/s that others write in the chunks of a contender from which they are reported..."""
LARGE_SHARE_OF_WRITES = 0.2
"""...if they are this share of all that the disk wrote."""
OTHER_CLOCK = 0.02
"""Relative difference of the clock rates from which it is reported."""
_MB = 1 << 20

_ABOUT_ALL_TIME = ", and the verdict is about all time"
OPEN_LOOP = "the rate was given: compare response times and hardware per operation"
NO_BASE = "not compared: the base has no rate here"
ONE_RUN = "one run: no interval, no verdict"
ONE_START = "not finished: one start of the servers gives no verdict"
FAILING = "not compared: it fails"
"""How the note begins about a test of which too many executions failed."""
BUSY_PROGRAMS = "other programs used"
"""How the note begins that other programs were busy."""
PLAN_OF_WRITERS_DIFFERS = "plan of the writers beside the queries differs from the base's"


def notes_about_slices(slices: Sequence[Slice], busiest_thread: float | None) -> list[str]:
    """Return notes about the slices of one step and contender."""
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
    notes += [f"did nothing in incarnation {number}" for number in silent_incarnations(slices)]
    if empty := sum(record.qps <= 0 for record in slices):
        notes.append(f"slices without throughput: {empty} of {len(slices)}")
    if skipped := sorted({probe for record in slices for probe in record.measured.skipped_probes}):
        notes.append(f"not measured: {', '.join(skipped)}")
    return notes


def outlasts_slices(slices: Sequence[Slice]) -> bool:
    """Return whether a slice lasted as long as one operation of each client, and no longer."""
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
        notes.append("one incarnation: what a restart does is assumed, not measured")
    if estimate.blocks < FEW_BLOCKS * estimate.incarnations:
        incarnations = counted(estimate.incarnations, "incarnation")
        notes.append(f"few blocks: {estimate.blocks} in {incarnations}")
    if estimate.restarts_disagree:
        notes.append(
            f"incarnations disagree: rqps varies by {estimate.restart_spread:.1%} between restarts"
        )
    if estimate.incomplete:
        notes.append(f"blocks left out that were cut short: {estimate.incomplete}")
    if estimate.with_zero:
        notes.append(f"blocks left out for lack of throughput: {estimate.with_zero}")
    return notes


def notes_about_totals(judgement: Judgement, *, outlasts_slices: bool) -> list[str]:
    """Return a note if all slices together say something else than the typical ones.

    Where an operation outlasts a slice, that is how much operations differ, and no stall.
    """
    estimate, all_time = judgement.estimate, judgement.estimate.all_time
    if all_time is None or all_time.ratio is None:
        return []
    typical = "none" if estimate.ratio is None else ratio(estimate.ratio)
    ratios = f"typical {typical}, all time {ratio(all_time.ratio)}"
    if all_time.to_typical is None:
        reason = (
            "one of the two did nothing in a whole incarnation"
            if all_time.silent
            else "too few blocks without silence"
        )
        return [f"{ratios}: {reason}{_ABOUT_ALL_TIME}"]
    if not stalls(all_time, judgement.margin):
        return []
    if outlasts_slices:
        return [] if judgement.basis == "typical" else [f"{ratios}{_ABOUT_ALL_TIME}"]
    if judgement.basis == "typical":
        return [f"{ratios}: stalls, too few to say whose they are"]
    stalled = "stalls" if all_time.to_typical < 1 else "the base stalls"
    return [f"{ratios}: {stalled}{_ABOUT_ALL_TIME}"]


def notes_about_restarts(moves: Sequence[CommonMove], base: str) -> list[str]:
    return [
        f"{_restart(move)} moved all {move.tests} tests of {move.contender} by "
        f"{move.ratio - 1:+.1%} relative to {base}: not the tests, but the server as a whole"
        for move in moves
    ]


def _restart(move: CommonMove) -> str:
    if len(move.others) == 1:
        return f"The restart between incarnations {move.others[0]} and {move.incarnation}"
    return f"The restart of incarnation {move.incarnation}"


def notes_about_step(slices: Sequence[Slice], writers: Writers | None) -> list[str]:
    """Return notes about the long steps of one contender, beside `notes_about_slices`."""
    notes = []
    if writers is not None and not writers.sla_met:
        notes.append(f"SLA missed, not compared: {achieved_rates(writers)}{_backlog(writers)}")
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


def notes_about_pairs(estimate: Estimate) -> list[str]:
    if estimate.ratio is None:
        return ["not comparable: no incarnation has both contenders"]
    notes = []
    if estimate.blocks == 1:
        notes.append("one pair: how far another would be from it is not known")
    if estimate.restarts_disagree:
        notes.append(
            f"incarnations disagree: rqps varies by {estimate.restart_spread:.1%} between them"
        )
    if estimate.incomplete:
        notes.append(f"incarnations left out in which one of the two failed: {estimate.incomplete}")
    if estimate.with_zero:
        notes.append(f"incarnations left out for lack of throughput: {estimate.with_zero}")
    return notes


def notes_about_drift(slices: Sequence[Slice]) -> list[str]:
    rates = [record.qps for record in slices if record.qps > 0]
    if len(rates) < FEW_BLOCKS:
        return []
    slow, fast = np.quantile(rates, [0.05, 0.95])
    if fast < REPORTED_DRIFT * slow:
        return []
    return [f"the machine drifted: QPS of the base varied between {slow:,.0f} and {fast:,.0f}"]


def notes_about_clock(relative: dict[str, float] | None) -> list[str]:
    ratio = (relative or {}).get(CLOCK, 1.0)
    if abs(ratio - 1) < OTHER_CLOCK:
        return []
    return [f"clock rate {change(ratio)} from the base's: rates and counters are of other clocks"]


def idle_cpu_share(slices: Sequence[Slice]) -> float | None:
    """Return the CPU share, of one core, of the contenders that should have been idle.

    It is the mean over `slices`; None where it was not measured.
    """
    shares = [_idle_share(record) for record in slices if _has_idle_cpu(record)]
    return fmean(shares) if shares else None


def notes_about_idle_cpu(slices: Sequence[Slice]) -> list[str]:
    """Return a note if idle contenders were busy beside the `slices` of one test and contender.

    Slices are many, and their mean decides. Long steps are few, and the worst incarnation decides,
    since it alone can move the estimate.
    """
    steps = [record for record in slices if record.step is not None and _has_idle_cpu(record)]
    if steps:
        worst = max(steps, key=_idle_share)
        share, where = _idle_share(worst), f" in incarnation {worst.place.incarnation}"
    else:
        share, where = idle_cpu_share(slices) or 0.0, ""
    return [f"idle contenders were busy: {share:.0%} of a CPU{where}"] if share > BUSY_IDLE else []


def notes_about_others(slices: Sequence[Slice]) -> list[str]:
    """Return a note if other programs were busy beside the `slices` of one test and contender."""
    uses = [
        (use, min(record.place.clients, use.cpus))
        for record in slices
        if (use := use_of_others(record)) is not None
    ]
    busy = [use.busy for use, in_use in uses if use.busy >= BUSY_OTHERS * in_use]
    if not busy or len(busy) < BUSY_SLICES * len(uses):
        return []
    unit = "slices" if slices[0].step is None else "incarnations"
    return [
        f"{BUSY_PROGRAMS} {fmean(busy):.2f} CPUs beside it in {len(busy) / len(uses):.0%} of "
        f"the {unit}"
    ]


def notes_about_writes_of_others(slices: Sequence[Slice]) -> list[str]:
    """Return a note if others wrote much to the disk in the chunks of one step and contender.

    It is about the incarnation with most of it.
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
        f"the disk wrote {rate / _MB:,.0f} MB/s beside it that its server did not write "
        f"({share:.0%} of all, in incarnation {incarnation}): pages of servers that stood still, "
        f"or of other programs"
    ]


def _has_idle_cpu(record: Slice) -> bool:
    return bool(_idle_cpu_s(record) and window(record))


def _idle_share(record: Slice) -> float:
    return sum(_idle_cpu_s(record)) / window(record)


def _idle_cpu_s(record: Slice) -> list[Second]:
    return [use["cpu_s"] for probe, use in record.measured.uses.items() if probe.startswith(IDLE)]
