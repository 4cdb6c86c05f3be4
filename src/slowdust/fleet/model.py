"""The words between the head of a fleet and its hosts."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from enum import StrEnum
from typing import Protocol

import msgspec

from slowdust.builds.apart import Assignment
from slowdust.builds.handed_on import HandedOn
from slowdust.fleet.building.handing import Bundle
from slowdust.store.finding import Finding
from slowdust.units import Second


class Weight(msgspec.Struct, kw_only=True, frozen=True, omit_defaults=True):
    """The time that a test needs on a host, by the host's calibration."""

    test: str
    clients: int
    dbms: str
    rows: int | None = None
    weight: float
    """The seconds in which the interval of two contenders' ratio has a half-width of 1 (in ln
    rqps): they grow as the square of what it is to be narrower."""


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
    """What the host resolves, by its newest calibration."""
    weights: list[Weight] = []
    """The time that each of its calibrated tests needs."""


class Order(msgspec.Struct, kw_only=True, frozen=True):
    """A shard that a host is to measure, or to go on with."""

    experiment: str
    """Id of the experiment: the name of a results folder on the host."""
    folder: str
    """The shard's name in it."""
    spec: str
    """The specification (TOML)."""
    files: dict[str, bytes] = {}
    """Name -> content of files beside the specification."""
    started: str | None = None
    """The moment at which the experiment in the head's copy of the folder began; None without."""
    have: dict[str, int] = {}
    """File -> bytes that the head has of it."""
    builds: list[HandedOn] = []
    """The builds that the head handed on; the host gets those by itself that are not among them."""


class Part(msgspec.Struct, kw_only=True, frozen=True):
    """A piece of a file of a shard's folder."""

    file: str
    content: bytes
    offset: int | None = None
    """The place of its first byte; None where it is all of the file."""


class End(StrEnum):
    """How the work on a shard ended."""

    FINISHED = "finished"
    FAILED = "failed"
    """The shard could not be measured there."""
    GONE = "gone"
    """The host no longer has what was begun there."""
    UNFIT = "unfit"
    """The host can measure nothing more: its disk is full."""


class Ended(msgspec.Struct, kw_only=True, frozen=True):
    """The end of the work on a shard."""

    end: End
    reason: str = ""


class Lost(msgspec.Struct, kw_only=True, frozen=True):
    """The end of a host."""

    reason: str


class Able(msgspec.Struct, kw_only=True, frozen=True):
    """What a node of the cluster can compile."""

    slowdust: str
    """The version of Slowdust there."""
    compilers: dict[str, str]
    """Build -> the version of the compiler, for what it can compile."""
    lacks: dict[str, str]
    """Build -> why it cannot compile it."""


class Begun(msgspec.Struct, kw_only=True, frozen=True):
    """The beginning of a compilation."""


class Made(msgspec.Struct, kw_only=True, frozen=True):
    """A build that a node compiled."""

    bundle: Bundle
    archive: bytes


class NotMade(msgspec.Struct, kw_only=True, frozen=True):
    """The end of a compilation that failed."""

    reason: str


Report = Begun | Made | NotMade | Lost
"""What comes from a node that compiles."""


class Compilers(Protocol):
    """The nodes of the cluster, as far as they compile; tests have others."""

    def head(self) -> str:
        """Return the name of this machine's node."""

    def able(self, assignments: Sequence[Assignment]) -> Mapping[str, Able | Lost]:
        """Return what each node can compile, or `Lost` with the reason where it does not say."""

    def compile(self, node: str, assignment: Assignment, sources: bytes) -> None:
        """Let a node compile as soon as nothing is measured there: reports come of it."""

    def cancel(self, nodes: Collection[str]) -> None:
        """End what nodes compile, of which nothing more comes, and wait until it has ended."""

    def reports(self, within: Second) -> Sequence[tuple[str, Report]]:
        """Return what nodes have said, each with its name; wait for the first of it so long."""

    def now(self) -> Second:
        """Return the time of a clock that only goes forward."""


Message = HostFacts | Part | Ended | Lost
"""What comes from a host."""


class Cluster(Protocol):
    """The hosts, wherever they are; tests have one with a clock of its own."""

    def hosts(self) -> Collection[str]:
        """Return the names of the hosts that are there now."""

    def examine(self, host: str) -> None:
        """Ask a host for its facts, or say by `Lost` why there are none."""

    def run(self, host: str, order: Order) -> None:
        """Let a host measure a shard: `Part`s come, and `Ended` or `Lost` at last."""

    def stop(self, host: str) -> None:
        """End what a host measures, of which nothing more comes, and examine the host anew."""

    def forget(self, host: str, experiment: str) -> None:
        """Let a host remove what it has of an experiment."""

    def messages(self, within: Second) -> Sequence[tuple[str, Message]]:
        """Return what hosts have said, each with its name; wait for the first of it so long."""

    def now(self) -> Second:
        """Return the time of a clock that only goes forward."""
