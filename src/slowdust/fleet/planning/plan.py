"""Which host measures which shard, by how fast each host is. No clock, no host.

Whoever is idle gets the longest shard that is left (list scheduling; on hosts of one pace it ends
within 4/3 of the best plan, and much nearer where there are many shards: R. L. Graham, 1969). A
slow host would be the last to end then. So it gets the longest of those that it is expected to end
before the others have done all the rest, and near the end none; what it has begun nevertheless, a
host that is idle takes over.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass

from slowdust.fleet.planning.pace import Paces, Teaches
from slowdust.fleet.planning.queue import Again, Queue, Shard, expected_end
from slowdust.units import Second

_DOUBT = 4.0
"""Multiple of the mean pace that a host of unknown pace may have: of 1, 2, 3 and 4 the best in
simulations (bench/fleet_plans.py) with a tenth of slow hosts and five or more shards a host. With
three a host it costs hosts that are all alike about 2%."""
_ROUNDING = 1 + 1e-9
_LOOK_EVERY: Second = 5.0
"""Time between two looks for what could be taken over, which grow with the hosts."""
_START: Second = 10.0
"""Time in which another host starts the servers of what it takes over."""
_MOST_NEEDED = 0.5
"""Part of the time that a shard still needs, in which the host that takes it over has to end it."""
_LEAST_SAVED: Second = 20.0
"""Time that a takeover saves at least, for the incarnation that is cut short."""
_ARRIVES_WITHIN: Second = 5.0
"""Time after the end of a turn in which the last of its slices have arrived."""


@dataclass(frozen=True)
class Takeover:
    """A shard that an idle host ends sooner than the one that measures it."""

    host: str
    """The host that measures it."""
    by: str


class Plan:
    """The shards that wait, the hosts that share them, and what each measures."""

    def __init__(self, shards: Iterable[Shard], replicate: int = 1) -> None:
        self.queue = Queue(shards, replicate)
        self.paces = Paces()
        self._groups: dict[str, str] = {}
        self._sizes: Counter[str] = Counter()
        self._look_at: Second | None = None

    def share(self, groups: Mapping[str, str], now: Second) -> None:
        """Let hosts, each of a group, share the shards from now on."""
        if groups == self._groups:
            return
        self._groups = dict(groups)
        self._sizes = Counter(groups.values())
        useful = {h: self._team(g) for h, g in groups.items() if self._is_large(g)}
        self.paces.share(useful, now)

    def _is_large(self, group: str) -> bool:
        return self._sizes[group] >= self.queue.replicate

    def _team(self, group: str) -> str:
        """Return the hosts that share what a group has: all, if a shard is on one host alone."""
        return group if self.queue.replicate > 1 else ""

    def quickest_first(self, hosts: Iterable[str]) -> list[str]:
        """Return hosts in the order in which they are asked what they take."""
        return sorted(hosts, key=self.paces.pace)

    def take(self, host: str, now: Second) -> Shard | None:
        """Return the shard that an idle host measures next; None where it has none, or waits."""
        shard = self._chosen(host, now)
        if shard is not None:
            self.give(shard.name, host, now)
        return shard

    def give(self, name: str, host: str, now: Second) -> None:
        """Let a host measure a shard that waits."""
        seconds = self.queue.seconds(name)
        self.queue.assign(name, host, self._groups[host])
        self.paces.begin(host, name, seconds, now, Teaches.YES)

    def _chosen(self, host: str, now: Second) -> Shard | None:
        group = self._groups[host]
        longest = self._longest(host)
        if longest is None or not self._is_large(group):
            return longest
        known = self.paces.known(host)
        if known and not self.paces.is_slow(host):
            return longest
        pace = self.paces.pace(host)
        rest = self._rest(group, longest, now)
        if not known:
            return self._for_unknown(host, longest, rest / pace)
        fitting = self._longest(host, rest / pace)
        return fitting or self._at_the_end(host, rest, now)

    def _longest(self, host: str, at_most: Second | None = None) -> Shard | None:
        group = self._groups[host]
        if at_most is None:
            return self.queue.longest(host, group, self._sizes[group])
        return self.queue.longest(host, group, self._sizes[group], at_most * _ROUNDING)

    def _rest(self, group: str, longest: Shard, now: Second) -> Second:
        """Return the time in which the hosts that share the rest can have done it at best."""
        paces = self.paces
        teams = {self._team(each) for each in self._sizes if self._is_large(each)}
        own = self._team(group)
        bound = {team: paces.left_of_team(team, now) + self._bound(team) for team in teams}
        everything = self.queue.work(None) + sum(bound.values())
        return max(
            everything / sum(map(paces.speed, teams)),
            bound[own] / paces.speed(own),
            longest.seconds * paces.quickest,
        )

    def _bound(self, team: str) -> Second:
        """Return the work that waits and is of no other team."""
        return self.queue.work(team) if self.queue.replicate > 1 else 0.0

    def _for_unknown(self, host: str, longest: Shard, limit: Second) -> Shard | None:
        """Return the longest shard that even a slow host ends within the limit.

        One that is too long to wait until the first paces are known is not kept from it.
        """
        wait = self.queue.in_place(len(self._groups) - 1)
        if longest.seconds + wait > limit * _ROUNDING:
            return longest
        return self._longest(host, limit / _DOUBT) or self._longest(host, limit) or longest

    def _at_the_end(self, host: str, rest: Second, now: Second) -> Shard | None:
        """Return the shortest shard unless others would end it sooner, behind all the rest."""
        group = self._groups[host]
        shortest = self.queue.shortest(host, group, self._sizes[group])
        team = self._team(group)
        free = self.paces.next_end(team, now)
        if shortest is None or free is None:
            return shortest
        had = self.queue.had(shortest.name)
        if self.paces.hosts_of(team) - len(had - {host}) < 2:
            return shortest  # there is no other that may have it
        by_others = max(rest, free - now + shortest.seconds * self.paces.quickest)
        sooner = shortest.seconds * self.paces.pace(host) <= by_others * _ROUNDING
        return shortest if sooner else None

    def takeover(self, idle: Collection[str], now: Second) -> Takeover | None:
        """Return what an idle host is to take over from another one; it is not yet done."""
        if not idle or (self._look_at is not None and now < self._look_at):
            return None
        found = self._takeover(idle, now)
        if found is None:
            self._look_at = now + _LOOK_EVERY
        return found

    def _takeover(self, idle: Collection[str], now: Second) -> Takeover | None:
        waiting = self.queue.groups
        if None in waiting:
            return None
        paces = self.paces
        quickest = self.quickest_first(idle)
        lefts = {host: paces.left(host, now) for host in paces.work if self._is_settled(host, now)}
        for host in sorted(lefts, key=lambda each: (-lefts[each], each)):
            if lefts[host] < _LEAST_SAVED:
                break
            if self._groups[host] in waiting:
                continue
            work = paces.work[host]
            had = self.queue.had(work.shard)
            for by in quickest:
                if by in had or self._groups[by] != self._groups[host]:
                    continue
                needed = _START + work.seconds * (1 - work.done) * paces.pace(by)
                saved = lefts[host] - needed
                if needed <= _MOST_NEEDED * lefts[host] and saved >= _LEAST_SAVED:
                    return Takeover(host, by)
                break
        return None

    def _is_settled(self, host: str, now: Second) -> bool:
        """Return whether all has arrived of the turns that a host has done."""
        work = self.paces.work[host]
        return host in self._groups and (not work.done or now - work.at >= _ARRIVES_WITHIN)

    def put_back(self, shard: str, host: str, again: Again, left: Second | None) -> None:
        """Let a shard wait again, of which so much is left; None for all of it."""
        self.paces.leave(host)
        self.queue.put_back(shard, host, again, left)

    def expected_end(self, idle: int, now: Second) -> Second | None:
        """Return the time to the end of everything; None where no host is there."""
        busy = {host: self.paces.left(host, now) for host in self.paces.work}
        if not (busy or idle):
            return None
        waiting = [seconds * self.paces.mean for seconds in self.queue.waiting]
        return expected_end(waiting, busy, idle)
