"""Whether records can be of one experiment, and whether a report can be made of them.

The bounds of single numbers are those of their types (`bounds.py`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator
from pathlib import Path

import msgspec

from slowdust.errors import UsageError
from slowdust.store.bounds import MOST_CONTENDERS, MOST_SLICES
from slowdust.store.manifest import Manifest
from slowdust.store.slice import Slice

_PART_BYTES = 1 << 24


def too_many_contenders(name: str, count: int) -> str:
    """Return why an experiment of so many contenders cannot be read or stored."""
    return f"'{name}' has {count:,} contenders: a report has at most {MOST_CONTENDERS}"


def refuse_many(path: Path) -> None:
    """Refuse a file of more lines than a report is made of, before they fill the memory.

    Raises:
        UsageError: it has more.
    """
    lines = 0
    with path.open("rb") as file:
        while part := file.read(_PART_BYTES):
            lines += part.count(b"\n")
            if lines > MOST_SLICES:
                raise UsageError(
                    f"{path} has more than {MOST_SLICES:,} slices, of which no report is made"
                )


def check_contenders(manifest: Manifest) -> None:
    """Refuse a manifest whose contenders are none, or not told apart.

    Raises:
        ValidationError: it is damaged.
    """
    names = [contender.name for contender in manifest.contenders]
    if not names:
        raise msgspec.ValidationError("it has no contenders")
    if len(set(names)) < len(names):
        raise msgspec.ValidationError("two contenders have one name")
    if manifest.base not in names:
        raise msgspec.ValidationError(f"the base '{manifest.base}' is no contender")


def check_hosts(manifest: Manifest) -> None:
    """Refuse a manifest whose hosts share an incarnation, or a name.

    Raises:
        ValidationError: it is damaged.
    """
    names = [host.name for host in manifest.hosts]
    numbers = [number for host in manifest.hosts for number in host.incarnations]
    if len(set(names)) < len(names):
        raise msgspec.ValidationError("two hosts have one name")
    if len(set(numbers)) < len(numbers):
        raise msgspec.ValidationError("an incarnation is of two hosts")


def distinct_places(
    records: Iterable[Slice], contenders: Collection[str] | None
) -> Iterator[Slice]:
    """Yield records, and refuse those that cannot be of one experiment.

    Raises:
        ValidationError: one is of an unknown contender, or two are of one place.
    """
    lines: dict[tuple[object, ...], int] = {}
    for number, record in enumerate(records, start=1):
        place = record.place
        if contenders is not None and place.contender not in contenders:
            raise msgspec.ValidationError(
                f"record {number}: the manifest has no contender '{place.contender}'"
            )
        first = lines.setdefault(msgspec.structs.astuple(place), number)
        if first != number:
            raise msgspec.ValidationError(f"records {first} and {number} are of the same place")
        yield record
