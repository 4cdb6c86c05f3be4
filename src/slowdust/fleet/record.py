"""The record of a fleet's experiment, `fleet.json` in a folder beside the joined experiment's.

Beside it are `fleet.toml`, the specification, and `hosts/HOST/SHARD/`, what each host measured: an
experiment's folder each.
"""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path

import msgspec

from slowdust.fleet.hosts.fitness import Unfit
from slowdust.fleet.model import HostFacts
from slowdust.fleet.planning.cutting import Cut
from slowdust.fleet.planning.queue import Shard
from slowdust.fleet.planning.sizing import Sizing
from slowdust.places import within
from slowdust.store.folder import Folder
from slowdust.store.of_fleet import FLEET_RECORD_FILE
from slowdust.store.recording import read_record_file, write_record_file

HOSTS = "hosts"
SCHEMA = 1


class Builds(StrEnum):
    """The way in which builds come to the hosts."""

    PUSH = "push"
    """The head gets them, and the cluster hands them on."""
    PULL = "pull"
    """Each host gets them by itself."""


class Wanted(msgspec.Struct, kw_only=True, frozen=True):
    """What the user wants of a fleet."""

    hosts: int | None = None
    """Hosts at most; None for all."""
    replicate: int = 1
    """Hosts on which each shard is measured."""
    builds: Builds = Builds.PUSH
    unfit: Unfit = Unfit.LEAVE_OUT


class Asked(msgspec.Struct, kw_only=True, frozen=True):
    """What the user says of it when a head begins, or goes on; None where it is not said."""

    hosts: int | None = None
    replicate: int | None = None
    builds: Builds | None = None
    unfit: Unfit | None = None

    def over(self, before: Wanted) -> Wanted:
        """Return what is wanted now: what is not said is as before."""
        said = {name: value for name, value in msgspec.structs.asdict(self).items() if value}
        return msgspec.structs.replace(before, **said)


class State(StrEnum):
    """State of a shard on a host."""

    RUNNING = "running"
    FINISHED = "finished"
    LOST = "lost"
    """The host, or what it had, was lost, or another one took it over; what the head had received
    is kept."""
    FAILED = "failed"


class Left(msgspec.Struct, kw_only=True, frozen=True):
    """What is left of a shard that a host did not finish."""

    done: float
    """The share of it that was done."""
    turns: int
    """Incarnations that are left."""


class Placement(msgspec.Struct, kw_only=True, omit_defaults=True):
    """A shard on a host."""

    shard: str
    host: str
    folder: str
    """The name of its folder in the host's: the shard's, and a number from the second on."""
    begun: float
    """Time of day, in seconds since 1970."""
    state: State = State.RUNNING
    reason: str = ""
    left: Left | None = None
    """What other hosts had left of it; None where it is all of the shard."""
    taken_over: bool = False
    """Whether another host ends it sooner: this one does not get it again."""
    unreadable: bool = False
    """Whether what the head received of it cannot be read: it does not count."""

    @property
    def words(self) -> str:
        """The host and the shard, as a path."""
        return f"{self.host}/{self.folder}"


class Record(msgspec.Struct, kw_only=True):
    """The experiment of a fleet, as far as it has come."""

    schema: int = SCHEMA
    id: str
    """The name of its folder on hosts, which no other experiment has."""
    wanted: Wanted
    shards: list[Shard]
    cuts: dict[str, Cut]
    """Shard -> what it measures."""
    sizing: Sizing = Sizing()
    """The shares that tests have of the budget."""
    placements: list[Placement] = []
    left: dict[str, list[Left]] = {}
    """Shard -> what is left of copies that hosts did not finish, until other hosts have them."""
    given_up: dict[str, str] = {}
    """Shard -> why it could be measured nowhere."""
    hosts: dict[str, HostFacts] = {}
    left_out: dict[str, str] = {}
    """Host -> why it measures nothing."""
    finished: bool = False
    forgotten: set[str] = set()
    """Hosts that have removed what they had of it."""

    @property
    def keeping(self) -> set[str]:
        """Hosts that still have something of it, as far as is known."""
        return {each.host for each in self.placements} - self.forgotten

    def of(self, shard: str) -> list[Placement]:
        """Return where a shard was or is measured."""
        return [each for each in self.placements if each.shard == shard]


def part_folder(folder: Path, placement: Placement) -> Folder:
    """Return the folder of what a host measured of a shard."""
    return Folder(within(folder, HOSTS, placement.host, placement.folder))


def has_record(folder: Path) -> bool:
    """Return whether a fleet measured, or measures, the experiment of a folder."""
    return (folder / FLEET_RECORD_FILE).is_file()


def read_record(folder: Path) -> Record:
    """Return the record of a fleet's experiment.

    Raises:
        UsageError: there is none, or a newer Slowdust wrote it.
        SlowdustError: it is damaged.
    """
    path = folder / FLEET_RECORD_FILE
    return read_record_file(path, Record, SCHEMA, f"there is no {path}")


def write_record(folder: Path, record: Record) -> None:
    """Replace the record of a fleet's experiment."""
    write_record_file(folder / FLEET_RECORD_FILE, record)
