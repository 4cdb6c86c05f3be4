"""How many files of an archive became what: plain lines."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from slowdust.archive.problems import OTHER_KIND
from slowdust.store.manifest import Imported
from slowdust.wording import counted


def counts_of(imported: Imported) -> Iterator[str]:
    """Of all files but those that get a line of their own."""
    yield f"{counted(imported.used, 'file')} used"
    if imported.checked:
        total = counted(sum(imported.checked.values()), "file")
        yield f"{total} compared with what they are made of: {_listed(imported.checked)}"
    yield from by_products(imported.by_products)


def by_products(counts: Mapping[str, int]) -> Iterator[str]:
    """Files that nothing is read from, by kind."""
    others = {kind: count for kind, count in counts.items() if kind in OTHER_KIND.values()}
    known = {kind: count for kind, count in counts.items() if kind not in others}
    if known:
        total = counted(sum(known.values()), "file")
        yield f"{total} known and not needed: {_listed(known)}"
    for kind, count in others.items():
        yield f"{counted(count, 'file')} {kind}"


def _listed(counts: Mapping[str, int]) -> str:
    return ", ".join(f"{kind} {count}" for kind, count in counts.items())
