"""Which parts were measured on the same host."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from dataclasses import replace as replace_part
from datetime import datetime
from itertools import count

from msgspec.structs import replace

from slowdust.analysis.history.lines import host_of
from slowdust.errors import UsageError
from slowdust.merge.sources import Records, Source
from slowdust.store.manifest import HostFacts, JoinedPart
from slowdust.units import known

UNKNOWN_GROUP = "unknown CPU"


@dataclass(frozen=True)
class RenumberedSource:
    """A part, and the numbers that its incarnations have in the joined experiment."""

    records: Records
    offset: int
    """What is added to the number of an incarnation."""

    def host(self) -> HostFacts:
        """Return the host of a part that was measured on one, by the name that the user gave it."""
        manifest = self.records.manifest
        return HostFacts(
            name=self.records.part.host or "",
            group=manifest.host.get("CPU", UNKNOWN_GROUP),
            host=manifest.host,
            findings=manifest.findings,
            cpus=manifest.cpus,
            slowdust=manifest.slowdust,
            driver=manifest.driver,
            started=manifest.started,
            finished=manifest.finished,
            spent_s=manifest.spent_s,
            parts=[
                JoinedPart(
                    experiment=self.records.name,
                    path=self.records.path,
                    incarnations=[number + self.offset for number in self.records.numbers],
                )
            ],
        )

    def hosts(self) -> list[HostFacts]:
        """Return the hosts of the part, with their incarnations' numbers in the joined one."""
        joined = self.records.manifest.hosts
        return [_renumbered(host, self.offset) for host in joined] or [self.host()]


def _renumbered(host: HostFacts, offset: int) -> HostFacts:
    parts = [
        replace(part, incarnations=[number + offset for number in part.incarnations])
        for part in host.parts
    ]
    return replace(host, parts=parts)


def hosts_of(parts: Sequence[RenumberedSource]) -> list[HostFacts]:
    """Return the hosts of all parts, in the order of their first part.

    A name that the user gave tells a host from all others; else the facts of the machine do.

    Raises:
        UsageError: nothing tells on which host a part was measured.
    """
    hosts: list[list[_Member]] = []
    for placed in parts:
        for facts in placed.hosts():
            member = _Member(facts, placed.records.label)
            same = _same_host(member, hosts)
            if same is None:
                hosts.append([member])
            else:
                same.append(member)
    return _named([_together([member.facts for member in host]) for host in hosts])


@dataclass(frozen=True)
class _Member:
    """A host as one part has it."""

    facts: HostFacts
    part: str
    """How the user calls the part."""

    @property
    def identity(self) -> tuple[tuple[str, str], ...]:
        return host_of(self.facts.host)


def disambiguate_hosts(parts: Sequence[Source]) -> list[Source]:
    """Return parts whose hosts' names tell machines apart: 'a' and 'a-2' where there were two.

    A machine may have been replaced by another one of its name, or have got more memory.

    Raises:
        SlowdustError: a manifest cannot be read.
    """
    names: dict[tuple[str, tuple[tuple[str, str], ...]], str] = {}
    taken = {part.host for part in parts if part.host is not None}
    apart = []
    for part in parts:
        if part.host is None:
            apart.append(part)
            continue
        machine = part.host, host_of(part.folder.read_manifest().host)
        if machine not in names:
            is_first = all(host != part.host for host, _ in names)
            names[machine] = part.host if is_first else _free(part.host, taken)
            taken.add(names[machine])
        apart.append(replace_part(part, host=names[machine]))
    return apart


def _same_host(member: _Member, hosts: Sequence[list[_Member]]) -> list[_Member] | None:
    """Return which of `hosts` it is; None of a new one."""
    name, part = member.facts.name, member.part
    if name:
        same = next((each for each in hosts if each[0].facts.name == name), None)
        if same is not None and same[0].identity != member.identity:
            raise UsageError(
                f"'{same[0].part}' and '{part}' are of hosts with different facts, and both are "
                f"called {name}"
            )
        return same
    if not member.identity:
        raise UsageError(
            f"'{part}' does not say on which host it was measured: name it, --host {part}=NAME"
        )
    same = next((each for each in hosts if each[0].identity == member.identity), None)
    if same is None:
        return None
    if same[0].facts.name:
        raise UsageError(
            f"'{part}' is of a host with the facts of {same[0].facts.name}: say which it is, "
            f"--host {part}=NAME"
        )
    if other := next((each for each in same if _overlap(each.facts, member.facts)), None):
        raise UsageError(
            f"'{other.part}' and '{part}' were measured at the same time on hosts with the same "
            f"facts: name them, --host {other.part}=NAME --host {part}=NAME (one name for both, "
            "if it was one host)"
        )
    return same


def _overlap(host: HostFacts, other: HostFacts) -> bool:
    """Return whether two parts were measured at the same time, as far as is known."""
    times = known((host.started, host.finished, other.started, other.finished))
    if len(times) < 4:
        return False
    start, end, other_start, other_end = map(datetime.fromisoformat, times)
    return start < other_end and other_start < end


def _together(parts: Sequence[HostFacts]) -> HostFacts:
    """Return one host of all its parts; its facts are those of the last one."""
    ends = [part.finished for part in parts]
    return replace(
        parts[-1],
        name=parts[0].name,
        started=min(known(part.started for part in parts), default=None),
        finished=None if None in ends else max(known(ends)),
        spent_s=sum(part.spent_s for part in parts),
        parts=[joined for part in parts for joined in part.parts],
    )


def _named(hosts: Sequence[HostFacts]) -> list[HostFacts]:
    """Give each host without a name that of its facts, or a number."""
    taken = {host.name for host in hosts}
    named = []
    for number, host in enumerate(hosts, start=1):
        name = host.name or _free(host.host.get("host") or f"host{number}", taken)
        taken.add(name)
        named.append(replace(host, name=name))
    return named


def _free(wanted: str, taken: set[str]) -> str:
    if wanted not in taken:
        return wanted
    return next(name for further in count(2) if (name := f"{wanted}-{further}") not in taken)
