"""How often the intervals of capacity searches contain the truth, and their widths.

    python -m bench.capacities [--searches 100]

Prints the table of docs/studies.md. Seeded searches with two contenders with simulated queues, on
machines with different disturbances; a trial takes half a second. `A/A` are two equal contenders:
every verdict but `same` and `unsure` is false. Otherwise the second contender's service time is 10%
longer.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field
from statistics import median

from slowdust.stats.relative import CONFIDENCE
from slowdust.studies.capacity.search import Plan
from tests.unit.synthetic_capacity import Machine, SimulatedServers, searched

SMALLEST = ("--searches", "1", "--budgets", "20")
SERVICE = 100e-6
SLOWER = 1.1
MACHINES = {
    "quiet": Machine(start=0.01, drift=0.02, noise=0.1, stalls=0.01),
    "usual": Machine(),
    "restarts move it": Machine(start=0.08),
    "drifts by half": Machine(drift=0.25, trend=0.4),
    "stalls": Machine(stalls=0.1),
}


@dataclass
class Tally:
    """The intervals of many searches."""

    held: list[bool] = field(default_factory=list)
    """Whether a contender's interval contained its capacity."""
    ratios_held: list[bool] = field(default_factory=list)
    widths: list[float] = field(default_factory=list)
    ratio_widths: list[float] = field(default_factory=list)
    errors: list[float] = field(default_factory=list)
    """ln(middle of an interval / true capacity)."""
    different: int = 0
    """Searches with an interval of the ratio that excludes 1."""
    trials: list[int] = field(default_factory=list)


def run_searches(machine: Machine, ratio: float, budget: float, searches: int) -> Tally:
    """Count over many searches."""
    tally = Tally()
    names = ["A", "B"]
    for seed in range(searches):
        servers = SimulatedServers({"A": SERVICE, "B": SERVICE * ratio}, machine, seed=seed)
        search, _ = searched(servers, names, Plan(budget, 0.001, starts=4, seed=seed))
        curve = search.curve()
        truth = [math.log(servers.capacity(name)) for name in names]
        for number in (0, 1):
            known = curve.capacity(number)
            low, high = known.interval(CONFIDENCE)
            tally.held.append(low <= truth[number] <= high)
            tally.widths.append((high - low) / 2)
            tally.errors.append(known.quantile(0.5) - truth[number])
        low, high = search.ratio(curve, 1, CONFIDENCE)
        tally.ratios_held.append(low <= truth[1] - truth[0] <= high)
        tally.ratio_widths.append((high - low) / 2)
        tally.different += not low <= 0 <= high
        tally.trials.append(len(search.trials) // len(names))
    return tally


def main(arguments: Sequence[str] | None = None) -> int:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="bench.capacities", description=__doc__)
    parser.add_argument("--searches", type=int, default=100)
    parser.add_argument("--budgets", type=float, nargs="+", default=[60.0, 240.0])
    given = parser.parse_args(arguments)
    print(
        "| machine | contenders | budget | trials of each | interval holds | half-width | error "
        "| ratio holds | half-width | not 1 |"
    )
    print("| --- | --- | --: | --: | --: | --: | --: | --: | --: | --: |")
    for budget in given.budgets:
        for title, machine in MACHINES.items():
            for what, ratio in (("A/A", 1.0), (f"{SLOWER - 1:.0%} slower", SLOWER)):
                tally = run_searches(machine, ratio, budget, given.searches)
                print(
                    f"| {title} | {what} | {budget:.0f} s | {median(tally.trials):.0f} "
                    f"| {_share(tally.held)} | {median(tally.widths):.1%} "
                    f"| {median(tally.errors):+.1%} | {_share(tally.ratios_held)} "
                    f"| {median(tally.ratio_widths):.1%} "
                    f"| {tally.different / given.searches:.0%} |",
                    flush=True,
                )
    return 0


def _share(held: Sequence[bool]) -> str:
    return f"{sum(held) / len(held):.0%}"


if __name__ == "__main__":
    sys.exit(main())
