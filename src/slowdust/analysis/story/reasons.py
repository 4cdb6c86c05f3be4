"""Reasons of a change in words: the parts of the time per operation that make it.

Exact evidence that can explain most of a change is the whole reason: the plan, rows, pages,
planning, instructions. Otherwise instructions, settings and named waits come first. The largest
parts of the time follow: waiting, with context switches or storage as its indication (`explain`),
and CPU time. CPU time follows the speed of a shared machine, as throughput does, so it is stated
without being called a cause. The shares of the change are in the waterfall alone.

The causes of a faster or slower test that hardware per operation indicates:

    cpu/o moved, cs/o did not        CPU overhead
    cs/o moved                       contention; waiting, where there is a single client
    r/o, rKB/o or wKB/o moved        IO

More of a metric explains slower, less explains faster. A metric that moved the other way explains
nothing, nor does a metric whose interval includes 1. A metric that moved less than the throughput
explains a part of it at most. A metric explains no more time than it can have taken: a scan of
20 ms with twenty context switches instead of ten has no contention. A metric that moved less than
CPU time is not the first cause if CPU may be one: 'cpu/o +88%, wKB/o +47%' is CPU.

CPU time per operation would explain most false verdicts on a shared machine, so it is not called a
cause there. Archived runs have no intervals, and each had the machine to itself: only the ratios
decide, and CPU overhead counts as a cause.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from slowdust.analysis.evidence import leading
from slowdust.analysis.explanation.parts import GOOD_PART
from slowdust.analysis.functions.model import UNNAMED, WHOLE_OBJECT, FunctionChange, FunctionChanges
from slowdust.analysis.metrics import HOST, METRICS, Cause, Indication, Metric, PerOperation
from slowdust.analysis.model import (
    ContenderWaits,
    Evidence,
    EvidenceKind,
    Explanation,
    Part,
    PartName,
    Result,
)
from slowdust.analysis.results.notes import BUSY_PROGRAMS
from slowdust.benchmarks import measured_in_steps
from slowdust.benchmarks.model import Group
from slowdust.ratios import change, instructions, ratio
from slowdust.stats.blocks import Step
from slowdust.store.count import INSTRUCTIONS
from slowdust.units import Microsecond
from slowdust.wording import amount, counted, listing, operation, shortened

UNEXPLAINED = "no measured cause"
MOST_FUNCTIONS = 3
"""Functions that a sentence names."""
LEAST_SHARE = 0.1
"""The smallest share of the change of instructions for which a function is named."""
FEWEST_TOGETHER = 2
"""Fewest changed tests that get a sentence on the parts that their changes have in common."""

_UNMEASURED = {
    True: " for something not measured, such as a flush, the network or a CPU in use by others",
    False: " for something not measured, such as the network or a CPU in use by others",
}
"""Whether a test writes -> what it may wait for."""
_WITH_WAITING: frozenset[PartName] = frozenset(("waiting", "server"))

CPU_TIMES: Mapping[PartName, str] = {
    "user CPU": "server user CPU",
    "system CPU": "server system CPU",
    "server CPU": "server CPU",
    "other server CPU": "server CPU that the session's instructions do not explain",
    "client CPU": "client CPU",
    "server": "time outside the client",
}
"""Parts that are times of a shared machine, in a sentence."""
TITLES: Mapping[PartName, str] = {
    "instructions": "instructions",
    "time per instruction": "time per instruction",
    "user CPU": "user CPU",
    "system CPU": "system CPU",
    "server CPU": "server CPU",
    "other server CPU": "other server CPU",
    "client CPU": "client CPU",
    "waiting": "waiting",
    "server": "server CPU and waiting",
}
"""Titles of the parts in tables, in their order."""
_STALLS = "stalls"
_NO_PART = "no significant part"
_KINDS: Mapping[EvidenceKind, str] = {
    "plan": "another plan",
    "rows": "rows",
    "pages": "pages",
    "planning": "planning",
    "instructions": TITLES["instructions"],
    "system calls": "system calls",
    "settings": "settings",
}
"""Kinds of evidence in a sentence about several tests."""
NO_CAUSE = "which proves no cause on a shared machine"
"""The end of a reason that is CPU time alone."""
TOGETHER = " (server CPU and waiting together)"
SAME_PLAN = "; the plan is unchanged"
_BY_PLAN: frozenset[EvidenceKind] = frozenset(("rows", "pages"))
"""Kinds that usually come from another plan."""
MOST_EVIDENCE = 2
"""Amounts that a sentence names."""


def add_reasons(
    results: Sequence[Result],
    base: str,
    functions: Sequence[FunctionChanges],
    waits: Sequence[ContenderWaits] = (),
    same_plans: Mapping[str, Sequence[str]] = MappingProxyType({}),
) -> None:
    """Set the words of the explanation of each result that is faster or slower.

    `functions` with exact costs name the functions that take the instructions, `waits` the events
    that it waits for. `same_plans` is test -> the contenders with the plans of the base.
    """
    observed = {(Step.of(each), each.contender): each.words_of_change for each in waits}
    profiled = {
        (Step.of(each), each.contender): each for each in functions if each.unit == INSTRUCTIONS
    }
    steps = {Step.of(result): result for result in results if result.contender == base}
    for result in results:
        explanation, base_result = result.explanation, steps.get(Step.of(result))
        if explanation is None or base_result is None or result.verdict not in ("faster", "slower"):
            continue
        own = None
        if result.work is not None:
            step = Step.of(result)._replace(clients=result.work.clients)
            own = profiled.get((step, result.contender))
        waiting = observed.get((Step.of(result), result.contender), "")
        explanation.words = _words(result, explanation, base_result, own, waiting)
        reads = any(each.kind in _BY_PLAN for each in leading(result.evidence))
        if reads and result.contender in same_plans.get(result.test, ()):
            explanation.words += SAME_PLAN


def common_reasons(labelled: Sequence[tuple[str, Result]]) -> list[str]:
    """Return a sentence about the largest parts of the changed results, given with their labels.

    Empty if no result has a significant part.
    """
    kinds = dict.fromkeys([*_KINDS.values(), *TITLES.values()])
    by_kind: dict[str, list[str]] = {kind: [] for kind in (*kinds, _STALLS, _NO_PART)}
    for label, result in labelled:
        if result.explanation is not None and result.explanation.words:
            by_kind[_kind_of_change(result, result.explanation)].append(label)
    parts = [_in_tests(kind, by_kind[kind]) for kind in kinds if by_kind[kind]]
    total = sum(map(len, by_kind.values()))
    if total < FEWEST_TOGETHER or not parts:
        return []
    others = [
        f"; {_in_tests(kind, by_kind[kind])}" for kind in (_STALLS, _NO_PART) if by_kind[kind]
    ]
    return [
        f"Of {total} tests that changed, the largest part of the change is "
        f"{listing(parts)}{''.join(others)}."
    ]


def _kind_of_change(result: Result, explanation: Explanation) -> str:
    leads = [each.kind for each in leading(result.evidence) if each.kind != "settings"]
    if leads:
        return _KINDS[leads[0]]
    if result.has_stalls:
        return _STALLS
    return TITLES[explanation.main[0]] if explanation.main else _NO_PART


def _in_tests(kind: str, labels: Sequence[str]) -> str:
    return f"{kind} in {len(labels)} ({shortened(labels)})"


def _words(
    result: Result,
    explanation: Explanation,
    base: Result,
    functions: FunctionChanges | None,
    waiting: str,
) -> str:
    if exact := exact_reason(result, functions):
        # The share of the change that another plan explains is unknown without an amount.
        alone = all(each.kind == "plan" for each in leading(result.evidence))
        return f"{exact}; {waiting}" if alone and waiting else exact
    if result.has_stalls:
        return "stalls account for the difference"
    settings = settings_in_words(result.evidence)
    times = _times(result, explanation, base, functions, waiting)
    return "; ".join(words for words in (settings, times) if words) or UNEXPLAINED


def _times(
    result: Result,
    explanation: Explanation,
    base: Result,
    functions: FunctionChanges | None,
    waiting: str,
) -> str:
    """Return the named waits and the large parts of the time; instructions are always first."""
    main = _parts_told(result, explanation)
    if not main:
        return waiting
    if not explanation.main:
        words = _clause(main[0], result, functions)
        if waiting:
            return f"{words}; {waiting}"
        return f"{words}, and no other part is both large and significant"
    waits = _WITH_WAITING & {*explanation.main}
    evidence = [each for each in explain(result, base) if waits and each.cause is not Cause.CPU]
    named = waiting if waits else ""
    work = [_clause(part, result, functions) for part in main if part.name == "instructions"]
    clauses = [
        f"{_clause(part, result, functions)}{_aim(part, result, evidence, waiting)}"
        for part in main
        if part.name != "instructions"
    ]
    if evidence and not named:
        clauses.append(_points_to(evidence))
    elif not (
        work or named or "time per instruction" in explanation.main or _is_exact(result.evidence)
    ):
        clauses.append(NO_CAUSE)
    elif "instructions" in explanation.main and _does_not_wait(explanation):
        clauses.append("and waiting is only a small part of it")
    if named:
        return "; ".join([*work, named, ", ".join(clauses)]) + _against(explanation)
    return ", ".join([*work, *clauses]) + _against(explanation)


def exact_reason(result: Result, functions: FunctionChanges | None = None) -> str:
    """Return the evidence that can explain most of a change, with both numbers.

    Another plan is a reason without numbers; settings are not. Empty without a reason.
    """
    leads = leading(result.evidence)
    plans = [each.words for each in leads if each.kind == "plan"][:MOST_EVIDENCE]
    amounts = [each for each in leads if each.explains is not None][:MOST_EVIDENCE]
    told = ", ".join(_in_words(each, result, functions) for each in amounts)
    if plans and not told and any(each.explains is not None for each in result.evidence):
        few = "although the amounts that differ explain less than half of the change"
        return f"{', '.join(plans)}, {few}"
    return ": ".join(words for words in (", ".join(plans), told) if words)


def settings_in_words(evidence: Sequence[Evidence]) -> str:
    """Return 'settings differ: work_mem = 64kB (4MB in the base)' without other exact evidence."""
    settings = [each.words for each in leading(evidence) if each.kind == "settings"]
    if not settings:
        return ""
    more = len(settings) - MOST_EVIDENCE
    others = f" and {counted(more, 'other')}" if more > 0 else ""
    return f"settings differ: {', '.join(settings[:MOST_EVIDENCE])}{others}"


def amounts_of(evidence: Evidence) -> list[str]:
    """Return the amounts of the base and the contender, their ratio, and the share it can explain.

    An unknown one is empty.
    """
    numbers = (evidence.base, evidence.contender)
    explains = evidence.explains
    return [
        *("" if number is None else amount(number) for number in numbers),
        "" if evidence.ratio is None else f"{ratio(evidence.ratio)}X",
        "" if explains is None else f"{explains:.0%}",
    ]


def _in_words(evidence: Evidence, result: Result, functions: FunctionChanges | None) -> str:
    """Return '99,634 rows read per operation, 2.1 in the base'."""
    unit = operation(result.unit)
    if evidence.kind == "instructions":
        assert evidence.ratio is not None, "instructions are counted for both"
        return f"{instructions(evidence.ratio)} per {unit}{_in_functions(functions)}"
    assert evidence.contender is not None and evidence.base is not None, "it has a share"
    own, base = amount(evidence.contender), amount(evidence.base)
    planning = _share_of_planning(evidence, result)
    return f"{planning}{own} {evidence.words} per {unit}, {base} in the base"


def _share_of_planning(evidence: Evidence, result: Result) -> str:
    """Return 'planning takes 96% of the time: ' of a slower result that is planned for long."""
    planning = result.amounts.get("planning_s", 0.0)
    whole = planning + result.amounts.get("execution_s", 0.0)
    if evidence.kind != "planning" or result.verdict != "slower" or planning < whole / 2:
        return ""
    return f"planning takes {planning / whole:.0%} of the time: "


def _is_exact(evidence: Sequence[Evidence]) -> bool:
    return any(each.leads or (each.explains or 0.0) >= GOOD_PART for each in evidence)


def _parts_told(result: Result, explanation: Explanation) -> list[Part]:
    """Return the main parts of a change: counted instructions first, then the largest.

    A significant change of instructions in the same direction is included even if it is a small
    part of the whole, since no other program affects instructions.
    """
    main = [part for name in explanation.main if (part := explanation.part(name)) is not None]
    work = explanation.part("instructions")
    if work is None or result.work is None:
        return main
    verdict = "more" if explanation.change > 0 else "less"
    if result.work.verdict != verdict or work.change * explanation.change <= 0:
        return main
    return [work, *(part for part in main if part.name != "instructions")]


def _clause(part: Part, result: Result, functions: FunctionChanges | None) -> str:
    unit = operation(result.unit)
    if part.name == "instructions":
        assert result.work is not None and result.work.ratio is not None, "they were counted"
        return f"{instructions(result.work.ratio.value)} per {unit}{_in_functions(functions)}"
    if part.name == "time per instruction":
        time = "more" if part.change > 0 else "less"
        return (
            f"each instruction took {time} time (clock rate, caches or other load on the machine)"
        )
    if part.name == "waiting":
        return f"it waits {_more_us(part)} per {unit}"
    if not part.base_us or part.us is None:
        return f"{CPU_TIMES[part.name]} per {unit} {'grew' if part.change > 0 else 'shrank'}"
    together = TOGETHER if part.name == "server" else ""
    return f"{CPU_TIMES[part.name]} per {unit}{together} is {change(part.us / part.base_us)}"


def _aim(part: Part, result: Result, evidence: Sequence[Movement], waiting: str) -> str:
    """Return possible reasons of a wait that no measurement of the server explains.

    Other programs that were busy at the same time are named: the test may have waited for a CPU.
    """
    if part.name != "waiting" or evidence or waiting:
        return ""
    busy = [note for note in result.notes if note.startswith(BUSY_PROGRAMS)]
    if busy and part.change > 0:
        return f" while {busy[0]}"
    return _UNMEASURED[result.group == Group.WRITE]


def _in_functions(changes: FunctionChanges | None) -> str:
    """Return ', 41% of the difference in planner and 12% in hash_search'.

    Where much of the changes cancels, ', +6,000 in parse and -4,000 in plan'.
    """
    if changes is None:
        return ""
    named = [
        each
        for each in changes.functions
        if each.share is not None
        and (abs(each.share) if changes.cancels else each.share) >= LEAST_SHARE
        and not _may_have_moved(each, changes)
    ][:MOST_FUNCTIONS]
    if not named:
        return ""
    if changes.cancels:
        return f", {listing([f'{each.change:+,.0f} in {_name_of(each)}' for each in named])}"
    first, *others = (f"{each.share:.0%}" for each in named)
    shares = [f"{first} of the difference", *others]
    return ", " + listing(
        [f"{share} in {_name_of(each)}" for share, each in zip(shares, named, strict=True)]
    )


def _name_of(change: FunctionChange) -> str:
    if change.name == WHOLE_OBJECT:
        return change.object
    name = f"{change.object} without symbols" if change.name == UNNAMED else change.name
    return f"{name} ({change.remark})" if change.remark else name


def _may_have_moved(change: FunctionChange, changes: FunctionChanges) -> bool:
    """Return whether a function's change may be code that moved to another function.

    Its code may have been renamed, split or inlined in a way that was not matched.
    Functions without counterpart near it in the call graph cost half as much; where profiles have
    no calls, all functions that came or went do.
    """
    elsewhere = change.elsewhere
    if elsewhere is None:
        elsewhere = changes.came if change.change < 0 else changes.went
    return elsewhere > abs(change.change) / 2


def _more_us(part: Part) -> str:
    """Return '12 µs more', or '12 µs less'."""
    assert part.us is not None and part.base_us is not None, "waiting is a time"
    size = part.us - part.base_us
    return f"{_significant(abs(size))} µs {'more' if size > 0 else 'less'}"


def _significant(value: float) -> str:
    digits = max(0, 1 - math.floor(math.log10(value))) if value > 0 else 0
    return f"{value:,.{digits}f}"


def _against(explanation: Explanation) -> str:
    """Return '; waiting moved the other way' of large parts on the other side of the change."""
    against = [
        TITLES[part.name]
        for part in explanation.parts
        if part.is_certain and part.change / explanation.change <= -GOOD_PART
    ]
    return f"; {listing(against)} moved the other way" if against else ""


def _points_to(evidence: Sequence[Movement]) -> str:
    """Return 'with context switches per operation up 30%, which points to more contention'."""
    first = evidence[0]
    moved = listing([f"{each.metric} {change(each.ratio)}" for each in evidence])
    amount = "more" if first.ratio > 1 else "less"
    if first.cause is Cause.WAITING:  # the part itself says so
        return f"with {moved}"
    return f"with {moved}, which points to {amount} {first.cause.value}"


def _does_not_wait(explanation: Explanation) -> bool:
    """Return whether waiting was measured, may be unchanged, and is at most a small part of it."""
    waiting = explanation.part("waiting")
    if waiting is None or waiting.low is None or waiting.high is None:
        return False
    most = max(abs(waiting.low), abs(waiting.high))
    return waiting.low <= 0 <= waiting.high and most < GOOD_PART * abs(explanation.change)


def reason_in_words(result: Result, base: Result) -> str:
    """Return why a result without parts of its time changed; exact evidence first."""
    if exact := exact_reason(result):
        return exact
    settings = settings_in_words(result.evidence)
    moved = _moved(result, base)
    return "; ".join(words for words in (settings, moved) if words) or UNEXPLAINED


def _moved(result: Result, base: Result) -> str:
    """Return the work and the hardware per operation that moved with a result's throughput."""
    movements = explain(result, base)
    agreeing = "more" if result.verdict == "slower" else "less"
    if result.work is None or result.work.verdict != agreeing:
        return _evidence(movements, result) if movements else ""
    ratio_of_work = 1.0 if result.work.ratio is None else result.work.ratio.value
    work = f"{instructions(ratio_of_work)} per {operation(result.unit)}"
    if movements and movements[0].proves_cause:
        return f"{work}, and {_evidence(movements, result)}"
    along = listing([f"{each.metric} {change(each.ratio)}" for each in movements])
    return f"{work}{f' ({along})' if along else ''}"


def _evidence(movements: Sequence[Movement], result: Result) -> str:
    """Return 'context switches per insert are up 30%, which points to more contention'."""
    first, *others = movements
    verb = "are" if first.metric.startswith(("context", "KB")) else "is"
    moved = f"{first.metric} {verb} {change(first.ratio)}"
    if not first.proves_cause:
        no_cause = f", {NO_CAUSE}"
        return f"{moved} with it{'' if leading(result.evidence) else no_cause}"
    cause = f"{'more' if first.ratio > 1 else 'less'} {first.cause.value}"
    if first.partial:
        return f"{moved}: {cause} may be a part of it, the rest is not explained"
    along = listing([f"{other.metric} {change(other.ratio)}" for other in others])
    return f"{moved}{f' ({along})' if along else ''}, which points to {cause}"


FLAT = 0.05
"""Relative change below which a metric is not mentioned."""
SHARE_OF_CHANGE = 0.25
"""Share of the change of time per operation that a time must account for to be mentioned."""
WHOLE = 0.5
"""The smallest share of the change of time per operation for which a cause is not partial.

Events and KB, at the highest cost assumed for them, must be able to account for the same share."""
_US_PER_S = 1e6


@dataclass(frozen=True)
class Movement:
    """A metric that moved with the throughput."""

    cause: Cause
    metric: str
    """The metric in words: 'server CPU per operation'."""
    ratio: float
    """Contender / base."""
    partial: bool
    """Whether it moved clearly less than the throughput did."""
    proves_cause: bool
    """Whether it may be called the cause; otherwise it is stated as a fact."""


_RARITY = (Cause.IO, Cause.CONTENTION, Cause.CPU)
"""The rarest cause first: CPU nearly always moves along with contention and IO."""


def explain(result: Result, base: Result) -> list[Movement]:
    """Return the metrics that moved with a change, the likely cause first."""
    if result.typical is None or result.per_op_relative is None:
        return []
    slowdown = 1 / result.typical.value
    movements = []
    for metric, indication in _candidates(result.per_op):
        ratio = result.per_op_relative.get(metric.key)
        if ratio is None or not _could_account_for(metric, indication, result, base):
            continue
        if _has_intervals(result) and not _is_certain(metric, ratio, result):
            continue
        agrees = (ratio > 1) == (slowdown > 1)
        enough = WHOLE * abs(slowdown - 1)
        if agrees and abs(ratio - 1) >= min(FLAT, enough):
            partial = abs(ratio - 1) < enough
            per = f"{indication.words} per {operation(result.unit)}"
            proves = not (indication.moves_with_speed and _has_intervals(result))
            alone = result.clients == 1 and indication.cause is Cause.CONTENTION
            cause = Cause.WAITING if alone else indication.cause
            movements.append(Movement(cause, per, ratio, partial, proves))
    # Causes first, then metrics that moved as much as the throughput and as CPU, then the rarest.
    cpu = max((_size(item) for item in movements if item.cause is Cause.CPU), default=0.0)
    return sorted(
        movements, key=lambda item: (not item.proves_cause, item.partial, _size(item) < cpu)
    )


def _size(movement: Movement) -> float:
    return abs(math.log(movement.ratio)) if movement.ratio > 0 else math.inf


def _has_intervals(result: Result) -> bool:
    """Return whether slices were compared; single runs have no interval and no verdict."""
    return result.verdict is not None


def _is_certain(metric: Metric, ratio: float, result: Result) -> bool:
    """Return whether the metric's own interval lies on the side of 1 that `ratio` is on."""
    compared = result.compared.get(metric.key)
    bound = None if compared is None else compared.bound
    return bound is not None and (bound > 1) == (ratio > 1)


def _candidates(per_op: PerOperation) -> list[tuple[Metric, Indication]]:
    """Return the metrics that indicate a cause, the rarest first.

    The host's metrics count only if the server was not measured.
    """
    known = [(metric, metric.indicates) for metric in METRICS if metric.indicates is not None]
    candidates = [(metric, cause) for metric, cause in known if metric.probe != HOST]
    if not any(metric.key in per_op for metric, _ in candidates):
        candidates = [(metric, cause) for metric, cause in known if metric.probe == HOST]
    return sorted(candidates, key=lambda candidate: _RARITY.index(candidate[1].cause))


def _could_account_for(
    metric: Metric, indication: Indication, result: Result, base: Result
) -> bool:
    """Return whether the metric's change, at its highest cost, is a good part of the time's."""
    if metric.key == "write_kb" and result.writers is not None:
        return False  # the concurrent writers write it, at the same rate for both
    value, base_value = result.per_op.get(metric.key), base.per_op.get(metric.key)
    time = _time_us(base)
    if value is None or base_value is None or result.typical is None or time is None:
        return False
    change = time * abs(1 / result.typical.value - 1)
    share = SHARE_OF_CHANGE if indication.moves_with_speed else WHOLE
    return abs(value - base_value) * indication.highest_cost >= share * change


def _time_us(base: Result) -> Microsecond | None:
    """Return the time that an operation, as the rate counts them, takes a client.

    A statement of a long step writes many rows, and printed response times may be of events with
    many queries, so the rate replaces the response time there.
    """
    if measured_in_steps(base.benchmark) or base.errors is None:
        return base.clients * _US_PER_S / base.qps if base.qps > 0 else None
    if base.latency_us is None:
        return None
    return base.latency_us.p50 or base.latency_us.mean
