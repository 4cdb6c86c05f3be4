"""Differences between prepared tables, and between the work of servers, with notes on them.

The floors are from loads and writes of a build compared with itself (docs/method.md).
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
"""Relative difference up to which quantities are considered equal."""
ALIKE_AFTER_WRITES = 0.05
"""The same for the layout after writes: the times of purges and page splits vary."""


class Kind(Enum):
    """The contenders between which a quantity should be equal."""

    STATE = "state"
    """Contenders of one DBMS and engine: preparation should leave them in the same state."""
    LAYOUT = "layout"
    """Contenders of one build with the same settings: versions may store rows differently."""


@dataclass(frozen=True)
class Quantity:
    """A quantity of a table, an index or a server."""

    words: str
    """Unit, to follow a number: 'pages'."""
    kind: Kind
    floor: float = 0.0
    """The largest difference that is not reported."""
    whole: str | None = None
    """The quantity of the same subject that this is a part of; differences are relative to it."""
    ends: bool = False
    """Whether preparation waits until it is 0. A value above the floor and above 1% of the whole is
    unfinished preparation, even if all servers have the same value."""


_EXTENT = 64.0
_FEW_PAGES = 8.0
_MB = float(1 << 20)

FACTS: Mapping[str, Quantity] = {
    "pages": Quantity("pages", Kind.LAYOUT, _FEW_PAGES),
    # Since version 16 a table grows by up to 64 pages at once; the last of them are empty.
    "pages_not_all_visible": Quantity(
        "pages not all-visible", Kind.STATE, _EXTENT, whole="pages", ends=True
    ),
    "rows": Quantity("rows", Kind.STATE, 100.0),
    "dead_rows": Quantity("dead rows", Kind.STATE, 100.0, whole="rows", ends=True),
    "documents": Quantity("documents", Kind.STATE, 100.0),
    "height": Quantity("index levels", Kind.LAYOUT),
    # The time of a page split depends on the time of the purge.
    "leaf_pages": Quantity("leaf pages", Kind.LAYOUT, 2 * _FEW_PAGES),
    # An index of InnoDB grows by extents of 64 pages; one extent more or less is insignificant.
    "allocated_pages": Quantity("allocated pages", Kind.LAYOUT, 2 * _EXTENT),
    # A server keeps a few pages of its own dirty.
    "dirty_pages": Quantity("dirty pages", Kind.STATE, 100.0, ends=True),
    # The floor is a guess: there was no mongod to measure the effect of a checkpoint.
    "dirty_bytes": Quantity("dirty bytes in the cache", Kind.STATE, 16 * _MB),
    # Purged logs leave the list in batches, in MySQL 5.6 of thousands.
    "undo_logs": Quantity("undo logs", Kind.STATE, 20_000.0, ends=True),
    # A session cannot merge the change buffer, so preparation cannot wait until it is empty.
    "change_buffer_pages": Quantity("change buffer pages", Kind.STATE, 10.0),
    # Below a tenth of the log of `default` (1 GB) no server begins to write pages because of it.
    "checkpoint_age_bytes": Quantity(
        "bytes since the checkpoint", Kind.STATE, 100 * _MB, ends=True
    ),
    "entries": Quantity("entries", Kind.LAYOUT, 1000.0),
    "tombstones": Quantity("tombstones", Kind.LAYOUT, 1000.0),
    "compaction_pending": Quantity("pending compactions", Kind.STATE, ends=True),
    "memtable_bytes": Quantity("bytes in memtables", Kind.STATE, _MB),
    "levels": Quantity("levels with files", Kind.LAYOUT),
    # The end of a file depends on the time of a flush.
    "files": Quantity("files", Kind.LAYOUT, 2.0),
    "lsm_bytes": Quantity("bytes in files", Kind.LAYOUT, _MB),
}
"""Quantity of a preparation -> its description."""


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
"""Quantity of a server's work -> its description."""

WORK_OF_READS: Mapping[str, WorkQuantity] = {
    **WORK,
    "page_reads": WorkQuantity("pages read in the buffer pool", "pages"),
    "page_requests": WorkQuantity("pages requested from the cache", "pages"),
}
"""The same for tests that do not write. During writes InnoDB's page reads include purging and
flushing: a build differed from itself by 44%, and by 0.1% in tests that only read."""


WRITES = "writes"
"""The preparation after which layouts may differ more."""


@dataclass(frozen=True)
class Difference:
    """A quantity of a contender's prepared tables that differs from its expected value."""

    contender: str
    beside: str | None
    """The contender that it is compared with; None if preparation should have left 0."""
    subject: str
    """Table, index or `server`."""
    quantity: Quantity
    value: float
    other: float
    wholes: tuple[float, float] | None = None
    """The quantities that `value` and `other` are parts of."""

    @property
    def size(self) -> float:
        """The difference as a share of the larger value, or of the whole."""
        largest = max(self.wholes or (self.value, self.other))
        return abs(self.value - self.other) / largest if largest else 0.0

    def sentence(self) -> str:
        """Format as 'sbtest1 has 2 of 9 pages not all-visible, compared with 3 of 9 on base'."""
        where = "the server" if self.subject == SERVER else self.subject
        own, other = (
            f"{value:,.0f}" + (f" of {self.wholes[place]:,.0f}" if self.wholes else "")
            for place, value in enumerate((self.value, self.other))
        )
        if self.beside is None:
            return f"{where} has {own} {self.quantity.words}, but preparation should leave 0"
        return f"{where} has {own} {self.quantity.words}, compared with {other} on {self.beside}"


def differences(
    preparations: Sequence[Preparation], contenders: Sequence[ContenderFacts]
) -> list[Difference]:
    """Return the differences between preparations of one moment, the largest first.

    Contenders of one DBMS and engine are compared in their state, contenders of one build and
    settings also in their layout. Both sides of a difference are in the result. Unfinished
    preparation is included even if it is the same on all contenders.
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
    """Return whether two contenders have the same DBMS and engine."""
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
    """Compare each record with the smallest and the first one, and the smallest with the largest.

    The first one is the base's, or represents the contenders of its build.
    """
    ordered = sorted(records, key=lambda record: record.facts[subject][name])
    result = []
    for record in records:
        farthest = ordered[-1] if record is ordered[0] else ordered[0]
        found = known(
            _difference(record, other, subject, name)
            for other in (farthest, records[0])
            if other is not record
        )
        if found:
            result.append(max(found, key=lambda difference: difference.size))
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
    value, compared = record.facts[subject][name], other.facts[subject][name]
    wholes = _wholes(quantity.whole, record.facts[subject], other.facts[subject])
    difference = Difference(
        record.contender, other.contender, subject, quantity, value, compared, wholes
    )
    is_grown = quantity.kind is Kind.LAYOUT and record.after == WRITES
    share = ALIKE_AFTER_WRITES if is_grown else ALIKE
    if abs(value - compared) <= quantity.floor or difference.size <= share:
        return None
    return difference


def _wholes(
    name: str | None, facts: Mapping[str, float], others: Mapping[str, float]
) -> tuple[float, float] | None:
    if name is None or name not in facts or name not in others:
        return None
    return facts[name], others[name]


OTHER_BUILD = 0.1
"""Smallest relative difference of work that is evidence: equal builds had 5.5% in short tests."""
_CONSTANT = 2000.0
"""Smallest total amount for a difference: a session and the queries about its work take up to 1,300
rows of MySQL's own tables, for few operations as for many."""
_FEW = 0.05
"""Smallest difference per operation."""
UNKNOWN_START = "initial state unknown: the server reports no facts about its tables"
"""The note on results whose initial tables could not be compared."""


@dataclass(frozen=True)
class WorkDifference:
    """An amount per operation that differs between two servers."""

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
        """Format as '2.0 heap blocks read per operation, base 1.0'."""
        digits = 1 if max(self.value, self.other) < 100 and self.size > ALIKE * 10 else 3
        return f"{self.value:,.{digits}f} {self.words} per operation, base {self.other:,.{digits}f}"


def comparable_quantities(result: Result) -> Mapping[str, WorkQuantity]:
    """Return the quantities that depend only on the operations of a test."""
    reads = leaves_rows(result.group) and result.beside is None
    return WORK_OF_READS if reads else WORK


def work_differences(
    work: ServerCounters, base: ServerCounters, quantities: Mapping[str, WorkQuantity], share: float
) -> list[WorkDifference]:
    """Return the differences in work between two servers in one start, the largest first.

    `share` is the relative difference up to which quantities are considered equal.
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
        difference = abs(value - other)
        if (
            difference > max(_FEW, share * max(value, other))
            and difference * operations > _CONSTANT
        ):
            result.append(WorkDifference(name, *quantity, value, other))
    return sorted(result, key=lambda difference: -difference.size)


def worst_work_difference(
    works: Sequence[ServerCounters],
    contender: str,
    base: str,
    quantities: Mapping[str, WorkQuantity],
    share: float,
) -> tuple[WorkDifference, int] | None:
    """Return the largest of `work_differences` in a step's `works`, with its start."""
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
    """Add notes to results that a different initial state may explain; return warnings on these.

    `contenders` has the base first.
    """
    facts = _ordered(manifest, contenders)
    warnings: list[str] = []
    for records in grouped(manifest.preparations, lambda record: record.moment).values():
        found = differences(records, facts)
        steps = {record.contender: record.steps for record in records}
        first = records[0]
        for contender, of_contender in grouped(found, lambda each: each.contender).items():
            largest, *others = of_contender
            more = f"; {counted(len(others), 'more difference')}" if others else ""
            text = f"{largest.sentence()}{more} (start {first.incarnation}, after {first.after})"
            differs = any(each.beside is not None for each in of_contender)
            what = "different initial state" if differs else "unfinished preparation"
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
        if first.repeated and not found:
            warnings.append(
                f"the tables of start {first.incarnation} were prepared again "
                f"{counted(first.repeated, 'time')} after {first.after}, until their states matched"
            )
    return warnings


def add_notes_about_work(
    results: Sequence[Result], manifest: Manifest, contenders: Sequence[str]
) -> None:
    """Add a note to results of the base's build whose server did different work."""
    base, *others = _ordered(manifest, contenders)
    for contender in others:
        if not same_build(contender, base):
            continue  # different work of another build is evidence
        for result in results:
            if result.contender != contender.name:
                continue
            worst = worst_work_difference(
                [work for work in manifest.counters if work.step == _key(result)],
                contender.name,
                base.name,
                comparable_quantities(result),
                ALIKE,
            )
            if worst is not None:
                difference, incarnation = worst
                result.notes.append(
                    f"same build, different work: {difference.sentence()} (start {incarnation})"
                )


def _ordered(manifest: Manifest, contenders: Sequence[str]) -> list[ContenderFacts]:
    facts = {contender.name: contender for contender in manifest.contenders}
    return [facts[name] for name in contenders]


def _key(result: Result) -> str:
    return f"{result.test}@{result.clients}"
