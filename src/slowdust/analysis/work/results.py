"""Work of results: instructions per operation, their relation to the base's, and what they mean."""

from __future__ import annotations

from collections.abc import Sequence

from slowdust.analysis.advised import more
from slowdust.analysis.comparison.hosts import ONE_HOST, Hosts
from slowdust.analysis.comparison.relative import Step
from slowdust.analysis.comparison.verdict import AMOUNTS, Judgement
from slowdust.analysis.model import Amount, Result, Verdict, Work
from slowdust.analysis.work.cost import (
    background_per_operation,
    differing_events,
    events_per_operation,
    place_of,
)
from slowdust.analysis.work.estimate import counts_by_step, judge_work
from slowdust.store.count import INSTRUCTIONS, Count
from slowdust.store.manifest import Counting, WorkloadFacts
from slowdust.units import format_duration
from slowdust.wording import clients, listing, short_duration, shortened

ONE_START = "work was counted in one start: what a restart does to it is assumed, not measured"
TIME_BESIDE_WORK: dict[tuple[Verdict, Amount], str] = {
    ("slower", "same"): (
        "slower with the same instructions per operation: the cause may be waiting, the kernel, "
        "background threads, the clock rate, caches or other load on the machine"
    ),
    ("faster", "same"): (
        "faster with the same instructions per operation: the cause may be waiting, the kernel, "
        "background threads, the clock rate, caches or other load on the machine"
    ),
    ("same", "more"): "more instructions, and no more time",
    ("same", "less"): "fewer instructions, and no less time",
    ("faster", "more"): (
        "more instructions but less time: something else, such as waiting, takes less"
    ),
    ("slower", "less"): (
        "fewer instructions but more time: something else, such as waiting, takes more"
    ),
}
"""Verdicts on time and work that disagree -> what that means."""


def add_work(
    results: Sequence[Result],
    counts: Sequence[Count],
    contenders: Sequence[str],
    workload: WorkloadFacts | None,
    hosts: Hosts = ONE_HOST,
) -> None:
    """Set `work` of the results that were counted, with notes where time and work disagree.

    `contenders[0]` is the base. Counts of a number of clients that has no results are those of the
    results with the fewest clients of their test. `workload` is the user's own one.
    """
    by_step = counts_by_step(counts)
    judged = {
        (judgement.estimate.step, judgement.estimate.contender): judgement
        for judgement in judge_work(by_step, contenders, workload, hosts)
    }
    timed = [Step(result.benchmark, result.test, result.clients) for result in results]
    for step, by_contender in by_step.items():
        place = place_of(step, timed)
        for result in results:
            if Step(result.benchmark, result.test, result.clients) != place:
                continue
            if own := by_contender.get(result.contender):
                result.work = _work(own)
                if result.contender == contenders[0]:
                    result.work.ratio = 1.0
                else:
                    judgement = judged.get((step, result.contender))
                    _relate(result.work, judgement)
                    result.work.differing = differing_events(
                        by_contender.get(contenders[0], ()), own
                    )
                    if judgement is not None and judgement.estimate.incarnations == 1:
                        result.notes.append(ONE_START)
                    result.notes += _disagreement(result, result.work)


def has_work(results: Sequence[Result]) -> bool:
    """Return whether the work of any result was counted."""
    return any(result.work is not None for result in results)


def notes_about_work(
    results: Sequence[Result], counts: Sequence[Count], counting: Counting | None, typed: str
) -> list[str]:
    """Return a note for each way in which work was counted otherwise than time was measured.

    One of them names the tests that there was no time for, with the command that counts them.
    """
    measured = {result.clients for result in results if result.work is not None}
    counted = {step.clients for step in counts_by_step(counts)}
    notes = []
    if not measured <= counted:
        levels = listing([clients(count) for count in sorted(counted)])
        times = listing([clients(count) for count in sorted(measured)])
        notes.append(f"Work was counted with {levels}, time was measured with {times}.")
    rows = None if counting is None else counting.rows
    if measured and rows is not None:
        notes.append(
            f"Work was counted in a table of {rows:,} rows, fewer than time was measured with: "
            f"indexes may have fewer levels, and statements other plans."
        )
    if counting is not None and (left_out := counting.left_out) is not None:
        command = more(typed, options={"count_budget": short_duration(left_out.advised_s)})
        notes.append(
            f"The work of {shortened(left_out.tests)} was not counted within "
            f"{format_duration(round(left_out.budget_s))}: `{command}` counts it."
        )
    return notes


def _work(counts: Sequence[Count]) -> Work:
    """Return the work of one step and contender without its relation to the base's."""
    events = events_per_operation(counts)
    instructions = events.pop(INSTRUCTIONS)
    return Work(
        source=counts[0].source,
        clients=counts[0].place.clients,
        instructions=instructions,
        background=background_per_operation(counts).get(INSTRUCTIONS),
        events=events,
        repeats=len(counts),
        incarnations=len({count.place.incarnation for count in counts}),
    )


def _relate(work: Work, judgement: Judgement | None) -> None:
    """Set what relates work to the base's; nothing without a pair of counts."""
    if judgement is None:
        return
    estimate = judgement.estimate
    work.ratio, work.verdict = estimate.ratio, AMOUNTS[judgement.verdict]
    if estimate.interval is not None:
        work.low, work.high = estimate.interval.low, estimate.interval.high


def _disagreement(result: Result, work: Work) -> list[str]:
    """Return what it means that time and work disagree; nothing where they do not."""
    if result.verdict is None or work.verdict is None:
        return []
    if result.has_stalls or result.has_other_plan:
        return []  # stalls, or another plan, say more
    meaning = TIME_BESIDE_WORK.get((result.verdict, work.verdict))
    return [] if meaning is None else [meaning]
