"""The time that handing out shards takes, and how near the best plan a fleet then ends.

    python -m bench.fleet_plans [--hosts 1000] [--shards-per-host 10]

Prints the tables of docs/fleet.md. The clock is simulated: hosts measure shards whose lengths are
drawn (log-normal, the longest about 7 times the median), each takes the next one from the head's
own queue when it is idle, and the head's work is timed. No plan ends before the lower bound: the
mean load of a host, or the longest shard.
"""

from __future__ import annotations

import argparse
import heapq
import sys
import time
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from slowdust.fleet.planner import Queue, Shard
from slowdust.units import Second

SMALLEST = ("--hosts", "20", "--shards-per-host", "4")
GROUPS = 4
"""CPU models of the hosts."""
_MEDIAN: Second = 600.0
_SPREAD = 0.5
"""Standard deviation of the logarithm of a shard's length."""
_MOST_ABOVE = 0.1
_LONGEST_PLANNING: Second = 5.0
"""The goals: a plan of 1,000 hosts within 5 s, and an end within 10% of the lower bound."""


@dataclass(frozen=True)
class Outcome:
    """What became of a plan."""

    placed: int
    """Shards that were measured, copies included."""
    planning: Second
    """Time that the queue took, by the real clock."""
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


def simulated(
    shards: Sequence[Shard], hosts: int, replicate: int, slow: Sequence[float] = ()
) -> Outcome:
    """Measure shards by so many hosts; `slow` are the slownesses of the first of them."""
    slowness = [*slow, *[1.0] * (hosts - len(slow))]
    groups = [f"cpu-{host % GROUPS}" for host in range(hosts)]
    sizes = {group: groups.count(group) for group in set(groups)}
    idle: list[tuple[Second, int]] = [(0.0, host) for host in range(hosts)]
    ends, placed = [0.0] * hosts, 0
    begun = time.perf_counter()
    queue = Queue(shards, replicate)
    while idle:
        now, host = heapq.heappop(idle)
        group = groups[host]
        shard = queue.take(f"host-{host}", group, sizes[group])
        if shard is not None:
            placed += 1
            ends[host] = now + shard.seconds * slowness[host]
            heapq.heappush(idle, (ends[host], host))
    planning = time.perf_counter() - begun
    load = sum(shard.seconds for shard in shards) * replicate / sum(1 / each for each in slowness)
    longest = max(shard.seconds for shard in shards)
    return Outcome(placed, planning, max(ends), max(load, longest))


def main(arguments: Sequence[str]) -> int:
    """Print the tables; return 1 where a goal was not met."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--hosts", type=int, default=1000)
    parser.add_argument("--shards-per-host", type=int, default=10)
    options = parser.parse_args(arguments)
    print("| hosts | shards | on hosts each | planned in | end above the lower bound |")
    print("| --: | --: | --: | --: | --: |")
    rows = [(max(GROUPS, options.hosts // part), 1) for part in (10, 5, 2, 1)]
    rows += [(2 * options.hosts, 1), (options.hosts, 3)]
    missed = False
    for hosts, replicate in rows:
        shards = drawn_shards(hosts * options.shards_per_host, seed=hosts)
        outcome = simulated(shards, hosts, replicate)
        missed |= outcome.above > _MOST_ABOVE or outcome.planning > _LONGEST_PLANNING
        print(
            f"| {hosts:,} | {len(shards):,} | {replicate} | {outcome.planning:.2f} s | "
            f"{outcome.above:.1%} |"
        )
    shards = drawn_shards(options.hosts * options.shards_per_host, seed=1)
    outcome = simulated(shards, options.hosts, 1, slow=[2.0] * (options.hosts // 10))
    print(f"\nA tenth of the hosts at half the speed: {outcome.above:.1%} above the lower bound.")
    return int(missed)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
