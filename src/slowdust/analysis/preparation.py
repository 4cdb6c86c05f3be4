"""Prepared tables and servers' work that differ: quantities, their differences, and notes on them.

The floors are from loads and writes of one build beside itself (docs/method.md).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import NamedTuple

from slowdust.analysis.model import EvidenceKind, Result
from slowdust.benchmarks.model import leaves_rows
from slowdust.store.manifest import ContenderFacts, Manifest
from slowdust.store.preparation import SERVER, Preparation, ServerCounters
from slowdust.units import grouped, known
from slowdust.wording import counted

ALIKE = 0.01
"""Relative difference up to which quantities are alike."""
ALIKE_AFTER_WRITES = 0.05
"""The same for the layout after writes: purge and page splits happen at times of their own."""


class Kind(Enum):
    """The contenders for which a quantity should be equal."""

    STATE = "state"
    """All of one DBMS and engine: what preparation should leave in the same state."""
    LAYOUT = "layout"
    """Contenders of one build with the same settings: other versions may store rows otherwise."""


@dataclass(frozen=True)
class Quantity:
    """A quantity of a table, an index or a server."""

    words: str
    """What it counts, behind a number: 'pages'."""
    kind: Kind
    floor: float = 0.0
    """The largest difference that is never reported."""
    whole: str | None = None
    """The quantity of the same subject of which this is a part, and by which it is measured."""
    ends: bool = False
    """Whether preparation waits until nothing is left of it: what is above the floor then, and
    above 1% of the whole, preparation has not done, though all servers be alike in it."""


_EXTENT = 64.0
_FEW_PAGES = 8.0
_MB = float(1 << 20)

FACTS: Mapping[str, Quantity] = {
    "pages": Quantity("pages", Kind.LAYOUT, _FEW_PAGES),
    # Since version 16 a table grows by up to 64 pages at once, of which the last are empty.
    "pages_not_all_visible": Quantity(
        "pages not all-visible", Kind.STATE, _EXTENT, whole="pages", ends=True
    ),
    "rows": Quantity("rows", Kind.STATE, 100.0),
    "dead_rows": Quantity("dead rows", Kind.STATE, 100.0, whole="rows", ends=True),
    "documents": Quantity("documents", Kind.STATE, 100.0),
    "height": Quantity("levels of the index", Kind.LAYOUT),
    # When a page is split depends on when the purge came by.
    "leaf_pages": Quantity("leaf pages", Kind.LAYOUT, 2 * _FEW_PAGES),
    # An index of InnoDB grows by extents of 64 pages; one more or less says nothing.
    "allocated_pages": Quantity("allocated pages", Kind.LAYOUT, 2 * _EXTENT),
    # A server keeps a few pages of its own dirty.
    "dirty_pages": Quantity("dirty pages", Kind.STATE, 100.0, ends=True),
    # The floor is a guess: no mongod was at hand to measure what a checkpoint leaves.
    "dirty_bytes": Quantity("dirty bytes in the cache", Kind.STATE, 16 * _MB),
    # Purged logs leave the list in batches, in MySQL 5.6 of thousands.
    "undo_logs": Quantity("undo logs", Kind.STATE, 20_000.0, ends=True),
    # Nothing lets a session merge the change buffer, so that preparation cannot wait for its end.
    "change_buffer_pages": Quantity("pages of the change buffer", Kind.STATE, 10.0),
    # Below a tenth of the log of `default` (1 GB) no server begins to write pages because of it.
    "checkpoint_age_bytes": Quantity(
        "bytes since the checkpoint", Kind.STATE, 100 * _MB, ends=True
    ),
    "entries": Quantity("entries", Kind.LAYOUT, 1000.0),
    "tombstones": Quantity("tombstones", Kind.LAYOUT, 1000.0),
    "compaction_pending": Quantity("pending compactions", Kind.STATE, ends=True),
    "memtable_bytes": Quantity("bytes in memtables", Kind.STATE, _MB),
    "levels": Quantity("levels with files", Kind.LAYOUT),
    # Where a file ends depends on when a flush began.
    "files": Quantity("files", Kind.LAYOUT, 2.0),
    "lsm_bytes": Quantity("bytes in files", Kind.LAYOUT, _MB),
}
"""Quantity of a preparation -> what is known about it."""


class WorkQuantity(NamedTuple):
    """A quantity of a server's work."""

    words: str
    kind: EvidenceKind


WORK: Mapping[str, WorkQuantity] = {
    "heap_blocks": WorkQuantity("heap blocks read", "pages"),
    "index_blocks": WorkQuantity("index blocks read", "pages"),
    "rows_fetched": WorkQuantity("rows fetched", "rows"),
    "row_reads": WorkQuantity("rows read by the engine", "rows"),
    "row_writes": WorkQuantity("rows written by the engine", "rows"),
    "keys_examined": WorkQuantity("index keys examined", "rows"),
    "documents_examined": WorkQuantity("documents examined", "rows"),
    "documents_written": WorkQuantity("documents written", "rows"),
}
"""Quantity of a server's work -> what is known about it."""

WORK_OF_READS: Mapping[str, WorkQuantity] = {
    **WORK,
    "page_reads": WorkQuantity("pages read in the buffer pool", "pages"),
    "page_requests": WorkQuantity("pages requested from the cache", "pages"),
}
"""The same for tests that do not write. Where they do, those of the purge and of flushing are among
the page reads of InnoDB: one build beside itself differed by 44%, in reading tests by 0.1%."""


WRITES = "writes"
"""The preparation after which the layout may differ more."""


@dataclass(frozen=True)
class Difference:
    """A quantity in which a contender's prepared tables are not as they should be."""

    contender: str
    beside: str | None
    """The contender that has another amount; None where preparation should have left none."""
    subject: str
    """Table, index or `server`."""
    quantity: Quantity
    value: float
    other: float
    wholes: tuple[float, float] | None = None
    """The quantities of which `value` and `other` are parts."""

    @property
    def size(self) -> float:
        """The difference as a share of the larger one, or of the whole."""
        largest = max(self.wholes or (self.value, self.other))
        return abs(self.value - self.other) / largest if largest else 0.0

    def sentence(self) -> str:
        """Write 'sbtest1 has 2,736 of 2,736 pages not all-visible, postgres@17.6 33 of 2,736'."""
        where = "the server" if self.subject == SERVER else self.subject
        own, other = (
            f"{value:,.0f}" + (f" of {self.wholes[place]:,.0f}" if self.wholes else "")
            for place, value in enumerate((self.value, self.other))
        )
        beside = "and preparation should leave none"
        if self.beside is not None:
            beside = f"{self.beside} {other}"
        return f"{where} has {own} {self.quantity.words}, {beside}"


def differences(
    preparations: Sequence[Preparation], contenders: Sequence[ContenderFacts]
) -> list[Difference]:
    """Return what differs between preparations of one moment, the largest difference first.

    Contenders of one DBMS and engine are compared in what should be equal for all, those of one
    build and settings in the layout. Both sides of a difference are in the result. What all have
    alike, although preparation should leave none, is in it as well.
    """
    facts = {record.contender: record for record in preparations}
    present = [contender for contender in contenders if contender.name in facts]
    result: list[Difference] = []
    for kind, alike in ((Kind.STATE, same_engine), (Kind.LAYOUT, same_build)):
        for group in _groups(present, alike):
            result += _compared([facts[contender.name] for contender in group], kind)
    compared = {(d.contender, d.subject, d.quantity) for d in result}
    result += [
        difference
        for contender in present
        for difference in _unfinished(facts[contender.name])
        if (difference.contender, difference.subject, difference.quantity) not in compared
    ]
    return sorted(result, key=lambda d: (-d.size, d.value < d.other))


def same_build(contender: ContenderFacts, other: ContenderFacts) -> bool:
    """Return whether two contenders run the same binaries with the same engine and settings."""
    same_binaries = contender.build == other.build
    return (
        same_binaries and contender.engine == other.engine and contender.settings == other.settings
    )


def same_engine(contender: ContenderFacts, other: ContenderFacts) -> bool:
    """Return whether the tables of two contenders are of the same DBMS and engine."""
    return (contender.dbms, contender.engine) == (other.dbms, other.engine)


def _groups(
    contenders: Sequence[ContenderFacts],
    alike: Callable[[ContenderFacts, ContenderFacts], bool],
) -> list[list[ContenderFacts]]:
    groups: list[list[ContenderFacts]] = []
    for contender in contenders:
        group = next((group for group in groups if alike(group[0], contender)), None)
        if group is None:
            groups.append([contender])
        else:
            group.append(contender)
    return groups


def _compared(records: Sequence[Preparation], kind: Kind) -> list[Difference]:
    """Return each contender's largest difference in each quantity of the kind."""
    places: dict[tuple[str, str], list[Preparation]] = {}
    for record in records:
        for subject, quantities in record.facts.items():
            for name in quantities:
                if name in FACTS and FACTS[name].kind is kind:
                    places.setdefault((subject, name), []).append(record)
    return [
        difference
        for (subject, name), group in places.items()
        for difference in _differences_in(group, subject, name)
    ]


def _differences_in(records: Sequence[Preparation], subject: str, name: str) -> list[Difference]:
    """Compare each record with the smallest one and the first one, the smallest with the largest.

    The first is the base's, or else stands in for those of its build.
    """
    ordered = sorted(records, key=lambda record: record.facts[subject][name])
    result = []
    for record in records:
        farthest = ordered[-1] if record is ordered[0] else ordered[0]
        apart = known(
            _difference(record, other, subject, name)
            for other in (farthest, records[0])
            if other is not record
        )
        if apart:
            result.append(max(apart, key=lambda difference: difference.size))
    return result


def _unfinished(record: Preparation) -> Iterator[Difference]:
    for subject, quantities in record.facts.items():
        for name, value in quantities.items():
            quantity = FACTS.get(name)
            if quantity is None or not quantity.ends:
                continue
            whole = quantities.get(quantity.whole or "", 0.0)
            if value > max(quantity.floor, ALIKE * whole):
                wholes = (whole, whole) if whole else None
                yield Difference(record.contender, None, subject, quantity, value, 0.0, wholes)


def _difference(
    record: Preparation, other: Preparation, subject: str, name: str
) -> Difference | None:
    quantity = FACTS[name]
    value, beside = record.facts[subject][name], other.facts[subject][name]
    wholes = _wholes(quantity.whole, record.facts[subject], other.facts[subject])
    difference = Difference(
        record.contender, other.contender, subject, quantity, value, beside, wholes
    )
    is_grown = quantity.kind is Kind.LAYOUT and record.after == WRITES
    share = ALIKE_AFTER_WRITES if is_grown else ALIKE
    if abs(value - beside) <= quantity.floor or difference.size <= share:
        return None
    return difference


def _wholes(
    name: str | None, facts: Mapping[str, float], others: Mapping[str, float]
) -> tuple[float, float] | None:
    if name is None or name not in facts or name not in others:
        return None
    return facts[name], others[name]


OTHER_BUILD = 0.1
"""Relative difference from which other work is evidence: equal builds had 5.5% in short tests."""
_CONSTANT = 2000.0
"""Amount in all operations together that says nothing: what a session and the questions about the
work take, up to 1,300 rows of MySQL's own tables, is the same for few operations and for many."""
_FEW = 0.05
"""Amount per operation below which a difference is not of the operations."""
UNKNOWN_START = "start unknown: the server reports nothing of its tables"
"""The note on results of a contender whose tables could not be compared with the others'."""


@dataclass(frozen=True)
class WorkDifference:
    """A quantity of which two servers used different amounts per operation."""

    name: str
    """Quantity of `ServerCounters`."""
    words: str
    kind: EvidenceKind
    value: float
    other: float

    @property
    def size(self) -> float:
        return abs(self.value - self.other) / max(self.value, self.other)

    def sentence(self) -> str:
        """Write '2.0 heap blocks read per operation, base 1.0'."""
        digits = 1 if max(self.value, self.other) < 100 and self.size > ALIKE * 10 else 3
        return f"{self.value:,.{digits}f} {self.words} per operation, base {self.other:,.{digits}f}"


def quantities_of(result: Result) -> Mapping[str, WorkQuantity]:
    """Return the quantities that depend on the operations of a test alone."""
    reads = leaves_rows(result.group) and result.beside is None
    return WORK_OF_READS if reads else WORK


def work_differences(
    work: ServerCounters, base: ServerCounters, quantities: Mapping[str, WorkQuantity], share: float
) -> list[WorkDifference]:
    """Return in what the work of two servers in one incarnation differs, the largest first.

    `share` is the relative difference up to which quantities are alike.
    """
    operations = min(work.operations, base.operations)
    if operations <= 0:
        return []
    result = []
    for name, quantity in quantities.items():
        if name not in work.amounts or name not in base.amounts:
            continue
        value = work.amounts[name] / work.operations
        other = base.amounts[name] / base.operations
        apart = abs(value - other)
        if apart > max(_FEW, share * max(value, other)) and apart * operations > _CONSTANT:
            result.append(WorkDifference(name, *quantity, value, other))
    return sorted(result, key=lambda difference: -difference.size)


def worst_work_difference(
    works: Sequence[ServerCounters],
    contender: str,
    base: str,
    quantities: Mapping[str, WorkQuantity],
    share: float,
) -> tuple[WorkDifference, int] | None:
    """Return the largest of `work_differences` in a step's `works`, with its incarnation."""
    by_place = {(work.incarnation, work.contender): work for work in works}
    pairs = [
        (difference, incarnation)
        for (incarnation, name), work in by_place.items()
        if name == contender and (other := by_place.get((incarnation, base))) is not None
        for difference in work_differences(work, other, quantities, share)
    ]
    return max(pairs, key=lambda pair: pair[0].size, default=None)


def add_notes_about_starts(
    results: Sequence[Result], manifest: Manifest, contenders: Sequence[str]
) -> list[str]:
    """Add a note to each result that a different start may explain; return warnings about them.

    `contenders` has the base first, beside which the others are compared.
    """
    facts = _ordered(manifest, contenders)
    warnings: list[str] = []
    for records in grouped(manifest.preparations, lambda record: record.moment).values():
        apart = differences(records, facts)
        steps = {record.contender: record.steps for record in records}
        first = records[0]
        for contender, of_contender in grouped(apart, lambda each: each.contender).items():
            largest, *others = of_contender
            more = f"; {counted(len(others), 'more difference')}" if others else ""
            text = (
                f"{largest.sentence()}{more} (incarnation {first.incarnation}, after {first.after})"
            )
            differs = any(each.beside is not None for each in of_contender)
            what = "different start" if differs else "unfinished preparation"
            warnings.append(f"{what}: {contender}: {text}")
            for result in results:
                if result.contender == contender and _key(result) in steps[contender]:
                    result.notes.append(f"{what}: {text}")
        for record in records:
            if record.facts or len(records) == 1:
                continue
            for result in results:
                is_of_start = _key(result) in record.steps and UNKNOWN_START not in result.notes
                if result.contender == record.contender and is_of_start:
                    result.notes.append(UNKNOWN_START)
        if first.repeated and not apart:
            warnings.append(
                f"the tables of incarnation {first.incarnation} were prepared again "
                f"{counted(first.repeated, 'time')} after {first.after}, until they were alike"
            )
    return warnings


def add_notes_about_work(
    results: Sequence[Result], manifest: Manifest, contenders: Sequence[str]
) -> None:
    """Add a note to each result whose server did other work than the base's of the same build."""
    base, *others = _ordered(manifest, contenders)
    for contender in others:
        if not same_build(contender, base):
            continue  # other work of another build is evidence
        for result in results:
            if result.contender != contender.name:
                continue
            worst = worst_work_difference(
                [work for work in manifest.counters if work.step == _key(result)],
                contender.name,
                base.name,
                quantities_of(result),
                ALIKE,
            )
            if worst is not None:
                difference, incarnation = worst
                result.notes.append(
                    f"different work of one build: {difference.sentence()} "
                    f"(incarnation {incarnation})"
                )


def _ordered(manifest: Manifest, contenders: Sequence[str]) -> list[ContenderFacts]:
    facts = {contender.name: contender for contender in manifest.contenders}
    return [facts[name] for name in contenders]


def _key(result: Result) -> str:
    return f"{result.test}@{result.clients}"
