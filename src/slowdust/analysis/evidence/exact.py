"""Exact evidence of a change, in the order in which it is told.

The plan, rows, pages, planning, instructions, system calls and settings of a server do not depend
on what else the host does, as CPU time and waiting do. How much of a change an amount can explain
is ln(ratio of the amounts) / ln(ratio of the times per operation): an operation that takes 28 times
as long and reads 26 times the pages has its reason in the pages.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence

from slowdust.analysis.evidence.rows_and_pages import AMOUNTS
from slowdust.analysis.model import Evidence, EvidenceKind, PlanDifference, Result
from slowdust.analysis.preparation.facts import same_engine
from slowdust.analysis.preparation.work import OTHER_BUILD, quantities_of, work_differences
from slowdust.analysis.results.notes import PLAN_DIFFERS
from slowdust.store.manifest import ContenderFacts, Manifest
from slowdust.store.preparation import ServerCounters

ENOUGH = 0.5
"""Share of a change from which evidence that can explain it leads the sentence."""
_NEAR = 0.25
"""Nearness below which an amount moved so much more than the time that it follows the others."""
_PAGES = frozenset(
    {"heap_blocks", "index_blocks", "page_reads", "page_requests"}
    | {
        "pages",
        "pages_at_most",
        "page_writes",
        "temp_pages_read",
        "temp_pages_written",
        "temp_tables_on_disk",
    }
    | {"sorts_spilled", "hash_batches"}
)
"""Quantities of servers' counters and of executed statements that are pages, or use some."""
_LEAST = 1.0
"""Amount of a server's counters, of instructions and of system calls that counts as nearly none."""
_SURELY_LONGER = 3.0
"""Ratio from which times of planning, of a few operations, differ by more than noise: a shared
machine may be twice as slow from one moment to the next, and equal builds differed by 1.9X."""
_US_PER_S = 1e6
_ORDER: Sequence[EvidenceKind] = ("rows", "pages", "planning")
_SYSTEM_CALLS = "system_calls"


def add_evidence(
    results: Sequence[Result],
    manifest: Manifest,
    contenders: Sequence[str],
    differences: Sequence[PlanDifference] = (),
) -> None:
    """Set `evidence` of each result that is compared with the base's, `contenders[0]`.

    Its work has to be known before.
    """
    facts = {contender.name: contender for contender in manifest.contenders}
    counters = _by_step(manifest.counters)
    base_results = {
        (result.test, result.clients): result
        for result in results
        if result.contender == contenders[0]
    }
    for result in results:
        base_result = base_results.get((result.test, result.clients))
        if result.contender == contenders[0] or base_result is None:
            continue
        own, base = facts[result.contender], facts[contenders[0]]
        works = counters.get(f"{result.test}@{result.clients}", {})
        result.evidence = [
            *_plan(result, differences, contenders[0]),
            *(_amounts(result, base_result, works) if same_engine(own, base) else ()),
            *_instructions(result, base_result),
            *_settings(own, base),
        ]


def leading(evidence: Iterable[Evidence]) -> list[Evidence]:
    """Return what can explain most of a change, the first to be told first."""
    enough = [each for each in evidence if each.explains is not None and each.explains >= ENOUGH]
    return sorted(enough, key=lambda each: each.nearness < _NEAR)


def _plan(result: Result, differences: Sequence[PlanDifference], base: str) -> list[Evidence]:
    """Return each difference of the plans of what the result is about."""
    if PLAN_DIFFERS not in result.notes:
        return []
    words = dict.fromkeys(
        words
        for each in differences
        if each.test == result.test and each.base == base
        for words in each.differences.get(result.contender, ())
    )
    return [Evidence(kind="plan", words=each) for each in words]


def _by_step(works: Sequence[ServerCounters]) -> dict[str, dict[str, list[ServerCounters]]]:
    """Return step -> contender -> what its servers counted, an item for each start."""
    by_step: dict[str, dict[str, list[ServerCounters]]] = defaultdict(lambda: defaultdict(list))
    for work in works:
        by_step[work.step][work.contender].append(work)
    return by_step


def _amounts(
    result: Result, base: Result, works: Mapping[str, Sequence[ServerCounters]]
) -> list[Evidence]:
    """Return the amounts per operation that differ: by kind, then the nearest to the change.

    Those of executed statements come before the server's counters of the same kind, which have all
    clients and starts.
    """
    executed = [
        _amount(
            result,
            _kind_of(each.amount),
            AMOUNTS[each.amount].words,
            (each.base, each.contender),
            least=AMOUNTS[each.amount].floor,
        )
        for each in result.amount_differences
        if each.statement is None
    ]
    executed += _planning_time(result, base)
    kinds = {each.kind for each in executed}
    counted = [each for each in _counters(result, base, works) if each.kind not in kinds]
    return sorted((*executed, *counted), key=lambda each: (_ORDER.index(each.kind), -each.nearness))


def _kind_of(amount: str) -> EvidenceKind:
    if amount.startswith("planning"):
        return "planning"
    return "pages" if amount in _PAGES else "rows"


def _planning_time(result: Result, base: Result) -> list[Evidence]:
    """Return how long statements were planned, where that makes them slower or faster.

    Noise moves this time of a few operations, so only a large difference counts. It explains its
    share of the change of planning and execution together. Where it is less than a quarter of the
    measured change of the time per operation, it explains that share: on a busy host clients wait
    longer than those few operations took, but not by so much.
    """
    times = [
        (each.amounts.get("planning_s"), each.amounts.get("execution_s")) for each in (base, result)
    ]
    (before, executing), (planning, execution) = times
    if before is None or planning is None or not before or not planning:
        return []
    is_alike = max(before / planning, planning / before) < _SURELY_LONGER
    if is_alike or abs(planning - before) <= AMOUNTS["planning_s"].floor:
        return []
    us = before * _US_PER_S, planning * _US_PER_S
    evidence = _amount(result, "planning", "µs of planning", us, least=_LEAST)
    change = us[1] - us[0]
    whole = change + ((execution or 0.0) - (executing or 0.0)) * _US_PER_S
    if evidence.explains:
        evidence.explains = min(1.0, _share(change, whole))
        if (explanation := result.explanation) is not None:
            measured = _share(change, explanation.us - explanation.base_us)
            if measured < _NEAR:
                evidence.explains = min(evidence.explains, measured)
    return [evidence]


def _share(part: float, whole: float) -> float:
    """Return part / whole; 0 where they have different signs."""
    return part / whole if part * whole > 0 else 0.0


def _counters(
    result: Result, base: Result, works: Mapping[str, Sequence[ServerCounters]]
) -> list[Evidence]:
    if result.contender not in works or base.contender not in works:
        return []
    differences = work_differences(
        _whole(works[result.contender]),
        _whole(works[base.contender]),
        quantities_of(result),
        OTHER_BUILD,
    )
    return [
        _amount(result, _kind_of(each.name), each.words, (each.other, each.value), least=_LEAST)
        for each in differences
    ]


def _whole(works: Sequence[ServerCounters]) -> ServerCounters:
    """Return the sum of what a server counted in all its starts."""
    amounts: dict[str, float] = {}
    for work in works:
        for name, amount in work.amounts.items():
            amounts[name] = amounts.get(name, 0.0) + amount
    first = works[0]
    return ServerCounters(
        step=first.step,
        contender=first.contender,
        incarnation=first.incarnation,
        operations=sum(work.operations for work in works),
        amounts=amounts,
    )


def _instructions(result: Result, base: Result) -> list[Evidence]:
    work, base_work = result.work, base.work
    if work is None or base_work is None or work.ratio is None:
        return []
    evidence = []
    if work.verdict in ("more", "less"):
        instructions = _amount(
            result,
            "instructions",
            "instructions",
            (base_work.instructions, work.instructions),
            least=_LEAST,
        )
        instructions.ratio = work.ratio
        explanation = result.explanation
        part = explanation and explanation.part("instructions")
        if explanation and part and explanation.change:
            # The parts of the time say how much of the change the instructions are.
            instructions.explains = min(1.0, max(0.0, part.change / explanation.change))
        evidence.append(instructions)
    calls = [each.events.get(_SYSTEM_CALLS) for each in (base_work, work)]
    if calls[0] is not None and calls[1] is not None and abs(calls[1] - calls[0]) >= 1:
        evidence.append(
            _amount(result, "system calls", "system calls", (calls[0], calls[1]), least=_LEAST)
        )
    return evidence


def _settings(own: ContenderFacts, base: ContenderFacts) -> list[Evidence]:
    """Return the settings that differ, of one build: versions differ in more than settings."""
    if own.build != base.build:
        return []
    names = sorted(
        name
        for name in own.settings.keys() | base.settings.keys()
        if own.settings.get(name) != base.settings.get(name)
    )
    unset = "not set"
    return [
        Evidence(
            kind="settings",
            words=f"{name} = {own.settings.get(name, unset)}, {base.settings.get(name, unset)} "
            "in the base",
        )
        for name in names
    ]


def _amount(
    result: Result,
    kind: EvidenceKind,
    words: str,
    amounts: tuple[float, float],
    *,
    least: float,
) -> Evidence:
    """Return the evidence of the base's amount and the contender's."""
    base, contender = amounts
    explains, nearness = _explained(result, amounts, least)
    return Evidence(
        kind=kind,
        words=words,
        base=base,
        contender=contender,
        ratio=contender / base if base else None,
        explains=explains,
        nearness=nearness,
    )


def _explained(
    result: Result, amounts: tuple[float, float], least: float
) -> tuple[float | None, float]:
    """Return the share of the change that an amount can explain, and how near the two are.

    Where one of the amounts is 0 both count as `least` or more: a few rows where there were none
    are no reason of a change by a factor of 100.
    """
    if result.judged_rqps is None or result.judged_rqps <= 0 or result.judged_rqps == 1:
        return None, 0.0
    change = -math.log(result.judged_rqps)
    base, contender = amounts if min(amounts) > 0 else (max(each, least) for each in amounts)
    factor = math.log(contender / base) / change
    if factor <= 0:
        return 0.0, 0.0
    return min(1.0, factor), min(factor, 1 / factor)
