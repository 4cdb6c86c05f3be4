"""One experiment of several, which were measured on one host or on many."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, TypeVar

from msgspec.structs import replace

from slowdust.errors import UsageError
from slowdust.merge.compatibility import check_compatibility
from slowdust.merge.hosts import RenumberedSource
from slowdust.merge.manifest import merge_manifests
from slowdust.merge.sources import Records, Source, drop_duplicates, read_source
from slowdust.store.bounds import MOST_CONTENDERS, MOST_SLICES
from slowdust.store.count import Count
from slowdust.store.experiments import aside, put_in_place
from slowdust.store.folder import WORKLOAD_FILE, Folder, Writer, too_many_contenders, writing
from slowdust.store.manifest import Manifest
from slowdust.store.slice import Slice
from slowdust.store.storage import LOCK_FILE
from slowdust.store.waits import WaitWindow
from slowdust.user_text import read_user_text
from slowdust.wording import counted, shortened

Design = Literal["replicate", "spread"]
"""What the user wants of each test: several hosts, or one host."""

_Placed = TypeVar("_Placed", Slice, Count, WaitWindow)


@dataclass(frozen=True)
class Merged:
    """What was made of the parts."""

    folder: Folder
    manifest: Manifest
    sentences: tuple[str, ...]
    """What was left out, and why: copies, counts of another source."""


def merge(
    parts: Sequence[Source], target: Folder, design: Design | None = None, spec: str | None = None
) -> Merged:
    """Make one experiment of several; replace the joined one that has the target's name.

    Each part is an experiment of one host, or a joined one. The result depends on nothing but the
    parts and their order, and appears whole or not at all. Parts may be running: what they have by
    now is taken. With a `design`, tests that do not follow it are an error. `spec` is the
    specification (TOML) of all of them, if there is one.

    Raises:
        UsageError: parts do not agree, copies went on apart, a host is not known, or the target is
            no joined experiment.
        SlowdustError: a part is damaged, or the target cannot be written.
    """
    if not parts:
        raise UsageError("there is nothing to join")
    _check_target(parts, target)
    records, left_out = drop_duplicates([read_source(part) for part in parts])
    check_compatibility(records)
    _check_size(target.name, records)
    placed = list(_place(records))
    manifest = merge_manifests(target.name, placed)
    if len(manifest.contenders) > MOST_CONTENDERS:
        raise UsageError(too_many_contenders(target.name, len(manifest.contenders)))
    counts = _renumbered(placed, lambda part: part.counts)
    counted_alike = _of_one_source(counts, manifest)
    slices = _renumbered(placed, lambda part: part.slices)
    if design is not None:
        check_design(design, slices, manifest)
    with aside(target.path.parent) as incoming:
        made = Folder.of(incoming, target.name)
        with writing(made) as writer:
            writer.append(*slices)
            writer.append_count(*counted_alike)
            writer.append_waits(*_renumbered(placed, lambda part: part.waits))
            _write_profiles(writer, placed, manifest)
            _copy_workload(writer, records)
            if spec is not None:
                writer.write_spec(spec)
            writer.write_manifest(manifest)
        (made.path / LOCK_FILE).unlink(missing_ok=True)
        folder = put_in_place(made, target.path.parent)
    return Merged(folder, manifest, (*left_out, *_not_counted(counts, counted_alike)))


def _check_target(parts: Sequence[Source], target: Folder) -> None:
    """Refuse to replace anything but a joined experiment that is no part of the new one."""
    if any(part.folder.path.resolve() == target.path.resolve() for part in parts):
        raise UsageError(f"'{target.name}' is one of those to join: choose another --name")
    taken = target.path.exists() and any(target.path.iterdir())
    if taken and not (target.has_manifest() and target.read_manifest().hosts):
        raise UsageError(
            f"there is a '{target.name}' in {target.path.parent} already: choose another --name"
        )


def _check_size(name: str, records: Sequence[Records]) -> None:
    slices = sum(len(part.slices) for part in records)
    if slices > MOST_SLICES:
        raise UsageError(
            f"'{name}' would have {slices:,} slices: a report is made of at most {MOST_SLICES:,}"
        )


def _place(records: Sequence[Records]) -> Iterator[RenumberedSource]:
    """Yield the parts, whose incarnations have one series of numbers."""
    offset = 0
    for part in records:
        yield RenumberedSource(part, offset)
        offset += max(part.numbers, default=0)


def _renumbered(
    placed: Sequence[RenumberedSource], of: Callable[[Records], Iterable[_Placed]]
) -> list[_Placed]:
    """Return records of all parts with the new numbers of their incarnations."""
    return [
        replace(
            record,
            place=replace(record.place, incarnation=record.place.incarnation + part.offset),
        )
        for part in placed
        for record in of(part.records)
    ]


def check_design(design: Design, slices: Sequence[Slice], manifest: Manifest) -> None:
    """Refuse tests that are measured on fewer, or more, hosts than the user wants.

    Raises:
        UsageError: names them.
    """
    host_of = {number: host.name for host in manifest.hosts for number in host.incarnations}
    hosts: dict[str, set[str]] = {}
    for record in slices:
        hosts.setdefault(record.place.test, set()).add(host_of[record.place.incarnation])
    wrong = [test for test, of in hosts.items() if (len(of) == 1) == (design == "replicate")]
    if wrong:
        where = "one host only" if design == "replicate" else "several hosts"
        raise UsageError(f"--{design}: {shortened(wrong)} measured on {where}")


def _of_one_source(counts: Sequence[Count], manifest: Manifest) -> list[Count]:
    """Return the counts of the source that the manifest has: two are never compared."""
    source = manifest.counting.source if manifest.counting is not None else None
    return [count for count in counts if source is None or count.source == source]


def _not_counted(counts: Sequence[Count], kept: Sequence[Count]) -> list[str]:
    missing = len(counts) - len(kept)
    if not missing:
        return []
    return [f"{counted(missing, 'count')} left out: work was counted in another way in other parts"]


def _write_profiles(writer: Writer, placed: Sequence[RenumberedSource], manifest: Manifest) -> None:
    """Write the profiles of all parts; those of one step and contender are read as their mean."""
    numbers = {contender.name: n for n, contender in enumerate(manifest.contenders, start=1)}
    for start, part in enumerate(placed, start=1):
        for profile in part.records.profiles:
            writer.write_profile(profile, numbers[profile.contender], start)


def _copy_workload(writer: Writer, records: Sequence[Records]) -> None:
    for part in records:
        workload = part.part.folder.path / WORKLOAD_FILE
        if workload.is_file():
            writer.write_workload(read_user_text(workload))
            return
