"""The hosts of a fleet as the head has met them: asked, ready to measure, lost, or left out."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection

import msgspec

from slowdust.fleet.hosts.fitness import group_of
from slowdust.fleet.model import HostFacts
from slowdust.fleet.record import Record
from slowdust.units import Second

MOST_LOSSES = 3
"""Times that one host may be lost and come again."""
_ASK_AGAIN_AFTER: Second = 30.0
"""Time after which a lost host is asked again: the cluster may not know yet that it is gone."""


class Roster:
    """The hosts; their facts, and the reasons of those left out, are in the record."""

    def __init__(self, record: Record) -> None:
        self._record = record
        self.asked: set[str] = set()
        """Hosts that have not answered yet."""
        self.ready: set[str] = set()
        """Hosts that measure, or can."""
        self.worked: set[str] = set()
        """Hosts that have had a shard."""
        self._losses: Counter[str] = Counter()
        self._asked_again: dict[str, Second] = {}
        """Lost host -> when it is asked again, if it is there then."""

    def takes_part(self, host: str) -> bool:
        """Return whether a host is asked or ready."""
        return host in self.ready or host in self.asked

    def gone(self, present: Collection[str]) -> list[str]:
        """Return the hosts that took part and are not among those present."""
        return sorted((self.ready | self.asked) - {*present})

    def ask(self, present: Collection[str], now: Second) -> list[str]:
        """Return the hosts whose facts are asked for now; a lost one is asked after a while."""
        known = {*self.ready, *self.asked, *self._record.left_out}
        strangers = sorted({*present} - known)
        chosen = [host for host in strangers if now >= self._asked_again.get(host, now)]
        self.asked.update(chosen)
        return chosen

    def answer(self, host: str, facts: HostFacts) -> None:
        """Keep the facts of a host that was asked, less the weights, which are used only once."""
        self.asked.discard(host)
        self._record.hosts[host] = msgspec.structs.replace(facts, weights=[])

    def ask_again(self, host: str) -> None:
        """Let a host measure nothing until it has answered once more."""
        self.ready.discard(host)
        self.asked.add(host)

    def leave_out(self, host: str, reason: str) -> None:
        """Let a host take part no longer."""
        self._remove(host)
        self._record.left_out[host] = reason

    def lose(self, host: str, now: Second) -> int:
        """Let a host go, that may come again; return how often it was lost."""
        self._remove(host)
        self._losses[host] += 1
        self._asked_again[host] = now + _ASK_AGAIN_AFTER
        return self._losses[host]

    def _remove(self, host: str) -> None:
        self.ready.discard(host)
        self.asked.discard(host)

    def group(self, host: str) -> str:
        """Return the group of hosts like one."""
        return group_of(self._record.hosts.get(host))

    def chosen(self) -> list[str]:
        """Return the hosts that measure: those that do, then hosts of the largest group."""
        groups = Counter(map(self.group, self.ready))
        ordered = sorted(
            self.ready,
            key=lambda host: (host not in self.worked, -groups[self.group(host)], host),
        )
        return ordered[: self._record.wanted.hosts]
