"""Counted work of results: instructions per operation beside the base's, with their interval.

Counts are paired by the operations that both contenders did. The model is that of throughput
(comparison/estimate.py): the log ratio of a repeat takes the place of a block, so that the mean
over the repeats of an incarnation is its location, and a start of the servers for counting is an
incarnation. What differs is the prior of what a restart does, which is a tenth of that of
throughput: other addresses make other hash chains and other page layouts, and writes also other
splits of pages and other background work in the session's own process. A host is expected to do no
more than a restart, since it executes the same binary. And it has a long tail, since restarts that
do nothing to most tests now and then move one by several percent, of which two starts say little:
what they leave undecided is counted after more of them.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace

import numpy as np

from slowdust.analysis.advised import more
from slowdust.analysis.model import Result, Work
from slowdust.benchmarks import known_group
from slowdust.benchmarks.model import Group
from slowdust.ratios import Amount, Ratio, Verdict
from slowdust.stats.blocks import BlockRatios, Step
from slowdust.stats.estimate import estimate_all
from slowdust.stats.hosts import ONE_HOST, Hosts
from slowdust.stats.posterior import Expectation
from slowdust.stats.relative import Estimate
from slowdust.stats.verdict import Judgement, judge_cells
from slowdust.store.count import INSTRUCTIONS, Count, Events, Source
from slowdust.store.manifest import Counting, WorkloadFacts
from slowdust.units import format_duration, grouped
from slowdust.wording import clients, listing, short_duration, shortened

WORK_MARGIN = 0.01
"""Largest change of instructions per operation that counts as the same work."""
READ_RESTARTS = Expectation(
    scale=0.001,
    prior_freedom=0.3,
    borrowed_freedom=8.0,
    outsider_share=0.8,
    outsider_freedom=0.3,
)
"""Prior for tests that only read: restarts move the ratio of instructions by 0.1%, now and then by
ten or a hundred times as much, and one test by far more than another."""
WRITE_RESTARTS = replace(READ_RESTARTS, scale=0.003)
"""Prior for tests that write: 0.3%, and now and then much more, as with work of the background that
a session takes over."""
_READS = (Group.POINT, Group.RANGE, Group.AGGREGATION, Group.NEAREST, Group.FILTERED)
_AS_LARGE = 40.0
"""How many times as large as half of what separates its first two starts a difference is that needs
no third one. Where a restart moves a test by far more than it differs, the ratio of both has the
distribution of Cauchy: chance makes it as large in 2 / (40 pi) = 1.6%."""
Counts = Mapping[Step, Mapping[str, Sequence[Count]]]
"""Step -> contender -> its counts."""
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


def step_of(count: Count) -> Step:
    return Step(count.place.benchmark, count.place.test, count.place.clients)


def place_of(step: Step, timed: Iterable[Step]) -> Step | None:
    """Return the timed step that the counts of `step` belong to; None if its test was not timed.

    Counts of a number of clients that was not timed belong to the fewest clients that were.
    """
    levels = {
        each.clients for each in timed if (each.benchmark, each.test) == (step.benchmark, step.test)
    }
    if not levels:
        return None
    return step if step.clients in levels else step._replace(clients=min(levels))


def instructions_per_operation(count: Count) -> float | None:
    """Return the instructions per operation; None where a count has no positive number of them."""
    instructions, operations = count.run.own.get(INSTRUCTIONS, 0), count.run.operations
    return instructions / operations if instructions > 0 and operations > 0 else None


def events_per_operation(counts: Iterable[Count]) -> dict[str, float]:
    """Return each own event per operation, of the counts that have it.

    A PMU counts most events in one repeat of an incarnation only.
    """
    return _per_operation((count.run.own, count.run.operations) for count in counts)


_CLEAR_OF_STARTS = 1.0
_CLEAR_WITHIN_STARTS = 10.0
"""How many times wider than a contender's range the gap between two contenders has to be."""


def differing_events(base: Sequence[Count], counts: Sequence[Count]) -> list[str]:
    """Return the own events but instructions that differ beyond doubt per operation.

    What an operation does by chance, such as reading rows that are not cached, varies from start to
    start more than between the counts of one start. So the gap between both contenders has to be
    wider than the range of their starts; with fewer than three starts, far wider than the range of
    all counts, which an exact number such as one fsync per commit is.
    """
    starts = [
        list(grouped(counts_of, lambda count: count.place.incarnation).values())
        for counts_of in (base, counts)
    ]
    if min(map(len, starts)) < 3:
        starts = [[[count] for count in counts_of] for counts_of in (base, counts)]
        clear = _CLEAR_WITHIN_STARTS
    else:
        clear = _CLEAR_OF_STARTS
    of_base, own = ([events_per_operation(start) for start in side] for side in starts)
    names = dict.fromkeys(name for events in own for name in events if name != INSTRUCTIONS)
    return [name for name in names if _stand_clear(_range(name, of_base), _range(name, own), clear)]


def _range(name: str, counts: Iterable[Mapping[str, float]]) -> tuple[float, float] | None:
    values = [events[name] for events in counts if name in events]
    return (min(values), max(values)) if values else None


def _stand_clear(
    one: tuple[float, float] | None, other: tuple[float, float] | None, clear: float
) -> bool:
    if one is None or other is None:
        return False
    gap = max(one[0], other[0]) - min(one[1], other[1])
    return gap > clear * max(one[1] - one[0], other[1] - other[0])


def background_per_operation(counts: Iterable[Count]) -> dict[str, float]:
    """Return each event of the background per operation, as above."""
    return _per_operation((count.run.background, count.run.operations) for count in counts)


def _per_operation(runs: Iterable[tuple[Events, int]]) -> dict[str, float]:
    amounts: Counter[str] = Counter()
    operations: Counter[str] = Counter()
    for events, done in runs:
        for name, amount in events.items():
            amounts[name] += amount
            operations[name] += done
    return {name: amount / operations[name] for name, amount in amounts.items()}


def counts_by_step(counts: Sequence[Count]) -> dict[Step, dict[str, list[Count]]]:
    """Return the counts that have a cost, by step and contender, each place once.

    Two sources are never compared: a step keeps the counts of the source that most of them have.
    Of two counts of one place, as a resumed experiment may have them, the later one stays.
    """
    by_step: dict[Step, dict[tuple[str, int, int], Count]] = defaultdict(dict)
    sources: dict[Step, Counter[Source]] = defaultdict(Counter)
    costly = [count for count in counts if instructions_per_operation(count) is not None]
    for count in costly:
        sources[step_of(count)][count.source] += 1
    for count in costly:
        [(usual, _)] = sources[step_of(count)].most_common(1)
        if count.source == usual:
            place = count.place
            key = place.contender, place.incarnation, place.repeat
            by_step[step_of(count)][key] = count
    grouped: dict[Step, dict[str, list[Count]]] = {}
    for step, places in by_step.items():
        for (contender, _, _), count in sorted(places.items(), key=lambda item: item[0]):
            grouped.setdefault(step, {}).setdefault(contender, []).append(count)
    return grouped


def judge_work(
    counts: Counts,
    contenders: Sequence[str],
    workload: WorkloadFacts | None = None,
    hosts: Hosts = ONE_HOST,
) -> list[Judgement]:
    """Judge the work of all steps and contenders together; `contenders[0]` is the base.

    `workload` is the user's own one that was measured.

    `faster` stands for more work, `slower` for less: the ratio is that of instructions. Steps that
    read and steps that write learn about restarts from their own kind; of the verdicts of both
    together 5% may be false.
    """
    base, *others = contenders
    cells = [
        work_ratios(step, name, by_contender[name], by_contender[base])
        for step, by_contender in counts.items()
        for name in others
        if base in by_contender and name in by_contender
    ]
    cells = [cell for cell in cells if cell.blocks]

    def estimate(cells: Sequence[BlockRatios], hosts: Hosts) -> list[Estimate]:
        writing = [cell for cell in cells if _writes(cell.step, workload)]
        reading = [cell for cell in cells if not _writes(cell.step, workload)]
        return [
            *estimate_all(reading, READ_RESTARTS, hosts, READ_RESTARTS),
            *estimate_all(writing, WRITE_RESTARTS, hosts, WRITE_RESTARTS),
        ]

    return judge_cells(cells, WORK_MARGIN, hosts, estimate)


def undecided_steps(
    counts: Counts, contenders: Sequence[str], workload: WorkloadFacts | None = None
) -> set[Step]:
    """Return the steps that another start of the servers may decide; `contenders[0]` is the base.

    They are those without a verdict, and those that differ after two starts that are not nearly
    alike.
    """
    return {
        judgement.estimate.step
        for judgement in judge_work(counts, contenders, workload)
        if _is_undecided(judgement)
    }


def _is_undecided(judgement: Judgement) -> bool:
    estimate = judgement.estimate
    if judgement.verdict in ("same", "unsure"):
        return judgement.verdict == "unsure"
    if estimate.ratio is None or estimate.restart_spread is None:
        return True
    half_apart = estimate.restart_spread / np.sqrt(2)
    few = estimate.incarnations == 2
    return few and abs(np.log(estimate.ratio)) < _AS_LARGE * half_apart


def work_ratios(
    step: Step, contender: str, counts: Sequence[Count], of_base: Sequence[Count]
) -> BlockRatios:
    """Return ln(instructions per operation / the base's), paired by incarnation and repeat."""
    base_costs = {_place(count): instructions_per_operation(count) for count in of_base}
    by_incarnation: dict[int, list[float]] = {}
    unpaired = 0
    for count in counts:
        cost, base_cost = instructions_per_operation(count), base_costs.get(_place(count))
        if cost is None or base_cost is None:
            unpaired += 1
        else:
            ratios = by_incarnation.setdefault(count.place.incarnation, [])
            ratios.append(float(np.log(cost / base_cost)))
    return BlockRatios(
        step=step,
        contender=contender,
        by_incarnation=tuple(np.array(ratios)[:, None] for ratios in by_incarnation.values()),
        incomplete=unpaired,
        numbers=tuple(by_incarnation),
    )


def _place(count: Count) -> tuple[int, int]:
    return count.place.incarnation, count.place.repeat


def _writes(step: Step, workload: WorkloadFacts | None) -> bool:
    """Return whether a step writes; one of an unknown test may."""
    group = known_group(step.benchmark, step.test, workload)
    return group not in _READS


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
    timed = [Step.of(result) for result in results]
    for step, by_contender in by_step.items():
        place = place_of(step, timed)
        for result in results:
            if Step.of(result) != place:
                continue
            if own := by_contender.get(result.contender):
                result.work = _work(own)
                if result.contender == contenders[0]:
                    result.work.ratio = Ratio(1.0)
                else:
                    judgement = judged.get((step, result.contender))
                    result.work.ratio = None if judgement is None else judgement.ratio_of_amounts
                    of_base = by_contender.get(contenders[0], ())
                    result.work.differing = differing_events(of_base, own)
                    if judgement is not None and judgement.estimate.incarnations == 1:
                        result.notes.append(ONE_START)
                    result.notes += _disagreement(result, result.work)


def has_work(results: Sequence[Result]) -> bool:
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


def _disagreement(result: Result, work: Work) -> list[str]:
    """Return what it means that time and work disagree; nothing where they do not."""
    if result.verdict is None or work.verdict is None:
        return []
    if result.has_stalls or result.has_other_plan:
        return []  # stalls, or another plan, say more
    meaning = TIME_BESIDE_WORK.get((result.verdict, work.verdict))
    return [] if meaning is None else [meaning]
