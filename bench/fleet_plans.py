"""The time that handing out shards takes, and how near the best plan a fleet then ends.

    python -m bench.fleet_plans [--hosts 1000] [--shards-per-host 10]

Prints the tables of docs/fleet.md. The clock is simulated: hosts measure shards whose lengths are
drawn (log-normal, the longest about 7 times the median), each takes the next one from the head's
own plan when it is idle, and the head's work is timed. The plan learns how fast a host is from the
shards that have ended there, and knows of no turns. No plan ends before the lower bound: the load
of all hosts that end at once, or the longest shard on a host that is not slow.
"""

from __future__ import annotations

import argparse
import heapq
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from slowdust.fleet.planning.plan import Plan
from slowdust.fleet.planning.queue import Again, Shard
from slowdust.units import Second

SMALLEST = ("--hosts", "20", "--shards-per-host", "4")
GROUPS = 4
"""CPU models of the hosts."""
_MEDIAN: Second = 600.0
_SPREAD = 0.5
"""Standard deviation of the logarithm of a shard's length."""
_MOST_ABOVE = 0.1
_LONGEST_PLANNING: Second = 5.0
_AS_CUT = 4
"""Shards of a host at most when a real experiment is cut; those rows have no goal."""
_SLOWEST = 2.0
"""The goals: a plan of 1,000 hosts within 5 s, and an end within 10% of the lower bound, also where
a tenth of the hosts takes twice as long."""


@dataclass(frozen=True)
class Outcome:
    """What became of a plan."""

    placed: int
    """Shards that were begun, copies included."""
    taken_over: int
    """Shards of them that another host had begun."""
    planning: Second
    """Time that planning took, by the real clock."""
    makespan: Second
    lower_bound: Second

    @property
    def above(self) -> float:
        """How much later it ends than the lower bound says, as a share."""
        return self.makespan / self.lower_bound - 1


def drawn_shards(number: int, seed: int) -> list[Shard]:
    """Draw shards of different lengths."""
    lengths = _MEDIAN * np.exp(np.random.default_rng(seed).normal(0, _SPREAD, number))
    return [Shard(name=f"s{n:06}", seconds=float(each)) for n, each in enumerate(lengths)]


@dataclass
class _Fleet:
    """Hosts with a clock of their own, which the plan does not know."""

    plan: Plan
    slowness: Sequence[float]
    ends: list[tuple[Second, int, int]] = field(default_factory=list)
    """The moment at which a host ends what it measures, the host, and the number of its shard."""
    shards: list[int] = field(default_factory=list)
    """The number of shards that each host has begun."""
    taken_over: int = 0
    placed: int = 0
    now: Second = 0.0

    def hand_out(self, idle: set[int]) -> None:
        """Let idle hosts begin what the plan has for them, and take over what it says."""
        names = {f"host-{host}": host for host in idle}
        for name in self.plan.quickest_first(names) if self.plan.queue else ():
            if self.plan.take(name, self.now) is not None:
                self.begin(names[name])
                idle.discard(names.pop(name))
        while names and (found := self.plan.takeover(names, self.now)) is not None:
            shard = self.plan.paces.work[found.host].shard
            self.plan.paces.stop(found.host, self.now)
            self.plan.put_back(shard, found.host, Again.NO, None)
            slow = int(found.host.removeprefix("host-"))
            self.shards[slow] += 1  # its end is no longer awaited
            idle.add(slow)
            self.plan.give(shard, found.by, self.now)
            self.begin(names[found.by])
            idle.discard(names.pop(found.by))
            self.taken_over += 1

    def begin(self, host: int) -> None:
        """Let a host begin what the plan says that it measures."""
        self.shards[host] += 1
        seconds = self.plan.paces.work[f"host-{host}"].seconds * self.slowness[host]
        heapq.heappush(self.ends, (self.now + seconds, host, self.shards[host]))
        self.placed += 1

    def run(self) -> Second:
        """Measure everything; return when the last shard has ended."""
        last = 0.0
        idle = set(range(len(self.slowness)))
        self.shards = [0] * len(self.slowness)
        self.hand_out(idle)
        while self.ends:
            self.now, host, number = heapq.heappop(self.ends)
            if number != self.shards[host]:
                continue
            last = self.now
            self.plan.paces.finish(f"host-{host}", self.now)
            idle.add(host)
            self.hand_out(idle)
        return last


def simulated(
    shards: Sequence[Shard], hosts: int, replicate: int, slow: Sequence[float] = ()
) -> Outcome:
    """Measure shards by so many hosts; `slow` are the slownesses of the first of them."""
    slowness = [*slow, *[1.0] * (hosts - len(slow))]
    begun = time.perf_counter()
    plan = Plan(shards, replicate)
    plan.share({f"host-{host}": f"cpu-{host % GROUPS}" for host in range(hosts)}, 0.0)
    fleet = _Fleet(plan, slowness)
    makespan = fleet.run()
    planning = time.perf_counter() - begun
    load = sum(shard.seconds for shard in shards) * replicate / sum(1 / each for each in slowness)
    longest = max(shard.seconds for shard in shards)
    assert not len(plan.queue)
    return Outcome(fleet.placed, fleet.taken_over, planning, makespan, max(load, longest))


def main(arguments: Sequence[str]) -> int:
    """Print the tables; return 1 where a goal was not met."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hosts", type=int, default=1000)
    parser.add_argument("--shards-per-host", type=int, default=10)
    options = parser.parse_args(arguments)
    print(
        "| hosts | shards | on hosts each | slow hosts | planned in | end above the lower bound |"
    )
    print("| --: | --: | --: | --: | --: | --: |")
    each = options.shards_per_host
    rows = [(max(GROUPS, options.hosts // part), each, 1, 1.0) for part in (10, 5, 2, 1)]
    rows += [(2 * options.hosts, each, 1, 1.0), (options.hosts, each, 3, 1.0)]
    for slowness in (2.0, 4.0):
        rows += [(options.hosts, each, copies, slowness) for copies in (1, 3)]
    rows += [(options.hosts, _AS_CUT, 1, slowness) for slowness in (1.0, 2.0, 4.0)]
    missed = False
    for hosts, per_host, replicate, slowness in rows:
        shards = drawn_shards(hosts * per_host, seed=hosts)
        slow = [] if slowness == 1 else [slowness] * (hosts // 10)
        outcome = simulated(shards, hosts, replicate, slow)
        if slowness <= _SLOWEST and per_host == each:
            missed |= outcome.above > _MOST_ABOVE or outcome.planning > _LONGEST_PLANNING
        words = f"{len(slow):,} at 1/{slowness:.0f} speed" if slow else "none"
        print(
            f"| {hosts:,} | {len(shards):,} | {replicate} | {words} | {outcome.planning:.2f} s | "
            f"{outcome.above:.1%} |"
        )
    return int(missed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
