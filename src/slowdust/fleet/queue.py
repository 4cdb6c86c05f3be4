"""What a fleet measures where: `fleet.json` in a folder next to the merged experiment's.

The folder also has `fleet.toml`, the specification, and `hosts/HOST/SHARD/`, an experiment's folder
each with what a host has sent. The longest shard is measured first. What a lost host had not
measured waits again.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Mapping
from enum import StrEnum
from pathlib import Path

import msgspec

from slowdust.errors import UsageError
from slowdust.fleet.cluster import HostFacts
from slowdust.fleet.shards import Shard, time_to_end
from slowdust.places import within
from slowdust.store.folder import FLEET_RECORD_FILE, FLEET_SUFFIX, Folder
from slowdust.store.storage import read_versioned, write_versioned
from slowdust.units import Second

HOSTS = "hosts"
UNKNOWN_CPU = "unknown CPU"
SCHEMA = 2
_MOST_FAILURES = 3
"""Hosts on which a shard may fail."""


class Builds(StrEnum):
    """Where the builds of the hosts come from."""

    PUSH = "push"
    """The head gets them, and pushes them to the hosts."""
    PULL = "pull"
    """Each host gets them by itself."""


class Unfit(StrEnum):
    """What becomes of hosts with problems."""

    LEAVE_OUT = "leave out"
    USE = "use"
    """They measure all the same; their findings are in the report."""


class Wanted(msgspec.Struct, kw_only=True, frozen=True):
    """What the user wants of a fleet."""

    hosts: int | None = None
    """Hosts at most; None for all."""
    replicate: int = 1
    """Hosts on which each shard is measured."""
    builds: Builds = Builds.PUSH
    unfit: Unfit = Unfit.LEAVE_OUT


class Asked(msgspec.Struct, kw_only=True, frozen=True):
    """The options of one command; None where one is not given."""

    hosts: int | None = None
    replicate: int | None = None
    builds: Builds | None = None
    unfit: Unfit | None = None

    def over(self, before: Wanted) -> Wanted:
        """Return what is wanted now: options that are not given stay as before."""
        given = {name: value for name, value in msgspec.structs.asdict(self).items() if value}
        return msgspec.structs.replace(before, **given)


class State(StrEnum):
    """State of a shard on a host."""

    RUNNING = "running"
    FINISHED = "finished"
    LOST = "lost"
    """The host was lost or excluded; what the head has received counts."""
    FAILED = "failed"


class Left(msgspec.Struct, kw_only=True, frozen=True):
    """The rest of a shard that a host did not finish."""

    done: float
    """The share of it that was measured."""
    starts: int
    """Starts that are left."""


class Placement(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A shard on a host."""

    shard: str
    host: str
    folder: str
    """The name of its folder in the host's: the shard's, with a number from the second on."""
    begun: float
    """Time of day, in seconds since 1970."""
    state: State = State.RUNNING
    reason: str = ""
    left: Left | None = None
    """The rest that other hosts left; None where it is all of the shard."""

    @property
    def path(self) -> str:
        return f"{self.host}/{self.folder}"


class Record(msgspec.Struct, kw_only=True):
    """The state of a fleet's experiment."""

    schema: int = SCHEMA
    id: str
    """The name of its folder on hosts, which no other experiment has."""
    wanted: Wanted
    shards: list[Shard]
    placements: list[Placement] = []
    left: dict[str, list[Left]] = {}
    """Shard -> rests that wait for a host."""
    given_up: dict[str, str] = {}
    """Shard -> why no host could measure it."""
    hosts: dict[str, HostFacts] = {}
    left_out: dict[str, str] = {}
    """Host -> why it is excluded."""
    finished: bool = False
    forgotten: set[str] = set()
    """Hosts that have removed what they had of it."""

    @property
    def keeping(self) -> set[str]:
        """Hosts that still have something of it, as far as is known."""
        return {each.host for each in self.placements} - self.forgotten

    def of(self, shard: str) -> list[Placement]:
        return [each for each in self.placements if each.shard == shard]

    def shard(self, name: str) -> Shard:
        return next(each for each in self.shards if each.name == name)


class Queue:
    """The shards of a record that wait for a host, the longest first."""

    def __init__(self, record: Record) -> None:
        self._record = record
        self._failures: dict[str, dict[str, str]] = {}
        """Shard -> host -> why it failed there since this head began."""

    def waiting(self) -> list[tuple[Second, str]]:
        """Return the expected time and the shard of each copy that waits."""
        found = []
        for shard in self._record.shards:
            copies = self._record.wanted.replicate - len(self._having(shard.name))
            if shard.name in self._record.given_up or copies <= 0:
                continue
            lefts = self._record.left.get(shard.name, [])[:copies]
            rests: list[Left | None] = [*lefts, *[None] * (copies - len(lefts))]
            found += [(remaining_time(shard, left), shard.name) for left in rests]
        return sorted(found, key=lambda each: (-each[0], each[1]))

    def take(self, host: str, groups: Mapping[str, str]) -> tuple[str, Left | None] | None:
        """Return the longest shard that a host may measure, and what is left of it.

        `groups` has the CPU model of each host that measures.
        """
        for _, shard in self.waiting():
            if self._may_have(shard, host, groups):
                left = self._record.left.get(shard)
                return shard, left.pop(0) if left else None
        return None

    def put_back(self, placement: Placement, state: State, reason: str, left: Left | None) -> None:
        """Queue again what a host did not finish, None for all of it; not there if it failed."""
        placement.state, placement.reason = state, reason
        if left is not None:
            self._record.left.setdefault(placement.shard, []).append(left)
        if state is State.FAILED:
            self._failures.setdefault(placement.shard, {})[placement.host] = reason

    def give_up(self, groups: Mapping[str, str]) -> dict[str, str]:
        """Give up what failed too often, or failed and no host of `groups` may measure.

        Copies that hosts have measured stay. Return shard -> reason of those given up now.
        """
        waiting = {shard for _, shard in self.waiting()}
        found = {
            shard: [*reasons.values()][-1]
            for shard, reasons in self._failures.items()
            if shard in waiting
            and (
                len(reasons) >= _MOST_FAILURES
                or not any(self._may_have(shard, host, groups) for host in groups)
            )
        }
        self._record.given_up |= found
        return found

    def expected_end(self, busy: Collection[Second], idle: int) -> Second | None:
        """Return the time to the end of the experiment; None where no host is there.

        `busy` is the time that each measuring host still needs.
        """
        free = [*busy, *[0.0] * idle]
        return time_to_end([seconds for seconds, _ in self.waiting()], free) if free else None

    def _having(self, shard: str) -> list[str]:
        """Return the hosts that measure or have measured a shard."""
        states = (State.RUNNING, State.FINISHED)
        return [each.host for each in self._record.of(shard) if each.state in states]

    def _may_have(self, shard: str, host: str, groups: Mapping[str, str]) -> bool:
        """Return whether a host may measure a copy: all copies are on hosts of one CPU model."""
        having, replicate = self._having(shard), self._record.wanted.replicate
        if host in having or host in self._failures.get(shard, {}):
            return False
        if replicate == 1:
            return True
        if having:
            return cpu_model(self._record, having[0]) == groups[host]
        return Counter(groups.values())[groups[host]] >= replicate


def cpu_model(record: Record, host: str) -> str:
    """Return the CPU model of a host, by which hosts are grouped."""
    facts = record.hosts.get(host)
    return (facts.cpu if facts else None) or UNKNOWN_CPU


def remaining_time(shard: Shard, left: Left | None) -> Second:
    """Return the expected time of what is left of a shard; None for all of it."""
    return shard.seconds * (1 - left.done if left else 1.0)


def part_folder(folder: Path, placement: Placement) -> Folder:
    return Folder(within(folder, HOSTS, placement.host, placement.folder))


def has_record(folder: Path) -> bool:
    return (folder / FLEET_RECORD_FILE).is_file()


class _AnySchema(msgspec.Struct):
    schema: int
    hosts: dict[str, HostFacts] = {}


def read_record(folder: Path) -> Record:
    """Return the record of a fleet's experiment.

    Raises:
        UsageError: there is none, or another version of Slowdust wrote it.
        SlowdustError: it is damaged.
    """
    path = folder / FLEET_RECORD_FILE
    known = read_versioned(path, _AnySchema, SCHEMA)
    if known is None:
        raise UsageError(f"there is no {path}")
    if known.schema < SCHEMA:
        versions = sorted({facts.slowdust for facts in known.hosts.values()})
        wrote = f"Slowdust {versions[-1]}" if versions else "an earlier Slowdust"
        raise UsageError(
            f"{wrote} began '{folder.name.removesuffix(FLEET_SUFFIX)}' (fleet.json of schema "
            f"{known.schema}, this one writes {SCHEMA}): resume it with that version, or choose "
            "another name"
        )
    record = read_versioned(path, Record, SCHEMA)
    assert record is not None
    return record


def write_record(folder: Path, record: Record) -> None:
    write_versioned(folder / FLEET_RECORD_FILE, record)
