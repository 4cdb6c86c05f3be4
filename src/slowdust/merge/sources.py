"""The parts of a merge: their records, their hosts, and duplicates."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from itertools import count
from typing import TypeVar

from msgspec.structs import replace

from slowdust.analysis.history.lines import host_of
from slowdust.errors import UsageError
from slowdust.store.count import Count
from slowdust.store.folder import Folder
from slowdust.store.manifest import HostFacts, Manifest, MergedPart
from slowdust.store.profile import Profile
from slowdust.store.slice import Slice
from slowdust.store.trial import Trial
from slowdust.store.waits import WaitWindow
from slowdust.units import known
from slowdust.wording import counted

_NUMBERED = ("preparations", "counters", "recalls", "index_sizes", "failed_steps")
"""Fields of a manifest whose records have the number of a start (`incarnation`)."""
_Placed = TypeVar("_Placed", Slice, Count, WaitWindow)


@dataclass(frozen=True)
class Source:
    """An experiment to merge."""

    folder: Folder
    host: str | None = None
    """The user's name for its host; by default hosts are distinguished by their facts."""
    given: str | None = None
    """The user's name for it, in errors; by default the experiment's name."""
    path: str | None = None
    """The recorded path, such as a bundle's; by default the folder's."""


@dataclass(frozen=True)
class Records:
    """All records of a part."""

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
        """The numbers of all its starts, including those for counts and waits."""
        numbers = {record.place.incarnation for record in self.slices}
        numbers |= {count.place.incarnation for count in self.counts}
        numbers |= {window.place.incarnation for window in self.waits}
        numbers |= {trial.start for trial in self.trials}
        numbers |= {
            record.incarnation for name in _NUMBERED for record in getattr(self.manifest, name)
        }
        for host in self.manifest.hosts:
            numbers.update(host.incarnations)
        return sorted(numbers)

    @cached_property
    def identities(self) -> frozenset[tuple[object, ...]]:
        """The place of each slice, without numbers changed by merging, and its time."""

        def identity(record: Slice) -> tuple[object, ...]:
            place = record.place
            step = (place.benchmark, place.test, place.clients, place.contender, place.slot)
            return (*step, record.measured.started, record.qps)

        return frozenset(map(identity, self.slices))

    def is_copy_of(self, other: Records) -> bool:
        """Return whether `other` contains everything in this part."""

        def size(part: Records) -> tuple[int, int]:
            return len(part.slices), len(part.counts) + len(part.waits) + len(part.profiles)

        has_all = bool(self.identities) and other.identities >= self.identities
        return has_all and size(self) <= size(other)

    def hosts(self) -> list[HostFacts]:
        """Return its hosts; an experiment on one host uses the user's name for it."""
        manifest = self.manifest
        part = MergedPart(experiment=self.name, path=self.path, incarnations=self.numbers)
        one = HostFacts(
            name=self.part.host or "",
            group=manifest.host.get("CPU", "unknown CPU"),
            host=manifest.host,
            findings=manifest.findings,
            cpus=manifest.cpus,
            slowdust=manifest.slowdust,
            driver=manifest.driver,
            started=manifest.started,
            finished=manifest.finished,
            spent_s=manifest.spent_s,
            parts=[part],
        )
        return manifest.hosts or [one]


def read_source(part: Source) -> Records:
    """Read all records of a part.

    Raises:
        UsageError: the experiment cannot be merged.
        SlowdustError: a file is damaged.
    """
    folder = part.folder
    manifest = folder.read_manifest()
    if manifest.imported is not None:
        raise UsageError(f"'{folder.name}' was imported: it has single runs without intervals")
    # A fleet, which does not name parts, runs different tests of one calibration on its hosts.
    if part.given is not None and any(each.slowed is not None for each in manifest.contenders):
        raise UsageError(f"'{folder.name}' is a calibration, which applies to one host only")
    if manifest.hosts and part.host is not None:
        raise UsageError(f"'{folder.name}' has {len(manifest.hosts)} hosts, but --host names one")
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
    """Drop parts whose slices are all in another part; return the rest, and sentences about it.

    Raises:
        UsageError: two parts share slices, and each has others: one of them was extended after it
            had been copied.
    """
    kept: list[Records] = []
    sentences: list[str] = []

    def drop(part: Records, other: Records) -> None:
        slices = counted(len(part.slices), "slice")
        sentences.append(
            f"'{part.label}' was given twice and is used once"
            if part.path == other.path
            else f"'{part.label}' is excluded: '{other.label}' contains all of its {slices}"
        )

    for part in parts:
        for earlier in list(kept):
            if part.path == earlier.path or part.is_copy_of(earlier):
                drop(part, earlier)
                break
            if earlier.is_copy_of(part):
                drop(earlier, part)
                kept.remove(earlier)
            elif common := len(part.identities & earlier.identities):
                raise UsageError(
                    f"'{earlier.label}' and '{part.label}' have "
                    f"{counted(common, 'slice')} in common, and each has others; merge only one of "
                    "them"
                )
        else:
            kept.append(part)
    return kept, sentences


def renumber(parts: Sequence[Records]) -> list[Records]:
    """Return the parts with their starts numbered consecutively."""
    renumbered = []
    offset = 0
    for part in parts:
        renumbered.append(_renumbered(part, offset))
        offset += max(part.numbers, default=0)
    return renumbered


def _renumbered(part: Records, offset: int) -> Records:
    def placed(records: Sequence[_Placed]) -> list[_Placed]:
        return [
            replace(each, place=replace(each.place, incarnation=each.place.incarnation + offset))
            for each in records
        ]

    manifest = replace(
        part.manifest,
        hosts=[
            replace(
                host,
                parts=[
                    replace(each, incarnations=[number + offset for number in each.incarnations])
                    for each in host.parts
                ],
            )
            for host in part.manifest.hosts
        ],
        **{
            name: [
                replace(record, incarnation=record.incarnation + offset)
                for record in getattr(part.manifest, name)
            ]
            for name in _NUMBERED
        },
    )
    return dataclasses.replace(
        part,
        manifest=manifest,
        slices=placed(part.slices),
        counts=placed(part.counts),
        waits=placed(part.waits),
        trials=[replace(trial, start=trial.start + offset) for trial in part.trials],
    )


_Identity = tuple[tuple[str, str], ...]


def hosts_of(parts: Sequence[Records]) -> list[HostFacts]:
    """Return the hosts of all parts, in the order of their first part.

    Hosts are identified by the user's names, or else by the facts of the machine. A host without a
    name gets one from its facts, or a number.

    Raises:
        UsageError: a part's host is unknown.
    """
    members: list[list[tuple[HostFacts, str]]] = []
    """The parts of each host, and the user's names for them."""
    for part in parts:
        for facts in part.hosts():
            same = _same_host(facts, part.label, members)
            if same is None:
                members.append([(facts, part.label)])
            else:
                same.append((facts, part.label))
    taken = {host[0][0].name for host in members}
    hosts = []
    for number, host in enumerate(members, start=1):
        of_parts = [facts for facts, _ in host]
        last, ends = of_parts[-1], [facts.finished for facts in of_parts]
        name = of_parts[0].name or _free(last.host.get("host") or f"host{number}", taken)
        taken.add(name)
        hosts.append(
            replace(
                last,
                name=name,
                started=min(known(facts.started for facts in of_parts), default=None),
                finished=None if None in ends else max(known(ends)),
                spent_s=sum(facts.spent_s for facts in of_parts),
                parts=[joined for facts in of_parts for joined in facts.parts],
            )
        )
    return hosts


def _same_host(
    facts: HostFacts, part: str, hosts: Sequence[list[tuple[HostFacts, str]]]
) -> list[tuple[HostFacts, str]] | None:
    """Return the matching entry of `hosts`; None for a new host."""
    name, identity = facts.name, host_of(facts.host)
    if name:
        same = next((host for host in hosts if host[0][0].name == name), None)
        if same is not None and host_of(same[0][0].host) != identity:
            raise UsageError(
                f"'{same[0][1]}' and '{part}' were measured on hosts with different facts, but "
                f"both hosts are called {name}"
            )
        return same
    if not identity:
        raise UsageError(f"'{part}' does not record its host; name it: --host {part}=NAME")
    same = next((host for host in hosts if host_of(host[0][0].host) == identity), None)
    if same is None:
        return None
    if same[0][0].name:
        raise UsageError(
            f"the host of '{part}' has the same facts as {same[0][0].name}; name it: "
            f"--host {part}=NAME"
        )
    if other := next((label for each, label in same if _overlap(each, facts)), None):
        raise UsageError(
            f"'{other}' and '{part}' were measured at the same time on hosts with the same "
            f"facts; name them: --host {other}=NAME --host {part}=NAME (with the same name if it "
            "was one host)"
        )
    return same


def _overlap(host: HostFacts, other: HostFacts) -> bool:
    """Return whether two parts are known to have been measured at the same time."""
    times = known((host.started, host.finished, other.started, other.finished))
    if len(times) < 4:
        return False
    start, end, other_start, other_end = map(datetime.fromisoformat, times)
    return start < other_end and other_start < end


def disambiguate_hosts(parts: Sequence[Source]) -> list[Source]:
    """Return parts with unique names of machines: 'a' and 'a-2' if two have the same name.

    A machine may have been replaced by another of the same name, or have more memory.

    Raises:
        SlowdustError: a manifest cannot be read.
    """
    names: dict[tuple[str, _Identity], str] = {}
    taken = {part.host for part in parts if part.host is not None}
    renamed = []
    for part in parts:
        if part.host is None:
            renamed.append(part)
            continue
        machine = part.host, host_of(part.folder.read_manifest().host)
        if machine not in names:
            is_first = all(host != part.host for host, _ in names)
            names[machine] = part.host if is_first else _free(part.host, taken)
            taken.add(names[machine])
        renamed.append(dataclasses.replace(part, host=names[machine]))
    return renamed


def _free(wanted: str, taken: set[str]) -> str:
    if wanted not in taken:
        return wanted
    return next(name for further in count(2) if (name := f"{wanted}-{further}") not in taken)
