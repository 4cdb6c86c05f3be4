"""The shards that wait for a host, and when all of them will have ended. No clock, no host.

A shard that is measured on several hosts is measured on hosts of one group, each of its copies on
another one.
"""

from __future__ import annotations

import heapq
import math
from bisect import bisect_left, insort
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
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
    begun: list[Second] = field(default_factory=list)
    """The time that each copy takes which a host began and did not finish; they come first."""
    hosts: set[str] = field(default_factory=set)
    """Hosts that have or had a copy of it."""
    group: str | None = None
    """The group of its first host; None while there is none."""

    @property
    def seconds(self) -> Second:
        """The time that its next copy takes."""
        return self.begun[0] if self.begun else self.shard.seconds

    @property
    def sizes(self) -> list[Second]:
        """The time that each copy takes."""
        return [*self.begun, *[self.shard.seconds] * (self.copies - len(self.begun))]


class Again(Enum):
    """Whether a host may have a shard again that it did not finish."""

    YES = "yes"
    NO = "no"


class Queue:
    """The shards that wait for a host, the longest first."""

    def __init__(self, shards: Iterable[Shard], replicate: int = 1) -> None:
        self.replicate = replicate
        self._all = {shard.name: _Waiting(shard, replicate) for shard in shards}
        self._open = sorted(self._all.values(), key=_place)
        self._work: dict[str | None, Second] = {None: sum(sum(each.sizes) for each in self._open)}
        """Group -> the time that its shards take; None for those that no host has had."""

    def __len__(self) -> int:
        return sum(each.copies for each in self._open)

    def __bool__(self) -> bool:
        return bool(self._open)

    @property
    def waiting(self) -> list[Second]:
        """The time that each copy takes which is to be measured, the longest shard first."""
        return [seconds for each in self._open for seconds in each.sizes]

    def work(self, group: str | None) -> Second:
        """Return the time that the shards of a group take; None for those that any may have."""
        return self._work.get(group, 0.0)

    @property
    def groups(self) -> set[str | None]:
        """The groups whose shards wait; None where any group may have one."""
        return {each.group for each in self._open}

    def seconds(self, name: str) -> Second:
        """Return the time that the next copy of a shard takes."""
        return self._all[name].seconds

    def in_place(self, place: int) -> Second:
        """Return the time of the shard that has so many longer ones, or of the shortest."""
        return self._open[min(place, len(self._open) - 1)].seconds if self._open else 0.0

    def longest(
        self, host: str, group: str, size_of_group: int, at_most: Second = math.inf
    ) -> Shard | None:
        """Return the longest shard, of so many seconds, that a host of a group may measure.

        A shard is not begun in a group that has fewer hosts than the shard has copies.
        """
        first = bisect_left(self._open, -at_most, key=lambda each: -each.seconds)
        return self._first(range(first, len(self._open)), host, group, size_of_group)

    def shortest(self, host: str, group: str, size_of_group: int) -> Shard | None:
        """Return the shortest shard that a host of a group may measure."""
        return self._first(range(len(self._open) - 1, -1, -1), host, group, size_of_group)

    def _first(self, places: range, host: str, group: str, size_of_group: int) -> Shard | None:
        for place in places:
            waiting = self._open[place]
            if self.may_have(waiting.shard.name, host, group, size_of_group):
                return Shard(name=waiting.shard.name, seconds=waiting.seconds)
        return None

    def may_have(self, name: str, host: str, group: str, size_of_group: int) -> bool:
        """Return whether a host of a group, which has so many hosts, may get a copy that waits."""
        waiting = self._all[name]
        if not waiting.copies or host in waiting.hosts:
            return False
        if waiting.group is None:
            return size_of_group >= self.replicate
        return waiting.group == group

    def waits(self, name: str) -> bool:
        """Return whether a copy of a shard waits for a host."""
        return self._all[name].copies > 0

    def had(self, name: str) -> set[str]:
        """Return the hosts that have or had a shard, or are not to have it."""
        return self._all[name].hosts

    def assign(self, name: str, host: str, group: str) -> None:
        """Give a host a shard, one that it had begun before for example."""
        with self._changing(name) as waiting:
            waiting.group = group
            waiting.hosts.add(host)
            waiting.copies -= 1
            if waiting.begun:
                del waiting.begun[0]

    def put_back(
        self, name: str, host: str, may_have_it_again: Again, left: Second | None = None
    ) -> None:
        """Let a host measure what this one did not finish, which takes so long; None for all."""
        with self._changing(name) as waiting:
            waiting.copies += 1
            if left is not None:
                waiting.begun.append(left)
            if may_have_it_again is Again.YES:
                waiting.hosts.discard(host)
            if self.replicate == 1:
                waiting.group = None

    def keep_begun(self, name: str, left: Sequence[Second]) -> None:
        """Note how long the copies take that hosts had begun before, and that wait."""
        with self._changing(name) as waiting:
            waiting.begun = list(left)[: waiting.copies]

    def exclude(self, name: str, host: str) -> None:
        """Do not give a host a shard."""
        self._all[name].hosts.add(host)

    def drop(self, name: str) -> None:
        """Let nobody measure a shard any more."""
        with self._changing(name) as waiting:
            waiting.copies = 0
            waiting.begun.clear()

    @contextmanager
    def _changing(self, name: str) -> Iterator[_Waiting]:
        """Keep the order and the sums while a shard changes."""
        waiting = self._all[name]
        if waiting.copies:
            del self._open[bisect_left(self._open, _place(waiting), key=_place)]
            self._work[waiting.group] -= sum(waiting.sizes)
        yield waiting
        if waiting.copies:
            insort(self._open, waiting, key=_place)
            self._work[waiting.group] = self.work(waiting.group) + sum(waiting.sizes)


def _place(waiting: _Waiting) -> tuple[float, str]:
    """Return the key that orders shards, the longest first."""
    return -waiting.seconds, waiting.shard.name


def makespan(sizes: Collection[Second], hosts: int) -> Second:
    """Return when the last of shards of these sizes ends, each on one of so many hosts."""
    free = [0.0] * hosts
    for size in sorted(sizes, reverse=True):
        heapq.heapreplace(free, free[0] + size)
    return max(free)


def expected_end(waiting: Iterable[Second], busy: Mapping[str, Second], idle: int) -> Second:
    """Return in how many seconds everything will be done.

    `waiting` is the time that each shard takes which no host has, and `busy` are hosts with the
    seconds that they still need for what they measure.
    """
    free = [*busy.values(), *[0.0] * idle]
    if not free:
        return 0.0
    heapq.heapify(free)
    for seconds in waiting:
        heapq.heapreplace(free, free[0] + seconds)
    return max(free)
