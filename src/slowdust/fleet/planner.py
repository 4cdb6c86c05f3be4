"""Handing out shards: which host measures which, and when that will end. No clock, no host.

Whoever is idle gets the longest shard that is left, so that a slow host gets fewer of them and one
that joins late gets some (list scheduling; in this order it ends within 4/3 of the best plan, and
much nearer where there are many shards: R. L. Graham, 1969). A shard that is measured on several
hosts is measured on hosts of one group, each of its copies on another one.
"""

from __future__ import annotations

import heapq
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum

import msgspec

from slowdust.units import Second


class Shard(msgspec.Struct, kw_only=True, frozen=True):
    """A part of an experiment that one host measures."""

    name: str
    seconds: Second
    """The time that it is expected to take."""


@dataclass
class _Waiting:
    """A shard with copies that no host has yet."""

    shard: Shard
    copies: int
    hosts: set[str] = field(default_factory=set)
    """Hosts that have or had a copy of it."""
    group: str | None = None
    """The group of its first host; None while there is none."""


class Again(Enum):
    """Whether a host may have a shard again that it did not finish."""

    YES = "yes"
    NO = "no"


class Queue:
    """The shards that wait for a host, the longest first."""

    def __init__(self, shards: Iterable[Shard], replicate: int = 1) -> None:
        self._replicate = replicate
        self._all = {shard.name: _Waiting(shard, replicate) for shard in shards}
        self._open: dict[str, _Waiting] = {}
        self._sort()

    def __len__(self) -> int:
        return sum(each.copies for each in self._open.values())

    @property
    def waiting(self) -> list[tuple[Shard, int]]:
        """The shards with the number of copies that are to be measured."""
        return [(each.shard, each.copies) for each in self._open.values()]

    def take(self, host: str, group: str, size_of_group: int) -> Shard | None:
        """Return the longest shard that a host of a group may measure; None where there is none.

        A shard is not begun in a group that has fewer hosts than the shard has copies.
        """
        for waiting in self._open.values():
            if host in waiting.hosts or waiting.group not in (None, group):
                continue
            if waiting.group is None and size_of_group < self._replicate:
                continue
            self.assign(waiting.shard.name, host, group)
            return waiting.shard
        return None

    def assign(self, name: str, host: str, group: str) -> None:
        """Give a host a shard, one that it had begun before for example."""
        waiting = self._all[name]
        waiting.group = group
        waiting.hosts.add(host)
        waiting.copies -= 1
        if not waiting.copies:
            del self._open[name]

    def put_back(self, name: str, host: str, may_have_it_again: Again) -> None:
        """Let a host measure what this one did not finish."""
        waiting = self._all[name]
        waiting.copies += 1
        if may_have_it_again is Again.YES:
            waiting.hosts.discard(host)
        if self._replicate == 1:
            waiting.group = None
        self._sort()

    def exclude(self, name: str, host: str) -> None:
        """Do not give a host a shard."""
        self._all[name].hosts.add(host)

    def drop(self, name: str) -> None:
        """Let nobody measure a shard any more."""
        self._all[name].copies = 0
        self._open.pop(name, None)

    def _sort(self) -> None:
        """Let the longest of what is open be the first."""
        waiting = [each for each in self._all.values() if each.copies]
        waiting.sort(key=lambda each: (-each.shard.seconds, each.shard.name))
        self._open = {each.shard.name: each for each in waiting}


def makespan(sizes: Collection[Second], hosts: int) -> Second:
    """Return when the last of shards of these sizes ends, each on one of so many hosts."""
    free = [0.0] * hosts
    for size in sorted(sizes, reverse=True):
        heapq.heapreplace(free, free[0] + size)
    return max(free)


def expected_end(
    waiting: Sequence[tuple[Shard, int]], busy: Mapping[str, Second], idle: int
) -> Second:
    """Return in how many seconds everything will be done.

    `busy` are hosts with the seconds that they still need for what they measure.
    """
    free = [*busy.values(), *[0.0] * idle]
    if not free:
        return 0.0
    heapq.heapify(free)
    for shard, copies in waiting:
        for _ in range(copies):
            heapq.heapreplace(free, free[0] + shard.seconds)
    return max(free)
