"""The hosts of a fleet as its head sees them, and the messages between them."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence
from enum import Enum, StrEnum
from typing import Protocol, TypeVar

import msgspec

from slowdust.builds.pushed import PushedBuild
from slowdust.store.finding import Finding
from slowdust.store.manifest import Manifest
from slowdust.units import Second

_Answer = TypeVar("_Answer")


class HostFacts(msgspec.Struct, kw_only=True, omit_defaults=True):
    """What the head knows of a host before it measures."""

    slowdust: str
    """The version of Slowdust there."""
    cpu: str | None = None
    """The CPU's model, by which hosts are grouped."""
    cpus: int | None = None
    free_bytes: int = 0
    """Free space where its servers have their data."""
    findings: list[Finding] = []
    """What the checks of the host found, the most severe first."""
    measuring: str | None = None
    """Who measures there now."""
    calibrated: str | None = None
    """The smallest difference that its newest calibration found."""


class ShardOrder(msgspec.Struct, kw_only=True, frozen=True):
    """A shard that a host is to measure, or to resume."""

    experiment: str
    """Id of the experiment: the name of a results folder on the host."""
    folder: str
    """The shard's name in it."""
    spec: str
    """The specification (TOML)."""
    steps: list[str] = []
    """`TEST@CLIENTS` of each test that a start measures."""
    files: dict[str, bytes] = {}
    """Name -> content of files that the specification names."""
    started: str | None = None
    """The start of the experiment that the head has received of it; None without."""
    builds: list[PushedBuild] = []
    """The host gets builds that are not among them by itself."""


class ShardBundle(msgspec.Struct, kw_only=True, frozen=True):
    """All that a host has measured of a shard, as `slowdust bundle` packs it."""

    content: bytes


class End(StrEnum):
    """How the work on a shard ended."""

    FINISHED = "finished"
    FAILED = "failed"
    """The shard could not be measured there."""
    GONE = "gone"
    """The host no longer has what it had measured."""
    DISK_FULL = "disk full"
    """The host can measure nothing more."""


class ShardEnded(msgspec.Struct, kw_only=True, frozen=True):
    """The end of the work on a shard."""

    end: End
    reason: str = ""


class HostLost(msgspec.Struct, kw_only=True, frozen=True):
    """The end of a host, or that it did not answer."""

    reason: str


Message = HostFacts | ShardBundle | ShardEnded | HostLost


class Ask(Enum):
    """The time at which a host answers a question."""

    NOW = "now"
    """Immediately, whatever is measured there."""
    WHEN_IDLE = "when idle"
    """After what is measured there."""


class Cluster(Protocol):
    """The hosts; tests have simulated ones with a clock of their own."""

    def hosts(self) -> Collection[str]:
        """Return the names of the hosts that are there now."""

    def examine(self, host: str) -> None:
        """Ask a host for its facts: `HostFacts` or `HostLost` comes."""

    def run(self, host: str, order: ShardOrder) -> None:
        """Start a shard on a host: `ShardBundle`s come, and `ShardEnded` or `HostLost` last."""

    def forget(self, host: str, experiment: str) -> bool:
        """Stop what a host measures, and remove what it has of an experiment, if it answers."""

    def push(self, folders: Sequence[str], builds: Sequence[PushedBuild]) -> None:
        """Give each host that measures folders of this machine's cache.

        Raises:
            SlowdustError: a folder cannot be read.
        """

    def ask(
        self,
        what: Callable[..., _Answer],
        *arguments: object,
        when: Ask,
        within: Second | None = None,
        hosts: Collection[str] | None = None,
    ) -> Mapping[str, _Answer | HostLost]:
        """Return what a function returns on each of `hosts`, by default all.

        It is `HostLost` where a host did not answer in time.
        """

    def messages(self, within: Second) -> Sequence[tuple[str, Message]]:
        """Return the messages of hosts, each with its name; wait for the first at most so long."""

    def now(self) -> Second:
        """Return the time of a monotonic clock."""


def complete_starts(manifest: Manifest, steps: Collection[str]) -> int:
    """Return the starts in which all steps had their turns, except those decided early."""
    open_steps = [step for step in steps if step not in manifest.settled]
    planned = manifest.method.incarnations
    return min((manifest.turns_done.get(step, 0) for step in open_steps), default=planned)
