"""The hosts of a fleet as the head sees them, and their messages."""

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
    """The facts about a host that the head has before it measures."""

    slowdust: str
    """The version of Slowdust on the host."""
    cpu: str | None = None
    """The CPU model; hosts are grouped by it."""
    cpus: int | None = None
    free_bytes: int = 0
    """Free space for the data of its servers."""
    findings: list[Finding] = []
    """The findings of the host's checks, the most severe first."""
    measuring: str | None = None
    """The experiment that is running there."""
    calibrated: str | None = None
    """The smallest difference that its newest calibration detected."""


class ShardOrder(msgspec.Struct, kw_only=True, frozen=True):
    """A shard for a host to measure or resume."""

    experiment: str
    """Id of the experiment: the name of a results folder on the host."""
    folder: str
    """The shard's name in that folder."""
    spec: str
    """The specification (TOML)."""
    steps: list[str] = []
    """`TEST@CLIENTS` of each test measured in a start."""
    files: dict[str, bytes] = {}
    """Name -> content of the files that the specification refers to."""
    started: str | None = None
    """The beginning of the experiment as received by the head; None before that."""
    builds: list[PushedBuild] = []
    """Pushed builds; the host gets all others itself."""


class ShardBundle(msgspec.Struct, kw_only=True, frozen=True):
    """All measurements of a shard on a host, as packed by `slowdust bundle`."""

    content: bytes


class End(StrEnum):
    """How a host stopped working on a shard."""

    FINISHED = "finished"
    FAILED = "failed"
    """The shard could not be measured there."""
    GONE = "gone"
    """The host no longer has its measurements."""
    DISK_FULL = "disk full"
    """The host cannot measure anything more."""


class ShardEnded(msgspec.Struct, kw_only=True, frozen=True):
    """A host stopped working on a shard."""

    end: End
    reason: str = ""


class HostLost(msgspec.Struct, kw_only=True, frozen=True):
    """A host exited, or did not answer."""

    reason: str


Message = HostFacts | ShardBundle | ShardEnded | HostLost


class Ask(Enum):
    """The time of a host's answer to a question."""

    NOW = "now"
    """Immediately, even while it measures."""
    WHEN_IDLE = "when idle"
    """After its current measurement."""


class Cluster(Protocol):
    """The hosts; tests have simulated ones with their own clock."""

    def hosts(self) -> Collection[str]:
        """Return the names of the present hosts."""

    def examine(self, host: str) -> None:
        """Ask a host for its facts; it answers with `HostFacts` or `HostLost`."""

    def run(self, host: str, order: ShardOrder) -> None:
        """Start a shard on a host; it sends `ShardBundle`s, then `ShardEnded` or `HostLost`."""

    def forget(self, host: str, experiment: str) -> bool:
        """Stop a host's measurement, and remove its files of an experiment; False if it is lost."""

    def push(self, folders: Sequence[str], builds: Sequence[PushedBuild]) -> None:
        """Copy folders of this machine's cache to each measuring host.

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
        """Return the results of a function on each of `hosts`, by default all.

        The result is `HostLost` for a host that did not answer in time.
        """

    def messages(self, within: Second) -> Sequence[tuple[str, Message]]:
        """Return the hosts' messages with their names; wait at most `within` for the first."""

    def now(self) -> Second:
        """Return the time of a monotonic clock."""


def complete_starts(manifest: Manifest, steps: Collection[str]) -> int:
    """Return the number of starts that had turns of all steps not decided early."""
    open_steps = [step for step in steps if step not in manifest.settled]
    planned = manifest.method.incarnations
    return min((manifest.turns_done.get(step, 0) for step in open_steps), default=planned)
