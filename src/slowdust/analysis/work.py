"""Counted work of results: instructions per operation relative to the base's, with intervals.

Counts are paired by operations that both contenders executed. The model is the same as for
throughput (stats/estimate.py): the log ratio of a repeat takes the place of a block, so the mean
over the repeats of a start is its location. Only the prior of the effect of a restart differs. It
is a tenth of throughput's: other addresses make other hash chains and other page layouts, and for
writes also other page splits and other background work in the session's own process. Hosts are
expected to matter no more than restarts, since they execute the same binary. The prior has a long
tail, since restarts occasionally move one test by several percent, about which two starts say
little: undecided steps are counted after more restarts.
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
"""Largest change of instructions per operation that counts as the same."""
READ_RESTARTS = Expectation(
    scale=0.001,
    prior_freedom=0.3,
    borrowed_freedom=8.0,
    outsider_share=0.8,
    outsider_freedom=0.3,
)
"""Prior for tests that only read: restarts move the ratio of instructions by 0.1%, occasionally by
ten or a hundred times that, and some tests far more than others."""
WRITE_RESTARTS = replace(READ_RESTARTS, scale=0.003)
"""Prior for tests that write: 0.3%, and occasionally much more, as when a session takes over
background work."""
_READS = (Group.POINT, Group.RANGE, Group.AGGREGATION, Group.NEAREST, Group.FILTERED)
_AS_LARGE = 40.0
"""Smallest ratio of a difference to half the spread of its first two starts that needs no third
start. If a restart moves a test by far more than it differs, this ratio has a Cauchy distribution:
chance makes it that large in 2 / (40 pi) = 1.6%."""
Counts = Mapping[Step, Mapping[str, Sequence[Count]]]
"""Step -> contender -> its counts."""
ONE_START = "work was counted in one start: the effect of a restart is assumed, not measured"
DISAGREEMENTS: dict[tuple[Verdict, Amount], str] = {
    ("slower", "same"): (
        "slower with the same instructions per operation: the cause may be waiting, the kernel, "
        "background threads, the clock rate, caches or other load on the machine"
    ),
    ("faster", "same"): (
        "faster with the same instructions per operation: the cause may be waiting, the kernel, "
        "background threads, the clock rate, caches or other load on the machine"
    ),
    ("same", "more"): "more instructions in the same time",
    ("same", "less"): "fewer instructions in the same time",
    ("faster", "more"): (
        "more instructions but less time: something else, such as waiting, takes less"
    ),
    ("slower", "less"): (
        "fewer instructions but more time: something else, such as waiting, takes more"
    ),
}
"""Verdicts on time and work that disagree -> meaning."""


def find_timed_step(step: Step, timed: Iterable[Step]) -> Step | None:
    """Return the timed step that the counts of `step` belong to; None if its test was not timed.

    If that number of clients was not timed, they belong to the fewest clients that were.
    """
    levels = {
        each.clients for each in timed if (each.benchmark, each.test) == (step.benchmark, step.test)
    }
    if not levels:
        return None
    return step if step.clients in levels else step._replace(clients=min(levels))


def instructions_per_operation(count: Count) -> float | None:
    """Return the instructions per operation; None if either number is not positive."""
    instructions, operations = count.run.own.get(INSTRUCTIONS, 0), count.run.operations
    return instructions / operations if instructions > 0 and operations > 0 else None


def events_per_operation(counts: Iterable[Count]) -> dict[str, float]:
    """Return each of the session's own events per operation, from the counts that have it.

    A PMU counts most events in only one repeat of a start.
    """
    return _per_operation((count.run.own, count.run.operations) for count in counts)


_CLEAR_OF_STARTS = 1.0
_CLEAR_WITHIN_STARTS = 10.0
"""Required gap between two contenders, as a multiple of a contender's range."""


def differing_events(base: Sequence[Count], counts: Sequence[Count]) -> list[str]:
    """Return the session's own events, except instructions, that differ significantly.

    Random parts of an operation, such as reading uncached rows, vary more between starts than
    between the counts of one start. So the gap between the contenders has to be wider than the
    range of their starts. With fewer than three starts it has to be far wider than the range of all
    counts, as for an exact number such as one fsync per commit.
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
    return [
        name for name in names if _are_separate(_range(name, of_base), _range(name, own), clear)
    ]


def _range(name: str, counts: Iterable[Mapping[str, float]]) -> tuple[float, float] | None:
    values = [events[name] for events in counts if name in events]
    return (min(values), max(values)) if values else None


def _are_separate(
    one: tuple[float, float] | None, other: tuple[float, float] | None, clear: float
) -> bool:
    if one is None or other is None:
        return False
    gap = max(one[0], other[0]) - min(one[1], other[1])
    return gap > clear * max(one[1] - one[0], other[1] - other[0])


def background_per_operation(counts: Iterable[Count]) -> dict[str, float]:
    """Return each event of the background per operation, from the counts that have it."""
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

    Two sources are never compared: a step keeps the source of most of its counts. If a resumed
    experiment has two counts of one place, the later one is kept.
    """
    by_step: dict[Step, dict[tuple[str, int, int], Count]] = defaultdict(dict)
    sources: dict[Step, Counter[Source]] = defaultdict(Counter)
    costly = [count for count in counts if instructions_per_operation(count) is not None]
    for count in costly:
        sources[Step.of(count.place)][count.source] += 1
    for count in costly:
        [(usual, _)] = sources[Step.of(count.place)].most_common(1)
        if count.source == usual:
            place = count.place
            key = place.contender, place.incarnation, place.repeat
            by_step[Step.of(count.place)][key] = count
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

    `workload` is the measured workload of the user, if any. The ratio is of instructions, so
    `faster` stands for more work and `slower` for less. Reading steps and writing steps learn about
    restarts from their own kind; of the verdicts of both kinds together, 5% may be false.
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

    These are the steps without a verdict, and steps with a difference after two starts that
    disagree.
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
    half_spread = estimate.restart_spread / np.sqrt(2)
    few = estimate.incarnations == 2
    return few and abs(np.log(estimate.ratio)) < _AS_LARGE * half_spread


def work_ratios(
    step: Step, contender: str, counts: Sequence[Count], of_base: Sequence[Count]
) -> BlockRatios:
    """Return ln(instructions per operation / the base's), paired by start and repeat."""
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
    """Return whether a step writes; True for unknown tests."""
    group = known_group(step.benchmark, step.test, workload)
    return group not in _READS


def add_work(
    results: Sequence[Result],
    counts: Sequence[Count],
    contenders: Sequence[str],
    workload: WorkloadFacts | None,
    hosts: Hosts = ONE_HOST,
) -> None:
    """Set `work` of the counted results, with notes where time and work disagree.

    `contenders[0]` is the base. Counts at a number of clients without results are added to the
    results with the fewest clients of their test. `workload` is the user's own, if any.
    """
    by_step = counts_by_step(counts)
    judged = {
        (judgement.estimate.step, judgement.estimate.contender): judgement
        for judgement in judge_work(by_step, contenders, workload, hosts)
    }
    timed = [Step.of(result) for result in results]
    for step, by_contender in by_step.items():
        place = find_timed_step(step, timed)
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
    """Return notes on conditions that differ between counting and timing, and on uncounted
    tests."""
    measured = {result.clients for result in results if result.work is not None}
    counted = {step.clients for step in counts_by_step(counts)}
    notes = []
    if not measured <= counted:
        levels = listing([clients(count) for count in sorted(counted)])
        times = listing([clients(count) for count in sorted(measured)])
        notes.append(f"Work was counted with {levels}; time was measured with {times}.")
    rows = None if counting is None else counting.rows
    if measured and rows is not None:
        notes.append(
            f"Work was counted on a table of {rows:,} rows, smaller than the timed one: indexes "
            f"may have fewer levels, and statements different plans."
        )
    if counting is not None and (left_out := counting.left_out) is not None:
        command = more(typed, options={"count_budget": short_duration(left_out.advised_s)})
        notes.append(
            f"The budget of {format_duration(round(left_out.budget_s))} was too short to count the "
            f"work of {shortened(left_out.tests)}: `{command}` counts it."
        )
    return notes


def _work(counts: Sequence[Count]) -> Work:
    """Return the work of one step and contender, without a ratio to the base's."""
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
    """Return the meaning of disagreement between time and work; empty without any."""
    if result.verdict is None or work.verdict is None:
        return []
    if result.has_stalls or result.has_other_plan:
        return []  # stalls or another plan explain more
    meaning = DISAGREEMENTS.get((result.verdict, work.verdict))
    return [] if meaning is None else [meaning]
