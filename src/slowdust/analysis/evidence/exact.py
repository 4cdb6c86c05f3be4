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
from slowdust.analysis.model import Evidence, EvidenceKind, Result, Work
from slowdust.analysis.preparation.facts import same_engine
from slowdust.analysis.preparation.work import OTHER_BUILD, quantities_of, work_differences
from slowdust.store.count import SYSTEM_CALLS
from slowdust.store.manifest import ContenderFacts, Manifest
from slowdust.store.preparation import ServerCounters

ENOUGH = 0.5
"""Share of a change from which evidence that can explain it leads the sentence."""
_SMALL = 0.25
"""Share of a measured change below which planning cannot be more of it than that."""
_AS_MUCH = 0.8
"""Part of what the best evidence explains from which the order of the kinds decides what leads."""
_AS_NEAR = 0.5
"""Part of the nearness of the nearest ratio, likewise: ten times the pages of an operation that
takes a tenth longer are less of a reason than a tenth more instructions."""
_LEAST = 1.0
"""Amount of a server's counters, of instructions and of system calls that counts as nearly none."""
_SURELY_LONGER = 3.0
"""Ratio from which times of planning, of a few operations, differ by more than noise: a shared
machine may be twice as slow from one moment to the next, and equal builds differed by 1.9X."""
_US_PER_S = 1e6
_ORDER: Sequence[EvidenceKind] = ("rows", "pages", "planning")


def add_evidence(
    results: Sequence[Result],
    manifest: Manifest,
    contenders: Sequence[str],
) -> None:
    """Add to the evidence of each result that is compared with the base's, `contenders[0]`.

    Its work has to be known before, and its plans compared.
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
        evidence = [
            *(each for each in result.evidence if each.kind == "plan"),
            *(_amounts(result, base_result, works) if same_engine(own, base) else ()),
            *_instructions(result, base_result),
        ]
        undecided = result.verdict in ("same", "unsure")
        result.evidence = evidence if undecided else _in_order(evidence, _settings(own, base))


def leading(evidence: Iterable[Evidence]) -> list[Evidence]:
    """Return the evidence that is the reason of a change, the first to be told first."""
    return [each for each in evidence if each.leads]


def _in_order(evidence: Sequence[Evidence], settings: Sequence[Evidence]) -> list[Evidence]:
    """Return evidence with that which leads first, marked.

    Of the amounts that can explain half of the change or more, those lead that explain most and
    whose ratios are nearest to that of the time; where they are about alike, in the order of kinds.
    Another plan comes before what it can have changed, and not before planning. It leads alone
    where no amount explains the change, and `settings` are evidence where nothing else leads.
    """
    able = [each for each in evidence if each.explains is not None and each.explains >= ENOUGH]
    most = max((each.explains or 0.0 for each in able), default=0.0)
    nearest = max((each.nearness for each in able), default=0.0)

    def is_less_able(each: Evidence) -> bool:
        return (each.explains or 0.0) < _AS_MUCH * most or each.nearness < _AS_NEAR * nearest

    leads = sorted(able, key=is_less_able)
    if not leads or leads[0].kind != "planning":
        leads = [each for each in evidence if each.kind == "plan"] + leads
    leads = leads or [*settings]
    for each in leads:
        each.leads = True
    return [*leads, *(each for each in evidence if not each.leads)]


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
            AMOUNTS[each.amount].kind,
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
        share = min(1.0, _share(change, whole))
        if (explanation := result.explanation) is not None:
            measured = _share(change, explanation.us - explanation.base_us)
            if measured < _SMALL:
                share = min(share, measured)
        evidence.explains = evidence.nearness = share
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
        _amount(result, each.kind, each.words, (each.other, each.value), least=_LEAST)
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
        _set_share(instructions, part.change / explanation.change)
    evidence = [instructions] if _differs(work, instructions) else []
    if SYSTEM_CALLS in work.differing:
        calls = (base_work.events[SYSTEM_CALLS], work.events[SYSTEM_CALLS])
        if abs(calls[1] - calls[0]) >= 1:
            evidence.append(_amount(result, "system calls", "system calls", calls, least=_LEAST))
    return evidence


def _differs(work: Work, instructions: Evidence) -> bool:
    """Return whether the instructions differ, or surely by the little that explains the change."""
    if work.verdict != "same" or work.low is None or work.high is None:
        return work.verdict in ("more", "less")
    return not work.low <= 1 <= work.high and (instructions.explains or 0.0) >= ENOUGH


def _settings(own: ContenderFacts, base: ContenderFacts) -> list[Evidence]:
    """Return the settings that differ between contenders of one DBMS.

    They are compared as the servers have them in force where both report that. Of two builds only
    settings that both know: versions have settings of their own.
    """
    if own.dbms != base.dbms:
        return []
    names = own.settings.keys() | base.settings.keys()
    if own.build != base.build:
        names -= {*own.skipped_settings, *base.skipped_settings}
    asked = own.settings_in_force.keys() & base.settings_in_force.keys()
    values = {
        name: [
            (each.settings_in_force if name in asked else each.settings).get(name, "not set")
            for each in (own, base)
        ]
        for name in sorted(names)
    }
    return [
        Evidence(kind="settings", words=f"{name} = {value} ({of_base} in the base)")
        for name, (value, of_base) in values.items()
        if value != of_base
    ]


def _amount(
    result: Result,
    kind: EvidenceKind,
    words: str,
    amounts: tuple[float, float],
    *,
    least: float,
) -> Evidence:
    """Return the evidence of the base's amount and the contender's.

    Where one of them is 0 both count as `least` or more: a few rows where there were none are no
    reason of a change by a factor of 100.
    """
    base, contender = amounts
    evidence = Evidence(
        kind=kind,
        words=words,
        base=base,
        contender=contender,
        ratio=contender / base if base else None,
    )
    if result.verdict != "same" and result.judged_rqps is not None and 0 < result.judged_rqps != 1:
        if min(amounts) <= 0:
            base, contender = (max(each, least) for each in amounts)
        _set_share(evidence, math.log(contender / base) / -math.log(result.judged_rqps))
    return evidence


def _set_share(evidence: Evidence, share: float) -> None:
    """Set how much of the change an amount can explain, from its share of it, and how near it is.

    A share above 1 explains too much, one below 0 is of the other direction.
    """
    evidence.explains = min(1.0, max(0.0, share))
    evidence.nearness = min(share, 1 / share) if share > 0 else 0.0
