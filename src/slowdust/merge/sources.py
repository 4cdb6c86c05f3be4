"""The parts that are joined: their records, on which host they were made, and which are copies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from slowdust.errors import UsageError
from slowdust.store.count import Count
from slowdust.store.folder import Folder
from slowdust.store.manifest import Manifest
from slowdust.store.profile import Profile
from slowdust.store.slice import Slice
from slowdust.store.trial import Trial
from slowdust.store.waits import WaitWindow
from slowdust.wording import counted


@dataclass(frozen=True)
class Source:
    """An experiment to join."""

    folder: Folder
    host: str | None = None
    """The user's name for its host; else the facts of its host tell it from others."""
    given: str | None = None
    """How the user calls it, for errors; its experiment's name where it is None."""
    path: str | None = None
    """The path that is told of it, as of a bundle; that of its folder where it is None."""


@dataclass(frozen=True)
class Records:
    """All that a part has."""

    part: Source
    manifest: Manifest
    slices: Sequence[Slice]
    counts: Sequence[Count]
    waits: Sequence[WaitWindow]
    profiles: Sequence[Profile]
    trials: Sequence[Trial] = ()

    @property
    def name(self) -> str:
        return self.manifest.experiment

    @property
    def label(self) -> str:
        return self.part.given or self.name

    @property
    def path(self) -> str:
        return self.part.path or str(self.part.folder.path.absolute())

    @cached_property
    def numbers(self) -> list[int]:
        """The numbers of all its incarnations, those for counts and waits included."""
        manifest = self.manifest
        numbers = {record.place.incarnation for record in self.slices}
        numbers |= {count.place.incarnation for count in self.counts}
        numbers |= {window.place.incarnation for window in self.waits}
        numbers |= {trial.start for trial in self.trials}
        numbers |= {preparation.incarnation for preparation in manifest.preparations}
        numbers |= {counters.incarnation for counters in manifest.counters}
        numbers |= {recall.incarnation for recall in manifest.recalls}
        numbers |= {size.incarnation for size in manifest.index_sizes}
        numbers |= {failure.incarnation for failure in manifest.failed_steps}
        for host in manifest.hosts:
            numbers.update(host.incarnations)
        return sorted(numbers)

    @cached_property
    def identities(self) -> frozenset[tuple[object, ...]]:
        """What tells its slices from all others, in whatever experiment they are."""
        return frozenset(_identity(record) for record in self.slices)

    @property
    def _size(self) -> tuple[int, int]:
        return len(self.slices), len(self.counts) + len(self.waits) + len(self.profiles)

    def has_all_of(self, other: Records) -> bool:
        """Return whether nothing of `other` would be lost with this part alone."""
        return bool(other.identities) and self.identities >= other.identities

    def is_larger_than(self, other: Records) -> bool:
        return self._size > other._size


def _identity(record: Slice) -> tuple[object, ...]:
    """Return a slice's place without numbers that joining changes, and its moment."""
    place = record.place
    step = (place.benchmark, place.test, place.clients, place.contender, place.slot)
    return (*step, record.measured.started, record.qps)


def read_source(part: Source) -> Records:
    """Read all records of a part.

    Raises:
        UsageError: it is no experiment that can be joined.
        SlowdustError: a file is damaged.
    """
    folder = part.folder
    manifest = folder.read_manifest()
    if manifest.imported is not None:
        raise UsageError(f"'{folder.name}' was imported: it has one run of each, and no intervals")
    if any(contender.slowed is not None for contender in manifest.contenders):
        raise UsageError(f"'{folder.name}' is a calibration, which is about one host alone")
    if manifest.hosts and part.host is not None:
        raise UsageError(f"'{folder.name}' is of {len(manifest.hosts)} hosts: --host names one")
    return Records(
        part,
        manifest,
        folder.read_slices(),
        folder.read_counts(),
        folder.read_waits(),
        folder.read_profiles(),
        folder.read_trials(),
    )


def drop_duplicates(parts: Sequence[Records]) -> tuple[list[Records], list[str]]:
    """Leave out parts of which another has all slices; return the others and sentences about it.

    Raises:
        UsageError: two parts share slices, and each has others: one of them went on after it had
            been copied.
    """
    kept: list[Records] = []
    sentences: list[str] = []
    for part in parts:
        for earlier in list(kept):
            if part.path == earlier.path or _is_copy(part, earlier):
                sentences.append(_left_out(part, earlier))
                break
            if _is_copy(earlier, part):
                sentences.append(_left_out(earlier, part))
                kept.remove(earlier)
                continue
            if common := len(part.identities & earlier.identities):
                raise UsageError(
                    f"'{earlier.label}' and '{part.label}' have "
                    f"{counted(common, 'slice')} in common, and each has others: join one of them"
                )
        else:
            kept.append(part)
    return kept, sentences


def _is_copy(part: Records, of: Records) -> bool:
    return of.has_all_of(part) and not part.is_larger_than(of)


def _left_out(part: Records, other: Records) -> str:
    """Return the sentence about a part that counts once."""
    if part.path == other.path:
        return f"'{part.label}' is given twice: it counts once"
    return (
        f"'{part.label}' is left out: '{other.label}' has all of its "
        f"{counted(len(part.slices), 'slice')}"
    )
