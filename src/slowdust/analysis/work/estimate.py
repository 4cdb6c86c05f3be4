"""Relative work with its interval: counts are paired by the operations that both contenders did.

The model is that of throughput (comparison/estimate.py): the log ratio of a repeat takes the place
of a block, so that the mean over the repeats of an incarnation is its location, and a start of the
servers for counting is an incarnation. What differs is the prior of what a restart does, which is
a tenth of that of throughput: other addresses make other hash chains and other page layouts, and
writes also other splits of pages and other background work in the session's own process. A host is
expected to do no more than a restart, since it executes the same binary. And it has
a long tail, since restarts that do nothing to most tests now and then move one by several percent,
of which two starts say little: what they leave undecided is counted after more of them.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence

import numpy as np

from slowdust.analysis.comparison.estimate import estimate_all
from slowdust.analysis.comparison.hosts import ONE_HOST, Hosts
from slowdust.analysis.comparison.posterior import Expectation
from slowdust.analysis.comparison.ratio import Estimate
from slowdust.analysis.comparison.relative import BlockRatios, Step
from slowdust.analysis.comparison.verdict import Judgement, judge_cells
from slowdust.analysis.work.cost import instructions_per_operation, step_of
from slowdust.benchmarks import known_group
from slowdust.benchmarks.model import Group
from slowdust.store.count import Count, Source
from slowdust.store.manifest import WorkloadFacts

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
WRITE_RESTARTS = Expectation(
    scale=0.003,
    prior_freedom=0.3,
    borrowed_freedom=8.0,
    outsider_share=0.8,
    outsider_freedom=0.3,
)
"""Prior for tests that write: 0.3%, and now and then much more, as with work of the background that
a session takes over."""
_READS = (Group.POINT, Group.RANGE, Group.AGGREGATION, Group.NEAREST, Group.FILTERED)
_AS_LARGE = 40.0
"""How many times as large as half of what separates its first two starts a difference is that needs
no third one. Where a restart moves a test by far more than it differs, the ratio of both has the
distribution of Cauchy: chance makes it as large in 2 / (40 pi) = 1.6%."""

Counts = Mapping[Step, Mapping[str, Sequence[Count]]]
"""Step -> contender -> its counts."""


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
        with_zero=0,
        numbers=tuple(by_incarnation),
        totals={},
    )


def _place(count: Count) -> tuple[int, int]:
    return count.place.incarnation, count.place.repeat


def _writes(step: Step, workload: WorkloadFacts | None) -> bool:
    """Return whether a step writes; one of an unknown test may."""
    group = known_group(step.benchmark, step.test, workload)
    return group not in _READS
