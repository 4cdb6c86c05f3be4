"""Rows and pages of statements: exact amounts per operation, beside the base's.

The floors are from tests of one build beside itself (docs/method.md).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from slowdust.analysis.model import AmountDifference, EvidenceKind, Result
from slowdust.analysis.preparation.facts import same_engine
from slowdust.store.manifest import Executed, Manifest, Plan


@dataclass(frozen=True)
class Quantity:
    """An amount that is counted of a statement's executions."""

    words: str
    """What it counts, behind a number: 'rows read'."""
    kind: EvidenceKind
    exact: bool = True
    """Whether noise cannot touch it: neither other work on the machine nor the state of caches."""
    floor: float = 0.5
    """The largest difference per execution that is never reported."""
    share: float = 0.01
    """Relative difference up to which amounts are alike."""
    per_loop: float = 0.0
    """Largest rounding error of a loop, where servers tell a mean per loop."""


PAGES = "pages"
"""Hits and reads together: how many of the pages were in the cache is the state of the cache."""

PAGES_AT_MOST = "pages_at_most"
"""Requests of servers that count one for every few rows of a page: MySQL before 8.0."""

AMOUNTS: Mapping[str, Quantity] = {
    # A scan counts its end as a row, or a table twice, in some versions.
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
    PAGES_AT_MOST: Quantity("requests of pages", "pages", floor=4.0, share=0.2),
    # InnoDB begins a page of its undo log or takes one that is there: 7 writes more or less.
    "page_writes": Quantity("writes to pages", "pages", floor=8.0, share=0.1),
    "pages_hit": Quantity("pages found in the cache", "pages", exact=False),
    "pages_read": Quantity("pages not found in the cache", "pages", exact=False),
    "pages_dirtied": Quantity("pages dirtied", "pages", exact=False),
    "temp_pages_read": Quantity("temporary pages read", "pages", floor=1.0, share=0.02),
    "temp_pages_written": Quantity("temporary pages written", "pages", floor=1.0, share=0.02),
    "temp_tables_on_disk": Quantity("temporary tables on disk", "pages", floor=0.05),
    "sorts": Quantity("sorts", "rows", floor=0.05),
    "sorts_spilled": Quantity("sorts spilled to disk", "pages", floor=0.05),
    "hash_batches": Quantity("batches of hash tables beyond memory", "pages", floor=0.05),
    "full_scan_steps": Quantity("steps of full scans", "rows", floor=2.0),
    "auto_index_rows": Quantity("rows put into automatic indexes", "rows"),
    # One row more or less is a few steps.
    "vm_steps": Quantity("steps of the virtual machine", "rows", floor=50.0),
    "planning_pages": Quantity("pages of planning", "planning", floor=8.0, share=0.1),
    "planning_s": Quantity("seconds of planning", "planning", exact=False, floor=1e-5),
    "execution_s": Quantity("seconds of execution", "planning", exact=False, floor=0.0),
}
"""Name in `Executed.amounts` -> what is known about it, in the order in which it is reported."""


def amounts_per_operation(plans: Sequence[Plan], contender: str, test: str) -> dict[str, float]:
    """Return what a mean operation of a test takes on a contender, summed over its statements.

    Empty where nothing was executed.
    """
    return _sum(_executed(plans, contender, test).values())


def statement_work(
    plans: Sequence[Plan], base: str, contender: str, test: str
) -> list[AmountDifference]:
    """Return the exact amounts per operation of a test in which a contender differs from the base.

    Those of the whole operation come first, then those of each statement, each in the order of
    `AMOUNTS`. Amounts of other operations are not compared: their values would differ, too.
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
    """Give results their amounts per operation, and those that differ from the base's.

    Each DBMS and engine counts in its own way, so that those of others are not compared.
    """
    facts = {contender.name: contender for contender in manifest.contenders}
    for result in results:
        name, plans = result.contender, manifest.plans
        result.amounts = amounts_per_operation(plans, name, result.test)
        if name != base and same_engine(facts[name], facts[base]):
            result.amount_differences = statement_work(plans, base, name, result.test)


def _executed(plans: Sequence[Plan], contender: str, test: str) -> dict[str, Executed]:
    """Return statement -> its work."""
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
    """Return the amounts per operation of statements together, with all pages."""
    amounts: dict[str, float] = defaultdict(float)
    for executed in statements:
        for name, total in executed.amounts.items():
            amounts[name] += total * executed.weight / executed.operations
    if {"pages_hit", "pages_read"} <= amounts.keys():
        amounts[PAGES] = amounts["pages_hit"] + amounts["pages_read"]
    return {name: amounts[name] for name in AMOUNTS if name in amounts}


def _differences(statement: str | None, pairs: Sequence[_Pair]) -> Iterable[AmountDifference]:
    """Yield the amounts that differ in statements together, of those in which both have them."""
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
