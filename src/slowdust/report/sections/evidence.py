"""Evidence of changes: parts of the time, exact amounts, waits, functions and plans."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from slowdust.analysis.functions.model import FunctionChanges
from slowdust.analysis.model import (
    ContenderWaits,
    Difference,
    Explanation,
    Part,
    PlanDifference,
    Report,
    Result,
)
from slowdust.analysis.story.reasons import TITLES, amounts_of
from slowdust.analysis.waits import FEWEST_SYNCS
from slowdust.ratios import Ratio, interval, ratio
from slowdust.report.charts.waterfall import waterfall
from slowdust.report.document import (
    ABSENT,
    MARK_OF_PLAN,
    STEP_OF_TEST,
    Block,
    Cell,
    Cells,
    Chart,
    Code,
    Heads,
    Literal,
    Medium,
    Section,
    SideBySide,
    named,
    table,
    text,
)
from slowdust.report.markdown.table import or_absent
from slowdust.store.profile import ProfileSource
from slowdust.wording import amount, clients, counted, operation, share, signed_amount

COSTS: Mapping[ProfileSource, str] = {
    "callgrind": "instructions counted by callgrind",
    "perf": "CPU time sampled by perf",
}
"""Source of a profile -> the costs in it."""
_MOST_CALLS = 3
MARK_EXPLAINED = f"Lines with {MARK_OF_PLAN.strip()} differ."


def of_changes(report: Report, results: Sequence[Result]) -> Section | None:
    """Return the parts of each explained change, with charts for a page."""
    del report
    changed = [
        (result, explanation)
        for result in results
        if (explanation := result.explanation) is not None and explanation.words
    ]
    if not changed:
        return None
    names = [name for name in TITLES if any(each.part(name) for _, each in changed)]
    rows: list[Cells] = [
        [
            *(result.test, str(result.clients), named(result.contender)),
            factor_in_words(explanation, "x"),
            *(
                ABSENT if (part := explanation.part(name)) is None else factor_in_words(part, "x")
                for name in names
            ),
        ]
        for result, explanation in changed
    ]
    about = (
        "Time per operation relative to the base, with its 95% interval. The product of the parts\n"
        "is the whole."
    )
    charts = [
        Chart(
            partial(waterfall, explanation, operation(result.unit)),
            caption=f"{result.contender}: {explanation.words}.",
        )
        for result, explanation in changed
    ]
    heads: Heads = (*STEP_OF_TEST, "time", *(TITLES[name] for name in names))
    shown = table(heads, rows, left=1, name="Parts of the change")
    return Section("Parts of the change", [text(about, role="lead"), shown, *charts])


def exact_evidence(result: Result) -> list[Section]:
    """Return the exact evidence of a result for a page."""
    if not result.evidence:
        return []
    rows: list[Cells] = [
        [
            each.kind,
            each.words,
            *([""] * 4 if each.contender is None else amounts_of(each)),
        ]
        for each in result.evidence
    ]
    about = (
        f"{result.contender}, per {operation(result.unit)}. Other programs on the host do not "
        "affect "
        'these amounts, except times of planning. "Explains" is the share of the change of time '
        "that an amount may explain."
    )
    heads: Heads = ("kind", "", "base", "contender", "ratio", "explains")
    name = f"Exact evidence of {result.contender}"
    shown = [text(about, role="lead"), table(heads, rows, left=2, name=name)]
    return [Section("Exact evidence", shown, media=Medium.HTML)]


def factor_in_words(change: Part | Explanation, sign: str) -> str:
    """Return '1.25X [1.22, 1.28]', where `sign` is 'X'; changes are logarithms of ratios."""
    low, high = (None if end is None else math.exp(end) for end in (change.low, change.high))
    factor = Ratio(math.exp(change.change), low, high)
    return f"{ratio(factor.value)}{sign}{interval(factor)}"


def _is_of(each: ContenderWaits | FunctionChanges, results: Sequence[Result]) -> bool:
    step = each.benchmark, each.test, each.clients
    return any(step == (result.benchmark, result.test, result.clients) for result in results)


def function_changes(report: Report, results: Sequence[Result]) -> Section | None:
    """Return the functions that cost more or less on each contender."""
    parts = [
        _changes(each, report.base) for each in report.function_changes if _is_of(each, results)
    ]
    about = (
        "Costs per operation: own without callees, inclusive (incl.) with callees. Own\n"
        "changes add up to the whole change."
    )
    return Section("Functions", [text(about, role="lead"), *parts]) if parts else None


def _changes(changes: FunctionChanges, base: str) -> Section:
    rows: list[Cells] = [
        [
            Cell(function.title, is_code=True),
            function.object,
            function.fate,
            signed_amount(function.change),
            or_absent(function.share, share),
            or_absent(function.base_own, amount),
            or_absent(function.own, amount),
            or_absent(function.base_inclusive, amount),
            or_absent(function.inclusive, amount),
        ]
        for function in changes.functions
    ]
    if changes.others:
        part = or_absent(changes.others_share, share)
        name = counted(changes.others, "other")
        rows.append([name, "", "", signed_amount(changes.others_change), part, *[ABSENT] * 4])
    sentences = [
        f"{amount(changes.total)} {changes.unit} compared with {amount(changes.base_total)} of "
        f"{base}: {signed_amount(changes.change)}.",
        *(
            f"{name} has no symbols in {', '.join(objects)}, compared as a whole."
            for name, objects in changes.unnamed.items()
        ),
        *([basis] if (basis := basis_of(changes)) else []),
    ]
    heads: Heads = ("function", "object", "", "change", "of the whole")
    costs = ("base own", "own", "base incl.", "incl.")
    shown = table([*heads, *costs], rows, left=3, name=f"Functions of {changes.contender}")
    title = f"{changes.test}, {clients(changes.clients)}: {changes.contender}, "
    return Section(title + COSTS[changes.source], [text(*sentences, role="lead"), shown])


def cost_per_operation(source: ProfileSource, unit: str) -> str:
    """Write the costs of a profile with their unit: 'instructions per operation, ...'."""
    if source == "callgrind":  # whose unit names what it counts
        return f"{unit} per operation, counted by callgrind"
    return f"{COSTS[source]}, {unit} per operation"


def basis_of(changes: FunctionChanges) -> str:
    """Write the number of samples, or of functions that were matched by their calls.

    Empty for profiles without samples and calls.
    """
    if changes.matched is not None:
        return " ".join(_matches(changes, changes.matched))
    if changes.samples is None or changes.base_samples is None:
        return ""
    return (
        f"{counted(changes.samples, 'sample')}, and {changes.base_samples:,} of the base: "
        "functions are listed if their change is larger than the sampling error."
    )


def _matches(changes: FunctionChanges, matched: int) -> Iterator[str]:
    if matched:
        yield (
            f"{counted(matched, 'function')} that moved, or were renamed, inlined or split, are "
            "matched with their counterparts."
        )
    if changes.came or changes.went:
        yield (
            f"Functions without a counterpart: {amount(changes.came)} in new ones, "
            f"{amount(changes.went)} in removed ones."
        )


def own_costs(changes: FunctionChanges, most: int) -> list[list[str]]:
    """Return rows of functions: name, fate, own costs, their change, and its share.

    At most `most` functions have a row; the last row sums up all others.
    """
    rows = [
        [
            each.title,
            each.fate,
            or_absent(each.base_own, amount),
            or_absent(each.own, amount),
            signed_amount(each.change),
            or_absent(each.share, share),
        ]
        for each in changes.functions[:most]
    ]
    left_out = changes.functions[most:]
    if others := changes.others + len(left_out):
        change = changes.others_change + sum(each.change for each in left_out)
        part = or_absent(change / changes.change if changes.change else None, share)
        rows.append([counted(others, "other"), "", "", "", signed_amount(change), part])
    return rows


def waits(report: Report, results: Sequence[Result]) -> Section | None:
    """Return the waits of the sessions of each contender."""
    parts = [_of_contender(each) for each in report.waits if _is_of(each, results)]
    about = (
        "Per operation, of all sessions, in separate windows without timing: observation costs\n"
        "time, so read shares and differences. A wait may contain another one."
    )
    return Section("Waits", [text(about, role="lead"), *parts]) if parts else None


def _of_contender(waits: ContenderWaits) -> Section:
    rows: list[Cells] = [
        [
            Cell(cost.event, is_code=True),
            cost.kind,
            ABSENT if cost.beside is None else amount(cost.beside.base),
            amount(cost.us),
            share(cost.us / waits.time_us),
            Cell()
            if cost.beside is None
            else Cell(change_of_wait(cost.beside), is_pale=not cost.beside.is_certain),
            or_absent(cost.times, amount),
        ]
        for cost in waits.waits
    ]
    if waits.others:
        part = share(waits.others_us / waits.time_us)
        name = counted(waits.others, "other")
        rows.append([name, "", ABSENT, amount(waits.others_us), part, ABSENT, ABSENT])
    sentences = [sentence for sentence in (waits.words, *facts_of_waits(waits)) if sentence]
    heads: Heads = ("waits for", "kind", "base µs", "µs", "of the time", "change, 99%", "times")
    return Section(
        f"{waits.test}, {clients(waits.clients)}: {waits.contender}",
        [
            text(*sentences),
            *([table(heads, rows, left=2, name=f"Waits of {waits.contender}")] if rows else []),
        ],
    )


def facts_of_waits(waits: ContenderWaits) -> list[str]:
    """Return sentences about calls of fsync, and about sleeps of the server's threads."""
    sentences = []
    if (syncs := waits.syncs) is not None:
        if syncs.us is None or syncs.per_operation < FEWEST_SYNCS:
            sentences.append(f"Fewer than {FEWEST_SYNCS:g} calls of fsync per operation.")
        else:
            sentences.append(
                f"Calls of {' and '.join(syncs.calls)} per operation: "
                f"{amount(syncs.per_operation)}{_of_base(syncs.per_operation_beside)}, "
                f"{amount(syncs.us)} µs each{_of_base(syncs.us_beside)}."
            )
    if waits.sessions is not None and waits.sessions.asleep_us:
        asleep = [
            f"{call} {share(us / waits.time_us)}"
            for call, us in list(waits.sessions.asleep_us.items())[:_MOST_CALLS]
        ]
        sentences.append(f"Asleep in system calls: {', '.join(asleep)}.")
    return sentences


def change_of_wait(beside: Difference) -> str:
    """Return a change with its interval: '+120 [90, 150]'."""
    return f"{signed_amount(beside.change)} [{amount(beside.low)}, {amount(beside.high)}]"


def _of_base(beside: Difference | None) -> str:
    return "" if beside is None else f" (base {amount(beside.base)})"


def plans(report: Report, results: Sequence[Result]) -> Section | None:
    """Return the statements with plans that differ."""
    tests = {result.test for result in results}
    blocks = [
        block for each in report.plan_differences if each.test in tests for block in _plans(each)
    ]
    explained = text(MARK_EXPLAINED, media=Medium.TEXT)
    return Section("Plans that differ", [explained, *blocks]) if blocks else None


def _plans(difference: PlanDifference) -> list[Block]:
    plans = {
        name: Code(plan.splitlines(), frozenset(difference.differing_lines.get(name, ())))
        for name, plan in difference.plans.items()
    }
    return [
        text([f"{difference.test}: ", Literal(difference.statement)]),
        *(text(f"{name}: {'; '.join(words)}.") for name, words in difference.differences.items()),
        SideBySide(plans),
    ]


def same_plans(report: Report, test: str) -> list[Block]:
    """Return the contenders with the plans of the base in a test."""
    names = report.same_plans.get(test, ())
    if not names:
        return []
    return [text(f"The plan of the base is unchanged on {', '.join(names)}.", media=Medium.HTML)]
