"""Exact evidence of a change, main reasons first.

Plans, rows, pages, planning, instructions, system calls and settings of a server are independent of
the host's other work, unlike CPU time and waiting. The share of a change that an amount can explain
is ln(ratio of the amounts) / ln(ratio of the times per operation): if an operation takes 28 times
as long and reads 26 times the pages, the pages are the reason.

The floors for rows and pages are from tests of a build against itself (docs/method.md).
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from slowdust.analysis.model import (
    AmountDifference,
    Evidence,
    EvidenceKind,
    Result,
    Work,
)
from slowdust.analysis.preparation import (
    OTHER_BUILD,
    comparable_quantities,
    same_engine,
    work_differences,
)
from slowdust.store.count import SYSTEM_CALLS
from slowdust.store.manifest import ContenderFacts, Executed, Manifest, Plan
from slowdust.store.preparation import ServerCounters

PAGES = "pages"
"""Hits plus reads; the share of hits depends on the state of the cache."""
PAGES_AT_MOST = "pages_at_most"
"""Page requests of servers that count one for every few rows of a page: MySQL before 8.0."""
ENOUGH = 0.5
"""Share of the change that evidence has to explain to be a main reason."""
_SMALL = 0.25
"""Share of the measured change below which planning is limited to its measured share."""
_AS_MUCH = 0.8
"""Share of the best explanation above which the order of kinds decides between main reasons."""
_AS_NEAR = 0.5
"""Share of the best nearness, likewise: ten times the pages of an operation that takes 10% longer
is a worse reason than 10% more instructions."""
_LEAST = 1.0
"""Amount of server counters, instructions and system calls that is negligible."""
_SURELY_LONGER = 3.0
"""Smallest ratio of planning times, of a few operations, that is more than noise: a shared machine
may be twice as slow from one moment to the next, and equal builds differed by 1.9X."""
_US_PER_S = 1e6
_ORDER: Sequence[EvidenceKind] = ("rows", "pages", "planning")


@dataclass(frozen=True)
class Quantity:
    """An amount counted over a statement's executions."""

    words: str
    """Unit, to follow a number: 'rows read'."""
    kind: EvidenceKind
    exact: bool = True
    """Whether it is independent of other work on the machine and of the state of caches."""
    floor: float = 0.5
    """The largest difference per execution that is not reported."""
    share: float = 0.01
    """Relative difference up to which amounts are considered equal."""
    per_loop: float = 0.0
    """Largest rounding error per loop, for servers that report a mean per loop."""


AMOUNTS: Mapping[str, Quantity] = {
    # Some versions count the end of a scan as a row, or scan a table twice.
    "rows_read": Quantity("rows read", "rows", floor=4.0),
    "rows_returned": Quantity("rows returned", "rows"),
    # Versions of Postgres before 18 round the mean per loop.
    "rows_filtered": Quantity("rows filtered out", "rows", floor=1.0, per_loop=0.5),
    "rows_written": Quantity("rows written", "rows"),
    # MySQL 5.5 counts two searches more.
    "index_searches": Quantity("index searches", "rows", floor=3.0),
    "index_entries_read": Quantity("index entries read", "rows", floor=4.0),
    "loops": Quantity("scans of tables", "rows"),
    PAGES: Quantity("pages", "pages", floor=4.0, share=0.05),
    PAGES_AT_MOST: Quantity("page requests", "pages", floor=4.0, share=0.2),
    # InnoDB may begin a page of its undo log or reuse one: 7 writes more or less.
    "page_writes": Quantity("page writes", "pages", floor=8.0, share=0.1),
    "pages_hit": Quantity("pages found in the cache", "pages", exact=False),
    "pages_read": Quantity("pages not found in the cache", "pages", exact=False),
    "pages_dirtied": Quantity("pages dirtied", "pages", exact=False),
    "temp_pages_read": Quantity("temporary pages read", "pages", floor=1.0, share=0.02),
    "temp_pages_written": Quantity("temporary pages written", "pages", floor=1.0, share=0.02),
    "temp_tables_on_disk": Quantity("temporary tables on disk", "pages", floor=0.05),
    "sorts": Quantity("sorts", "rows", floor=0.05),
    "sorts_spilled": Quantity("sorts spilled to disk", "pages", floor=0.05),
    "hash_batches": Quantity("hash batches beyond memory", "pages", floor=0.05),
    "full_scan_steps": Quantity("full scan steps", "rows", floor=2.0),
    "auto_index_rows": Quantity("rows inserted into automatic indexes", "rows"),
    # One row more or less is a few steps.
    "vm_steps": Quantity("virtual machine steps", "rows", floor=50.0),
    "planning_pages": Quantity("pages read for planning", "planning", floor=8.0, share=0.1),
    "planning_s": Quantity("seconds of planning", "planning", exact=False, floor=1e-5),
    "execution_s": Quantity("seconds of execution", "planning", exact=False, floor=0.0),
}
"""Name in `Executed.amounts` -> its description, in reporting order."""


def amounts_per_operation(plans: Sequence[Plan], contender: str, test: str) -> dict[str, float]:
    """Return the amounts of a mean operation of a test on a contender, over all statements.

    Empty if nothing was executed.
    """
    return _sum(_executed(plans, contender, test).values())


def statement_work(
    plans: Sequence[Plan], base: str, contender: str, test: str
) -> list[AmountDifference]:
    """Return the exact amounts per operation of a test that differ between contender and base.

    The whole operation comes first, then each statement; within each, amounts are in the order of
    `AMOUNTS`. Executions of different operations are not compared: their values would differ, too.
    """
    own, others = _executed(plans, contender, test), _executed(plans, base, test)
    both = {
        statement: _Pair(own[statement], others[statement])
        for statement in others
        if statement in own and own[statement].operations == others[statement].operations
    }
    differences = list(_differences(None, list(both.values())))
    for statement, pair in both.items():
        differences += _differences(statement, [pair])
    return differences


def add_rows_and_pages(results: Sequence[Result], manifest: Manifest, base: str) -> None:
    """Set the amounts per operation of each result, and the differences from the base's.

    Each DBMS and engine counts in its own way, so only contenders of one engine are compared.
    """
    facts = {contender.name: contender for contender in manifest.contenders}
    for result in results:
        name, plans = result.contender, manifest.plans
        result.amounts = amounts_per_operation(plans, name, result.test)
        if name != base and same_engine(facts[name], facts[base]):
            result.amount_differences = statement_work(plans, base, name, result.test)


def _executed(plans: Sequence[Plan], contender: str, test: str) -> dict[str, Executed]:
    """Return statement -> counted executions."""
    return {
        plan.statement: plan.executed
        for plan in plans
        if plan.contender == contender
        and plan.test == test
        and plan.executed is not None
        and plan.executed.operations
    }


class _Pair:
    """The work of a statement per operation, on a contender and on the base."""

    def __init__(self, own: Executed, base: Executed) -> None:
        self.own, self.base = _sum([own]), _sum([base])
        for amounts, others in ((self.own, self.base), (self.base, self.own)):
            most = amounts.get(PAGES_AT_MOST)
            if most is not None and others.get(PAGES, 0.0) > most:
                amounts[PAGES] = most
        self.executions = own.executions * own.weight / own.operations

    def loops(self) -> float:
        return max(self.own.get("loops", 0.0), self.base.get("loops", 0.0))


def _sum(statements: Iterable[Executed]) -> dict[str, float]:
    """Return the amounts per operation summed over statements, with the total of pages."""
    amounts: dict[str, float] = defaultdict(float)
    for executed in statements:
        for name, total in executed.amounts.items():
            amounts[name] += total * executed.weight / executed.operations
    if {"pages_hit", "pages_read"} <= amounts.keys():
        amounts[PAGES] = amounts["pages_hit"] + amounts["pages_read"]
    return {name: amounts[name] for name in AMOUNTS if name in amounts}


def _differences(statement: str | None, pairs: Sequence[_Pair]) -> Iterable[AmountDifference]:
    """Yield the differing amounts, summed over the statements that have them on both sides."""
    for name, quantity in AMOUNTS.items():
        having = [pair for pair in pairs if name in pair.own and name in pair.base]
        value = sum(pair.own[name] for pair in having)
        base = sum(pair.base[name] for pair in having)
        allowed = max(
            quantity.floor * sum(pair.executions for pair in having),
            quantity.share * max(value, base),
            quantity.per_loop * sum(pair.loops() for pair in having),
        )
        if quantity.exact and abs(value - base) > allowed:
            yield AmountDifference(
                statement=statement,
                amount=name,
                base=base,
                contender=value,
                ratio=value / base if base else None,
            )


def add_evidence(
    results: Sequence[Result],
    manifest: Manifest,
    contenders: Sequence[str],
) -> None:
    """Set the evidence of each result that is compared with the base's, `contenders[0]`.

    Call it after work was added and plans were compared.
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
    """Return the main reasons of a change, in reporting order."""
    return [each for each in evidence if each.leads]


def _in_order(evidence: Sequence[Evidence], settings: Sequence[Evidence]) -> list[Evidence]:
    """Return evidence with the main reasons first, marked.

    Main reasons are the amounts that can explain at least half of the change. Those that explain
    most and whose ratio is nearest to the ratio of the times come first; if they are similar, the
    order of kinds decides. A different plan comes first, before its possible effects, unless
    planning does. It is the only main reason if no amount explains the change. `settings` are used
    if there is nothing else.
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
    """Return step -> contender -> server counters, one item for each start."""
    by_step: dict[str, dict[str, list[ServerCounters]]] = defaultdict(lambda: defaultdict(list))
    for work in works:
        by_step[work.step][work.contender].append(work)
    return by_step


def _amounts(
    result: Result, base: Result, works: Mapping[str, Sequence[ServerCounters]]
) -> list[Evidence]:
    """Return the amounts per operation that differ: by kind, then the nearest to the change.

    Amounts of executed statements replace server counters of the same kind, which include all
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
    """Return the planning time of statements, if it makes them slower or faster.

    This time of a few operations is noisy, so only a large difference counts. It explains its share
    of the change of planning plus execution. If it is less than a quarter of the measured change of
    the time per operation, it explains only that share: on a busy host clients wait longer than
    those few operations took, but not that much longer.
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
    """Return part / whole; 0 if their signs differ."""
    return part / whole if part * whole > 0 else 0.0


def _counters(
    result: Result, base: Result, works: Mapping[str, Sequence[ServerCounters]]
) -> list[Evidence]:
    if result.contender not in works or base.contender not in works:
        return []
    differences = work_differences(
        _whole(works[result.contender]),
        _whole(works[base.contender]),
        comparable_quantities(result),
        OTHER_BUILD,
    )
    return [
        _amount(result, each.kind, each.words, (each.other, each.value), least=_LEAST)
        for each in differences
    ]


def _whole(works: Sequence[ServerCounters]) -> ServerCounters:
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
    instructions.ratio = work.ratio.value
    explanation = result.explanation
    part = explanation and explanation.part("instructions")
    if explanation and part and explanation.change:
        # The parts of the time determine the share of the instructions.
        _set_share(instructions, part.change / explanation.change)
    evidence = [instructions] if _differs(work, instructions) else []
    if SYSTEM_CALLS in work.differing:
        calls = (base_work.events[SYSTEM_CALLS], work.events[SYSTEM_CALLS])
        if abs(calls[1] - calls[0]) >= 1:
            evidence.append(_amount(result, "system calls", "system calls", calls, least=_LEAST))
    return evidence


def _differs(work: Work, instructions: Evidence) -> bool:
    if work.verdict != "same" or work.ratio is None or work.ratio.interval is None:
        return work.verdict in ("more", "less")
    return work.bound is not None and (instructions.explains or 0.0) >= ENOUGH


def _settings(own: ContenderFacts, base: ContenderFacts) -> list[Evidence]:
    """Return the settings that differ between contenders of one DBMS.

    Values in force are compared if both servers report them. Between two builds only settings that
    both know are compared, since each version has settings of its own.
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
        Evidence(kind="settings", words=f"{name} = {value} (base: {of_base})")
        for name, (value, of_base) in values.items()
        if _parse_setting(value) != _parse_setting(of_base)
    ]


def _parse_setting(value: str) -> float | str:
    """Return a setting as a number if it is one: versions write `90` or `90.000000`."""
    try:
        return float(value)
    except ValueError:
        return value


def _amount(
    result: Result,
    kind: EvidenceKind,
    words: str,
    amounts: tuple[float, float],
    *,
    least: float,
) -> Evidence:
    """Return the evidence of the base's amount and the contender's.

    If either is 0, both count as at least `least`: a few rows instead of 0 cannot explain a change
    by a factor of 100.
    """
    base, contender = amounts
    evidence = Evidence(
        kind=kind,
        words=words,
        base=base,
        contender=contender,
        ratio=contender / base if base else None,
    )
    rqps = 1.0 if result.ratio is None else result.ratio.value
    if result.verdict != "same" and 0 < rqps != 1:
        if min(amounts) <= 0:
            base, contender = (max(each, least) for each in amounts)
        _set_share(evidence, math.log(contender / base) / -math.log(rqps))
    return evidence


def _set_share(evidence: Evidence, share: float) -> None:
    """Set the share of the change that an amount can explain, and its nearness.

    A share above 1 explains too much; a share below 0 is in the other direction.
    """
    evidence.explains = min(1.0, max(0.0, share))
    evidence.nearness = min(share, 1 / share) if share > 0 else 0.0
