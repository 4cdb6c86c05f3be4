"""The placements of a fleet: `fleet.json` in a folder next to the merged experiment's.

The folder also has `fleet.toml`, the specification, and `hosts/HOST/SHARD/`, the experiment folders
that hosts have sent. The longest shard is measured first. Unmeasured parts of lost hosts' shards
return to the queue.
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
"""Hosts that may fail in a shard before the shard fails."""


class Builds(StrEnum):
    """The source of the hosts' builds."""

    PUSH = "push"
    """The head gets them, and pushes them to the hosts."""
    PULL = "pull"
    """Each host gets them itself."""


class Unfit(StrEnum):
    """The treatment of hosts with problems."""

    EXCLUDE = "leave out"
    USE = "use"
    """They measure as well; their findings are in the report."""


class Wanted(msgspec.Struct, kw_only=True, frozen=True):
    """The user's options for a fleet."""

    hosts: int | None = None
    """Maximum number of hosts; None for all."""
    replicate: int = 1
    """Number of hosts that measure each shard."""
    builds: Builds = Builds.PUSH
    unfit: Unfit = Unfit.EXCLUDE


class Asked(msgspec.Struct, kw_only=True, frozen=True):
    """The options of one command; None if not given."""

    hosts: int | None = None
    replicate: int | None = None
    builds: Builds | None = None
    unfit: Unfit | None = None

    def over(self, before: Wanted) -> Wanted:
        """Return the options in force: those not given stay as before."""
        given = {name: value for name, value in msgspec.structs.asdict(self).items() if value}
        return msgspec.structs.replace(before, **given)


class State(StrEnum):
    """State of a shard on a host."""

    RUNNING = "running"
    FINISHED = "finished"
    LOST = "lost"
    """The host was lost or excluded; results that the head has received count."""
    FAILED = "failed"


class Left(msgspec.Struct, kw_only=True, frozen=True):
    """The unfinished part of a shard."""

    done: float
    """The share of the shard that was measured."""
    starts: int
    """Remaining starts."""


class Placement(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A shard on a host."""

    shard: str
    host: str
    folder: str
    """The name of its folder on the host: the shard's, with a number from the second on."""
    begun: float
    """Time of day, in seconds since 1970."""
    state: State = State.RUNNING
    reason: str = ""
    left: Left | None = None
    """The unfinished part to measure; None for the whole shard."""

    @property
    def path(self) -> str:
        return f"{self.host}/{self.folder}"


class Record(msgspec.Struct, kw_only=True):
    """The state of a fleet's experiment."""

    schema: int = SCHEMA
    id: str
    """The unique name of its folder on hosts."""
    wanted: Wanted
    shards: list[Shard]
    placements: list[Placement] = []
    left: dict[str, list[Left]] = {}
    """Shard -> unfinished parts that wait for a host."""
    given_up: dict[str, str] = {}
    """Shard -> why all attempts failed."""
    hosts: dict[str, HostFacts] = {}
    left_out: dict[str, str] = {}
    """Host -> why it was excluded."""
    finished: bool = False
    forgotten: set[str] = set()
    """Hosts that have removed their files of it."""

    @property
    def keeping(self) -> set[str]:
        """Hosts that still have files of it, as far as is known."""
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
        """Shard -> host -> why it failed there since this head was started."""

    def waiting(self) -> list[tuple[Second, str]]:
        """Return the expected time and the shard of each waiting copy."""
        found = []
        for shard in self._record.shards:
            copies = self._record.wanted.replicate - len(self._assigned_hosts(shard.name))
            if shard.name in self._record.given_up or copies <= 0:
                continue
            lefts = self._record.left.get(shard.name, [])[:copies]
            rests: list[Left | None] = [*lefts, *[None] * (copies - len(lefts))]
            found += [(remaining_time(shard, left), shard.name) for left in rests]
        return sorted(found, key=lambda each: (-each[0], each[1]))

    def take(self, host: str, groups: Mapping[str, str]) -> tuple[str, Left | None] | None:
        """Return the longest shard that a host may measure, and its unfinished part.

        `groups` maps measuring hosts to CPU models.
        """
        for _, shard in self.waiting():
            if self._may_measure(shard, host, groups):
                left = self._record.left.get(shard)
                return shard, left.pop(0) if left else None
        return None

    def put_back(self, placement: Placement, state: State, reason: str, left: Left | None) -> None:
        """Requeue the rest of a shard (None: all of it); elsewhere if it failed on this host."""
        placement.state, placement.reason = state, reason
        if left is not None:
            self._record.left.setdefault(placement.shard, []).append(left)
        if state is State.FAILED:
            self._failures.setdefault(placement.shard, {})[placement.host] = reason

    def fail_shards(self, groups: Mapping[str, str]) -> dict[str, str]:
        """Fail shards that failed too often, or that no other host of `groups` may measure.

        Finished copies stay valid. Return shard -> reason for newly failed ones.
        """
        waiting = {shard for _, shard in self.waiting()}
        found = {
            shard: [*reasons.values()][-1]
            for shard, reasons in self._failures.items()
            if shard in waiting
            and (
                len(reasons) >= _MOST_FAILURES
                or not any(self._may_measure(shard, host, groups) for host in groups)
            )
        }
        self._record.given_up |= found
        return found

    def expected_end(self, busy: Collection[Second], idle: int) -> Second | None:
        """Return the expected time to the end of the experiment; None without hosts.

        `busy` has the remaining time of each measuring host.
        """
        free = [*busy, *[0.0] * idle]
        return time_to_end([seconds for seconds, _ in self.waiting()], free) if free else None

    def _assigned_hosts(self, shard: str) -> list[str]:
        """Return the hosts that are measuring or have measured a shard."""
        states = (State.RUNNING, State.FINISHED)
        return [each.host for each in self._record.of(shard) if each.state in states]

    def _may_measure(self, shard: str, host: str, groups: Mapping[str, str]) -> bool:
        """Return whether a host may measure a copy: all copies need hosts of one CPU model."""
        assigned, replicate = self._assigned_hosts(shard), self._record.wanted.replicate
        if host in assigned or host in self._failures.get(shard, {}):
            return False
        if replicate == 1:
            return True
        if assigned:
            return cpu_model(self._record, assigned[0]) == groups[host]
        return Counter(groups.values())[groups[host]] >= replicate


def cpu_model(record: Record, host: str) -> str:
    """Return the CPU model of a host; hosts are grouped by it."""
    facts = record.hosts.get(host)
    return (facts.cpu if facts else None) or UNKNOWN_CPU


def remaining_time(shard: Shard, left: Left | None) -> Second:
    """Return the expected time of the unfinished part of a shard; None is the whole shard."""
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
        UsageError: it does not exist, or another version of Slowdust wrote it.
        SlowdustError: it is damaged.
    """
    path = folder / FLEET_RECORD_FILE
    known = read_versioned(path, _AnySchema, SCHEMA)
    if known is None:
        raise UsageError(f"{path} does not exist")
    if known.schema < SCHEMA:
        versions = sorted({facts.slowdust for facts in known.hosts.values()})
        wrote = f"Slowdust {versions[-1]}" if versions else "an earlier Slowdust"
        raise UsageError(
            f"{wrote} started '{folder.name.removesuffix(FLEET_SUFFIX)}' (fleet.json has schema "
            f"{known.schema}, this version needs {SCHEMA}): resume it with that version, or choose "
            "another name"
        )
    record = read_versioned(path, Record, SCHEMA)
    assert record is not None
    return record


def write_record(folder: Path, record: Record) -> None:
    write_versioned(folder / FLEET_RECORD_FILE, record)
