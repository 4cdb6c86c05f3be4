"""What a comparison is of, where that is more than versions, builds or settings of one DBMS."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from slowdust.analysis.model import ContenderInfo
from slowdust.wording import listing, shortened

_ISOLATION = "transaction_isolation"
_DEFAULT = "REPEATABLE-READ"
"""Of every DBMS that has engines."""


def notes_about_contenders(infos: Sequence[ContenderInfo]) -> list[str]:
    """Sentences for the head of a report; `infos` has the base first. Usually none."""
    return [*_systems(infos), *_engines(infos), *_caches(infos), *_allocators(infos)]


def notes_about_archive(infos: Sequence[ContenderInfo]) -> list[str]:
    """The same of archived runs, of which little but the tests is known to be alike."""
    systems = _each(info.dbms for info in infos)
    if len(systems) < 2:
        return []
    return [
        f"Different DBMS are compared: {listing(systems)}. The same for all: the tests, by name. "
        f"Whether rows, settings and machine were alike, only who ran them can say."
    ]


def _systems(infos: Sequence[ContenderInfo]) -> list[str]:
    systems = _each(info.dbms for info in infos)
    if len(systems) < 2:
        return []
    configs = _each(info.config for info in infos)
    named = (
        f"the config '{configs[0]}' is each DBMS's own, alike in purpose only"
        if len(configs) == 1
        else f"the configs ({listing(configs)}) are each DBMS's own"
    )
    return [
        f"Different DBMS are compared: {listing(systems)}. The same for all: rows, operations and "
        f"their order, clients, machine and time. Not the same: statements are spelt as each DBMS "
        f"wants them, {named}, isolation levels are each DBMS's default where nobody set them, "
        f"maintenance is each DBMS's own, and plans are compared only among contenders of one DBMS."
    ]


def _engines(infos: Sequence[ContenderInfo]) -> list[str]:
    engines = _each(info.engine for info in infos if info.engine is not None)
    if len(engines) < 2:
        return []
    return [
        f"Different storage engines are compared: {listing(engines)}. Statements and rows are the "
        f"same; what an engine keeps in memory and on disk, and which settings it obeys, is not.",
        *_isolation(infos),
    ]


def _isolation(infos: Sequence[ContenderInfo]) -> list[str]:
    """An engine may lack what the default isolation needs.

    A contender that dropped out before it had settings has no level either.
    """
    levels: dict[str, list[str]] = {}
    for info in infos:
        if info.engine is not None and info.settings:
            levels.setdefault(info.settings.get(_ISOLATION, _DEFAULT), []).append(info.name)
    if len(levels) < 2:
        return []
    told = listing([f"{level} ({shortened(names)})" for level, names in levels.items()])
    return [
        f"Isolation levels differ: {told}. Transactions get other guarantees, and their locks and "
        f"snapshots are other work; the setting {_ISOLATION}, the same for all, makes them alike."
    ]


def _caches(infos: Sequence[ContenderInfo]) -> list[str]:
    """A server may round the size that it was given, and another version not."""
    sizes: dict[int, list[str]] = {}
    for info in infos:
        if info.buffer_pool_bytes is not None:
            sizes.setdefault(info.buffer_pool_bytes >> 20, []).append(info.name)
    if len(sizes) < 2:
        return []
    told = listing([f"{size} MB ({shortened(names)})" for size, names in sizes.items()])
    return [f"The servers' own page caches differ: {told}."]


def _allocators(infos: Sequence[ContenderInfo]) -> list[str]:
    """Contenders that allocate unlike the base although neither was asked to."""
    base = infos[0]
    if base.allocator is None:
        return []
    unasked = [
        info
        for info in infos[1:]
        if info.allocator not in {None, base.allocator} and _asked(info) == _asked(base)
    ]
    if not unasked:
        return []
    others = listing([f"{info.name} with {info.allocator}" for info in unasked])
    return [
        f"Allocators differ although none was asked for: {base.name} works with {base.allocator}, "
        f"{others}. So the comparison is also of allocators; an environment such as "
        f"+{base.allocator} behind a contender makes them alike."
    ]


def _asked(info: ContenderInfo) -> str | None:
    """The allocator in its environment, whose other parts are `NAME=VALUE`."""
    return next((part for part in info.environment if "=" not in part), None)


def _each(values: Iterable[str]) -> list[str]:
    return list(dict.fromkeys(values))
